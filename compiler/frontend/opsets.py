"""The operator set versions that a model imports, and the supported versions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from compiler.errors import CompileError, require
from compiler.frontend.functions import normal_domain


def opsets_of(imports: Iterable[Any], ir_version: int) -> dict[str, int]:
    """Return the version of each imported operator set. Errors: E-MODEL-OPSET."""
    found: dict[str, int] = {}
    for entry in imports:
        domain, version = normal_domain(entry.domain), int(entry.version)
        twice = found.setdefault(domain, version) != version
        require(
            not twice,
            "E-MODEL-OPSET",
            f"the model imports two versions of the operator set {domain!r}",
        )
        if not 1 <= version <= newest(domain):
            raise CompileError(
                "E-MODEL-OPSET",
                f"the model imports operator set {domain or 'ai.onnx'} {version}, but versions 1 "
                f"to {newest(domain)} are supported",
            )
    if not found:
        require(ir_version < 3, "E-MODEL-OPSET", "the model imports no operator set")
        found[""] = 1
    return found


@cache
def newest(domain: str) -> int:
    """Return the newest known version of an operator set; an unknown set has no limit."""
    return _ranges()[domain][1] if is_standard(domain) else (1 << 63) - 1


def is_standard(domain: str) -> bool:
    """Return whether the onnx package knows all operators of this domain."""
    return domain in _ranges()


@cache
def _ranges() -> dict[str, tuple[int, int]]:
    import onnx

    return dict(onnx.defs.C.schema_version_map())

"""How much of everything a model may have, checked before anything is built of it."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.errors import CompileError


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds on a model file. Units: bytes and counts, as the names say.

    The defaults are for one's own files on one's own machine.
    """

    file_bytes: int = 2 << 30
    unknown_bytes: int = 1 << 20
    """Bytes in fields that the ONNX format does not have."""
    name_bytes: int = 1 << 16
    """Bytes of one name; documentation strings are not names."""
    n_messages: int = 20_000_000
    """Protobuf messages of all kinds: each costs memory however small it is."""
    nested_messages: int = 98
    """Depth of messages inside messages; the protobuf library itself stops at 100."""
    nested_regions: int = 32
    """Depth of subgraphs and function calls inside each other."""
    n_nodes: int = 1_000_000
    """Nodes, those of subgraphs included, after functions are put in place."""
    n_initialisers: int = 1_000_000
    rank: int = 32
    dim: int = 1 << 40
    """The size of one axis."""
    tensor_elements: int = 1 << 33
    """Elements of one stored tensor."""
    dense_elements: int = 1 << 24
    """Elements of a sparse tensor once its zeros are written out."""

    def check(self, what: str, found: int, allowed: int) -> None:
        """Errors: E-MODEL-SIZE."""
        if found > allowed:
            raise CompileError("E-MODEL-SIZE", f"{what}: {found:,}; at most {allowed:,} are read")


OWN_LIMITS = Limits()
"""For one's own files on one's own machine."""

UPLOAD_LIMITS = Limits(
    file_bytes=64 << 20,
    unknown_bytes=1 << 16,
    name_bytes=1 << 12,
    n_messages=1_000_000,
    nested_regions=12,
    n_nodes=20_000,
    n_initialisers=20_000,
    rank=16,
    tensor_elements=1 << 26,
    dense_elements=1 << 20,
)
"""For files that strangers give a server."""

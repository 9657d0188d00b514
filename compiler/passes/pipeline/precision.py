"""Precision modes: the guarantee of each mode, and the pipeline lines that implement it.

docs/precision.md describes the modes for users. A mode changes only pipeline lines, so the trace
shows its effects with reasons and error budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.operator import OPERATORS, Trait, with_trait
from compiler.passes.algorithms.cycles import Products
from compiler.passes.pipeline.pipeline import Line, Pipeline, Repeat, line


@dataclass(frozen=True, slots=True)
class Precision:
    """A precision mode; `tolerance` limits the error of a model, relative to its output scale.

    `lines` changes the pipeline. `refused` is the reason that a mode is not offered yet, or "".
    If `needs` is a trait of operators, the mode suits only models with such an operator, and
    `needs_words` states this requirement.
    """

    name: str
    words: str
    tolerance: float
    lines: Callable[[Pipeline], Pipeline] = lambda pipeline: pipeline
    refused: str = ""
    on_tiles: Products | None = None
    """The option `direct` of `choose_algorithms` on machines with bf16 matrix tiles; None keeps the
    default."""
    needs: Trait | Literal[""] = ""
    needs_words: str = ""

    @property
    def in_parts(self) -> bool:
        """Whether f32 products may be split into bf16 parts on machines with matrix tiles."""
        return self.on_tiles == "parts"


def _with_last(pipeline: Pipeline, name: str, because: str) -> Pipeline:
    """Append a pass to a pipeline if it does not contain the pass."""
    if any(x.name == name for x in pipeline.passes):
        return pipeline
    return Pipeline((*pipeline.lines, line(name, because)), pipeline.name, pipeline.words)


FAST_BUDGET = 2e-5
"""Error budget per rewrite in fast mode, relative to the scale of the result."""


def _with_budget(pipeline: Pipeline) -> Pipeline:
    """Set the error budget of fast mode in `choose_algorithms`; append the pass if missing."""
    made = _with_last(pipeline, "choose_algorithms", "fewer multiplications, at lower accuracy")
    return _choosing(made, {"budget": FAST_BUDGET})


def _choosing(pipeline: Pipeline, options: Mapping[str, Any]) -> Pipeline:
    """Set options of `choose_algorithms` in a pipeline that contains the pass."""

    def one(x: Line) -> Line:
        if x.name != "choose_algorithms":
            return x
        return replace(x, options={**x.options, **options})

    lines = (
        replace(x, lines=tuple(map(one, x.lines))) if isinstance(x, Repeat) else one(x)
        for x in pipeline.lines
    )
    return replace(pipeline, lines=tuple(lines))


def _with_bf16(pipeline: Pipeline) -> Pipeline:
    """Append the passes for bf16 products; convolutions keep f32 Winograd if it is faster."""
    made = _choosing(pipeline, {"budget": FAST_BUDGET, "direct": "bf16"})
    if any(x.name == "lower_precision" for x in pipeline.passes):
        return made
    last = (
        line("lower_precision", "last, since it depends on kernels and layouts"),
        line("loop_invariant_code_motion", "casts of weights move out of loops"),
        line("fold_constants", "weights are rounded at compile time"),
        line("dead_code_elimination", "the unrounded weights are dead"),
    )
    return Pipeline((*made.lines, *last), made.name, made.words)


F32_TOLERANCE = 1e-4
"""Tolerance of a model at f32 accuracy: reordered long sums round differently."""

PRECISIONS = {
    p.name: p
    for p in (
        Precision("f32", "Results as accurate as float32.", F32_TOLERANCE),
        Precision(
            "fast",
            "Fewer multiplications and lower-precision products where the stated error is small.",
            F32_TOLERANCE,
            _with_budget,
            on_tiles="parts",
        ),
        Precision(
            "bf16",
            "bf16 products with f32 accumulation.",
            3e-2,
            _with_bf16,
            on_tiles="bf16_tiles",
        ),
        Precision(
            "int8",
            "A quantized model, computed in its integer types.",
            F32_TOLERANCE,
            needs="quantized",
            needs_words="requires a quantized model",
        ),
    )
}
"""All modes by name."""


def precision_mode(name: str) -> Precision:
    """Return the mode of this name.

    Errors: E-OPTION-VALUE if the mode is unknown or not offered.
    """
    found = PRECISIONS.get(name)
    if found is None:
        raise CompileError(
            "E-OPTION-VALUE",
            f"precision must be one of {', '.join(PRECISIONS)}, got {name!r:.40}",
            hint='leave precision at "f32"',
        )
    if found.refused:
        raise CompileError(
            "E-OPTION-VALUE",
            f"precision {name} is not offered: {found.refused}",
            hint='leave precision at "f32"',
        )
    return found


def with_precision(pipeline: Pipeline, precision: str, *, has_tiles: bool = False) -> Pipeline:
    """Return the pipeline with the lines of a mode. Errors: E-OPTION-VALUE.

    `has_tiles` states that the machine has matrix tiles for bf16, which changes the costs.
    """
    mode = precision_mode(precision)
    made = mode.lines(pipeline)
    if has_tiles and mode.on_tiles is not None:
        return _choosing(made, {"direct": mode.on_tiles})
    return made


def suiting(operators: Iterable[str]) -> list[str]:
    """Return the modes that suit a model with these operators; names may also be those of ONNX."""
    known = set(operators)
    return [p.name for p in PRECISIONS.values() if not p.refused and _suits(p, known)]


def _suits(mode: Precision, operators: set[str]) -> bool:
    if not mode.needs:
        return True
    needed = with_trait(mode.needs)
    onnx_names = {name for op in needed for name in OPERATORS[op].onnx_names}
    return not operators.isdisjoint({*needed, *onnx_names})


def check_suits(graph: Graph, precision: str) -> None:
    """Reject int8 for a model that is not quantized: quantization would need calibration data.

    Errors: E-OPTION-VALUE.
    """
    mode = PRECISIONS.get(precision)
    if mode is not None and not _suits(mode, {n.op for n in all_nodes(graph)}):
        raise CompileError(
            "E-OPTION-VALUE",
            f"precision {precision} {mode.needs_words}, and {graph.name!r:.60} is not {mode.needs}",
            hint="quantize the model first, for example with onnxruntime.quantization; quantized "
            "models run in integers in every mode",
        )

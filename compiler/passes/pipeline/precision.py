"""Precision modes: what each promises, and the lines of a pipeline that make it so.

docs/precision.md has the words for users. A mode changes nothing but lines, so the trace shows what
was done for it, with reasons and error budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, all_nodes
from compiler.passes.algorithms.cycles import Products
from compiler.passes.pipeline.pipeline import Line, Pipeline, Repeat, line

QUANTIZED = frozenset(
    {"quantize", "dequantize", "requantize", "dynamic_quantize"}
    | {"conv_integer", "conv_codes", "matmul_integer"}
)
"""Operators on which it shows that a model was quantized."""


@dataclass(frozen=True, slots=True)
class Precision:
    """A mode. `tolerance` is the error of a whole model, relative to the scale of its outputs.

    `lines` changes the pipeline. A mode that is not offered yet says so in `refused`.
    """

    name: str
    words: str
    tolerance: float
    lines: Callable[[Pipeline], Pipeline] = lambda pipeline: pipeline
    refused: str = ""
    on_tiles: Products | None = None
    """What direct sums multiply where the machine has matrix tiles for bf16, if other than here."""

    @property
    def in_parts(self) -> bool:
        """Whether products of f32 may be those of shorter parts where a machine has tiles."""
        return self.on_tiles == "parts"


def _with_last(pipeline: Pipeline, name: str, because: str) -> Pipeline:
    """A pipeline that ends with this pass, if it does not have it already."""
    if any(x.name == name for x in pipeline.passes):
        return pipeline
    return Pipeline((*pipeline.lines, line(name, because)), pipeline.name, pipeline.words)


FAST_BUDGET = 2e-5
"""The error that one rewrite may add in fast mode, relative to the scale of what it makes."""


def _with_budget(pipeline: Pipeline) -> Pipeline:
    """A pipeline whose choice of algorithms may cost as much accuracy as fast mode allows."""
    made = _with_last(pipeline, "choose_algorithms", "fewer products, for less accuracy")
    return _choosing(made, {"budget": FAST_BUDGET})


def _choosing(pipeline: Pipeline, options: Mapping[str, Any]) -> Pipeline:
    """A pipeline that chooses algorithms, if it does so, with other options."""

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
    """A pipeline that ends with products of bf16, of all that is not faster in tiles of f32."""
    made = _choosing(pipeline, {"budget": FAST_BUDGET, "direct": "bf16"})
    if any(x.name == "lower_precision" for x in pipeline.passes):
        return made
    last = (
        line("lower_precision", "kernels and layouts stand"),
        line("loop_invariant_code_motion", "weights that loops round in every step"),
        line("fold_constants", "weights are rounded when the program is made"),
        line("dead_code_elimination", "what was rounded is not stored too"),
    )
    return Pipeline((*made.lines, *last), made.name, made.words)


F32_TOLERANCE = 1e-4
"""What a whole model at f32 accuracy may be off by: roundings of long sums in another order."""

PRECISIONS = {
    p.name: p
    for p in (
        Precision("f32", "Results as accurate as float32.", F32_TOLERANCE),
        Precision(
            "fast",
            "Fewer multiplications and shorter products where their stated error is small.",
            F32_TOLERANCE,
            _with_budget,
            on_tiles="parts",
        ),
        Precision(
            "bf16",
            "Products of bf16, sums of f32.",
            3e-2,
            _with_bf16,
            on_tiles="bf16_tiles",
        ),
        Precision("int8", "A quantized model in its own whole numbers.", F32_TOLERANCE),
    )
}
"""All modes by name."""


def precision_mode(name: str) -> Precision:
    """The mode of this name. Errors: E-OPTION-VALUE for one unknown or not offered."""
    found = PRECISIONS.get(name)
    if found is None:
        raise CompileError(
            "E-OPTION-VALUE",
            f"precision is one of {', '.join(PRECISIONS)}, got {name!r:.40}",
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
    """The pipeline with the lines that a mode wants. Errors: E-OPTION-VALUE.

    `has_tiles` tells that the machine has matrix tiles for bf16, which changes what pays.
    """
    mode = precision_mode(precision)
    made = mode.lines(pipeline)
    if has_tiles and mode.on_tiles is not None:
        return _choosing(made, {"direct": mode.on_tiles})
    return made


def check_suits(graph: Graph, precision: str) -> None:
    """Refuse int8 for a model that has no whole numbers: making them needs data to calibrate with.

    Errors: E-OPTION-VALUE.
    """
    if precision == "int8" and not any(n.op in QUANTIZED for n in all_nodes(graph)):
        raise CompileError(
            "E-OPTION-VALUE",
            f"precision int8 is for quantized models, and {graph.name!r:.60} is not one",
            hint="quantize the model first, with onnxruntime.quantization for example: "
            "quantized models run in whole numbers in every mode",
        )

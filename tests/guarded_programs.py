"""Programs for models with indices far out of range, with every buffer between guard pages.

`python -m tests.guarded_programs known` (or `open`, for open sizes) runs in a separate process,
because an access outside a buffer ends it. It prints each case before running it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import compiler
from compiler.errors import CompileError
from compiler.runtime import frame
from compiler.runtime.thunks import constants
from tests.guard_pages import at_end, at_start
from tests.onnx_models import BOOL, F32, I64, graph, model, node, stored, value

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = dict[str, Array]

OUTSIDE = (-6, 5, 7, -65, 4096, -(2**31) - 1, 2**31, 2**40, -(2**45), 2**62, 2**63 - 1, -(2**63))
"""Indices outside every axis of the models: by one, by a page, and the extremes of i64."""

LINE_BYTES = 64


def between_guards(place: Callable[..., Array]) -> None:
    """Let programs allocate arenas, constants and results with `place`."""

    def memory(nbytes: int) -> Array:
        return place(np.zeros(nbytes, np.uint8))

    def maker(self: frame.OutputSpec) -> Callable[[], Array]:
        return lambda: place(np.zeros(self.shape, self.dtype))

    frame.aligned_bytes = memory
    constants.aligned_bytes = memory
    frame.OutputSpec.maker = property(maker)  # type: ignore[assignment]


def cases(is_open: bool) -> Iterator[tuple[str, Any, Feeds]]:
    """Yield models with names, and zeros as inputs."""
    for name, nodes, inputs, results, stores in _operators():
        made = model(
            nodes,
            [value(n, _opened(n, s) if is_open else s, t) for n, (s, t) in inputs.items()],
            [value(r, None, t) for r, t in results.items()],
            [stored(n, a) for n, a in stores.items()],
            opset=18,
        )
        zeros = {
            n: np.zeros(s, np.int64 if t == I64 else np.float32) for n, (s, t) in inputs.items()
        }
        yield name, made, zeros


def _opened(name: str, sizes: list[int]) -> list[int | str]:
    return [f"{name}{a}" for a, _ in enumerate(sizes)]


def _operators() -> Iterator[tuple[str, list[Any], dict[str, Any], dict[str, Any], Feeds]]:
    x = ([5, 4], F32)
    y = {"y": F32}
    table = np.arange(40, dtype=np.float32).reshape(5, 8)
    for axis in (0, 1):
        taken = [node("Gather", ["x", "i"], ["y"], axis=axis)]
        yield f"Gather {axis}", taken, {"x": x, "i": ([3, 2], I64)}, y, {}
        taken = [node("GatherElements", ["x", "i"], ["y"], axis=axis)]
        yield f"GatherElements {axis}", taken, {"x": x, "i": ([3, 4], I64)}, y, {}
        for how in ("none", "add"):
            put = [node("ScatterElements", ["x", "i", "u"], ["y"], axis=axis, reduction=how)]
            given = {"x": x, "i": ([3, 4], I64), "u": ([3, 4], F32)}
            yield f"ScatterElements {axis} {how}", put, given, y, {}
        ends = [node("Slice", ["x", "i", "j", "a"], ["y"])]
        given = {"x": x, "i": ([1], I64), "j": ([1], I64)}
        yield f"Slice {axis}", ends, given, y, {"a": np.array([axis])}
        hot = [node("OneHot", ["i", "d", "v"], ["y"], axis=axis)]
        stores = {"d": np.array(5), "v": np.array([0, 1], np.float32)}
        yield f"OneHot {axis}", hot, {"i": ([3, 2], I64)}, y, stores
    looked_up = [node("Gather", ["w", "i"], ["r"]), node("MatMul", ["r", "x"], ["y"])]
    given = {"i": ([3, 5], I64), "x": ([8, 4], F32)}
    yield "Embedding and product", looked_up, given, y, {"w": table}
    for width in (1, 2):
        rest = [] if width == 2 else [4]
        taken = [node("GatherND", ["x", "i"], ["y"])]
        yield f"GatherND {width}", taken, {"x": x, "i": ([3, width], I64)}, y, {}
        for how in ("none", "max"):
            put = [node("ScatterND", ["x", "i", "u"], ["y"], reduction=how)]
            given = {"x": x, "i": ([3, width], I64), "u": ([3, *rest], F32)}
            yield f"ScatterND {width} {how}", put, given, y, {}
    given = {"x": x, "i": ([3], I64), "u": ([3, 4], F32)}
    yield "Loop", [_loop()], given, y, {"n": np.array(3)}
    yield "Scan", [_scan()], given, {"s": F32, "y": F32}, {}


def _loop() -> Any:
    """Return a Loop that copies in each iteration the row with a given index into the state."""
    body = graph(
        [
            node("Gather", ["i", "step"], ["at"]),
            node("Gather", ["state", "at"], ["row"]),
            node("Unsqueeze", ["at", "axes"], ["places"]),
            node("Unsqueeze", ["row", "axes"], ["rows"]),
            node("ScatterND", ["state", "grid", "rows"], ["next"]),
        ],
        [value("step", (), I64), value("go", (), BOOL), value("state", None)],
        [value("go", (), BOOL), value("next", None)],
        [stored("axes", [0], np.int64)],
    )
    body.node.insert(4, node("Unsqueeze", ["places", "axes"], ["grid"]))
    return node("Loop", ["n", "", "x"], ["y"], body=body)


def _scan() -> Any:
    body = graph(
        [
            node("Gather", ["state", "at"], ["row"]),
            node("Add", ["row", "update"], ["out"]),
            node("Unsqueeze", ["at", "axes"], ["places"]),
            node("Unsqueeze", ["places", "axes"], ["grid"]),
            node("Unsqueeze", ["out", "axes"], ["rows"]),
            node("ScatterND", ["state", "grid", "rows"], ["next"]),
        ],
        [value("state", None), value("at", (), I64), value("update", None)],
        [value("next", None), value("out", None)],
        [stored("axes", [0], np.int64)],
    )
    return node("Scan", ["x", "i", "u"], ["s", "y"], body=body, num_scan_inputs=2)


def main(sizes: str) -> None:
    """Run every case with every index, with guard pages after and then before each buffer."""
    placed = {"behind": partial(at_end, alignment=LINE_BYTES), "before": at_start}
    for name, made, feeds in cases(sizes == "open"):
        for side, place in placed.items():
            between_guards(place)
            print(f"{name} in {sizes} sizes, guard pages {side}", flush=True)
            program = compiler.compile(made.SerializeToString())
            for outside in OUTSIDE:
                for which in [n for n, a in feeds.items() if a.dtype == np.int64]:
                    given = {**feeds, which: np.full_like(feeds[which], outside)}
                    try:
                        program.run({n: place_input(side, a) for n, a in given.items()})
                    except CompileError:
                        continue  # a refusal is a valid outcome
    print("done", flush=True)


def place_input(side: str, a: Array) -> Array:
    """Return a copy of an input that ends, or begins, at a guard page."""
    return at_end(a) if side == "behind" else at_start(a)


if __name__ == "__main__":
    main(sys.argv[1])

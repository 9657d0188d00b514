"""ONNX models whose operators are inside control flow, at two depths."""

from __future__ import annotations

import numpy as np
import onnx

from tests.onnx_models import BOOL, I64, graph, model, node, stored, value


def chooser() -> onnx.ModelProto:
    """Return a model of an If: then a matrix product and a Loop of three iterations, else a double
    negation. Both branches read the sum `k` of the enclosing graph; passes simplify both."""
    rng = np.random.default_rng(5)
    step = graph(
        [
            node("Mul", ["s", "half"], ["s_next"], "halve"),
            node("Identity", ["on"], ["on_next"], "go"),
        ],
        inputs=[value("i", (), I64), value("on", (), BOOL), value("s", (2, 8))],
        outputs=[value("on_next", (), BOOL), value("s_next", (2, 8))],
        initialisers=[stored("half", np.float32(0.5))],
    )
    then = graph(
        [
            node("MatMul", ["k", "w"], ["m"], "product"),
            node("Relu", ["m"], ["r"], "positive"),
            node("Loop", ["n", "yes", "r"], ["l"], "again", body=step),
        ],
        outputs=[value("l", (2, 8))],
        initialisers=[
            stored("w", rng.standard_normal((8, 8)).astype("f4")),
            stored("n", np.int64(3)),
            stored("yes", np.bool_(True)),
        ],
    )
    other = graph(
        [
            node("Neg", ["k"], ["m"], "minus"),
            node("Neg", ["m"], ["p"], "minus_again"),
            node("Exp", ["p"], ["e"], "power"),
        ],
        outputs=[value("e", (2, 8))],
    )
    return model(
        [
            node("Add", ["x", "x"], ["k"], "twice"),
            node("If", ["c"], ["y"], "choice", then_branch=then, else_branch=other),
            node("Tanh", ["y"], ["z"], "last"),
        ],
        [value("x", (2, 8)), value("c", (), BOOL)],
        [value("z", (2, 8))],
    )

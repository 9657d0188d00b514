"""Passes that apply rules without changes to weights: no-ops, arithmetic, recognition, or all."""

from __future__ import annotations

from compiler.passes.engine.declaration import rules_pass
from compiler.passes.rules.algebra import ALGEBRA
from compiler.passes.rules.copies import COPIES_OF_ALL
from compiler.passes.rules.deciding import DECIDING
from compiler.passes.rules.neutral import NEUTRAL
from compiler.passes.rules.noops import VIEWS_OF_ALL
from compiler.passes.rules.recognise import RECOGNISE
from compiler.passes.rules.views import VIEWS

NOOPS = [*VIEWS_OF_ALL, *COPIES_OF_ALL, *NEUTRAL, *DECIDING]

remove_noops = rules_pass(
    "remove_noops",
    NOOPS,
    """Remove nodes that return an operand unchanged.

    Exporters leave identities, casts to the same type, reshapes to the same shape and additions of
    zero. Each of these nodes would copy a tensor.
    """,
    needs=["constants"],
    known_as={"ONNX Runtime": "EliminateIdentity, NoopElimination"},
)

algebraic_simplification = rules_pass(
    "algebraic_simplification",
    [*VIEWS, *ALGEBRA],
    """Replace expressions with cheaper equivalents.

    Rules that change rounding are marked; `inexact=false` switches them off.
    """,
    needs=["constants"],
    aliases=("algebra",),
    known_as={"LLVM": "InstCombine", "XLA": "AlgebraicSimplifier", "TVM": "SimplifyExpr"},
)

recognise = rules_pass(
    "recognise",
    RECOGNISE,
    """Recognise activations, normalisations, softmax and rotary embeddings in their primitives.

    A recognised operator is a single loop. An activation can be the epilogue of a convolution. A
    normalisation reads a row from memory once, and then from the cache.
    """,
    needs=["constants"],
    known_as={"LLVM": "LoopIdiomRecognize", "ONNX Runtime": "GeluFusion, LayerNormFusion"},
)

simplify = rules_pass(
    "simplify",
    [*NOOPS, *RECOGNISE, *VIEWS, *ALGEBRA],
    """Remove no-ops, recognise operators and simplify arithmetic in one pass.

    The result of a rule often matches another rule, so rules apply until a fixed point.
    """,
    needs=["constants"],
)

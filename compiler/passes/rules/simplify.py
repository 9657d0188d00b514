"""The passes made of rules without weights: no-ops, arithmetic, recognition, all together."""

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
    zero behind. Each would be a copy of a tensor.
    """,
    needs=["constants"],
    known_as={"ONNX Runtime": "EliminateIdentity, NoopElimination"},
)

algebraic_simplification = rules_pass(
    "algebraic_simplification",
    [*VIEWS, *ALGEBRA],
    """Replace expressions with cheaper equal ones.

    Rules that change the rounding are marked, and can be switched off with `inexact=false`.
    """,
    needs=["constants"],
    aliases=("algebra",),
    known_as={"LLVM": "InstCombine", "XLA": "AlgebraicSimplifier", "TVM": "SimplifyExpr"},
)

recognise = rules_pass(
    "recognise",
    RECOGNISE,
    """Recognise activations, normalisations, softmax and positions in their primitives.

    A named operator is one loop with one formula; an activation can be applied while a convolution
    stores its result, and a normalisation reads a row once and keeps it near.
    """,
    needs=["constants"],
    known_as={"LLVM": "LoopIdiomRecognize", "ONNX Runtime": "GeluFusion, LayerNormFusion"},
)

simplify = rules_pass(
    "simplify",
    [*NOOPS, *RECOGNISE, *VIEWS, *ALGEBRA],
    """Remove no-ops, recognise operators and simplify arithmetic, together.

    One rule's result is often what another looks for, so all of them are tried until nothing
    changes.
    """,
    needs=["constants"],
)

"""The rule that recognises a channel shuffle, and its pass."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.declaration import rules_pass
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.recognise.blocks import MOVED, order_of, order_text


@rule(
    MOVED,
    result="t",
    single_use=True,
    example="""
    graph g(x: f32[N,6,4,5]) {
      const s: i64[5] = literal(0,2,3,4,5)
      const r: i64[4] = literal(0,6,4,5)
      a: f32[N,2,3,4,5] = reshape(x, s)
      b: f32[N,3,2,4,5] = transpose(a, perm=[0,2,1,3,4])
      y: f32[N,6,4,5] = reshape(b, r)
      return y
    }
    =>
    graph g(x: f32[N,6,4,5]) {
      y: f32[N,6,4,5] = channel_shuffle(x, groups=2)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,6,4,5]) {
      const s: i64[5] = literal(2,6,2,2,5)
      const r: i64[4] = literal(2,6,4,5)
      a: f32[2,6,2,2,5] = reshape(x, s)
      b: f32[2,6,2,2,5] = transpose(a, perm=[0,1,3,2,4])
      y: f32[2,6,4,5] = reshape(b, r)
      return y
    }
    """,
)
def channel_shuffle_of_transpose(
    x: Tensor, parts: Tensor, perm: tuple[int, ...], t: TensorType, **_: object
) -> Operand:
    """Recognise a swap of the group axis and the channel axis as a channel shuffle.

    The axes before and after the channels may be merged or separate.
    """
    if x.type.shape is None or x.rank < 2 or x.type.logical != t:
        return Skip(
            f"{x.name} is {x.type} and the result {t}; equal types with channels are required"
        )
    if parts.type.shape is None or not isinstance(channels := x.shape[1], int):
        return Skip(f"the sizes of {parts.type} are not known")
    found, n, rest = order_of(parts.shape, perm), x.shape[0], x.shape[2:]
    for groups in found[0]:
        if isinstance(groups, int) and 1 < groups < channels and channels % groups == 0:
            dims = (n, groups, channels // groups, *rest)
            if found == order_of(dims, (0, 2, 1, *range(3, len(dims)))):
                because = f"the {channels} channels of {groups} groups are interleaved"
                return Because(o.channel_shuffle(x, groups=groups), because)
    return Skip(f"{order_text(found)} does not swap two factors of the {channels} channels")


SHUFFLE: list[Rule] = [channel_shuffle_of_transpose]
"""Rules for channel shuffles."""

recognise_shuffle = rules_pass(
    "recognise_shuffle",
    SHUFFLE,
    """Recognise a channel shuffle in a transpose of channel groups.

    The operator copies the same elements at the same speed, and exports to ONNX as three nodes.
    Presets for speed omit this pass, which serves to show the layers of a model.
    """,
    needs=["constants"],
)

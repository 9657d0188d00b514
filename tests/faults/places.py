"""Faults in rules for data movement and views, and in rules that fold scales into weights."""

from __future__ import annotations

import numpy as np

from compiler.passes.rules.calls import o
from tests.faults.fault import (
    Fault,
    attribute,
    becomes,
    constant,
    given,
    hurried,
    instead,
    operand,
)


def _of_type(x: object, t: object) -> object:
    """Return the elements of x in order, as a tensor of the required shape."""
    return o.reshape(x, np.array(t.static_shape, np.int64))  # type: ignore[attr-defined]


def _one_earlier(call: object) -> object:
    """Move a slice by one position."""
    for index in (1, 2):
        call = operand(index, lambda bounds: bounds - 1)(call)
    return call


PLACES = [
    Fault(
        "permutations composed the wrong way round",
        "wrong axis",
        ("merge_transposes",),
        [instead("merge_transposes", lambda x, p, q: o.transpose(x, perm=tuple(q[i] for i in p)))],
        """
        graph g(x: f32[3,3,3]) {
          a: f32[3,3,3] = transpose(x, perm=[1,2,0])
          b: f32[3,3,3] = relu(a)
          c: f32[3,3,3] = transpose(b, perm=[0,2,1])
          d: f32[3,3,3] = transpose(c, perm=[1,0,2])
          return d
        }
        """,
    ),
    Fault(
        "any transpose is a reshape",
        "dropped condition",
        ("transpose_is_reshape",),
        [hurried("transpose_is_reshape", lambda x, p, t: _of_type(x, t))],
        """
        graph g(x: f32[2,3,4]) {
          y: f32[4,2,3] = transpose(x, perm=[2,0,1])
          return y
        }
        """,
    ),
    Fault(
        "a transpose of equal sizes is dropped",
        "dropped condition",
        ("drop_transpose_in_order",),
        [hurried("drop_transpose_in_order", lambda x, perm: x)],
        """
        graph g(x: f32[4,4]) {
          a: f32[4,4] = transpose(x, perm=[1,0])
          y: f32[4,4] = exp(a)
          return y
        }
        """,
    ),
    Fault(
        "a slice that keeps the size keeps the order",
        "dropped condition",
        ("drop_slice_of_all",),
        [hurried("drop_slice_of_all", lambda x, **_: x)],
        """
        graph g(x: f32[5,3]) {
          const from: i64[1] = literal(-1)
          const to: i64[1] = literal(-9)
          const at: i64[1] = literal(0)
          const by: i64[1] = literal(-1)
          a: f32[5,3] = slice(x, from, to, at, by)
          y: f32[5,3] = relu(a)
          return y
        }
        """,
    ),
    Fault(
        "padding on one side is nothing when as much is cut on the other",
        "dropped condition",
        ("drop_pad_by_nothing",),
        [hurried("drop_pad_by_nothing", lambda x, **_: x)],
        """
        graph g(x: f32[5,3]) {
          const p: i64[4] = literal(1,0,-1,0)
          a: f32[5,3] = pad(x, p)
          y: f32[5,3] = relu(a)
          return y
        }
        """,
    ),
    Fault(
        "merged slices begin one place early",
        "off-by-one bound",
        ("merge_slices",),
        [becomes("merge_slices", _one_earlier)],
        """
        graph g(x: f32[9,3]) {
          const two: i64[1] = literal(2)
          const eight: i64[1] = literal(8)
          const one: i64[1] = literal(1)
          const four: i64[1] = literal(4)
          const at: i64[1] = literal(0)
          a: f32[6,3] = slice(x, two, eight, at)
          b: f32[3,3] = slice(a, one, four, at)
          y: f32[3,3] = relu(b)
          return y
        }
        """,
    ),
    Fault(
        "a slice inside a border begins with the border",
        "off-by-one bound",
        ("slice_inside_pad",),
        [becomes("slice_inside_pad", lambda made: o.neg(made))],
    ),
    Fault(
        "rows one too early",
        "off-by-one bound",
        ("gather_is_slice",),
        [becomes("gather_is_slice", _one_earlier)],
        """
        graph g(x: f32[7,3]) {
          const rows: i64[3] = literal(2,3,4)
          a: f32[3,3] = gather(x, rows, axis=0)
          y: f32[3,3] = exp(a)
          return y
        }
        """,
    ),
    Fault(
        "rows of rows looked up the other way round",
        "swapped operands",
        ("merge_gathers",),
        [becomes("merge_gathers", operand(1, constant(lambda rows: rows[::-1].copy())))],
    ),
    Fault(
        "a product reads the wrong operand transposed",
        "wrong attribute kept",
        ("transpose_into_matmul_left",),
        [becomes("transpose_into_matmul_left", attribute("transpose_a", lambda a: not a))],
        """
        graph g(x: f32[4,4], w: f32[4,5]) {
          a: f32[4,4] = transpose(x, perm=[1,0])
          y: f32[4,5] = matmul(a, w)
          return y
        }
        """,
    ),
    Fault(
        "a product whose second operand is not turned round",
        "wrong attribute kept",
        ("transpose_into_matmul_right",),
        [becomes("transpose_into_matmul_right", attribute("transpose_b", lambda b: not b))],
        """
        graph g(x: f32[5,4], w: f32[4,4]) {
          a: f32[4,4] = transpose(w, perm=[1,0])
          y: f32[5,4] = matmul(x, a)
          return y
        }
        """,
    ),
    Fault(
        "two borders become the outer one's value",
        "wrong constant",
        ("merge_pads",),
        [becomes("merge_pads", lambda call: o.pad(call.args[0], call.args[1], np.float32(0.5)))],
        """
        graph g(x: f32[2,3]) {
          const p: i64[4] = literal(0,1,0,2)
          const q: i64[4] = literal(1,0,0,1)
          a: f32[2,6] = pad(x, p)
          y: f32[3,7] = pad(a, q)
          return y
        }
        """,
    ),
    Fault(
        "a cut by negative padding takes the other end",
        "off-by-one bound",
        ("pad_is_slice",),
        [becomes("pad_is_slice", o.neg)],
    ),
    Fault(
        "tiles repeated along an axis of size above one are broadcast",
        "wrong broadcast",
        ("tile_is_expand",),
        [
            hurried(
                "tile_is_expand",
                lambda x, repeats: o.reshape(
                    o.expand(o.unsqueeze(x, axes=(1,)), np.array((3, 2, 4), np.int64)),
                    np.array((6, 4), np.int64),
                ),
            )
        ],
        """
        graph g(x: f32[3,4]) {
          const r: i64[2] = literal(2,1)
          a: f32[6,4] = tile(x, r)
          y: f32[6,4] = relu(a)
          return y
        }
        """,
    ),
    Fault(
        "an expanded tensor is transposed before, along the same axes as after",
        "wrong broadcast",
        ("transpose_before_expand",),
        [becomes("transpose_before_expand", lambda call: o.mul(call, call))],
    ),
    Fault(
        "merged reshapes read columns first",
        "wrong axis",
        ("merge_reshapes",),
        [
            instead(
                "merge_reshapes",
                lambda x, t, **_: _of_type(o.transpose(x, perm=tuple(reversed(range(x.rank)))), t),
            )
        ],
    ),
    Fault(
        "axes are left out that are not of size one",
        "wrong axis",
        ("squeeze_into_reduce_max",),
        [becomes("squeeze_into_reduce_max", lambda call: o.reduce_min(*call.args, **call.attrs))],
        """
        graph g(x: f32[3,4]) {
          a: f32[3,1] = reduce_max(x, axes=[1], keepdims=true)
          y: f32[3] = squeeze(a, axes=[1])
          return y
        }
        """,
    ),
    # Folding of scales and shifts into weights
    Fault(
        "scales go along the inputs of a product",
        "wrong axis",
        ("scale_before_matmul",),
        [
            becomes(
                "scale_before_matmul",
                operand(
                    1,
                    constant(lambda w: w.T.copy() if w.shape[0] == w.shape[1] else w[::-1].copy()),
                ),
            )
        ],
    ),
    Fault(
        "channels are scaled in the wrong order",
        "wrong axis",
        ("scale_into_conv",),
        [becomes("scale_into_conv", operand(1, constant(lambda w: w[::-1].copy())))],
    ),
    Fault(
        "the bias is shifted twice",
        "wrong constant",
        ("shift_into_conv",),
        [becomes("shift_into_conv", operand(2, constant(lambda b: b + b)))],
    ),
    Fault(
        "a shift goes through a padded convolution",
        "dropped condition",
        ("shift_before_conv",),
        [
            hurried(
                "shift_before_conv",
                lambda x, c, w, bias, **attrs: o.add(
                    o.conv(x, w, **attrs),
                    np.float32(w.stored.array().sum() * c.stored.array().mean()),
                ),
            )
        ],
        """
        graph g(x: f32[1,1,4,5]) {
          const c: f32[1,1,1,1] = splat(0.5)
          const w: f32[1,1,3,3] = splat(0.25)
          a: f32[1,1,4,5] = add(x, c)
          y: f32[1,1,4,5] = conv(a, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
          return y
        }
        """,
    ),
    Fault(
        "a scale reaches only the product and not the bias",
        "wrong broadcast",
        ("scale_through_bias",),
        [
            instead(
                "scale_through_bias",
                lambda x, w, shift, c, transpose_a, transpose_b, t: o.add(
                    o.mul(o.matmul(x, w, transpose_a=transpose_a, transpose_b=transpose_b), c),
                    shift,
                ),
            )
        ],
    ),
    Fault(
        "a negated convolution keeps its bias",
        "sign",
        ("negation_into_conv",),
        [becomes("negation_into_conv", operand(-1, constant(lambda b: -b)))],
    ),
    Fault(
        "a border of ones counts as one of zeros",
        "dropped condition",
        ("pad_into_conv",),
        [given("pad_into_conv", around=lambda _: 0.0)],
        """
        graph g(x: f32[1,2,5,7], w: f32[3,2,3,3]) {
          const p: i64[8] = literal(0,0,1,1,0,0,1,1)
          const one: f32[] = literal(1.0)
          a: f32[1,2,7,9] = pad(x, p, one)
          y: f32[1,3,5,7] = conv(a, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          return y
        }
        """,
    ),
]

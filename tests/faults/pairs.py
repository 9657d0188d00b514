"""Faults of two rules: a changed rule misses a precondition that another rule violates.

The rewrites of either rule alone preserve the results of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.passes.rules.calls import o
from tests.faults.fault import Fault, Seed, attribute, becomes, body, constant, instead, operand


def when(name: str, condition: Any, made: Any) -> Seed:
    """Seed a rule that is wrong in one case and right in all others."""

    def wrap(old: Any) -> Any:
        def run(**got: Any) -> Any:
            return made(**got) if condition(**got) else old(**got)

        return run

    return body(name, wrap)


def _rotates(p: tuple[int, ...]) -> bool:
    """Return whether a permutation rotates axes, unlike an exchange of two."""
    return p[0] > 0 and all(a == (p[0] + i) % len(p) for i, a in enumerate(p))


def _as(x: Any, t: Any) -> Any:
    return o.reshape(x, np.array(t.static_shape, np.int64))


def _turned(x: Any, t: Any) -> Any:
    """Return the elements of x in another order, in the required shape."""
    return _as(o.transpose(x, perm=tuple(reversed(range(x.rank)))), t)


def _any_negative(c: Any) -> bool:
    return bool((c.stored.array() < 0).any())


def _any_fraction(c: Any) -> bool:
    return bool((c.stored.array() % 1).any())


PAIRS = [
    Fault(
        "a rotation of axes, made of two exchanges, counts as a reshape",
        "two rules",
        ("merge_transposes", "transpose_is_reshape"),
        [when("transpose_is_reshape", lambda p, **_: _rotates(p), lambda x, p, t: _as(x, t))],
        """
        graph g(x: f32[2,3,4]) {
          a: f32[3,2,4] = transpose(x, perm=[1,0,2])
          b: f32[3,4,2] = transpose(a, perm=[0,2,1])
          y: f32[3,4,2] = exp(b)
          return y
        }
        """,
    ),
    Fault(
        "one rule leaves two negations, the other takes them for one",
        "two rules",
        ("add_negated", "subtract_negated"),
        [
            instead("add_negated", lambda x, y: o.sub(x, o.neg(o.neg(y)))),
            instead("subtract_negated", lambda x, y: o.sub(x, y)),
        ],
        """
        graph g(x: f32[2,3], y: f32[2,3]) {
          a: f32[2,3] = neg(y)
          b: f32[2,3] = add(x, a)
          z: f32[2,3] = exp(b)
          return z
        }
        """,
    ),
    Fault(
        "axes are left in falling order, and relied on to rise",
        "two rules",
        ("merge_unsqueezes", "merge_unsqueeze_squeeze"),
        [
            becomes("merge_unsqueezes", attribute("axes", lambda axes: tuple(reversed(axes)))),
            when(
                "merge_unsqueeze_squeeze",
                lambda p, **_: list(p) != sorted(p),
                lambda x, t, **_: _turned(x, t),
            ),
        ],
        """
        graph g(x: f32[3,4]) {
          a: f32[1,3,4] = unsqueeze(x, axes=[0])
          b: f32[1,3,1,4] = unsqueeze(a, axes=[2])
          c: f32[3,1,4] = squeeze(b, axes=[0])
          y: f32[3,1,4] = exp(c)
          return y
        }
        """,
    ),
    Fault(
        "bounds that were a minimum and a maximum lose the sign",
        "two rules",
        ("min_of_max", "relu_of_clip"),
        [
            when(
                "relu_of_clip",
                lambda lo, **_: lo is not None and lo < 0,
                lambda x, lo, hi: o.clip(x, np.float32(lo), np.float32(hi)),
            )
        ],
        """
        graph g(x: f32[5,3]) {
          const lo: f32[] = literal(-2.0)
          const hi: f32[] = literal(1.5)
          a: f32[5,3] = max(x, lo)
          b: f32[5,3] = min(a, hi)
          y: f32[5,3] = relu(b)
          return y
        }
        """,
    ),
    Fault(
        "a reciprocal is merged as if it were a whole number",
        "two rules",
        ("divide_by_constant", "merge_multiplications"),
        [
            when(
                "merge_multiplications",
                lambda b, **_: _any_fraction(b),
                lambda x, a, b: o.mul(x, np.round(a.stored.array() * b.stored.array())),
            )
        ],
        """
        graph g(x: f32[5,3]) {
          const a: f32[3] = literal(3.0,5.0,-2.0)
          const b: f32[3] = literal(7.0,3.0,9.0)
          c: f32[5,3] = mul(x, a)
          d: f32[5,3] = div(c, b)
          y: f32[5,3] = tanh(d)
          return y
        }
        """,
    ),
    Fault(
        "a subtraction made an addition is merged without its sign",
        "two rules",
        ("subtract_constant", "merge_additions"),
        [
            when(
                "merge_additions",
                lambda b, **_: _any_negative(b),
                lambda x, a, b: o.add(x, a.stored.array() - b.stored.array()),
            )
        ],
        """
        graph g(x: f32[5,3]) {
          const a: f32[3] = literal(3.0,5.0,-2.0)
          const b: f32[3] = literal(7.0,3.0,9.0)
          c: f32[5,3] = add(x, a)
          d: f32[5,3] = sub(c, b)
          y: f32[5,3] = tanh(d)
          return y
        }
        """,
    ),
    Fault(
        "a power written as a product is added up as absolute values",
        "two rules",
        ("square", "sum_of_squares"),
        [
            instead(
                "sum_of_squares",
                lambda x, axes, keepdims: o.reduce_l1(x, axes=axes, keepdims=keepdims),
            )
        ],
        """
        graph g(x: f32[5,3]) {
          const two: f32[] = literal(2.0)
          a: f32[5,3] = pow(x, two)
          y: f32[5,1] = reduce_sum(a, axes=[1], keepdims=true)
          return y
        }
        """,
    ),
    Fault(
        "transposes that an identity kept apart are composed the wrong way round",
        "two rules",
        ("drop_identity", "merge_transposes"),
        [
            instead(
                "merge_transposes",
                lambda x, p, q: o.transpose(x, perm=tuple(q[i] for i in p)),
            )
        ],
        """
        graph g(x: f32[3,3,3]) {
          a: f32[3,3,3] = transpose(x, perm=[1,2,0])
          b: f32[3,3,3] = identity(a)
          c: f32[3,3,3] = transpose(b, perm=[1,0,2])
          y: f32[3,3,3] = exp(c)
          return y
        }
        """,
    ),
    Fault(
        "a wide border, made of two narrow ones, goes into a convolution too narrow",
        "two rules",
        ("merge_pads", "pad_into_conv"),
        [
            when(
                "pad_into_conv",
                lambda amounts, **_: int(amounts.stored.array().max()) > 1,
                lambda x, w, bias, attrs=None, **_: o.conv(
                    o.neg(x), w, strides=(1, 1), pads=(2, 2, 2, 2), dilations=(1, 1)
                ),
            )
        ],
        """
        graph g(x: f32[1,2,3,5], w: f32[3,2,3,3]) {
          const p: i64[8] = literal(0,0,1,1,0,0,1,1)
          const q: i64[8] = literal(0,0,1,1,0,0,1,1)
          a: f32[1,2,5,7] = pad(x, p)
          b: f32[1,2,7,9] = pad(a, q)
          y: f32[1,3,5,7] = conv(b, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          return y
        }
        """,
    ),
    Fault(
        "a folded constant is merged with the sign it had before",
        "two rules",
        ("fold_constants", "merge_multiplications"),
        [becomes("merge_multiplications", operand(1, constant(lambda c: -c)))],
        """
        graph g(x: f32[5,3]) {
          const a: f32[3] = literal(3.0,5.0,-2.0)
          const b: f32[3] = literal(0.5,1.0,2.0)
          e: f32[3] = exp(b)
          c: f32[5,3] = mul(x, a)
          d: f32[5,3] = mul(c, e)
          y: f32[5,3] = tanh(d)
          return y
        }
        """,
    ),
]

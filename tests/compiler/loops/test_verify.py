from dataclasses import replace

import pytest

from compiler.loops.text import parse_kernel
from compiler.loops.verify import BadKernel, verify_kernel

GOOD = {
    "an ordinary loop": "for i in 0..8 { y[i] = x[i] }",
    "a guarded read": "for i in 0..8 { y[i] = inside([(i-2, 8)], x[i-2], f32(0.0)) }",
    "what a guard leaves over": "for i in 0..8 { y[i] = inside([(i, 3)], x[i], x[i-3]) }",
    "an offset within a guard": "for i in 0..8 { y[i] = inside([(i-1, 6)], x[i+1], f32(0.0)) }",
    "a prefetch anywhere": "prefetch x[1000]",
    "unrolled inside vector": "vector v in 0..4 { unroll u in 0..2 { y[2*v+u] = x[v] } }",
    "division back into range": "for i in 0..64 { y[i//8] = x[i%8] }",
    "an empty loop": "for i in 5..3 { y[100] = x[100] }",
    "register lanes": "unroll m in 0..2 { vector n in 0..4 { r[m, n] = x[n] } }",
    "iterations of own places": "parallel p in 0..2 { for i in 4*p..4*p+4 { y[i] = x[i] } }",
    "one iteration": "parallel p in 0..4 { if eq(index_i64(p), i64(2)) { y[0] = x[0] } }",
    "several reads of one lane": "vector n in 0..8 { y[n] = r[1, 3] }",
}

BAD = {
    "has rank": "y[0, 1] = x[0]",
    "runs from": "for i in 0..9 { y[i] = x[0] }",
    "runs from 0 to 8": "for i in 0..9 { y[0] = x[i] }",
    "runs from -1 to 5": "for i in 0..8 { y[i] = inside([(i-1, 8)], x[i-2], f32(0.0)) }",
    "stores must not change it": "x[0] = f32(0.0)",
    "no enclosing loop": "y[i] = x[0]",
    "y has type f32": "y[0] = i32(0)",
    "all lanes": "vector v in 0..8 { y[0] = x[v] }",
    "all iterations of p": "parallel p in 0..2 { for i in 0..4 { y[i] = x[i+4*p] } }",
    "inside the vector loop": "vector v in 0..2 { vector u in 0..2 { y[2*v+u] = x[u] } }",
    "cannot be inside": "vector v in 0..2 { for u in 0..2 { y[2*v+u] = x[u] } }",
    "two nested loops": "for i in 0..2 { for i in 0..2 { y[i] = x[i] } }",
    "needs constant bounds": "for i in 0..2 { unroll j in 0..i { y[j] = x[j] } }",
    "a for loop": "for m in 0..2 { r[m, 0] = x[m] }",
    "a vector loop": "vector m in 0..2 { r[m, 0] = x[m] }",
    "must be contiguous": "vector n in 0..2 { r[0, 2*n] = x[n] }",
    "no cache line": "prefetch r[0, 0]",
}


def kernel(body: str):
    return parse_kernel(
        f"kernel k(x: f32[8] input, y: f32[8] output) {{ register r: f32[2,4] {body} }}"
    )


@pytest.mark.parametrize("name", GOOD)
def test_rules_are_kept_by(name: str):
    verify_kernel(kernel(GOOD[name]))


@pytest.mark.parametrize("name", BAD)
def test_a_broken_rule_is_named(name: str):
    with pytest.raises(BadKernel, match=name):
        verify_kernel(kernel(BAD[name]))


def test_an_unknown_buffer_is_refused():
    k = kernel("prefetch x[0]")
    with pytest.raises(BadKernel, match="x is not a buffer"):
        verify_kernel(replace(k, params=k.params[1:]))

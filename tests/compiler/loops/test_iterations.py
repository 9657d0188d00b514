"""Tests of enumerating the elements that an iteration accesses, for bounds that vary."""

from __future__ import annotations

import pytest

from compiler.compute.statements import Loop
from compiler.loops.iterations import is_made_before_read, iterations_are_disjoint
from compiler.loops.text import parse_kernel


def loop_and_buffer(body: str):
    text = f"kernel k(x: f32[12] input, t: f32[6] temporary, y: f32[12] output) {{ {body} }}"
    k = parse_kernel(text)
    (loop,) = k.body
    assert isinstance(loop, Loop)
    return loop, k.buffers


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in 0..3 { for j in 4*i..4*i+4 { y[j] = x[j] } }", True),
        ("for i in 0..3 { for j in 4*i..min(4*i+5, 12) { y[j] = x[j] } }", False),
        ("for i in 0..3 { for j in 0..(i+1)//3 { y[11] = x[j] } }", True),
        ("for i in 0..3 { for j in 0..(i+2)//3 { y[11] = x[j] } }", False),
        ("for i in 0..3 { y[i] = y[(i+1)%3] }", False),
    ],
)
def test_turns_are_apart_when_no_place_comes_twice(body: str, expected: bool):
    loop, buffers = loop_and_buffer(body)
    assert iterations_are_disjoint(loop, buffers["y"]) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for j in 0..6 { t[j] = x[i+j] } for j in 0..6 { y[i] = t[5-j] }", True),
        ("for j in 0..5 { t[j] = x[i+j] } for j in 0..6 { y[i] = t[5-j] }", False),
        ("for j in 0..2 { for k in 0..3 { t[3*j+k] = x[k] } } for j in 0..6 { y[i] = t[j] }", True),
        (
            "for j in 0..2 { for k in 0..2 { t[3*j+k] = x[k] } } for j in 0..6 { y[i] = t[j] }",
            False,
        ),
        ("for j in 0..6 { t[j] = x[j] y[i] = t[j] }", True),
        ("for j in 0..5 { t[j] = x[j] y[i] = t[j+1] }", False),
        ("for j in 0..6 { y[i] = t[j] } for j in 0..6 { t[j] = x[j] }", False),
        ("for j in 0..i { t[j] = x[j] } for j in 0..i { y[i] = t[j] }", True),
        ("for j in 0..i { t[j] = x[j] } for j in 0..i+1 { y[i] = t[j] }", False),
        ("if gt(x[i], f32(0.0)) { t[0] = x[i] } y[i] = t[0]", False),
    ],
)
def test_what_a_turn_reads_was_made_in_it(body: str, expected: bool):
    loop, buffers = loop_and_buffer(f"for i in 0..5 {{ {body} }}")
    assert is_made_before_read((loop,), buffers["t"]) == expected

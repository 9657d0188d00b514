import numpy as np
import pytest

from compiler.loops.interpret import interpret
from compiler.loops.text import parse_kernel
from tests.compiler.loops.test_text import DENSE


def test_the_example_kernel_is_a_matrix_product():
    rng = np.random.default_rng(0)
    x, w = rng.random((4, 64)).astype("f"), rng.random((2, 64, 16)).astype("f")
    y = np.zeros((4, 2, 16), np.float32)
    interpret(parse_kernel(DENSE), {"x": x, "w": w, "y": y})
    np.testing.assert_allclose(y, np.einsum("mk,okn->mon", x, w), rtol=1e-5)


def run(body: str, n: int = 8):
    k = parse_kernel(f"kernel k(x: f32[8] input, y: f32[{n}] output) {{ {body} }}")
    x, y = np.arange(8, dtype=np.float32), np.zeros(n, np.float32)
    interpret(k, {"x": x, "y": y})
    return y.tolist()


def test_loops_run_in_order_and_bounds_may_depend_on_loops():
    found = run(
        "for i in 0..8 { y[i] = f32(0.0) for j in i..min(8, i+2) { y[i] = add(y[i], x[j]) } }"
    )
    assert found == [1, 3, 5, 7, 9, 11, 13, 7]


def test_a_guard_chooses_and_protects():
    assert run("vector i in 0..8 { y[i] = inside([(i-6, 8)], x[i-6], f32(-1.0)) }") == [
        *[-1] * 6,
        0,
        1,
    ]


def test_a_guard_protects_where_it_does_not_hold_too():
    body = "i in 0..8 { y[i] = inside([(i-4, 8)], x[i-4], x[i+4]) }"
    assert run(f"vector {body}") == run(f"for {body}") == [4, 5, 6, 7, 0, 1, 2, 3]


@pytest.mark.parametrize("place", ["i//2", "i%3", "3", "min(i, 6)"])
def test_colliding_lanes_are_an_error(place: str):
    with pytest.raises(AssertionError, match="lanes collide"):
        run(f"vector i in 0..8 {{ y[{place}] = x[i] }}")


def test_a_single_lane_collides_with_nobody():
    assert run("vector i in 5..6 { y[3] = x[i] }") == [0, 0, 0, 5, 0, 0, 0, 0]
    assert run("vector i in 5..5 { y[3] = x[i] }") == [0] * 8


@pytest.mark.parametrize(
    ("to", "origin"),
    [
        ("i", "i"),
        ("7-i", "i"),
        ("2*i-3", "i+1"),
        ("i+1", "3*i-6"),
        ("4*(i%2)+i//2", "i+2"),
        ("i", "5"),
        ("i", "i//2+i%2"),
    ],
)
def test_lanes_compute_what_steps_do(to: str, origin: str):
    """For lanes that are contiguous, strided, reversed, unordered, or at one address."""
    body = f"i in 2..5 {{ y[{to}] = add(x[{origin}], x[i]) }}"
    assert run(f"vector {body}") == run(f"for {body}")


@pytest.mark.parametrize("shift", [-7, -3, -1, 0, 2, 4, 7])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_a_guard_protects_each_lane(shift: int, step: int):
    guarded = f"inside([({step}*i+{shift}, 8)], x[{step}*i+{shift}], x[i])"
    body = f"i in 1..6 {{ y[i] = {guarded} }}"
    assert run(f"vector {body}") == run(f"for {body}")


@pytest.mark.parametrize(
    "body",
    [
        "y[8] = x[0]",
        "for i in 0..9 { y[0] = x[i] }",
        "y[0] = x[-1]",
        "vector i in 0..8 { y[i] = x[i+1] }",
        "vector i in 0..8 { y[i] = x[i-1] }",
        "vector i in 0..4 { y[i] = x[3*i-1] }",
        "vector i in 0..4 { y[3*i] = x[i] }",
        "vector i in 0..4 { y[i-1] = x[i] }",
        "vector i in 0..4 { y[i] = x[4-2*i] }",
        "vector i in 0..4 { y[i] = x[8] }",
        "vector i in 0..8 { y[i] = inside([(i-6, 8)], x[i+1], x[i]) }",
    ],
)
def test_an_index_outside_is_an_error(body: str):
    with pytest.raises(AssertionError, match="out of bounds of an axis of size 8"):
        run(body)


def test_arrays_must_fit():
    k = parse_kernel("kernel k(x: f32[8] input) { }")
    with pytest.raises(AssertionError, match="got the shape"):
        interpret(k, {"x": np.zeros(7, np.float32)})
    with pytest.raises(AssertionError, match="got float64"):
        interpret(k, {"x": np.zeros(8)})

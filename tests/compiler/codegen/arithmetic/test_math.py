"""Tests of the accuracy of generated functions in units of the last place, at all magnitudes."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from compiler.loops.text import parse_kernel
from compiler.targets.target import TARGETS, Target, host
from tests.accuracy import (
    COMPOSITIONS,
    FUNCTIONS,
    Subject,
    apply,
    errors_in_ulp,
    exact,
    is_within,
    patterns,
    worst,
)
from tests.kernel_runs import Array, run_native

SUBJECTS = [*FUNCTIONS, *COMPOSITIONS]
NAMED = {s.name: s for s in FUNCTIONS}

EDGES = np.array(
    [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-39, 3e38, -3e38, 1, -1, 88.7, 88.8, -87.4,
     -103.9, -104, 150, -150, 0.625, 9.1, -9.1, 3.99, 4.01, 1e30, -1e30, 14.3, -14.3, 2.0**126,
     1.9 * 2.0**127, -13, 1.0000001],
    np.float32,
)  # fmt: skip


def older_machines() -> list[Target]:
    """Return targets with fewer instructions than this machine, which it can run."""
    here = host()
    found = [t for t in TARGETS.values() if t.is_x86 and here.is_x86]
    return [
        t
        for t in found
        if set(filter(None, t.features.split(",")))
        <= {*here.features.split(","), "-prefer-256-bit"}
    ]


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_vectors_are_accurate_over_all_f32_numbers(subject: Subject) -> None:
    found = worst(subject, patterns(2053))
    assert is_within(found.error, subject.limit), f"{found.error} units at {found.at!r}"


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_single_numbers_are_as_accurate(subject: Subject) -> None:
    found = worst(subject, patterns(60013), vector=False)
    assert is_within(found.error, subject.limit), f"{found.error} units at {found.at!r}"


@pytest.mark.parametrize("target", older_machines(), ids=lambda t: t.name)
def test_machines_with_fewer_instructions_are_as_accurate(target: Target) -> None:
    for subject in SUBJECTS:
        found = worst(subject, patterns(300007), target=target)
        assert is_within(found.error, subject.limit + 1), f"{subject}: {found}"


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_edges_come_out_as_they_should(subject: Subject, vector: bool) -> None:
    error = errors_in_ulp(
        apply(subject, EDGES, vector=vector), exact(subject, EDGES), subject.floor
    )
    wrong = [(x, e) for x, e in zip(EDGES, error, strict=True) if not is_within(e, subject.limit)]
    assert wrong == []


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_every_half_precision_number_is_rounded_once(subject: Subject, dtype: type) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    error = errors_in_ulp(apply(subject, x), exact(subject, x), subject.floor)
    assert error.max() < 0.51, x[int(error.argmax())]


IN_F64 = [s for s in SUBJECTS if "erf" not in s.name and "cdf" not in s.name and s.name != "gelu"]


@pytest.mark.parametrize("subject", IN_F64, ids=str)
def test_f64_is_as_accurate_in_its_own_units(subject: Subject) -> None:
    assert np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant
    chance = np.random.default_rng(0)
    x = np.concatenate([
        np.ldexp(chance.uniform(-2, 2, 20000), chance.integers(-60, 60, 20000)),
        chance.uniform(-20, 20, 20000), chance.uniform(-1, 1, 20000), EDGES.astype(np.float64),
    ])  # fmt: skip
    x = x[: len(x) // 16 * 16]
    right = exact(subject, x, np.longdouble)
    error = errors_in_ulp(apply(subject, x), right, subject.floor)
    assert is_within(float(error.max()), subject.limit), x[int(error.argmax())]


def _normal_cdf(x: float) -> decimal.Decimal:
    """Return the series 1/2 + density * (x + x**3/3 + x**5/15 + ...), with many digits."""
    with decimal.localcontext(decimal.Context(prec=400, Emin=-9999, Emax=9999)):
        d = decimal.Decimal(x)
        pi = decimal.Decimal(
            "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
        )
        total = term = d
        n = 1
        while abs(term) > decimal.Decimal(10) ** -390 * (1 + abs(total)):
            n += 2
            term = term * d * d / n
            total += term
        return decimal.Decimal("0.5") + total * (-d * d / 2).exp() / (2 * pi).sqrt()


@pytest.mark.parametrize(("name", "limit"), [("normal_cdf", 4), ("erf", 2)])
def test_distributions_in_f64_agree_with_their_series(name: str, limit: int) -> None:
    x = np.random.default_rng(0).uniform(-5, 5, 48)
    argument = x * math.sqrt(2) if name == "erf" else x
    made = apply(NAMED[name], x)
    for value, y, got in zip(x, argument, made, strict=True):
        right = _normal_cdf(y)
        right = 2 * right - 1 if name == "erf" else right
        # The argument of erf was rounded when it was divided by sqrt(2).
        slack = abs(value) * math.exp(-value * value) * 2**-52 if name == "erf" else 0.0
        off = abs(decimal.Decimal(float(got)) - right)
        assert float(off) <= limit * math.ulp(float(right)) + slack, value


def powers(x: Array, y: Array, vector: bool, target: Target | None) -> Array:
    """Return the results of generated code for x to the power y, in vectors or scalars."""
    n = len(x)
    at, lanes = ("i + 16*o", 16) if vector else ("o", 1)
    body = f"z[{at}] = pow(x[{at}], y[{at}])"
    body = f"vector i in 0..16 {{ {body} }}" if vector else body
    kernel = parse_kernel(
        f"kernel k(x: f32[{n}] input, y: f32[{n}] input, z: f32[{n}] output) {{"
        f" for o in 0..{n // lanes} {{ {body} }} }}"
    )
    arrays: dict[str, Array] = {"x": x, "y": y, "z": np.zeros_like(x)}
    run_native(kernel, arrays, target)
    return arrays["z"]


def grid_of_powers() -> tuple[Array, Array]:
    base = np.array([1e-30, 1e-45, 1e-39, 1e-3, 0.5, 0.9999999, 1, 1.0000001, 1.5, 2, 10, 1e5, 3e38,
                     0, np.inf, np.nan])  # fmt: skip
    power = np.array([0, 1, 2, 3, 0.5, -0.5, -1, -2, -3, 0.3333333, 7, 64, 127, -149, 1e-5, 1e-45,
                      16777215, 16777216, 8388607.5, 1e30, np.inf, np.nan])  # fmt: skip
    both = (np.concatenate([v, -v]) for v in (base, power))
    x, y = (np.ravel(g).astype(np.float32) for g in np.meshgrid(*both))
    return x, y


def random_powers(n: int) -> tuple[Array, Array]:
    """Return pairs of random f32, and pairs whose power is an f32."""
    chance = np.random.default_rng(0)
    any_two = chance.integers(0, 1 << 32, (2, n), np.uint64).astype(np.uint32).view(np.float32)
    x = np.exp2(chance.uniform(-126, 127, n)).astype(np.float32)
    x[: n // 2] = chance.uniform(0.9, 1.1, n // 2).astype(np.float32)
    y = (chance.uniform(-150, 128, n) / np.log2(x.astype(np.float64))).astype(np.float32)
    return np.concatenate([any_two[0], x]), np.concatenate([any_two[1], y])


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("target", [None, *older_machines()], ids=lambda t: t.name if t else "host")
@pytest.mark.parametrize("made", [grid_of_powers, lambda: random_powers(1 << 16)])
def test_powers_are_accurate(
    made: Callable[[], tuple[Array, Array]], target: Target | None, vector: bool
) -> None:
    x, y = made()
    with np.errstate(all="ignore"):
        right = np.power(x.astype(np.float64), y.astype(np.float64))
    error = errors_in_ulp(powers(x, y, vector, target), right)
    at = int(error.argmax())
    assert error.max() < 0.51, (x[at], y[at])


@pytest.mark.parametrize("target", [None, *older_machines()], ids=lambda t: t.name if t else "host")
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_turns_next_to_multiples_of_a_quarter_are_accurate(
    name: str, target: Target | None
) -> None:
    """The remainder is small, so all of its digits come from the low parts of pi/2."""
    n = np.concatenate([np.arange(1, 4097), np.arange(37630, 41726)])
    near = (n * (math.pi / 2)).astype(np.float32)
    x = np.concatenate([near, np.nextafter(near, np.float32(0)), -near])
    error = errors_in_ulp(apply(NAMED[name], x, target=target), exact(NAMED[name], x))
    assert is_within(float(error.max()), NAMED[name].limit), x[int(error.argmax())]


def test_a_number_has_one_sine_whatever_its_neighbours_are() -> None:
    x = np.linspace(-40, 40, 64, dtype=np.float32)
    among_large = np.stack([x, x * np.float32(1e6)], 1).ravel()
    assert (apply(NAMED["sin"], among_large)[::2] == apply(NAMED["sin"], x)).all()


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_a_dense_sweep_stays_within_the_limits(subject: Subject) -> None:
    found = worst(subject, patterns(61))
    assert is_within(found.error, subject.limit), f"{found.error} units at {found.at!r}"

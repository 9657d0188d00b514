"""Tests of the quantities of kernels' code for other targets."""

from __future__ import annotations

import pytest

from tests.course.lessons import error_of, ran, values

PRODUCT = """```graph {name=product}
graph product(x: f32[12,40]) {
  const w: f32[40,64] = seeded(1, 0.1)
  y = matmul(x, w)
  return y
}
```

```schedule {name=tile of=product target=x86-64-v3}
Y: split(n, 16, no, nl)
Y: split(m, 6, mo, mi)
Y: reorder(no, mo, k, mi, nl)
Y: unroll(mi)
Y: vectorize(nl)
```
"""

MACHINES = """```experiment {name=machines of=product}
measure = ["lanes", "fused_multiply_adds", "vector_registers", "spills", "code_bytes"]

[case.wide]
target = "x86-64-v4"
schedule = "tile"

[case.default]
schedule = "tile"

[case.narrow]
target = "aarch64"
schedule = { y = "Y: unroll(k)" }

[case.web]
target = "wasm32-simd128"
```
"""


def test_a_case_may_name_a_target() -> None:
    run = ran(PRODUCT, MACHINES, seconds=0.01)
    assert values(run, "tile")["registers"] == 6 * 2 + 2 + 1
    found = values(run, "machines")
    assert (found["wide.lanes"], found["default.lanes"]) == (16, 8)
    assert (found["wide.fused_multiply_adds"], found["default.fused_multiply_adds"]) == (6, 12)
    assert found["default.vector_registers"] == 15
    assert found["web.fused_multiply_adds"] == found["web.vector_registers"] == 0
    assert found["web.code_bytes"] > 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"aarch64"', '"host"', "no target is named 'host'"),
        ('"lanes",', '"lanes", "seconds",', "seconds cannot be measured for another target"),
        ("{ y =", "{ z =", "no kernel computes 'z'"),
    ],
)
def test_wrong_cases_are_refused(old: str, new: str, words: str) -> None:
    error = error_of(PRODUCT, MACHINES.replace(old, new), seconds=0.01)
    assert words in error.message


def test_a_schedule_names_a_known_target() -> None:
    assert error_of(PRODUCT.replace("x86-64-v3", "pdp-11")).code == "E-TARGET-NAME"

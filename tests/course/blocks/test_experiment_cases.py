"""Tests of cases of experiments: schedules, orders of launches, limits, layouts, devices."""

from __future__ import annotations

import os

import pytest

from course.quantities.compile_times import CACHE
from tests.course.lessons import error_of, ran, values

PRODUCT = """```graph {name=product}
graph product(x: f32[40,70]) {
  const w: f32[70,50] = seeded(1, 0.1)
  y = matmul(x, w)
  return y
}
```

```schedule {name=lanes of=product}
Y: split(n, 8, no, nl)
Y: reorder(m, no, k, nl)
Y: vectorize(nl)
```
"""

SCHEDULED = """```experiment {name=speed of=product}
measure = ["instructions", "vector_instructions", "seconds"]

[case.plain]

[case.lanes]
schedule = "lanes"
```
"""


def test_a_case_may_have_the_schedule_of_a_block() -> None:
    plain = PRODUCT + "\n```schedule {name=plain of=product}\n```\n"
    text = SCHEDULED.replace("[case.plain]\n", '[case.plain]\nschedule = "plain"\n')
    found = values(ran(plain, text, seconds=0.02), "speed")
    assert found["plain.vector_instructions"] < found["lanes.vector_instructions"]
    assert found["lanes.seconds"] > 0


def test_a_schedule_of_a_case_must_exist() -> None:
    error = error_of(PRODUCT, SCHEDULED.replace('"lanes"', '"product"'))
    assert (error.code, "has a schedule" in error.message) == ("E-LESSON-RESULT", True)


BRANCHES = """```graph {name=branches}
graph branches(x: f32[4,20]) {
  const up: f32[20,700] = seeded(1, 0.1)
  const wide: f32[20,900] = seeded(2, 0.1)
  a = matmul(x, up)
  b = matmul(x, wide)
  c = reduce_sum(a, axes=[1], keepdims=true)
  d = reduce_sum(b, axes=[1], keepdims=true)
  y = add(c, d)
  return y
}
```
"""

ORDERS = """```experiment {name=orders of=branches}
measure = ["peak_bytes", "live_bytes"]

[case.given]
order = "given"

[case.best]
order = "best"
```
"""


def test_a_case_may_have_an_order_of_launches() -> None:
    found = values(ran(BRANCHES, ORDERS), "orders")
    assert found["best.live_bytes"] < found["given.live_bytes"]
    error = error_of(BRANCHES, ORDERS.replace('"given"', '"chance"'))
    assert "no order is named 'chance'" in error.message


RECOMPUTED = """```graph {name=skip}
graph skip(x: f32[30,40]) {
  const up: f32[40,500] = seeded(1, 0.1)
  const down: f32[500,40] = seeded(2, 0.1)
  a = matmul(x, up)
  b = matmul(a, down)
  c = matmul(b, up)
  d = matmul(c, down)
  e = matmul(d, up)
  y = add(a, e)
  return y
}
```

```experiment {name=limits of=skip}
measure = ["kernels", "peak_bytes"]

[case.free]

[case.limited]
memory_limit = 121000
```
"""


def test_a_memory_limit_recomputes_values() -> None:
    found = values(ran(RECOMPUTED), "limits")
    assert found["limited.peak_bytes"] <= 121_000 < found["free.peak_bytes"]
    assert found["limited.kernels"] > found["free.kernels"]
    error = error_of(RECOMPUTED.replace("121000", "900"))
    assert error.code == "E-LIMIT-ARENA"


IMAGES = """```graph {name=images}
graph images(x: f32[1,32,9,14]) {
  const w: f32[64,32,3,3] = seeded(1, 0.1)
  const v: f32[48,64,3,3] = seeded(2, 0.1)
  a = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  y = conv(a, v, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  return y
}
```
"""


def test_copies_between_layouts_are_counted() -> None:
    found = values(ran(IMAGES, "```pipeline {name=laid of=images}\nassign_layout\n```\n"), "laid")
    assert (found["before.copies"], found["after.copies"]) == (0, found["applied.relayout"])
    assert found["after.copies"] > 0


def test_live_bytes_follow_the_order_of_the_text() -> None:
    found = values(ran(BRANCHES), "branches")
    # The values a and b are live together, and c is made beside them.
    assert found["listed_live_bytes"] == (4 * 700 + 4 * 900 + 4) * 4
    lines = str(BRANCHES).splitlines()
    c = next(line for line in lines if line.startswith("  c ="))
    lines.remove(c)
    lines.insert(next(i for i, x in enumerate(lines) if x.startswith("  b =")), c)
    assert values(ran("\n".join(lines) + "\n"), "branches")["listed_live_bytes"] == (3600 + 8) * 4


PLACED = """```experiment {name=placed of=product}
measure = ["makespan", "makespan_bound", "one_device", "device_gain", "transfers"]

[case.gpu]
devices = "gpu"
scheduler = "heft"

[case.demand]
devices = "npu"
ahead = 0
```
"""


def test_a_case_may_run_on_devices() -> None:
    found = values(ran(PRODUCT, PLACED), "placed")
    assert found["gpu.makespan_bound"] <= found["gpu.makespan"] <= found["gpu.one_device"]
    gain = found["gpu.one_device"] / found["gpu.makespan"]
    assert found["gpu.device_gain"] == pytest.approx(gain)
    assert found["demand.makespan"] >= found["demand.makespan_bound"] > 0


def test_transfers_and_their_bytes_are_counted() -> None:
    large = PRODUCT.replace("f32[40,70]", "f32[900,700]").replace("f32[70,50]", "f32[700,800]")
    large = large.split("```schedule")[0]
    text = PLACED.replace('"makespan_bound"', '"transferred_bytes"')
    found = values(ran(large, text), "placed")
    # The input goes to the card, and the result comes back.
    assert found["gpu.transfers"] == 2
    assert found["gpu.transferred_bytes"] == 4 * (900 * 700 + 900 * 800)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('devices = "npu"', 'devices = "abacus"', "no platform is named 'abacus'"),
        ('"heft"', '"luck"', "no scheduler is named 'luck'"),
        ('devices = "npu"', 'order = "best"', "the case names no devices"),
    ],
)
def test_wrong_devices_are_refused(old: str, new: str, words: str) -> None:
    assert words in error_of(PRODUCT, PLACED.replace(old, new)).message


OPEN = """```graph {name=rows}
graph rows(x: f32[T,12]) {
  const w: f32[12,20] = seeded(1, 0.1)
  y = matmul(x, w)
  return y
}
```

```experiment {name=runs of=rows}
measure = ["compile_seconds", "seconds"]

[case.open]
run = { T = 9 }

[case.bucket]
buckets = { T = [16] }
run = { T = 9 }

[case.exact]
sizes = { T = 9 }

[ratio.runs]
quantity = "compile_seconds"
per = "seconds"
over = ["exact", "exact"]
```
"""


def test_an_open_program_runs_at_the_sizes_of_a_case() -> None:
    found = values(ran(OPEN, seconds=0.02), "runs")
    assert min(found["open.seconds"], found["bucket.seconds"], found["exact.seconds"]) > 0
    # The bucket is compiled in addition to the program for all sizes.
    assert found["bucket.compile_seconds"] > 0
    assert found["runs"] == pytest.approx(found["exact.compile_seconds"] / found["exact.seconds"])


COUNTED = """```experiment {name=counts of=rows}
measure = ["flops", "kernels", "fallbacks"]

[case.open]
run = { T = 9 }

[case.exact]
sizes = { T = 9 }
```
"""


def test_counts_of_an_open_program_are_those_of_the_run() -> None:
    found = values(ran(OPEN, COUNTED), "counts")
    for name in ("flops", "kernels", "fallbacks"):
        assert found[f"open.{name}"] == found[f"exact.{name}"]
    assert found["open.flops"] == 2 * 9 * 12 * 20


def test_the_results_of_an_open_graph_need_no_sizes() -> None:
    found = values(ran(OPEN), "rows")
    assert found["nodes"] == 1
    assert not {"flops", "kernels", "peak_bytes"} & found.keys()


def test_without_seconds_nothing_is_compiled_for_its_time() -> None:
    assert not values(ran(OPEN), "runs")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("run = { T = 9 }", "run = { N = 9 }", "no open size 'N'"),
        ("run = { T = 9 }", "run = { T = 0 }", "sizes are positive"),
        ("[16]", "[0.5]", "list of integers"),
        ('"compile_seconds", ', '"compile_seconds", "flops", ', "flops has no value for buckets"),
        ('per = "seconds"', 'per = "bytes"', "a ratio has a measured quantity"),
    ],
)
def test_wrong_sizes_of_runs_are_refused(old: str, new: str, words: str) -> None:
    assert words in error_of(OPEN.replace(old, new)).message


def test_a_measured_compilation_leaves_the_cache_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, "kept")
    ran(OPEN, seconds=0.02)
    assert os.environ[CACHE] == "kept"
    monkeypatch.delenv(CACHE)
    ran(OPEN, seconds=0.02)
    assert CACHE not in os.environ

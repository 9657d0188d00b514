"""Tests of the tasks of docs/tour.md, walked as a new user walks them.

Each answer is compared with a source independent of the page: the compiler called directly, or an
exhaustive search over the numbers that the page received.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import compiler
from app.samples import samples
from compiler.figures.models import value_bytes
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.reference import evaluate_graph
from compiler.runtime.program import Program
from compiler.trace import Event
from compiler.units import bytes_text
from tests.browser.playground import COMPILE_MS, Playground
from tests.browser.test_sharing import make_link, state_of

SIZES = {"image": (1, 1, 8, 8)}


def fragment_of(browser: Browser, server: str, sample: str) -> str:
    """Return the link to a sample, compiled once for all tests of this file."""
    page = browser.new_page(base_url=server)
    link = Playground(page).walk(sample).fragment()
    page.close()
    return link


@pytest.fixture(scope="module")
def digits(browser: Browser, server: str) -> str:
    """The small convolutional network: thirteen nodes, two convolutions."""
    return fragment_of(browser, server, "digits_cnn")


@pytest.fixture(scope="module")
def squeezenet(browser: Browser, server: str) -> str:
    """SqueezeNet, whose kernels take longer than their calls."""
    return fragment_of(browser, server, "squeezenet")


@pytest.fixture(scope="module")
def program() -> Program:
    """The same small network, compiled in this process instead of on the server."""
    return compiler.compile(compiler.load(samples()["digits_cnn"].path), inputs=SIZES)


def events_of(program: Program) -> Sequence[Event]:
    """Return the effect of each pass, in order."""
    assert program.trace is not None
    return program.trace.events


def answer(page: Page, path: str) -> dict[str, Any]:
    """Return the server's answer about the open job."""
    job = re.search(r"[#&]job=([\w-]+)", page.url)
    assert job, page.url
    return page.request.get(f"/api/v1/jobs/{job[1]}/{path}").json()


def test_the_most_expensive_kernel_and_why(page: Page, squeezenet: str) -> None:
    playground = Playground(page).follow(squeezenet)
    pane = playground.show_pane("profile")
    expect(pane.locator("[data-part=table] tbody tr").first).to_be_visible()
    pane.locator("[data-part=table] tbody tr").first.locator("button").click()
    says = pane.locator("[data-part=says]")
    kernels = answer(page, "result")["kernels"]
    slowest = max(kernels, key=lambda each: each["median_s"] or 0)
    expect(says).to_contain_text(slowest["name"])
    expect(says).to_contain_text(
        re.compile(r"At least .+ bound by (arithmetic|L\d|DRAM|call overhead)")
    )
    # The next pane shows the distance from the roofline.
    playground.show_pane("roofline")
    expect(says).to_contain_text(slowest["name"])
    expect(says).to_contain_text(re.compile(r"% of its ceiling"))


def test_why_two_nodes_are_not_one_kernel(page: Page, digits: str, program: Program) -> None:
    playground = Playground(page).follow(digits)
    playground.part("search").fill("relu1")
    playground.part("search").press("Enter")
    playground.expect_laid_out()
    x, y = map(float, (playground.part("stage").get_attribute("data-focus-at") or "").split(","))
    # The line leaves the node; its other end is found by looking downward along the line.
    tip = page.locator(".graph-tip")
    canvas = playground.part("stage").locator("canvas").first
    below = 20
    while not (tip.is_visible() and "→" in tip.inner_text()) and below < 60:
        below += 2
        canvas.hover(position={"x": x, "y": y + below})
    expect(tip).to_contain_text("relu → max_pool")
    canvas.click(position={"x": x, "y": y + below + 4})
    expect(playground.pane.locator("h2")).to_have_text("max_pool")
    apart = playground.pane.locator("[data-verdict=apart]", has_text="relu1.out").first
    expect(apart).to_contain_text("two kernels")
    told = str(program.ledger.why("relu1", "pool1")).splitlines()[0]
    expect(apart).to_contain_text(told.split("not fused: ")[1])
    apart.get_by_role("button", name=re.compile("fuse")).click()
    expect(playground.pane.locator(".step[aria-expanded=true]")).to_have_attribute(
        "data-outcome", "declined"
    )


def test_which_pass_cut_memory_most(page: Page, digits: str, program: Program) -> None:
    playground = Playground(page).follow(digits)
    playground.part("order").select_option("bytes")
    rows = page.locator("[data-part=list] .pass-row")
    most = max(events_of(program), key=lambda e: held_bytes(e.before) - held_bytes(e.after))
    expect(rows.first.locator(".pass-name")).to_have_text(most.name)
    before, after = value_bytes(most.before), value_bytes(most.after)
    assert before is not None
    assert after is not None
    fewer = f"{bytes_text(after - before)} of values"
    expect(rows.first.locator(".fewer", has_text="of values")).to_have_text(fewer)
    rows.first.click()
    expect(rows.first).to_have_attribute("aria-current", "step")
    playground.part("order").select_option("")
    expect(rows.first).to_have_attribute("data-stage", "0")


def held_bytes(graph: Graph) -> int:
    """Return the bytes of all constants and of all results of nodes."""
    made = [kind for node in graph.nodes for kind in node.types]
    types = [*(each.type for each in graph.constants.values()), *made]
    sizes = [kind.nbytes for kind in types if isinstance(kind, TensorType) and kind.is_static]
    return sum(sizes)


def test_from_a_node_of_the_model_to_its_instructions_and_back(
    page: Page, digits: str, program: Program
) -> None:
    playground = Playground(page).follow(digits)
    playground.part("search").fill("conv2")
    playground.part("search").press("Enter")
    pane = playground.show_pane("stack")
    sums = pane.locator("[data-part=asm] .code-line", has_text="fmadd")
    sums.first.click()
    expect(pane.locator("[data-part=loops] [data-selected]")).to_contain_text("add(acc")
    (kernel,) = (each for each in program.kernels if "conv2" in each.origins)
    expect(pane.locator("[data-level=kernel]")).to_contain_text(kernel.name)
    # In reverse: an instruction of another kernel, and the ONNX nodes that it computes.
    listing = playground.show_pane("asm")
    expect(listing.locator(".code-line[data-selected]").first).to_be_visible()
    listing.locator("[data-part=kernel]").select_option(index=0)
    listing.locator(".code-line", has_text="fmadd").first.click()
    level = playground.show_pane("stack").locator("[data-level=model]")
    expect(level).to_contain_text(program.kernels[0].origins[0])
    buttons = level.locator("button").all_inner_texts()
    assert {each.split()[0] for each in buttons} == set(program.kernels[0].origins)


def test_which_buffer_makes_the_peak_and_who_takes_its_place(page: Page, squeezenet: str) -> None:
    playground = Playground(page).follow(squeezenet)
    pane = playground.show_pane("memory")
    expect(pane.locator("[data-part=culprits] button").first).to_be_visible()
    buffers = answer(page, "result")["memory"]["buffers"]
    alive = Counter[int]()
    for each in buffers:
        alive.update({step: each["size"] for step in range(each["start"], each["end"])})
    step, peak = max(alive.items(), key=lambda item: (item[1], -item[0]))
    expect(pane.locator("[data-part=fullest]")).to_contain_text(f"Peak at step {step}:")
    at_peak = [each for each in buffers if each["start"] <= step < each["end"]]
    largest = max(at_peak, key=lambda each: each["size"])
    first = pane.locator("[data-part=culprits] button").first
    expect(first).to_have_text(largest["name"])
    first.click()
    said = pane.locator("[data-part=says]")
    expect(said).to_contain_text("Its memory is reused by")
    named = said.inner_text().split("Its memory is reused by ")[1].rstrip(".").split(", ")
    assert set(named) == {each["name"] for each in next_in_place(largest, buffers)}
    assert peak <= answer(page, "result")["memory"]["peak_bytes"]


def next_in_place(left: dict[str, Any], buffers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first buffers after the end of `left` that reuse one of its bytes."""
    found: dict[int, dict[str, Any]] = {}
    later = sorted((b for b in buffers if b["start"] >= left["end"]), key=lambda b: b["start"])
    taken = np.zeros(left["size"], bool)
    for each in later:
        low = max(each["offset"] - left["offset"], 0)
        high = min(each["offset"] + each["size"] - left["offset"], left["size"])
        if low < high and not taken[low:high].all():
            found[each["buffer"]] = each
            taken[low:high] = True
    return list(found.values())


def test_which_pass_moved_the_numbers_first(page: Page, digits: str, program: Program) -> None:
    playground = Playground(page).follow(digits)
    pane = playground.show_pane("numerics")
    expect(page.locator('#pane[data-checked="done"]')).to_be_visible(timeout=COMPILE_MS)
    image = np.random.default_rng(7).random(SIZES["image"], np.float32)
    first = next(
        event.name
        for event in events_of(program)
        if not same_bits(results(event.before, image), results(event.after, image))
    )
    lead = pane.locator("[data-part=lead]")
    expect(lead).to_contain_text(re.compile(rf"first pass that changes a number is \d+ {first}\b"))
    lead.locator("[data-stage]").first.click()
    row = page.locator('.pass-row[aria-current="step"]')
    expect(row.locator(".pass-name")).to_have_text(first)
    expect(row.locator(".pass-error")).to_have_attribute("data-moved", "")


def results(graph: Graph, image: np.ndarray) -> list[np.ndarray]:
    """Return the results of a graph for an image, by the reference."""
    return [np.asarray(each) for each in evaluate_graph(graph, {"image": image}).values()]


def same_bits(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(
        np.array_equal(x.view(np.uint32), y.view(np.uint32)) for x, y in zip(a, b, strict=True)
    )


def test_whether_another_pipeline_is_faster(page: Page, digits: str) -> None:
    playground = Playground(page).follow(digits)
    pane = playground.show_pane("compare")
    pane.locator("[data-part=preset]").select_option("O0")
    pane.locator("[data-part=run]").click()
    measured = pane.locator("[data-section=compare-measured]")
    verdict = measured.locator("[data-verdict]")
    expect(verdict).to_be_visible(timeout=COMPILE_MS)
    jobs = answer(page, "beside")["jobs"]
    job = next(each for each in jobs if each["kind"] == "comparison")
    found = page.request.get(f"/api/v1/jobs/{job['id']}/comparison").json()
    expect(verdict).to_have_attribute("data-verdict", found["verdict"])
    assert (found["low"] > 1) == (found["verdict"] == "slower")


def test_how_a_kernel_looks_on_another_machine(page: Page, digits: str) -> None:
    playground = Playground(page).follow(digits)
    pane = playground.show_pane("targets")
    right = pane.locator("[data-part=right] [data-part=code]")
    expect(right).to_have_attribute("data-code", "aarch64 asm", timeout=COMPILE_MS)
    row = pane.locator(
        "[data-part=table] tbody tr", has=page.get_by_role("button", name="aarch64", exact=True)
    )
    heads = pane.locator("[data-part=table] thead th").all_inner_texts()
    fma = int(row.locator("td, th").nth(heads.index("FMA")).inner_text())
    lines = right.locator(".code-line").all_inner_texts()
    assert fma == sum(bool(re.search(r"\bf(mla|madd)\b", line)) for line in lines)
    assert fma > 0


def test_two_devices_and_which_of_them_waits(page: Page, squeezenet: str) -> None:
    playground = Playground(page).follow(squeezenet)
    pane = playground.show_pane("devices")
    body = pane.locator("[data-part=body]")
    expect(body).to_have_attribute("data-placed", "gpu iterated -1", timeout=COMPILE_MS)
    used = shares(body.locator("[data-part=use] tbody tr"))
    bars = body.locator("[data-part=table] tbody tr").all()
    cells = [bar.locator("td, th").all_inner_texts() for bar in bars]
    ends = [seconds(start) + seconds(takes) for _, _, start, takes, *_ in cells]
    for device in ("cpu", "gpu"):
        busy = sum(seconds(takes) for _, on, _, takes, *_ in cells if on == device)
        assert used[device] == pytest.approx(busy / max(ends), abs=0.01)
    assert used["cpu"] < used["gpu"]


def shares(rows: Locator) -> dict[str, float]:
    """Return name and share of the rows that have a share."""
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    return {c[0]: float(c[-1].split()[0]) / 100 for c in cells if c[-1].endswith("%")}


def seconds(text: str) -> float:
    """Return a text such as "14.4 us" as a number."""
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def test_exactly_this_view_for_somebody_else(
    page: Page, digits: str, browser: Browser, server: str
) -> None:
    playground = Playground(page).follow(digits)
    page.locator(".pass-row .pass-name").get_by_text("fuse", exact=True).click()
    playground.part("search").fill("pool1")
    playground.part("search").press("Enter")
    playground.show_pane("kernels")
    expect(page).to_have_url(re.compile("pane=kernels"))
    link = make_link(page)
    context = browser.new_context(base_url=server)
    theirs = context.new_page()
    theirs.goto(link)
    seen = Playground(theirs)
    seen.wait_for_walk()
    expect(theirs.locator("#pane tbody tr[data-selected]")).to_contain_text("pool1")
    assert state_of(theirs) == state_of(page)
    context.close()


def test_a_model_of_ones_own_with_a_mistake_in_it(page: Page, tmp_path: Path) -> None:
    playground = Playground(page).open()
    playground.part("write-examples").get_by_role("button", name="mlp").click()
    text = playground.part("write-text")
    expect(playground.part("write-says")).to_contain_text("nodes", timeout=COMPILE_MS)
    right = "def m(x: f32[2,3]):\n    return relu(x @ weight([3, 5]))\n"
    text.fill(right.replace("weight([3", "weight([4"))
    problem = playground.part("write-problems").locator("li")
    expect(problem).to_contain_text(re.compile(r"\b3\b.*\b4\b"))
    text.fill(right)
    expect(problem).to_have_count(0)
    playground.compile()
    path = tmp_path / "own.py"
    path.write_text(right)
    assert answer(page, "result")["stages"][0]["n_nodes"] == len(compiler.load(path).nodes)

"""Tests that a link restores every setting of the page in another browser."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.browser.links import JOBS, elsewhere, said, shared, written
from tests.browser.playground import COMPILE_MS, Playground
from tests.browser.serving import REPOSITORY


def declared() -> set[str]:
    """Return the fields of a fragment, by the page's table of fields."""
    text = (REPOSITORY / "static" / "js" / "state" / "url.js").read_text(encoding="utf-8")
    table = text[text.index("const FIELDS = {") :]
    rows = re.findall(r"^  (\w+): (.*)$", table[: table.index("\n};")], re.MULTILINE)
    kinds = ((name, re.match(r'(?:several|named)\("(\w+)"', kind)) for name, kind in rows)
    return {found[1] if found else name for name, found in kinds}


_SEEN = """
() => [...document.querySelectorAll(
  "main select, main input, main textarea, main details, main [aria-pressed], main [aria-sort], " +
  "main [aria-expanded], main [aria-current], main [data-part=found]"
)].filter((each) => each.type !== "file").map((each) => [
  each.closest("[data-part]")?.dataset.part ?? "",
  each.tagName,
  each.matches("select, input, textarea") ? each.value : "",
  each.checked ?? each.open ?? "",
  ...["pressed", "sort", "expanded", "current"].map((name) => each.getAttribute(`aria-${name}`)),
  each.matches("[aria-sort], [data-part=found]") ? each.textContent : "",
])
"""


def look(playground: Playground) -> dict[str, Any]:
    """Return the visible state of every pane: controls, sorted tables, folds and marked rows."""
    seen: dict[str, Any] = {}
    for pane, ready in PANES.items():
        root = playground.show_pane(pane)
        for selector, name, wanted in ready:
            expect(root.locator(selector).first).to_have_attribute(
                name, re.compile(wanted), timeout=COMPILE_MS
            )
        seen[pane] = playground.page.evaluate(_SEEN)
    return seen


PANES: dict[str, list[tuple[str, str, str]]] = {
    "steps": [("[data-step]", "data-outcome", "declined")],
    "text": [(".code-line", "data-old", ".")],
    "node": [],
    "numerics": [("[data-part=bisect-found]", "data-over", "-")],
    "stack": [],
    "memory": [("tbody tr", "data-key", ".")],
    "kernels": [("tbody tr", "data-key", ".")],
    "devices": [("[data-part=body]", "data-placed", "two-sockets min_cut 0")],
    "profile": [("tbody tr", "data-key", ".")],
    "roofline": [("tbody tr", "data-key", ".")],
    "tuning": [("[data-part=body]", "data-over", "-")],
    "schedule": [("textarea", "aria-label", ".")],
    "loops": [("[role=listbox]", "aria-label", ".")],
    "targets": [("[data-part=left] [data-part=code]", "data-code", "x86-64-v3 loops")],
    "compare": [("[data-part=code]", "data-shown", r"^\d+:\d+ asm$")],
}
"""Panes with controls, and the element that appears when a pane is complete."""


CLICK_MS, N_CLICKS = 5_000, 6
"""Ample time for the effect of a click, and the number of tries."""


def sort_by(playground: Playground, pane: str, column: str, table: str = "table") -> None:
    """Sort a table of a pane in ascending order: two clicks on the head of a column.

    A click on a table that a new result replaces at that moment is lost, so it is repeated.
    """
    root = playground.show_pane(pane).locator(f"[data-part={table}]")
    for way in ("descending", "ascending"):
        sorted_so = root.locator(f"[aria-sort={way}] [data-column={column}]")
        for _ in range(N_CLICKS):
            if sorted_so.count():
                break
            root.locator(f"[data-column={column}]").click()
            with contextlib.suppress(AssertionError):
                expect(sorted_so).to_have_count(1, timeout=CLICK_MS)
        expect(sorted_so).to_have_count(1)


def set_the_start(playground: Playground) -> None:
    """Set the state of the start screen: text, model, shapes, passes, precision, open folds."""
    page = playground.page
    page.locator("[data-part=write-examples] button").first.click()
    says = playground.part("write-says")
    expect(says).to_contain_text("ready to compile", timeout=COMPILE_MS)
    text = "def mine(x: f32[2]):\n    return relu(x)\n"
    playground.part("write").locator("textarea").fill(text)
    expect(says).to_contain_text("1 node, ready to compile", timeout=COMPILE_MS)
    written(page, "written")
    playground.pick("digits_cnn")
    shape = page.locator("[data-part=shape-fields] input").first
    shape.fill("2,1,8,8")
    shape.blur()
    playground.part("precision").select_option("fast")
    playground.part("threads").fill("2")
    playground.part("threads").blur()
    page.locator(".pipeline-row [data-part=options]:visible").first.click()
    page.locator(".pipeline-text summary").click()
    last = page.locator(".pipeline-row").last
    last.locator("[data-part=on]").uncheck(force=True)
    written(page, "shape", "precision", "threads", "pipeline", "unfolded", "on")


def set_the_walk(playground: Playground) -> None:
    """Set the state of the lists, the drawing, and the panes of the result."""
    page = playground.page
    page.locator("[data-fold]").click()
    playground.part("filter").fill("f")
    playground.part("order").select_option("bytes")
    page.locator(".passes-tools [data-part=base]").select_option("0")
    page.locator(".pass-row .pass-name").get_by_text("fuse", exact=True).click()
    page.locator("[data-view=after]").click()
    playground.part("search").fill("conv2")
    playground.part("search").press("Enter")
    playground.part("zoom-in").click()
    playground.part("color").select_option("bytes")
    page.locator("button[data-part=table]").click()

    pane = playground.show_pane("steps")
    pane.locator("[data-part=selected-only]").check()
    pane.locator("[data-outcome=declined]").first.click()
    step = pane.locator("[data-step]").first
    step.click()
    rule = pane.locator("[data-part=rule]")
    rule.select_option(index=1)
    pane = playground.show_pane("text")
    pane.locator("[data-mode=split]").click()
    pane.locator("[data-part=all]").check()
    pane = playground.show_pane("kernels")
    pane.locator("[data-side=native]").click()
    pane.locator("[data-part=selected-only]").check()
    written(page, "step", "rule", "outcome", "diff", "kernels", "find", "filter", "order")


def find_things(playground: Playground) -> None:
    """Start related jobs with options other than the defaults, and wait for them.

    All are started before the first wait, because a search for schedules takes five seconds.
    """
    page = playground.page
    pane = playground.show_pane("tuning")
    pane.locator("[data-part=kernel]").select_option("")
    pane.locator("[data-part=search]").select_option("random")
    pane.locator("[data-part=budget]").select_option("5")
    pane.locator("[data-part=start]").click()
    written(page, "tuning")
    pane = playground.show_pane("compare")
    pane.locator("[data-part=preset]").select_option("O0")
    pane.locator("[data-part=run]").click()
    written(page, "other")
    pane = playground.show_pane("run")
    pane.locator("[data-part=start]").click()
    expect(page).to_have_url(re.compile("[#&]ran="), timeout=COMPILE_MS)
    pane = playground.show_pane("devices")
    pane.locator("[data-part=platform]").select_option("two-sockets")
    pane.locator("[data-part=scheduler]").select_option("min_cut")
    pane.locator("[data-part=ahead]").select_option("0")
    pane = playground.show_pane("profile")
    pane.locator("[data-part=by]").select_option("operator")
    pane.locator("[data-part=seconds]").select_option("0.5")
    pane.locator("[data-part=again]").click()
    pane = playground.show_pane("numerics")
    expect(page.locator("#pane[data-checked=done]")).to_be_visible(timeout=COMPILE_MS)
    pane.locator("[data-part=bisect-moved]").select_option("half")
    pane.locator("[data-part=bisect-start]").click()

    found = pane.locator("[data-part=bisect-found]")
    expect(found).to_have_attribute("data-over", re.compile("-"), timeout=COMPILE_MS)
    found.locator("[data-rule]").first.uncheck()
    expect(page).to_have_url(re.compile("[#&]measured="), timeout=COMPILE_MS)
    pane = playground.show_pane("devices")
    body = pane.locator("[data-part=body]")
    expect(body).to_have_attribute("data-placed", "two-sockets min_cut 0", timeout=COMPILE_MS)
    pane.locator("[data-part=closer]").click()
    pane = playground.show_pane("compare")
    code = pane.locator("[data-part=code]")
    expect(code).to_have_attribute("data-shown", re.compile(":"), timeout=COMPILE_MS)
    pane.locator("[data-part=pairs] tbody tr").nth(1).locator("button").first.click()
    pane.locator("[data-part=level]").select_option("asm")
    pane.locator("[data-mode=unified]").click()
    pane.get_by_label("whole text").check()
    pane.locator("[data-part=editor-says]").click()
    pane = playground.show_pane("tuning")
    body = pane.locator("[data-part=body]")
    expect(body).to_have_attribute("data-over", re.compile("-"), timeout=COMPILE_MS)
    pane.locator("[data-part=which]").select_option(index=1)
    pane.locator("summary").click()
    written(page, "bisect", "off", "tune", "candidates", "span", "pair", "code", "sides", "planned")


def look_at_code(playground: Playground) -> None:
    """Select a kernel, a line of it, an edited schedule, and two other machines."""
    page = playground.page
    pane = playground.show_pane("loops")
    pane.locator("[data-part=kernel]").select_option(index=1)
    pane.locator(".code-line").nth(2).click()
    written(page, "line")
    pane = playground.show_pane("targets")
    body = pane.locator("[data-part=body]")
    expect(body).to_have_attribute("data-made", re.compile(r"\d"), timeout=COMPILE_MS)
    left = pane.locator("[data-part=left]")
    left.get_by_label("Machine on the left").select_option("x86-64-v3")
    pane.locator("[data-part=level]").select_option("loops")
    expect(left.locator("[data-part=code]")).to_have_attribute("data-code", "x86-64-v3 loops")
    left.locator(".code-line").nth(2).click()
    written(page, "pins", "targets", "level")
    pane = playground.show_pane("schedule")
    summary = pane.locator("details.code-step summary").first
    summary.click()
    written(page, "unfolded")
    pane.locator("[data-part=edit]").click()
    area = pane.locator("textarea")
    expect(area).not_to_have_value("")
    area.fill(area.input_value() + "\n// mine")
    written(page, "edited")


def test_all_that_is_set_comes_back_from_a_short_link(
    page: Page, browser: Browser, server: str
) -> None:
    playground = Playground(page).open()
    set_the_start(playground)
    playground.compile()
    set_the_walk(playground)
    find_things(playground)
    look_at_code(playground)
    for pane, column in SORTED.items():
        sort_by(playground, pane, column, TABLES.get(pane, "table"))
    wanted = look(playground)
    written(page, f"pane={list(PANES)[-1]}")
    address = said(page)
    left = declared() - set(address) - JOBS - ELSEWHERE
    assert not left, f"the test does not set {sorted(left)}"

    with elsewhere(browser, server, shared(page)) as again:
        assert said(again.page) == address
        seen = look(again)
        for pane in PANES:
            assert seen[pane] == wanted[pane], pane


def test_the_start_comes_back_from_the_address(page: Page, browser: Browser, server: str) -> None:
    playground = Playground(page).open()
    set_the_start(playground)
    wanted, address = page.evaluate(_SEEN), said(page)
    other = browser.new_context(base_url=server, reduced_motion="reduce").new_page()
    other.goto(page.url)
    expect(other.locator("[data-part=option-fields]:visible")).to_have_count(1)
    expect(other.locator("[data-part=shape-fields] input")).to_have_value("2,1,8,8")
    assert other.evaluate(_SEEN) == wanted
    assert said(other) == address
    other.context.close()


SORTED = {
    "numerics": "stage",
    "memory": "size",
    "kernels": "name",
    "devices": "takes",
    "profile": "kernel",
    "roofline": "rate",
    "tuning": "ratio",
    "targets": "spills",
    "compare": "ratio",
}
"""A column by which the table of each pane is sorted."""
TABLES = {"numerics": "stages", "compare": "pairs"}
ELSEWHERE = {"edge", "over", "open", "within", "without", "tuned", "tour"}
"""Fields that other tests cover: single links, groups, measurements and the tour."""

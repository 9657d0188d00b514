"""Tests of the drawing: saved files, animation, device colours, edges by key, small windows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from playwright.sync_api import Browser, Page, expect

from app.samples import find_sample
from tests.browser.accessibility import Inspector
from tests.browser.playground import Playground

NOT_IN_ONNX = """graph g(x: f32[2,3]) {
  h: f32[2,3] = relu(x)
  y: f8e8m0[2,3] = cast(h, to=f8e8m0)
  return y
}
"""


def expect_clean(playground: Playground) -> None:
    """Check that axe finds nothing and the keyboard reaches everything, in both themes."""
    inspector = Inspector(playground.page)
    for _ in ("light", "dark"):
        assert inspector.violations(".walk") + inspector.unreachable(".walk") == []
        playground.press("t")


def test_the_shown_stage_is_saved_as_a_model_with_equal_numbers(page: Page, tmp_path: Path) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.press("End")
    menu = playground.part("export")
    menu.locator("summary").press("Enter")
    functions = page.locator("[data-onnx=functions]")
    expect(functions).to_be_visible()  # once the last stage exists, which has fused nodes
    with page.expect_download() as saved:
        functions.press("Enter")
    assert saved.value.suggested_filename.endswith(".onnx")
    path = tmp_path / "model.onnx"
    saved.value.save_as(path)
    said = playground.part("saving")
    expect(said).to_have_attribute("data-saving", "written")
    expect(said).to_contain_text("onnx.checker accepts the file.")
    expect_clean(playground)
    model = onnx.load(path)
    assert model.functions
    feeds = {"image": np.random.default_rng(3).random((1, 1, 8, 8), dtype=np.float32)}
    wanted = onnx.load(find_sample("digits_cnn").path)
    got = [
        np.asarray(next(iter(ReferenceEvaluator(each).run(None, feeds))))
        for each in (model, wanted)
    ]
    np.testing.assert_allclose(*got, rtol=1e-4, atol=1e-5)
    said.get_by_text("Close").click()
    expect(said).to_be_hidden()


def test_a_stage_that_onnx_cannot_say_is_refused_with_its_node(
    playground: Playground, page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "model.ir"
    path.write_text(NOT_IN_ONNX)
    playground.drop(path)
    expect(playground.part("compile")).to_be_enabled()
    playground.compile()
    playground.part("export").locator("summary").click()
    page.locator("[data-onnx=operators]").click()
    said = playground.part("saving")
    expect(said).to_have_attribute("data-saving", "refused")
    expect(said).to_contain_text("E-EXPORT-OPERATOR")
    expect_clean(playground)
    said.get_by_text("Show the node").click()
    expect(page).to_have_url(re.compile("at=y"))


_FRAMES = """
() => new Promise((resolve) => {
  const stage = document.querySelector('[data-part=stage]');
  const canvas = document.querySelector('[data-part=canvas]');
  const context = canvas.getContext('2d');
  const [x, y] = stage.dataset.focusAt.split(',').map((each) => each * devicePixelRatio);
  // The name of the node; its type below gets other sizes with the first pass.
  const look = () => context.getImageData(x - 40, y - 15, 80, 15).data;
  const before = look();
  const seen = {frames: 0, most: 0};
  const first = stage.dataset.stage;
  let still = 0;
  const watch = () => {
    const moving = stage.hasAttribute('data-moving');
    if (moving) {
      seen.frames += 1;
      const now = look();
      for (let i = 0; i < now.length; i += 1)
        seen.most = Math.max(seen.most, Math.abs(now[i] - before[i]));
    } else if (seen.frames || (stage.dataset.stage !== first && ++still > 30)) {
      return resolve(seen);
    }
    requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
  document.activeElement?.blur();
  document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}));
})
"""


def test_from_pass_to_pass_only_what_is_gone_or_new_moves(browser: Browser, server: str) -> None:
    context = browser.new_context(base_url=server, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.clock.install()
    playground = Playground(page).walk("digits_cnn")
    stage = playground.part("stage")
    # The attributes have the position of the node in focus; the input survives every pass.
    page.locator('[data-part="canvas"]').focus()
    page.keyboard.press("ArrowDown")
    expect(stage).to_have_attribute("data-focus-at", re.compile(r"^\d"))
    page.clock.fast_forward(1000)  # the next pass follows at once, so there is no animation
    seen = page.evaluate(_FRAMES)
    assert seen["frames"] > 0
    assert seen["most"] <= 3, "surviving nodes are equal in every frame, up to rounding"
    expect(stage).not_to_have_attribute("data-moving", "")
    # If passes follow quickly, the last pass is shown at once.
    page.keyboard.press("Home")
    for _ in range(6):
        page.keyboard.press("j")
    playground.expect_stage(max(stage for stage, changed in playground.stages() if changed))
    expect(stage).not_to_have_attribute("data-moving", "")
    context.close()


def test_nothing_moves_for_those_who_want_that(page: Page) -> None:
    page.clock.install()
    playground = Playground(page).walk("digits_cnn")
    page.evaluate(
        """() => {
          window.moved = 0;
          new MutationObserver(() => { window.moved += 1; }).observe(
            document.querySelector('[data-part=stage]'), {attributeFilter: ['data-moving']});
        }"""
    )
    for _ in playground.walk_all():
        page.clock.fast_forward(1000)  # no pass follows quickly
    assert page.evaluate("window.moved") == 0


def test_nodes_are_coloured_by_the_device_they_were_placed_on(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.press("End")
    playground.part("color").select_option("device")
    # No placement exists yet; selecting this colour starts one.
    expect(playground.part("legend").locator("[data-class]").first).to_be_visible()
    expect(playground.part("no-colors")).to_be_hidden()
    playground.show_pane("devices")
    playground.part("platform").select_option("two-cores")
    expect(page.locator("#pane [data-placed^=two-cores]")).to_be_visible()
    used = {
        row.split("\t")[0]
        for row in playground.part("use").locator("tbody tr").all_inner_texts()
        if re.search(r"\b[1-9]\d* kernel", row)
    }
    shown = playground.part("legend").locator("[data-class]").all_inner_texts()
    assert {each.partition(" (")[0] for each in shown} == used
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    playground.wait_for_walk()
    expect(playground.part("color")).to_have_value("device")
    expect(playground.part("legend").locator("[data-class]").first).to_be_visible()


def test_edges_are_walked_by_keyboard_and_a_link_restores_the_one_that_is_pinned(
    page: Page, server: str
) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.press("Home")
    stage, said = playground.part("stage"), page.locator("#announce")
    canvas = page.locator('[data-part="canvas"]')
    canvas.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("conv")
    page.keyboard.press("e")
    expect(said).to_contain_text(re.compile(r"Edge 1 of 2: \S+ to \S+: \w+"))
    incoming = stage.get_attribute("data-edge") or ""
    page.keyboard.press("Alt+ArrowDown")
    expect(said).to_contain_text("Edge 2 of 2")
    outgoing = stage.get_attribute("data-edge") or ""
    assert incoming.split("\t")[1] == outgoing.split("\t")[0]
    page.keyboard.press("w")
    expect(stage).to_have_attribute("data-edge", incoming)
    page.keyboard.press("Enter")
    pinned = playground.pane.locator('.verdict[aria-current="true"]')
    expect(pinned).to_be_visible()
    expect(pinned).to_contain_text(incoming.split("\t")[0])
    expect_clean(playground)
    expect(page).to_have_url(re.compile("edge="))
    link = page.request.post(
        "/api/v1/links", data={"fragment": page.url.partition("#")[2]}, headers={"Origin": server}
    ).json()
    page.goto("about:blank")
    page.goto(link["path"])
    playground.wait_for_walk()
    expect(stage).to_have_attribute("data-edge", incoming)
    expect(pinned).to_be_visible()
    # Follow the edge to its start: this node is selected, and the edge is deselected.
    canvas.focus()
    page.keyboard.press("ArrowUp")
    expect(stage).to_have_attribute("data-edge", "")
    expect(page).to_have_url(re.compile("at=" + re.escape(incoming.split("\t")[0])))


_OVERLAPS = """
(names) => {
  const boxes = names
    .flatMap((name) => [...document.querySelectorAll(name)].map((each) => [name, each]))
    .map(([name, each]) => [name, each.getBoundingClientRect()])
    .filter(([, box]) => box.width > 0);
  const found = [];
  for (const [a, one] of boxes)
    for (const [b, two] of boxes)
      if (a < b && one.left < two.right && two.left < one.right
          && one.top < two.bottom && two.top < one.bottom) found.push([a, b]);
  return found;
}
"""
_OVER = [".graph-bar", ".graph-look", ".legend", ".graph-map", ".graph-notices > :not([hidden])"]


def test_legend_and_map_are_reached_at_phone_width_and_nothing_overlaps(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    playground = Playground(page).walk("digits_cnn")
    playground.part("color").select_option("error")  # with a notice, because no check has run yet
    expect(playground.part("no-colors")).to_be_visible()
    legend, minimap = playground.part("legend"), playground.part("map")
    expect(legend).to_be_hidden()
    expect(minimap).to_be_hidden()
    for name, shown, other in (("legend", legend, minimap), ("map", minimap, legend)):
        button = page.locator(f"button[data-over={name}]")
        button.press("Enter")
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(shown).to_be_visible()
        expect(other).to_be_hidden()
        assert page.evaluate(_OVERLAPS, _OVER) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        expect_clean(playground)
    page.locator("button[data-over=map]").click()
    expect(minimap).to_be_hidden()
    # In a wide window both are visible without buttons.
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(legend).to_be_visible()
    expect(minimap).to_be_visible()
    expect(page.locator("button[data-over=map]")).to_be_hidden()
    assert page.evaluate(_OVERLAPS, _OVER) == []

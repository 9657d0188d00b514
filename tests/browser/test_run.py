"""Tests of runs on given inputs in the page: drawings, arrays, images, numbers, sounds."""

from __future__ import annotations

import io
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from app.samples import find_sample
from tests.browser.accessibility import Inspector
from tests.browser.playground import COMPILE_MS, Playground, compiled_once
from tests.onnx_models import I64, model, node, value

DIGITS = np.load(find_sample("digits_cnn").path.parent / "digits_test.npz")


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def sent(name: str, content: bytes) -> FilePayload:
    """Return a file for an upload."""
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def opened(playground: Playground) -> Locator:
    """Open the pane, and return it."""
    pane = playground.show_pane("run")
    expect(pane.locator(".run-input").first).to_be_visible()
    return pane


def expect_run(pane: Locator, text: str | re.Pattern[str]) -> None:
    """Press the button, and wait for the announcement of the result."""
    pane.locator("[data-part=start]").click()
    expect(pane.locator("[data-part=busy]")).to_have_text(text, timeout=COMPILE_MS)
    expect(pane.locator("[data-part=start]")).to_be_enabled(timeout=COMPILE_MS)


@pytest.fixture
def digits(page: Page) -> Playground:
    """The walk of the convolutional sample."""
    return Playground(page).walk("digits_cnn")


def draw(page: Page, canvas: Locator, points: list[tuple[float, float]]) -> None:
    """Draw a line through points, given as shares of the field's sides."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*at[0])
    page.mouse.down()
    for each in at[1:]:
        page.mouse.move(*each, steps=4)
    page.mouse.up()


def test_a_drawn_digit_is_recognised_and_a_link_shows_the_run_again(
    digits: Playground, page: Page
) -> None:
    pane = opened(digits)
    pane.locator("[data-part=source]").select_option("drawing")
    expect(pane.locator("[data-part=range]")).to_have_value("sixteen")
    expect(pane.locator("[data-part=fits]")).to_contain_text("8 × 8 pixels, in the layout NCHW")
    pane.locator("[data-part=start]").click()
    expect(pane.locator(".run-problem")).to_have_text("The drawing is empty.")
    circle = [(0.5 + 0.2 * np.sin(t), 0.5 - 0.33 * np.cos(t)) for t in np.linspace(0, 6.3, 20)]
    draw(page, pane.locator("[data-part=drawing]"), circle)
    expect(pane.locator(".run-problem")).to_have_text("")
    expect_run(pane, re.compile(r"^Predicted class: 0 \("))
    expect(pane.locator(".run-classes li")).to_have_count(5)
    expect(pane).to_contain_text("Median time of a run with these inputs")
    with page.expect_download() as download:
        pane.get_by_role("link", name="Download .npy").click()
    stored = np.load(Path(download.value.path()))
    assert (stored.shape, int(stored.argmax())) == ((1, 10), 0)
    expect(page).to_have_url(re.compile("[#&]ran="))
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    digits.wait_for_walk()
    expect(digits.pane.locator("[data-part=busy]")).to_have_text(re.compile("class: 0"))


def test_the_drawing_works_with_keys(digits: Playground, page: Page) -> None:
    pane = opened(digits)
    pane.locator("[data-part=source]").select_option("drawing")
    pane.locator("[data-part=drawing]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    for _ in range(12):
        page.keyboard.press("Shift+ArrowDown")
    expect_run(pane, re.compile(r"^Predicted class: 1 \("))
    pane.locator("[data-part=clear]").click()
    pane.locator("[data-part=start]").click()
    expect(pane.locator(".run-problem")).to_have_text("The drawing is empty.")


def test_arrays_and_images_are_inputs_and_bad_files_are_refused(
    digits: Playground, page: Page
) -> None:
    pane = opened(digits)
    source, file = pane.locator("[data-part=source]"), pane.locator("[data-part=npy-file]")
    source.select_option("file")
    pane.locator("[data-part=start]").click()
    expect(pane.locator(".run-problem")).to_have_text("Choose a file.")
    image = DIGITS["images"][7:8].astype("f4")
    file.set_input_files(sent("seven.npy", saved(image)))
    expect_run(pane, re.compile(rf"^Predicted class: {DIGITS['labels'][7]} \("))
    expect(pane).to_contain_text("from seven.npy")
    file.set_input_files(sent("seven.npy", b"not an array"))
    pane.locator("[data-part=start]").click()
    expect(pane.locator(".problem")).to_contain_text("E-INPUT-FILE", timeout=COMPILE_MS)
    source.select_option("image")
    picture = page.screenshot(clip={"x": 0, "y": 0, "width": 40, "height": 30})
    pane.locator("[data-part=image-file]").set_input_files(sent("page.png", picture))
    expect_run(pane, re.compile("^Predicted class"))
    pane.locator("[data-part=image-file]").set_input_files(sent("page.png", b"no picture"))
    pane.locator("[data-part=start]").click()
    expect(pane.locator(".run-problem")).to_contain_text("cannot decode this image")


def test_numbers_and_a_sound_time_a_model_that_refuses_random_inputs(
    page: Page, browser: Browser, server: str, tmp_path: Path
) -> None:
    made = model(
        [node("Reshape", ["x", "s"], ["r"]), node("Relu", ["r"], ["y"])],
        [value("x", (1, 128)), value("s", (2,), I64)],
        [value("y", None)],
    )
    path = tmp_path / "shaped.onnx"
    path.write_bytes(made.SerializeToString())
    playground = Playground(page).follow(compiled_once(browser, server, path))
    pane = opened(playground)
    expect(page.locator("header")).not_to_contain_text("a run")
    sound, sizes = pane.locator(".run-input").all()
    sizes.locator("[data-part=source]").select_option("numbers")
    sizes.locator("[data-part=numbers]").fill("64 x")
    pane.locator("[data-part=start]").click()
    expect(sizes.locator(".run-problem")).to_have_text("“x” is not an element of type i64.")
    sizes.locator("[data-part=numbers]").fill("64, 2")
    sound.locator("[data-part=source]").select_option("sound")
    samples = np.arange(-60, 60, dtype="<i2") * 256
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36, b"WAVE", b"fmt ", 16, 1, 1, 16000, 32000,
                       2, 16, b"data", samples.nbytes)  # fmt: skip
    sound.locator("[data-part=sound-file]").set_input_files(sent("a.wav", head + samples.tobytes()))
    expect_run(pane, "1 output")
    expect(pane.locator("[data-output=y]")).to_contain_text("f32[64,2]")
    expect(pane.locator("[data-output=y]")).to_contain_text("From 0 to 0.46094")
    expect(pane).to_contain_text("Median time of a run with these inputs")
    # The inputs also give the time that random inputs could not give; the forms keep their values.
    expect(page.locator("header")).to_contain_text("a run")
    expect(sizes.locator("[data-part=numbers]")).to_have_value("64, 2")
    expect(playground.part("problem")).to_be_hidden()


@pytest.mark.parametrize("width", [320, 1280])
def test_the_pane_is_accessible_and_fits_narrow_windows(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    playground = Playground(page).walk("digits_cnn")
    pane = opened(playground)
    pane.locator("[data-part=source]").select_option("drawing")
    draw(page, pane.locator("[data-part=drawing]"), [(0.5, 0.2), (0.5, 0.8)])
    expect_run(pane, re.compile("^Predicted class"))
    assert Inspector(page).in_both_themes("#pane") == []
    wide = pane.evaluate("pane => pane.scrollWidth - pane.clientWidth")
    assert wide <= 1

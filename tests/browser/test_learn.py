"""Browser tests of the course: whole lessons, progress, predictions, and all lessons in sight."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.accessibility import Inspector, wider_than_screen
from tests.browser.reader import RUN_MS, Reader, lessons


def finish(reader: Reader, page: Page, reload_at: int) -> None:
    """Do a lesson from the first to the last step, with a reload in the middle."""
    reader.open()
    for number in range(reader.n_steps()):
        reader.do_step()
        if number == reload_at:
            done = page.locator(".lesson-steps [data-done]").count()
            page.reload()
            reader.wait_for_run()
            expect(reader.step).to_have_attribute("data-step", str(number))
            expect(page.locator(".lesson-steps [data-done]")).to_have_count(done)
        assert reader.next() == (number < reader.n_steps() - 1)
    expect(page.locator('[data-part="end-says"]')).to_have_text(
        "You have done every step of this lesson."
    )
    expect(page.locator(".lesson-steps [data-done]")).to_have_count(reader.n_steps())
    page.goto("/learn")
    row = page.locator(f'[data-lesson="{reader.name}"]')
    expect(row).to_have_attribute("data-state", "done")


def test_a_whole_lesson_by_keyboard(page: Page) -> None:
    finish(Reader(page, "70-fusion", keys=True), page, reload_at=4)


def test_a_whole_lesson_by_pointer(page: Page) -> None:
    finish(Reader(page, "60-dead-common-trivial", keys=False), page, reload_at=2)


def test_results_and_figures_are_covered_until_the_prediction(page: Page) -> None:
    reader = Reader(page, "70-fusion", keys=False)
    reader.open()
    page.goto("/learn/70-fusion#step-3")
    figure = reader.step.locator('[data-figure="trips.fused.bytes"]')
    expect(figure).to_have_text("?")
    cover = reader.step.locator(".lab-cover")
    expect(cover).to_have_count(2)  # of the experiment, and of the view
    cover.first.get_by_role("button", name="Go to the question").click()
    expect(reader.step).to_have_attribute("data-step", "1")
    expect(reader.step.locator("input[name=number]")).to_be_focused()
    reader.step.locator("input[name=number]").fill("4.2 MB")
    page.keyboard.press("Enter")
    expect(reader.step.locator("form.ask")).to_have_attribute("data-verdict", "right")
    reader.next()
    expect(figure).to_have_text("4.22 MB")
    expect(reader.step.locator(".lab-bars")).to_be_visible()
    expect(reader.step.locator(".lab-bar-interval")).to_have_count(2)


def test_a_wrong_rule_is_answered_with_a_counterexample_and_hints_come_one_by_one(
    page: Page,
) -> None:
    reader = Reader(page, "70-fusion", keys=False)
    reader.open()
    page.goto("/learn/70-fusion#step-8")
    section = reader.step.locator('section.exercise[data-folder="exercise-2"]')
    folder = reader.exercise(section)
    wrong = next(w for w in folder.wrong if w.name == "another function")
    section.locator("textarea").fill(wrong.text)
    page.keyboard.press("Control+Enter")
    example = section.locator(".counterexample")
    expect(example).to_contain_text("elements differ", timeout=RUN_MS)
    expect(example.locator("svg.picture")).to_have_count(2)
    expect(example.locator(".picture-node[data-marked]")).not_to_have_count(0)
    expect(example.get_by_role("link", name="Open the graph")).to_have_attribute(
        "href", re.compile(r"^/#v=1&.*written=ir")
    )
    for n in (1, 2, 3):
        section.locator('[data-part="hint"]').click()
        expect(section.locator("[data-hint]:visible")).to_have_count(n)
    expect(section.locator('[data-part="hint"]')).to_be_hidden()
    page.reload()
    expect(section.locator("[data-hint]:visible")).to_have_count(3)
    expect(section.locator("textarea")).to_have_value(wrong.text)


def test_an_error_marks_its_line(page: Page) -> None:
    reader = Reader(page, "70-fusion", keys=False)
    page.goto("/learn/70-fusion#step-8")
    section = reader.step.locator('section.exercise[data-folder="exercise-2"]')
    reader.write(section.locator("textarea"), "x = 1\ny = undefined_name\n")
    section.locator('[data-part="check"]').click()
    expect(section.locator('[data-part="verdict"]')).to_contain_text(
        "undefined_name", timeout=RUN_MS
    )
    expect(section.get_by_role("alert").filter(has_text="undefined_name")).to_be_visible()


def test_progress_is_carried_by_a_file(page: Page, tmp_path: Path) -> None:
    page.goto("/learn")
    begin = page.locator('[data-part="begin"]')
    expect(begin).to_have_attribute("href", f"/learn/{lessons()[0]}")
    file = tmp_path / "progress.json"
    progress = {"step": 1, "steps": 9, "seen": [0], "exercises": {}}
    file.write_text(json.dumps({"version": 1, "lessons": {"70-fusion": progress}}))
    page.locator('[data-part="file"]').set_input_files(file)
    expect(page.locator('[data-part="file-says"]')).to_contain_text("1 lesson")
    expect(page.locator('[data-lesson="70-fusion"] [data-part="state"]')).to_have_text(
        "step 2 of 9"
    )
    expect(begin).to_have_attribute("href", "/learn/70-fusion")
    with page.expect_download() as download:
        page.locator('[data-part="save"]').click()
    assert json.loads(download.value.path().read_text())["lessons"]["70-fusion"]["step"] == 1
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator('[data-part="forget"]').click()
    expect(page.locator('[data-lesson="70-fusion"]')).to_have_attribute("data-state", "new")
    file.write_text("{}")
    page.locator('[data-part="file"]').set_input_files(file)
    expect(page.locator('[data-part="file-says"]')).to_contain_text("has no progress")


def test_the_start_page_leads_to_the_first_lesson_and_back(page: Page) -> None:
    page.goto("/")
    page.locator(".start-learn").click()
    expect(page).to_have_url(re.compile(rf"/learn/{lessons()[0]}"))
    page.get_by_role("link", name="Playground").click()
    expect(page.locator("[data-sample]").first).to_be_visible()


def test_a_view_opens_the_playground_in_its_state(page: Page) -> None:
    reader = Reader(page, "70-fusion", keys=False)
    reader.open()
    page.goto("/learn/70-fusion#step-3")
    reader.step.get_by_role("button", name="Show without a prediction").first.click()
    link = reader.step.get_by_role("link", name="Open in the playground")
    page.goto(str(link.get_attribute("href")))
    expect(page.locator('[data-part="walk"]')).to_be_visible(timeout=RUN_MS)
    expect(page.locator('[role="tab"][data-pane="kernels"]')).to_have_attribute(
        "aria-selected", "true"
    )


def test_the_map_is_accessible(page: Page) -> None:
    for width in (1440, 390):
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/learn")
        assert Inspector(page).in_both_themes() == []
        assert wider_than_screen(page) <= 0

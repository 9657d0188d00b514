"""Tests of the pane that docs/adding-a-pane.md builds, in a copy of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import STEP_MS, Watch
from tests.browser.playground import Playground
from tests.browser.serving import served
from tests.browser.test_read_only import WINDOW, expect_all_that_is_shown_to_work
from tests.tutorials import REPOSITORY, Tutorial, run, scratch_copy


@pytest.fixture
def server_of_the_copy(tmp_path: Path) -> Iterator[str]:
    root = tmp_path / "copy"
    root.mkdir()
    Tutorial(REPOSITORY / "docs" / "adding-a-pane.md").follow(scratch_copy(root))
    bundled = run(root, [".venv/bin/python", "hatch_build.py", "page"])
    assert bundled.returncode == 0, bundled.stdout
    with served(tmp_path, root) as address:
        yield address


def test_the_pane_of_the_document_works(browser: Browser, server_of_the_copy: str) -> None:
    context = browser.new_context(
        base_url=server_of_the_copy, viewport=WINDOW, reduced_motion="reduce"
    )
    context.set_default_timeout(STEP_MS)
    page = context.new_page()
    watch = Watch(page, server_of_the_copy)
    playground = Playground(page).walk("digits_mlp")
    sizes = playground.show_pane("sizes")
    first = sizes.get_by_role("button").first
    expect(first).to_contain_text(re.compile(r"\d\s(B|kB)$"))
    first.click()
    expect(page).to_have_url(re.compile("[#&]select"))
    expect_all_that_is_shown_to_work(page)
    context.close()
    watch.finish()

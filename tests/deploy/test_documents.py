"""Tests of the pages for operators: each command line parses, and each name exists."""

from __future__ import annotations

import re

import pytest

from tests.deploy.commands import (
    DEPLOY,
    REPOSITORY,
    UNITS,
    command_lines,
    fenced,
    parse,
    unknown_variables,
)

PAGES = ("operating.md", "serving.md")
_CODE = re.compile(r"`([^`\n]+)`")


def text_of(page: str) -> str:
    return (REPOSITORY / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "n_least"), [("operating.md", 6), ("serving.md", 4)])
def test_every_command_line_of_a_block_parses(page: str, n_least: int) -> None:
    lines = list(command_lines(fenced(text_of(page))))
    assert len(lines) >= n_least
    for words in lines:
        parse(words)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_within_the_text_parses(page: str) -> None:
    for code in _CODE.findall(re.sub(r"(?ms)^ *```.*?^ *```$", "", text_of(page))):
        for words in command_lines(code) if not code.startswith("compilarium data") else ():
            parse(words)


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_exists(page: str) -> None:
    assert unknown_variables(text_of(page)) <= {"COMPILARIUM_NAME", "COMPILARIUM_UPLOAD_LIMIT"}


def test_every_unit_and_file_exists() -> None:
    text = text_of("operating.md")
    units = set(re.findall(r"compilarium[\w-]*\.(?:service|timer)", text))
    assert units == {path.name for path in UNITS.iterdir()}
    for name in re.findall(r"(?<![\w/])deploy/([\w./-]*\w)", text):
        assert name.startswith("secrets") or (DEPLOY / name).exists(), name


def test_the_options_of_a_container_are_explained() -> None:
    text = text_of("operating.md")
    compose = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    block = compose.partition("security_opt:")[2].partition("x-settings")[0]
    options = re.findall(r"(?m)^    - (\S+)$", block)
    assert len(options) == 4
    assert all(f"`{option}`" in text for option in options)


def test_a_command_line_in_a_block_is_found() -> None:
    page = "x\n```\n/opt/bin/compilarium serve --port 1 && run -u compilarium x\n```\n"
    assert list(command_lines(fenced(page))) == [["serve", "--port", "1"]]

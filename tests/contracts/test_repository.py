"""Tests of conventions for all files of the repository."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.tutorials import PAGES, Tutorial

REPOSITORY = Path(__file__).resolve().parents[2]
THIS = Path(__file__).resolve().relative_to(REPOSITORY)

TEXT = {".py", ".js", ".mjs", ".css", ".html", ".md", ".toml", ".sh", ".json", ".txt", ".graph"}
CODE = {".py", ".js", ".mjs", ".css", ".html", ".md"}
LINES_AT_MOST = 500
LONGER: dict[str, str] = {}
"""Files that may be longer, each with a reason why it is not split."""

MACHINE_PATH = re.compile(r"(?<![\w.:])/(?:work|root|home|farm|Users)/\w")
INDEX_ADDRESS = re.compile(
    r"pypi\.org|pythonhosted|npmjs\.org|deb\.debian\.org|archive\.ubuntu|--(?:extra-)?index-url"
)
SKIPS = re.compile(
    r"\b(?:skipif|importorskip|SkipTest)\b|\bpytest\.skip\b|\b(?:test|it)\.(?:skip|only)\b"
)
UNFINISHED = re.compile(
    r"\b(?:TODO|FIXME|XXX)\b|raise NotImplementedError|pytest\.mark\.(?:skip|xfail)\b"
)


@cache
def files() -> list[Path]:
    """Return the paths of all files that are or would be committed."""
    done = subprocess.run(
        [
            "git",
            "-c",
            f"safe.directory={REPOSITORY}",
            "ls-files",
            "-z",
            "-co",
            "--exclude-standard",
        ],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    named = {Path(name) for name in done.stdout.decode().split("\0") if name}
    return sorted(path for path in named if (REPOSITORY / path).is_file())


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in files():
        if path == THIS or (path.suffix and path.suffix not in TEXT):
            continue
        text = (REPOSITORY / path).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path}:{number}: {line.strip()[:100]}")
    return found


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (MACHINE_PATH, 'open("/home/ann/x.onnx")', "https://example.org/home/index"),
        (INDEX_ADDRESS, "--index-url file:///wheels", "the index of a row"),
        (UNFINISHED, "# TODO: later", "a method of todos"),
        (SKIPS, "@pytest.mark.skipif(not has_thread_pool(host()))", "skipping a step"),
    ],
)
def test_patterns_find_what_they_are_for(pattern: re.Pattern[str], yes: str, no: str) -> None:
    assert pattern.search(yes)
    assert not pattern.search(no)


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    assert not lines_with(MACHINE_PATH)


def test_no_file_names_the_address_of_a_package_index() -> None:
    assert not lines_with(INDEX_ADDRESS)


def test_the_lock_of_npm_names_versions_and_digests_and_no_addresses() -> None:
    lock = json.loads((REPOSITORY / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert all("resolved" not in entry for entry in packages.values())
    assert all("integrity" in entry for entry in packages.values())


def test_every_python_requirement_is_pinned_with_digests() -> None:
    for name in ("serve", "dev", "models"):
        text = (REPOSITORY / "setup" / f"{name}.txt").read_text(encoding="utf-8")
        pins = re.split(r"(?m)^(?=[a-z])", text.replace("\\\n", " "))[1:]
        assert pins
        assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", pin) for pin in pins), (
            name
        )


def test_both_environments_pin_the_same_versions() -> None:
    pins = {}
    for name in ("serve", "dev"):
        text = (REPOSITORY / "setup" / f"{name}.txt").read_text(encoding="utf-8")
        pins[name] = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", text))
    assert pins["serve"].items() <= pins["dev"].items()


def test_the_environment_of_the_server_has_what_the_first_search_needs() -> None:
    text = (REPOSITORY / "setup" / "serve.txt").read_text(encoding="utf-8")
    assert {"xgboost", "xgboost-cpu", "scipy"} <= set(re.findall(r"(?m)^([\w.-]+)==", text))


def test_nothing_is_left_unfinished() -> None:
    assert not lines_with(UNFINISHED)


def test_tests_are_skipped_for_what_a_machine_is_and_for_nothing_else() -> None:
    """A condition that asks the compiler would hide bugs; tests/platforms.py never asks it."""
    skips = [line for line in lines_with(SKIPS) if not line.startswith("tests/platforms.py:")]
    assert not skips
    text = (REPOSITORY / "tests" / "platforms.py").read_text(encoding="utf-8")
    assert set(re.findall(r"^(?:import|from) (\w+)", text, re.M)) == {
        "__future__",
        "os",
        "platform",
        "pytest",
        "sys",
    }


def test_no_file_is_longer_than_one_thing() -> None:
    long = {}
    for path in files():
        if path.suffix in CODE:
            n_lines = len((REPOSITORY / path).read_text(encoding="utf-8").splitlines())
            if n_lines > LINES_AT_MOST:
                long[str(path)] = n_lines
    assert long.keys() <= LONGER.keys(), f"over {LINES_AT_MOST} lines: {long}"
    assert LONGER.keys() <= long.keys(), "listed as long, but no longer long"


def test_nothing_built_or_installed_is_kept() -> None:
    kept = [p for p in files() if {"node_modules", "dist", "__pycache__", ".venv"} & set(p.parts)]
    assert not kept


def test_the_map_of_rooms_mentions_every_room() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = set()
    for path in files():
        if path.parts[0] == "compiler" and path.suffix == ".py" and not path.name.startswith("__"):
            rooms.add(f"compiler/{path.parts[1]}" + ("/" if len(path.parts) > 2 else ""))
        elif len(path.parts) > 1 and not path.parts[0].startswith("."):
            rooms.add(f"{path.parts[0]}/")
    rooms.discard("compiler/")
    missing = [room for room in sorted(rooms) if f"`{room}`" not in text]
    assert not missing, f"docs/architecture.md does not mention {missing}"


def test_every_relative_link_of_the_documents_leads_somewhere() -> None:
    broken = []
    for path in files():
        if path.suffix != ".md":
            continue
        text = (REPOSITORY / path).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in target and not (REPOSITORY / path.parent / target).exists():
                broken.append(f"{path}: {target}")
    assert not broken


NEW_LESSON = "lessons/75-wider-fusion"
"""The folder that docs/adding-a-lesson.md creates."""


def test_every_path_that_a_document_names_is_there() -> None:
    """Except files that the pages docs/adding-*.md create, and the bundle."""
    folders = {path.parts[0] for path in files() if len(path.parts) > 1}
    named = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, sorted(folders)))})/[\w./-]*\w")
    created = {file for page in PAGES for file in Tutorial(page).files}
    missing = []
    for path in [*(REPOSITORY / "docs").glob("*.md"), REPOSITORY / "README.md"]:
        for place in named.findall(path.read_text(encoding="utf-8")):
            is_made = place in created or place.startswith(("static/dist/", NEW_LESSON))
            if not is_made and not (REPOSITORY / place).exists():
                missing.append(f"{path.name}: {place}")
    assert not missing


def test_every_place_that_the_list_of_words_names_is_there() -> None:
    text = (REPOSITORY / "docs" / "words.md").read_text(encoding="utf-8")
    places = {name for name in re.findall(r"`([\w./-]+)`", text) if "/" in name}
    assert places
    assert [name for name in sorted(places) if not (REPOSITORY / name).exists()] == []

"""Tests of import directions, and that folders used in a browser need neither LLVM nor Flask."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# The order in docs/architecture.md: a folder imports only from folders before it.
ORDER = (
    "dataclass",
    "errors",
    "units",
    "cache",
    "targets",
    "limits",
    "ir",
    "compute",
    "ops",
    "trace",
    "ledger",
    "passes",
    "loops",
    "schedule",
    "memory",
    "place",
    "codegen",
    "machine",
    "runtime",
    "options",
    "stages",
    "driver",
    "cached",
    "check",
    "bisect",
    "tuning",
    "conformance",
    "bench",
    "figures",
    "diagnosis",
    "sandbox",
    "course",
    "app",
    "compilarium",
)
# Folders on the level of `passes`: their permitted imports, and the first folder that may import
# them.
BESIDE = {
    "frontend": {"dataclass", "errors", "targets", "limits", "ir", "compute", "ops"},
    "export": {"dataclass", "errors", "targets", "limits", "ir", "compute", "ops"},
    "reference": {"dataclass", "errors", "targets", "limits", "ir", "compute", "ops"},
}
BESIDE_ARE_SEEN_FROM = "loops"
# Folders that import nothing of the repository.
ALONE = ("sandbox",)
# The public API and `python -m compiler`: without logic, they may import every folder.
DOORS = {"compiler", "compiler.__main__"}
# Packages beside the compiler; each counts as a single folder.
PACKAGES = ("sandbox", "course", "app", "compilarium")

# Folders inside folders, whose docstrings draw an order of their files.
INNER = ("codegen.access",)

LIGHT_ROOMS = ("ir", "compute", "ops", "passes", "memory", "place")
HEAVY_PACKAGES = ("llvmlite", "flask")


def allowed(room: str) -> set[str]:
    if room in BESIDE:
        return BESIDE[room] | {room}
    if room in ALONE:
        return {room}
    place = ORDER.index(room)
    beside = set(BESIDE) if place >= ORDER.index(BESIDE_ARE_SEEN_FROM) else set()
    return set(ORDER[: place + 1]) | beside


@cache
def modules() -> dict[str, Path]:
    """Return every module of the packages by its dotted name."""
    found = {}
    for top in ("compiler", *PACKAGES):
        for path in sorted((REPOSITORY / top).rglob("*.py")):
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room_of(module: str) -> str:
    top, *rest = module.split(".")
    return top if top in PACKAGES or not rest else rest[0]


@cache
def imports_of(module: str, path: Path) -> tuple[tuple[int, str], ...]:
    """Return line and dotted name of every import, also in functions and type-checking blocks."""
    return tuple(_imports_of(module, path))


def _imports_of(module: str, path: Path) -> Iterator[tuple[int, str]]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                kept = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*kept, *([node.module] if node.module else [])])
            yield node.lineno, base
            # In `from compiler import ir`, only the last word names a folder.
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def rooms_imported(module: str, path: Path) -> Iterator[tuple[int, str]]:
    known = {room_of(name) for name in modules()} - {"compiler"}
    for line, name in imports_of(module, path):
        if name.split(".")[0] in PACKAGES or name.startswith("compiler."):
            room = room_of(name)
            if room in known:
                yield line, room


def wrong_arrows(module: str, path: Path) -> list[str]:
    may = (set(ORDER) | set(BESIDE)) - {"app"} if module in DOORS else allowed(room_of(module))
    return [
        f"{path.relative_to(REPOSITORY)}:{line}: {room_of(module)} imports {room}"
        for line, room in sorted(set(rooms_imported(module, path)))
        if room not in may
    ]


def test_every_room_has_a_place_in_the_order() -> None:
    rooms = {room_of(name) for name in modules() if name not in DOORS}
    assert rooms <= set(ORDER) | set(BESIDE), "add each new folder to docs/architecture.md"


def test_rooms_import_only_rooms_to_their_left() -> None:
    wrong = [line for module, path in modules().items() for line in wrong_arrows(module, path)]
    assert not wrong, "\n".join(wrong)


def folder_of(room: str) -> Path:
    top = REPOSITORY if room in PACKAGES else REPOSITORY / "compiler"
    return top.joinpath(*room.split("."))


def start_of(room: str) -> str:
    """Return the common prefix of the dotted names of a folder's modules."""
    return f"{room}." if room in PACKAGES else f"compiler.{room}."


def order_inside(room: str) -> list[str]:
    """Return the order of parts that a folder's docstring draws with arrows, if any."""
    path = folder_of(room) / "__init__.py"
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) if path.exists() else ""
    lines = (line for line in (words or "").splitlines() if "->" in line and line.startswith(" "))
    return [name for line in lines for name in line.replace("->", " ").split()]


def wrong_arrows_inside(room: str, order: list[str]) -> list[str]:
    """Return imports of a part of a folder by an earlier part."""
    start = start_of(room)
    inside = {name: path for name, path in modules().items() if name.startswith(start)}
    wrong: list[str] = []
    for module, path in inside.items():
        part = module.removeprefix(start).split(".")[0]
        for line, name in imports_of(module, path):
            other = name.removeprefix(start).split(".")[0]
            if not name.startswith(start) or other not in order:
                continue  # another folder, or a name that the folder itself defines
            if order.index(other) > order.index(part):
                wrong.append(f"{path.name}:{line}: {part} imports {other}")
    return wrong


def rooms_with_an_order() -> list[str]:
    return [room for room in (*ORDER, *BESIDE, *INNER) if order_inside(room)]


def test_some_rooms_have_an_order_inside() -> None:
    assert {"codegen", "app", "sandbox", *INNER} <= set(rooms_with_an_order())


@pytest.mark.parametrize("room", rooms_with_an_order())
def test_parts_of_a_room_import_only_what_stands_before_them(room: str) -> None:
    order, start = order_inside(room), start_of(room)
    parts = {n.removeprefix(start).split(".")[0] for n in modules() if n.startswith(start)}
    assert sorted(order) == sorted(parts), "the docstring of the folder names each part once"
    assert not wrong_arrows_inside(room, order)
    assert wrong_arrows_inside(room, order[::-1]), "the test must find a wrong order"


@pytest.mark.parametrize(
    ("module", "text", "expected"),
    [
        ("compiler.ir.types", "from compiler.passes import run", ["ir imports passes"]),
        ("compiler.ir.types", "from ..passes import run", ["ir imports passes"]),
        ("compiler.ir.types", "from compiler import errors, ops", ["ir imports ops"]),
        (
            "compiler.passes.pipeline.run",
            "import compiler.frontend.load",
            ["passes imports frontend"],
        ),
        ("compiler.ops.convolution.conv", "def f():\n    import app.paths", ["ops imports app"]),
        ("sandbox.launch", "from compiler.errors import CompileError", ["sandbox imports errors"]),
        ("compiler.tuning.judge", "from sandbox import run", ["tuning imports sandbox"]),
        ("app.jobs.child", "from sandbox import run", []),
        ("course.blocks.view", "from app.paths import site_folder", ["course imports app"]),
        ("course.judging.apart", "from sandbox import run", []),
        ("app.jobs.check", "from compilarium.bench import rounds", ["app imports compilarium"]),
        ("compiler.frontend.load", "from compiler.trace import Event", ["frontend imports trace"]),
        ("compiler.runtime.arena", "from compiler.memory.plan import Plan", []),
        ("compiler", "from compilarium import main", []),
    ],
)
def test_a_wrong_arrow_is_seen(
    module: str, text: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {f"compiler.{room}": tmp_path for room in (*ORDER, *BESIDE)}
    known |= dict.fromkeys(PACKAGES, tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "modules", lambda: known)
    monkeypatch.setattr(sys.modules[__name__], "REPOSITORY", tmp_path)
    path = tmp_path / ("__init__.py" if module == "compiler" else "module.py")
    path.write_text(text)
    assert [line.partition(": ")[2] for line in wrong_arrows(module, path)] == expected


def test_light_rooms_work_where_llvmlite_and_flask_are_missing() -> None:
    names = [name for name in modules() if room_of(name) in LIGHT_ROOMS]
    assert {room_of(name) for name in names} >= {"ir", "compute"}
    program = f"""
import importlib, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY_PACKAGES!r}:
            raise ModuleNotFoundError(f"{{name}} is not here", name=name)

sys.meta_path.insert(0, Missing())
for name in {names!r}:
    importlib.import_module(name)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr

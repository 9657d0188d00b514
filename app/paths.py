"""Where the files of the page lie: in a clone at its top, in an installed wheel in `app/_site`.

`hatch_build.py` copies the folders into `app/_site` of a wheel under the same names, so that
everything below a folder has one relative path in both places.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

SiteFolder = Literal["templates", "static", "samples", "lessons"]

_PACKAGE = Path(__file__).resolve().parent
_PACKAGED_SITE = _PACKAGE / "_site"


def site_folder(name: SiteFolder) -> Path:
    """The folder of templates, static files (the bundle is in its `dist`), samples or lessons.

    An installed program finds the copy inside its package; a clone, also one that is installed
    editable, finds the folder that is being worked on.
    """
    root = _PACKAGED_SITE if _PACKAGED_SITE.is_dir() else _PACKAGE.parent
    return root / name

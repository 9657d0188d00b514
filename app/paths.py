"""Locations of the page's files: the top of a clone, or `app/_site` in an installed wheel.

`hatch_build.py` copies the folders into `app/_site` of a wheel under the same names. Relative paths
are therefore the same in a wheel and in a clone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

SiteFolder = Literal["templates", "static", "samples", "lessons"]

_PACKAGE = Path(__file__).resolve().parent
_PACKAGED_SITE = _PACKAGE / "_site"


def site_folder(name: SiteFolder) -> Path:
    """Return the folder with this name: templates, static (with the bundle in `dist`), samples or
    lessons.

    An installed program uses the folders inside its package; a clone or an editable install uses
    the folders of the clone.
    """
    root = _PACKAGED_SITE if _PACKAGED_SITE.is_dir() else _PACKAGE.parent
    return root / name

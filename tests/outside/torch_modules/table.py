"""The table: the rows of all families, by `family.name`."""

from __future__ import annotations

import importlib
import pkgutil

from tests.outside.torch_modules import families
from tests.outside.torch_modules.case import Case, in_family


def _gathered() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for module in pkgutil.iter_modules(families.__path__):
        home = importlib.import_module(f"{families.__name__}.{module.name}")
        for case in in_family(module.name, home.CASES):
            key = f"{case.family}.{case.name}"
            assert key not in found, f"two rows are named {key}"
            found[key] = case
    return found


CASES = _gathered()

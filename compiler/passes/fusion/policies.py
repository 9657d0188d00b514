"""All policies of fusion by name; `fuse` offers these."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.passes.fusion.anchor import anchor
from compiler.passes.fusion.elementwise import elementwise
from compiler.passes.fusion.none import none
from compiler.passes.fusion.policy import Policy

POLICIES: Mapping[str, Policy] = {p.name: p for p in (anchor, elementwise, none)}

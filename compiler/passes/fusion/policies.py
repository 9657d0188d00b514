"""All fusion policies by name: the values of the option `policy` of `fuse`."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.passes.fusion.anchor import anchor
from compiler.passes.fusion.elementwise import elementwise
from compiler.passes.fusion.greedy import greedy
from compiler.passes.fusion.none import none
from compiler.passes.fusion.policy import Policy
from compiler.passes.fusion.postdominator import postdominator
from compiler.passes.fusion.xla import xla

POLICIES: Mapping[str, Policy] = {
    p.name: p for p in (anchor, xla, postdominator, greedy, elementwise, none)
}

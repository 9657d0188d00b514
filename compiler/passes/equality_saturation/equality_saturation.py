"""Equality saturation: all rules apply simultaneously, so their order does not matter.

Source: Tate et al. 2009; egg, Willsey et al. 2021; for tensor programs TENSAT, Yang et al. 2021
(arXiv:2101.01332), with the equations of TASO, Jia et al. 2019.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.passes.engine.cost import cost_of
from compiler.passes.engine.declaration import analysis, graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.equality_saturation.build import Builder
from compiler.passes.equality_saturation.egraph import EGraph
from compiler.passes.equality_saturation.extract import Costs, Extraction, extract, given
from compiler.passes.equality_saturation.grow import Limits, grow
from compiler.passes.equality_saturation.terms import Region, regions
from compiler.trace import Log

NEEDS = (
    "equality saturation needs egglog, which is not installed: pip install compilarium[saturate]"
)

EXAMPLE = """
graph g(x: f32[40,50], p: f32[40,50], q: f32[40,50], r: f32[40,50]) {
  a: f32[40,50] = max(x, p)
  b: f32[40,50] = max(x, r)
  c: f32[40,50] = max(a, q)
  y: f32[40,50] = max(c, b)
  return y
}
=>
graph g(x: f32[40,50], p: f32[40,50], q: f32[40,50], r: f32[40,50]) {
  a: f32[40,50] = max(x, p)
  c: f32[40,50] = max(a, q)
  y: f32[40,50] = max(r, c)
  return y
}
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A region with its e-graph, and the cheapest terms for its results."""

    region: Region
    egraph: EGraph
    before: int
    extraction: Extraction

    @property
    def seconds(self) -> str:
        """The times of the region after and before the replacement, as text."""
        after, before = self.extraction.cost * 1e-6, self.before * 1e-6
        return f"an estimated {after:,.2f} us instead of {before:,.2f} us"


@graph_pass(
    aliases=("saturate",),
    known_as={"egg": "equality saturation"},
    example=EXAMPLE,
    needs=("constants",),
    idempotent=False,
    near_miss="""
    graph g(x: f32[40,50], p: f32[40,50], q: f32[40,50]) {
      a: f32[40,50] = max(x, p)
      y: f32[40,50] = max(a, q)
      return y
    }
    """,
)
def equality_saturation(
    graph: Graph,
    log: Log,
    *,
    inexact: bool = False,
    rounds: int = 6,
    max_nodes: int = 3000,
    max_region: int = 32,
) -> Graph:
    """Replace expressions with the cheapest of all equal forms.

    An early rewrite can prevent a better later rewrite. An e-graph instead stores all equal forms:
    equations only add forms, and extraction finally selects the cheapest. Equations that change
    rounding require `inexact`. Growth ends after `rounds` iterations or beyond `max_nodes`, and
    regions have at most `max_region` nodes.
    """
    found = list(regions(graph, max_region))
    if not found:
        return graph
    if importlib.util.find_spec("egglog") is None:
        log.declined("equality_saturation", graph.name, NEEDS)
        return graph
    limits = Limits(rounds, max_nodes)
    for old in found:
        region = Region(tuple(graph.producers[n.output] for n in old.nodes), old.outputs)
        at = region.outputs[-1]
        result = look(graph, region, inexact, limits)
        if result is None or result.extraction.cost >= result.before:
            why = (
                "extraction found no term for a result"
                if result is None
                else f"no equal form is cheaper: {result.seconds}"
            )
            size = "" if result is None else f"; {result.egraph.summary}"
            log.declined("equality_saturation", at, why + size, region.nodes)
        elif log.may("equality_saturation", at):
            graph = _replaced(graph, result, log, inexact)
    return graph


@analysis(example=EXAMPLE.partition("=>")[0])
def egraphs(
    graph: Graph,
    log: Log,
    *,
    inexact: bool = False,
    rounds: int = 6,
    max_nodes: int = 3000,
    max_region: int = 32,
) -> list[EGraph]:
    """Build the e-graphs of a graph's regions: classes of equal terms.

    The text (`text`) and the drawing (`dot`) of an e-graph mark the extracted nodes.
    """
    if importlib.util.find_spec("egglog") is None:
        log.declined("egraphs", graph.name, NEEDS)
        return []
    shown: list[EGraph] = []
    for region in regions(graph, max_region):
        result = look(graph, region, inexact, Limits(rounds, max_nodes))
        if result is not None:
            shown.append(result.egraph)
            log.applied("egraphs", region.outputs[-1], result.egraph.text(), region.nodes)
    return shown


def look(graph: Graph, region: Region, inexact: bool, limits: Limits) -> Found | None:
    """Grow the e-graph of a region and extract the cheapest terms; None if a result has no term."""
    egraph = grow(graph, region, inexact, limits)
    costs = Costs(egraph, graph.constants)
    roots = [egraph.of_value[v] for v in region.outputs]
    extraction = extract(egraph, costs, roots)
    if extraction is None:
        return None
    egraph.picked = extraction.picked
    return Found(region, egraph, given(region, egraph, costs), extraction)


def _replaced(graph: Graph, found: Found, log: Log, inexact: bool) -> Graph:
    """Replace a region with its cheapest terms."""
    ed, region = Editor(graph), found.region
    at, before = region.outputs[-1], cost_of(_at_run_time(region.nodes, graph), ed.type)
    try:
        Builder(ed, region, found.egraph).put()
        after = ed.graph()
    except CompileError as e:
        because = f"the extracted terms do not form a valid graph: {e}"
        log.declined("equality_saturation", at, because, region.nodes)
        return graph
    was, names = {id(n) for n in region.nodes}, {n.output for n in region.nodes}
    now = [n for n in after.nodes if n.output in names or n.output not in graph.types]
    made = [n for n in now if id(n) not in was]
    stay = {id(n) for n in now}
    rounds_otherwise = inexact and any(n.tensor.dtype.is_float for n in made)
    log.applied(
        "equality_saturation",
        at,
        f"{found.seconds}; {found.egraph.summary}; matched: {_shown(found.egraph.matches)}",
        [n for n in region.nodes if id(n) not in stay],
        [*made, *(c for c in after.constants if c not in graph.types)],
        error=ROUNDINGS * len(made) if rounds_otherwise else 0.0,
        cost_before=before,
        cost_after=cost_of(_at_run_time(now, after), ed.type),
    )
    return after


def _at_run_time(nodes: Iterable[Node], graph: Graph) -> list[Node]:
    """Return the nodes that depend on a value other than constants."""
    known = set(graph.constants)
    found: list[Node] = []
    for n in nodes:
        if known.issuperset(n.reads):
            known.update(n.outputs)
        else:
            found.append(n)
    return found


def _shown(matches: dict[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in matches.items()) or "nothing"

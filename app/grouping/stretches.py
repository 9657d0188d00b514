"""Splits nodes without scopes or repeats into stretches of neighbouring nodes."""

from __future__ import annotations

from collections.abc import Sequence

_CHAIN_LIMIT = 40
"""Maximum number of nodes per group of a chain; longer chains give several groups."""


def stretches(ids: Sequence[int], edges: Sequence[tuple[int, int]], limit: int) -> list[list[int]]:
    """Group neighbouring nodes so that about `limit` boxes remain.

    Group chains first: sequences of nodes with one input edge and one output edge. If too many
    boxes remain, group stretches of a topological order; this never creates a cycle.
    """
    order = depth_first(ids, edges)
    chains = _chains(order, edges)
    size = -(-len(chains) // limit)
    merged = [
        [node for chain in chains[i : i + size] for node in chain]
        for i in range(0, len(chains), size)
    ]
    return [g for g in merged if len(g) > 1]


def _chains(order: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    n_out: dict[int, int] = {}
    sources: dict[int, list[int]] = {}
    for source, target in edges:
        n_out[source] = n_out.get(source, 0) + 1
        sources.setdefault(target, []).append(source)
    chains: list[list[int]] = []
    chain_of: dict[int, int] = {}
    for node in order:
        into = sources.get(node, [])
        at = chain_of.get(into[0], -1) if len(into) == 1 and n_out[into[0]] == 1 else -1
        if at >= 0 and len(chains[at]) < _CHAIN_LIMIT:
            chains[at].append(node)
        else:
            at = len(chains)
            chains.append([node])
        chain_of[node] = at
    return chains


def depth_first(ids: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return a topological order by depth-first search from the results; it keeps chains together.

    The union of several stages may have cycles; an edge that closes a cycle is ignored.
    """
    sources: dict[int, list[int]] = {i: [] for i in ids}
    for source, target in edges:
        sources[target].append(source)
    order: list[int] = []
    seen: set[int] = set()
    for root in reversed(ids):
        stack = [(root, iter(sources[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            node, rest = stack[-1]
            following = next((s for s in rest if s not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(sources[following])))
    return order

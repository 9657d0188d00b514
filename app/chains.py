"""Chains of a drawing: nodes that follow each other and are drawn in one vertical line.

The drawing contains the edges of all stages. An edge that bypasses a removed node therefore runs
beside the chain, as a skip connection does. Such an edge is redundant: another path connects its
ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def chains_of(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the chains, each in order; nodes outside chains are absent.

    Redundant edges do not count. An edge belongs to a chain if it is the only edge from its source
    and the only edge to its target.

    Example: `a>b b>c a>c c>d c>e` => [[a, b, c]]
    """
    readers: dict[str, list[str]] = {}
    for source, target in edges:
        readers.setdefault(source, []).append(target)
        readers.setdefault(target, [])
    direct = _without_redundant(readers)
    operands: dict[str, list[str]] = {}
    for source, targets in direct.items():
        for target in targets:
            operands.setdefault(target, []).append(source)
    after = {
        source: targets[0]
        for source, targets in direct.items()
        if len(targets) == 1 and len(operands[targets[0]]) == 1
    }
    followers = {*after.values()}
    return [_followed(head, after) for head in after if head not in followers]


def _followed(node: str, after: Mapping[str, str]) -> list[str]:
    chain = [node]
    while (last := chain[-1]) in after:
        chain.append(after[last])
    return chain


def _without_redundant(readers: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the readers of each node, without redundant edges and edges that close a cycle.

    Cycles can occur, because the order of nodes may differ between stages.
    """
    order = _readers_first(readers)
    places = {node: place for place, node in enumerate(order)}
    reached: dict[str, int] = {}
    direct: dict[str, list[str]] = {}
    for node in order:
        forward = [r for r in readers[node] if places[r] < places[node]]
        beyond = 0
        for reader in forward:
            beyond |= reached[reader]
        direct[node] = [r for r in forward if not beyond >> places[r] & 1]
        reached[node] = beyond | sum(1 << places[r] for r in forward)
    return direct


def _readers_first(readers: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the nodes in postorder: readers come first, except at an edge that closes a cycle."""
    order: list[str] = []
    seen: set[str] = set()
    for root in readers:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(readers[root]))]
        while stack:
            node, rest = stack[-1]
            reader = next((r for r in rest if r not in seen), None)
            if reader is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(reader)
                stack.append((reader, iter(readers[reader])))
    return order

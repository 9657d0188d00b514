"""Minimum cuts by Dinic's algorithm with integer capacities.

Source: E. A. Dinic 1970; for minimum cuts that minimise an energy, Kolmogorov and Zabih 2004, "What
energy functions can be minimized via graph cuts?".
"""

from __future__ import annotations

from collections import deque

ENDLESS = 1 << 62
"""The capacity of an arc that no cut may contain."""


class Cut:
    """A network between a source (vertex 0) and a sink (vertex 1)."""

    def __init__(self) -> None:
        self.arcs: list[list[int]] = [[], []]
        """The arcs of each vertex; the reverse of arc `a` is arc `a ^ 1`."""
        self.head: list[int] = []
        self.room: list[int] = []

    def vertex(self) -> int:
        """Add a vertex and return its number."""
        self.arcs.append([])
        return len(self.arcs) - 1

    def arc(self, a: int, b: int, capacity: int) -> None:
        """Add an arc that costs its capacity if only `b` is on the sink's side."""
        if capacity > 0 and a != b:
            self.arcs[a].append(len(self.head))
            self.arcs[b].append(len(self.head) + 1)
            self.head += (b, a)
            self.room += (capacity, 0)

    def sink_side(self) -> list[bool]:
        """Return for each vertex whether it is on the sink's side of a minimum cut.

        Among all minimum cuts, this cut has the smallest sink side. This side consists of the
        vertices from which a path with residual capacity leads to the sink.
        """
        while self._augment(self._levels()):
            pass
        reached = [False] * len(self.arcs)
        reached[1] = True
        pending = [1]
        while pending:
            for arc in self.arcs[pending.pop()]:
                before = self.head[arc]
                if self.room[arc ^ 1] and not reached[before]:
                    reached[before] = True
                    pending.append(before)
        return reached

    def _levels(self) -> list[int]:
        """Return distances from the source in the residual network; -1 where unreachable."""
        levels = [-1] * len(self.arcs)
        levels[0] = 0
        pending = deque([0])
        while pending and levels[1] < 0:
            v = pending.popleft()
            for arc in self.arcs[v]:
                to = self.head[arc]
                if self.room[arc] and levels[to] < 0:
                    levels[to] = levels[v] + 1
                    pending.append(to)
        return levels

    def _augment(self, levels: list[int]) -> bool:
        """Augment along shortest paths until each is blocked; return whether flow increased."""
        if levels[1] < 0:
            return False
        head, room, arcs = self.head, self.room, self.arcs
        following = [0] * len(arcs)
        path: list[int] = []
        v = 0
        while True:
            if v == 1:
                least = min(room[a] for a in path)
                first = len(path)
                for i, a in enumerate(path):
                    room[a] -= least
                    room[a ^ 1] += least
                    if not room[a] and i < first:
                        first = i
                v = head[path[first] ^ 1]
                del path[first:]
                continue
            out, i = arcs[v], following[v]
            while i < len(out):
                a = out[i]
                if room[a] and levels[head[a]] == levels[v] + 1:
                    break
                i += 1
            following[v] = i
            if i < len(out):
                path.append(out[i])
                v = head[out[i]]
            elif path:
                levels[v] = -1
                v = head[path.pop() ^ 1]
            else:
                return True

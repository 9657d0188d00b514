"""Minimum cuts, by Dinic's algorithm with whole capacities.

Source: E. A. Dinic 1970; the reading of a cut as the minimum of an energy: Kolmogorov and Zabih
2004, "What energy functions can be minimized via graph cuts?".
"""

from __future__ import annotations

from collections import deque

ENDLESS = 1 << 62
"""The capacity of an arc that no cut may go through."""


class Cut:
    """A network between a source (vertex 0) and a sink (vertex 1)."""

    def __init__(self) -> None:
        self.arcs: list[list[int]] = [[], []]
        """The arcs that leave each vertex; arc `a` and its reverse `a ^ 1` stand together."""
        self.head: list[int] = []
        self.room: list[int] = []

    def vertex(self) -> int:
        """One vertex more."""
        self.arcs.append([])
        return len(self.arcs) - 1

    def arc(self, a: int, b: int, capacity: int) -> None:
        """An arc that costs its capacity when `a` is left on the source's side and `b` is not."""
        if capacity > 0 and a != b:
            self.arcs[a].append(len(self.head))
            self.arcs[b].append(len(self.head) + 1)
            self.head += (b, a)
            self.room += (capacity, 0)

    def sink_side(self) -> list[bool]:
        """Which vertices a minimum cut parts from the source; as few as any minimum cut does.

        What can still reach the sink through arcs with room is on its side.
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
        """Distances from the source through arcs with room; -1 where nothing flows."""
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
        """Fill shortest paths until each is blocked; whether there was one."""
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

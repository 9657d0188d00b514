"""User schedules, which replace the schedules of the policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.errors import CompileError, Where
from compiler.ir.graph import Graph
from compiler.runtime.thunks.kernels import Listed, listed, unique_names
from compiler.runtime.thunks.select import NativeThunk, RegionThunk, Thunk, Unlaunched
from compiler.schedule.language.replay import replay_lines
from compiler.schedule.language.text import did_you_mean, parse_schedule
from compiler.targets.options import CodeOptions, KernelSchedule

MOST_NAMES = 40
"""Maximum number of kernel names in a message."""


class UserSchedules:
    """The requested schedules, and the kernels that they match."""

    def __init__(self, options: CodeOptions) -> None:
        self.options = options
        self._asked = {s.kernel: s for s in options.schedules}
        self._met: set[str] = set()
        self._kernels: list[str] = []

    def applied(self, thunks: list[Thunk], graph: Graph, suffix: str = "") -> list[Thunk]:
        """Return implementations with user schedules; `suffix` is appended to kernel names.

        Errors: E-SCHEDULE-*, E-LIMIT-CODE.
        """
        if not self._asked:
            return thunks
        found = listed([w for w in thunks if not isinstance(w, Unlaunched)], graph)
        kernels = [f"{name}{suffix}" for name in unique_names([x.thunk for x in found])]
        changed: dict[int, NativeThunk] = {}
        for one, kernel in zip(found, kernels, strict=True):
            thunk = one.thunk
            if isinstance(thunk, NativeThunk):
                self._kernels.append(kernel)
                others = (n for n in (thunk.node.name, *thunk.node.outputs) if n not in kernels)
                made = self._made(one, thunk, (kernel, *others))
                if made is not None:
                    changed[id(thunk)] = made
        return [_with_changed(w, changed) for w in thunks]

    def _made(self, one: Listed, thunk: NativeThunk, names: Sequence[str]) -> NativeThunk | None:
        asked = [self._asked[n] for n in dict.fromkeys(names) if n in self._asked]
        if not asked:
            return None
        if len(asked) > 1:
            raise _twice(asked)
        self._met.update(s.kernel for s in asked)
        operands = thunk.lowered.operands
        constants = frozenset(t for t, v in operands.items() if v in one.graph.constants)
        first = asked[0]
        lines = parse_schedule(first.text, first.source, first.first_line)
        try:
            made = replay_lines(lines, thunk.lowered.computation, constants, self.options)
        except CompileError as e:
            raise e.at(Where(source=first.source, line=first.first_line)) from e
        return replace(thunk, scheduled=made)

    def finish(self) -> None:
        """Report schedules that match no kernel. Errors: E-SCHEDULE-NAME."""
        for s in self._asked.values():
            if s.kernel not in self._met:
                raise self._unknown(s)

    def _unknown(self, s: KernelSchedule) -> CompileError:
        names = self._kernels[:MOST_NAMES]
        more = len(self._kernels) - len(names)
        return CompileError(
            "E-SCHEDULE-NAME",
            f"no kernel is called {s.kernel!r}{did_you_mean(s.kernel, self._kernels)}",
            where=Where(source=s.source, line=max(s.first_line - 1, 1)),
            hint=f"the kernels are {', '.join(names)}{f' and {more} more' if more else ''}",
        )


def _twice(asked: Sequence[KernelSchedule]) -> CompileError:
    first, second, *_ = sorted(asked, key=lambda s: s.first_line)
    return CompileError(
        "E-SCHEDULE-NAME",
        f"{second.kernel!r} and {first.kernel!r} name the same kernel, and both have schedules",
        where=Where(source=second.source, line=max(second.first_line - 1, 1)),
        hint="remove one of the two schedules",
    )


def _with_changed(thunk: Thunk, changed: Mapping[int, NativeThunk]) -> Thunk:
    if id(thunk) in changed:
        return changed[id(thunk)]
    if not isinstance(thunk, RegionThunk):
        return thunk
    bodies = {
        key: replace(b, thunks=tuple(_with_changed(w, changed) for w in b.thunks))
        for key, b in thunk.bodies.items()
    }
    return RegionThunk(thunk.node, bodies)

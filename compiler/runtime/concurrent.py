"""Sections of concurrent launches, each with one function that launches all its chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.codegen.branches import side_by_side
from compiler.codegen.llvm import FunctionText
from compiler.codegen.module import Launch
from compiler.codegen.planned_launches import by_lanes
from compiler.dataclass import dataclass
from compiler.runtime.thunks.branches import Section
from compiler.targets.options import CodeOptions


@dataclass(frozen=True)
class Concurrent:
    """The functions of sections of concurrent launches.

    `instead` maps the first launch of each section to the launch of the section's function, and to
    the end of the section.
    """

    texts: list[FunctionText]
    instead: Mapping[int, tuple[Launch, int]]


def concurrent(
    sections: Sequence[Section], calls: Mapping[int, Launch], options: CodeOptions
) -> Concurrent:
    """Return one function for each section of concurrent launches."""
    made = [_function(number, s, calls, options) for number, s in enumerate(sections)]
    instead = {s.first: (made[i][0], s.end) for i, s in enumerate(sections)}
    return Concurrent([text for _, text in made], instead)


def _function(
    number: int, section: Section, calls: Mapping[int, Launch], options: CodeOptions
) -> tuple[Launch, FunctionText]:
    """Return the launch of all chains of a section, and the launched function."""
    half_cycles = int(section.in_turn)
    if options.spread != "branches":
        chains = [[calls[i] for i in chain] for chain in section.chains]
        return side_by_side(f"side_by_side.{number}", chains, options.threads, half_cycles)
    first = section.first
    tasks = [calls[i] for i in range(first, section.end)]
    lanes = [[i - first for i in chain] for chain in section.chains]
    after = {i - first: [v - first for v in waiting] for i, waiting in section.after.items()}
    return by_lanes(f"by_plan.{number}", tasks, lanes, after, half_cycles, options.target)


def described(
    sections: Sequence[Section], names: Sequence[str], options: CodeOptions
) -> tuple[str, ...]:
    """Describe concurrent launches, or the lack of them if concurrent branches were requested."""
    if not sections and options.spread == "branches":
        return ("no branches run in parallel: a single thread is as fast",)
    return tuple(s.words(names) for s in sections)

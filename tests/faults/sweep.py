"""Mutate the functions of all rules, and print the mutants that `check` misses.

    python -m tests.faults.sweep [--only WORD] [--seconds N]

On the available graphs, a mutant may have no effect, decline a rewrite of the original rule (less),
or return another replacement. In the third case, `check` must find it, unless the replacement is
equivalent. The sweep prints the mutants that `check` does not find, for manual inspection: each is
either equivalent or a gap in `check`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any, Literal

from compiler.check.rewrites import Rewrites, judge_rewrites
from compiler.check.rounds import make_rounds
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.verify import verify
from compiler.passes import RULES, Rule
from compiler.passes.engine.rewrite import apply_rules
from compiler.trace import Event, Log
from tests.faults.mutants import Mutant, mutants, unwrapped

Fate = Literal["found", "no effect", "less", "survives"]

MOST_GRAPHS = 5
"""Number of graphs on which a mutant is tried, beginning with those of its own rules."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one mutant."""

    mutant: Mutant
    fate: Fate
    how: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Try:
    """A rule and a graph, and the result of the original rule."""

    rule: Rule
    graph: Graph
    after: str


def tries(rule: Rule) -> Iterator[Try]:
    """Yield the graphs of a rule."""
    graphs = [rule.example_graphs()[0]]
    if rule.near_miss:
        graphs.append(rule.near_miss_graph())
    for g in graphs:
        yield Try(rule, g, str(apply_rules(g, [rule], Log())))


def code_used(tried: Try) -> set[CodeType]:
    """Return the code of the rules' modules that runs while a rule is applied."""
    seen: set[CodeType] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "/passes/rules/" in frame.f_code.co_filename:
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        apply_rules(tried.graph, [tried.rule], Log())
    finally:
        sys.setprofile(before)
    return seen


@cache
def functions_of_rules() -> dict[CodeType, list[FunctionType]]:
    """Return all functions of the rules' modules, and the rule bodies, by their code."""
    found: dict[CodeType, dict[int, FunctionType]] = {}
    for rule in RULES.values():
        fn = unwrapped(rule.body)
        found.setdefault(fn.__code__, {})[id(fn)] = fn
    for name, module in list(sys.modules.items()):
        if name.startswith("compiler.passes.rules"):
            for value in vars(module).values():
                if isinstance(value, FunctionType) and value.__module__ == name:
                    found.setdefault(value.__code__, {})[id(value)] = value
    return {code: list(fns.values()) for code, fns in found.items()}


def sweep(rules: Sequence[Rule], seconds: float = float("inf")) -> Iterator[Outcome]:
    """Yield every mutant of the functions that these rules run, with its outcome."""
    start = perf_counter()
    runs: dict[CodeType, list[Try]] = {}
    for rule in rules:
        for tried in tries(rule):
            for code in code_used(tried):
                runs.setdefault(code, []).append(tried)
    for code, tried_on in runs.items():
        functions = functions_of_rules().get(code)
        if functions is None or "\n" in code.co_name or code.co_name.startswith("<"):
            continue
        for mutant in mutants(functions):
            if perf_counter() - start > seconds:
                return
            yield fate_of(mutant, tried_on)


def sampled(name: str) -> tuple[int, list[str], bool]:
    """Return the found and the surviving mutants of a rule, and whether their code was restored."""
    before = _codes()
    outcomes = list(sweep([RULES[name]]))
    survivors = [x.mutant.what for x in outcomes if x.fate == "survives"]
    return sum(x.fate == "found" for x in outcomes), survivors, _codes() == before


def _codes() -> dict[int, CodeType]:
    return {id(f): f.__code__ for fns in functions_of_rules().values() for f in fns}


def fate_of(mutant: Mutant, tried_on: Sequence[Try]) -> Outcome:
    """Try a mutant on graphs until it is found."""
    fates: Counter[Fate] = Counter()
    how = ""
    chosen = sorted(tried_on, key=lambda t: t.rule.name != mutant.name)[:MOST_GRAPHS]
    for tried in chosen:
        with mutant.at_work():
            fate, text = one(tried)
        fates[fate] += 1
        if fate == "found":
            return Outcome(mutant, "found", text, (tried.rule.name,))
        how = text if fate == "survives" else how
    order: tuple[Fate, ...] = ("survives", "less", "no effect")
    fate = next(f for f in order if fates[f])
    return Outcome(mutant, fate, how, tuple(dict.fromkeys(t.rule.name for t in chosen)))


def one(tried: Try) -> tuple[Fate, str]:
    """Return the effect of a changed rule on a graph, and whether `check` finds it."""
    rewrites = Rewrites()
    log = Log(watch=rewrites.watch)
    try:
        after = apply_rules(tried.graph, [tried.rule], log, at_most=4)
        verify(after)
    except CompileError as e:
        return "found", f"invalid: {e}"
    except Exception as e:  # a mutant may raise any exception
        return "found", f"{type(e).__name__}: {e}"
    text = str(after)
    if text == tried.after:
        return "no effect", ""
    if after is tried.graph:
        return "less", ""
    rewrites.progress(Event("pass", tried.graph, after, 0.0, steps=tuple(log.steps)))
    for j in judge_rewrites(rewrites):
        if not j.ok:
            return "found", j.objection
    for r in make_rounds(tried.graph):
        name, verdict = r.objection(after, 1e-4)
        if verdict.objection:
            return "found", f"{name}: {verdict.objection}"
    return "survives", f"{tried.rule.name}:\n{tried.graph}\n=>\n{text}"


def main() -> None:
    """Sweep, and print the surviving mutants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a word in the names of rules")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--long", action="store_true", help="with the graphs")
    options = parser.parse_args()
    fates: Counter[Fate] = Counter()
    start = perf_counter()
    for outcome in sweep([r for r in RULES.values() if options.only in r.name], options.seconds):
        fates[outcome.fate] += 1
        if outcome.fate == "survives":
            m = outcome.mutant
            print(f"survives: {m.name} {m.what}  [{', '.join(outcome.rules)}]")
            if options.long:
                print(outcome.how)
    total = sum(fates.values())
    text = ", ".join(f"{n} {fate}" for fate, n in fates.most_common())
    print(f"{total} mutants in {perf_counter() - start:.0f} s: {text}")


if __name__ == "__main__":
    main()

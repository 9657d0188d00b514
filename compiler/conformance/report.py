"""Summaries of outcomes, as data and as the document docs/coverage.md."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from compiler.conformance.cases import SUITES
from compiler.conformance.outcome import KINDS, Outcome
from compiler.dataclass import dataclass

ALL = "all"
"""The name of the row with the totals of all suites."""

MOST_CAUSES = 6
MOST_LETTERS = 160

GENERAL = (
    (re.compile(r"the shape of .+ is known only when"), "a shape is known only when"),
    (re.compile(r".+ is .+, which is not a tensor"), "a value is not a tensor"),
    (
        re.compile(r".+ is .+, not a numeric tensor of known rank"),
        "a value is not a numeric tensor of known rank",
    ),
    (re.compile(r".+ holds strings"), "a value holds strings"),
    (
        re.compile(r"an iteration turns the state with initial value .+ from .+ into .+"),
        "a state changes its type",
    ),
)
"""Patterns and replacements that remove a model's names and types from reasons for fallbacks."""

FALL_BACK = """\
Each row is an operator of the compiled graph. The columns count the cases in which the operator
falls back, and the cases in which it alone falls back. The last column gives each reason, with its
number of cases."""

OCCUR = """\
Each row is an ONNX operator; it counts the cases whose models contain the operator, also in
functions and subgraphs. The last column lists the operators that fall back in these cases, or the
error codes of refusals, with their numbers of cases. The cause is often another operator of the
case. All cases of the following operators are native (with the number of cases): """


@dataclass
class Fallback:
    """The fallbacks of one operator of our graph.

    `cases` counts the cases with the fallback; `alone` counts the cases in which no other operator
    falls back.
    """

    cases: int = 0
    alone: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def in_order(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes sorted by suite and name."""
    return sorted(outcomes, key=lambda o: (SUITES.index(o.suite), o.name))


def totals(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """Count the outcomes of each kind, per suite and in total."""
    counts: dict[str, Counter[str]] = {}
    for o in outcomes:
        for line in (o.suite, ALL):
            counts.setdefault(line, Counter())[o.kind] += 1
    lines = [line for line in (*SUITES, ALL) if line in counts]
    return {line: {kind: counts[line][kind] for kind in KINDS} for line in lines}


def fallbacks(outcomes: Iterable[Outcome]) -> dict[str, Fallback]:
    """Return the fallbacks per operator of our graph, in order of decreasing frequency."""
    found: dict[str, Fallback] = {}
    for o in outcomes:
        reasons = {(op, in_general(op, because)) for op, because in o.fallbacks}
        operators = {op for op, _ in reasons}
        for op in operators:
            entry = found.setdefault(op, Fallback())
            entry.cases += 1
            entry.alone += len(operators) == 1
            entry.reasons.update(because for other, because in reasons if other == op)
    return dict(sorted(found.items(), key=lambda item: (-item[1].cases, item[0])))


def in_general(operator: str, because: str) -> str:
    """Remove a model's names and the operator's name from the reason for a fallback."""
    for pattern, words in GENERAL:
        because = pattern.sub(words, because)
    return because.removeprefix(f"{operator} ")


def page(outcomes: Sequence[Outcome], onnx_version: str, command: str) -> str:
    """Format the coverage as a Markdown page, which depends only on the outcomes."""
    ordered = in_order(outcomes)
    sections = (
        _introduction(onnx_version, command),
        _totals(ordered),
        _not_right(ordered),
        _what_falls_back(ordered),
        _operators(ordered),
    )
    return "\n\n".join(sections) + "\n"


def _introduction(onnx_version: str, command: str) -> str:
    meanings = "\n".join(f"- *{kind}*: {meaning}" for kind, meaning in KINDS.items())
    return f"""# Coverage of ONNX

This page is generated. To repeat it:

```
{command}
```

The cases are those of `onnx.backend.test` in onnx {onnx_version}: models with inputs and expected
outputs, within the tolerances of these suites. Each case is compiled and run, and has one
outcome:

{meanings}

Results of operators that are random by definition are compared in shape and element type only.
The command fails if a case is wrong or crashed; a refused case, with a code and a message, does
not fail it."""


def _totals(outcomes: Sequence[Outcome]) -> str:
    rows = [
        (suite, str(sum(counts.values())), *map(str, counts.values()))
        for suite, counts in totals(outcomes).items()
    ]
    n_random = sum(o.remark == "random" for o in outcomes)
    return (
        f"## Totals\n\n{_table(('suite', '>cases', *_kinds()), rows)}\n\nRandom cases: {n_random}."
    )


def _not_right(outcomes: Sequence[Outcome]) -> str:
    rows = [
        (o.suite, o.name, o.kind, " ".join(filter(None, [o.code, _line(o.why)])))
        for o in outcomes
        if not o.is_right
    ]
    body = _table(("suite", "case", "outcome", "why"), rows) if rows else "None."
    return f"## Failures\n\n{body}"


def _what_falls_back(outcomes: Sequence[Outcome]) -> str:
    rows = [
        (f"`{op}`", str(f.cases), str(f.alone), _causes(f.reasons))
        for op, f in fallbacks(outcomes).items()
    ]
    columns = ("operator", ">cases", ">only fallback", "why")
    return f"## Fallbacks\n\n{FALL_BACK}\n\n{_table(columns, rows) if rows else 'None.'}"


def _operators(outcomes: Sequence[Outcome]) -> str:
    found = _by_operator(outcomes)
    native = {op for op, cases in found.items() if all(o.kind == "native" for o in cases)}
    rows = [
        (f"`{op}`", str(len(cases)), *_counted(cases), _causes(_causes_of(cases)))
        for op, cases in found.items()
        if op not in native
    ]
    table = _table(("operator", ">cases", *_kinds(), "why not native"), rows)
    names = ", ".join(f"`{op}` ({len(found[op])})" for op in found if op in native)
    words = textwrap.fill(f"{OCCUR}{names}.", 100, break_long_words=False)
    return f"## Operators\n\n{words}\n\n{table if rows else ''}"


def _by_operator(outcomes: Iterable[Outcome]) -> Mapping[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for o in outcomes:
        for operator in o.operators:
            found.setdefault(operator, []).append(o)
    return dict(sorted(found.items(), key=lambda item: ("." in item[0], item[0])))


def _counted(outcomes: Iterable[Outcome]) -> Iterator[str]:
    counts = Counter(o.kind for o in outcomes)
    return (str(counts[kind]) for kind in KINDS)


def _causes_of(outcomes: Iterable[Outcome]) -> Counter[str]:
    found: Counter[str] = Counter()
    for o in outcomes:
        found.update({f"`{op}`" for op, _ in o.fallbacks})
        found.update([o.code or o.kind] if not o.is_right else [])
    return found


def _causes(counts: Counter[str]) -> str:
    """Format the most frequent causes with their counts, and the number of other causes."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{_line(cause)} ({n})" for cause, n in ordered[:MOST_CAUSES]]
    left = len(ordered) - len(shown)
    return ", ".join([*shown, *([f"{left} more"] if left else [])])


def _kinds() -> list[str]:
    return [f">{kind}" for kind in KINDS]


def _line(text: str) -> str:
    """Format a text as one line for a cell of a Markdown table."""
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= MOST_LETTERS else line[:MOST_LETTERS] + "..."


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table; columns whose name starts with `>` are right-aligned."""
    lines = [
        [c.removeprefix(">") for c in columns],
        ["--:" if c.startswith(">") else "---" for c in columns],
        *rows,
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

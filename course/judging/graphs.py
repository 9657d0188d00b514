"""Judging of answers that map a graph to a graph: rules, passes, fusion policies.

An answer must keep the results of each graph on random inputs of several kinds. Then its scores are
compared with the goals. The process that runs the student's code reduces a failing graph to the
smallest that fails. The judge's process confirms the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from compiler.bisect.reduce import Case, reduce_case
from compiler.check.feeds import OUT_OF_RANGE
from compiler.check.judge import Verdict
from compiler.check.rounds import Round, make_round, make_rounds
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ops.evaluation.meaning import evaluate_graph
from compiler.trace import Log
from course.format.toml import Table
from course.graphs import filled_in, read_graph, variants
from course.judging.arrays import arrays_to_json, inputs_from_json
from course.judging.exercise import Given
from course.judging.judgement import Judgement, Score
from course.judging.session import error_of
from course.quantities.amount import Amount
from course.quantities.quantity import quantity_named
from course.quantities.subject import Subject

ROUND_SECONDS = 2.0
"""The time for the random inputs of one graph."""
REDUCE_SECONDS = 3.0

Transform = Callable[[Graph, Log], Graph]


@dataclass(frozen=True, slots=True)
class GraphCase:
    """A graph of an exercise, with holes for types and sizes, and the goals for it.

    `same` states that the answer must leave the graph unchanged. `goals` maps quantities to the
    largest allowed values.
    """

    name: str
    text: str
    types: tuple[str, ...]
    sizes: Mapping[str, tuple[int, ...]]
    goals: Mapping[str, float]
    same: bool

    def graphs(self) -> list[tuple[str, Mapping[str, object], Graph]]:
        """Return the graphs of all variants: name, values of the holes, and graph.

        Errors: those of reading the graph.
        """
        found: list[tuple[str, Mapping[str, object], Graph]] = []
        for words, values in variants(self.text, self.types, self.sizes):
            name = f"{self.name} ({words})" if words else self.name
            found.append((name, values, read_graph(filled_in(self.text, values), self.name)))
        return found

    def given(self) -> Given:
        """Return the graph as the page shows it: with its goals, and the values of its holes."""
        holes = {"T": self.types, **{name: map(str, s) for name, s in self.sizes.items()}}
        values = [f"{{{name}}} is {' or '.join(each)}" for name, each in holes.items() if each]
        goals = [f"{q.replace('_', ' ')} ≤ {_text(q, most)}" for q, most in self.goals.items()]
        same = ["must stay the same"] if self.same else []
        return Given(self.name, self.text.strip(), goals=(*goals, *same, *values))


def _text(quantity: str, value: float) -> str:
    return Amount(value, quantity_named(quantity).unit).text()


def read_case(t: Table, number: int) -> GraphCase:
    """Read a graph of an exercise. Errors: the code of the table."""
    t.only("name", "text", "types", "sizes", "goals", "same")
    sizes = t.table("sizes", {})
    goals = t.table("goals", {})
    made = GraphCase(
        t.text("name", f"graph {number}"),
        t.text("text"),
        t.texts("types", ()),
        {k: _counts(sizes, k) for k in sizes.values},
        {k: goals.number(k) for k in goals.values},
        t.truth("same", False),
    )
    try:
        for goal in made.goals:
            if not quantity_named(goal).is_counted:
                raise t.fail(f"{goal} does not follow from the graph alone")
        made.graphs()
    except CompileError as e:
        raise t.fail(f"{made.name}: {e.message}") from None
    return made


def _counts(t: Table, name: str) -> tuple[int, ...]:
    value = t.values[name]
    if not isinstance(value, list) or not all(type(n) is int and 0 < n < 10_000 for n in value):
        raise t.fail(f"{name} must be a list of sizes, got {value!r:.60}")
    return tuple(value)


def read_cases(t: Table) -> tuple[GraphCase, ...]:
    """Read the list `graph` of the settings. Errors: the code of the table."""
    found = tuple(read_case(x, i) for i, x in enumerate(t.tables("graph"), 1))
    if not found:
        raise t.fail("an exercise needs at least one graph")
    return found


class WithCases(Protocol):
    """Settings with graphs."""

    @property
    def cases(self) -> Sequence[GraphCase]:
        """The graphs."""
        ...


def given_cases(settings: WithCases) -> list[Given]:
    """Return the graphs of settings as the page shows them."""
    return [case.given() for case in settings.cases]


def reply_to(transform: Transform, question: Mapping[str, Any], budget: float) -> dict[str, Any]:
    """Reply to a question about a graph, in the process of the student's code."""
    graph = read_graph(question["graph"], "question")
    if "inputs" not in question:
        log = Log()
        after = transform(graph, log)
        if not isinstance(after, Graph):
            message = f"expected a graph, got {type(after).__name__}"
            raise CompileError("E-ANSWER-FORM", message, hint="return a graph")
        applied = [s for s in log.steps if s.outcome == "applied"]
        steps = [{"rule": s.rule, "at": s.at, "took": list(s.took), "made": list(s.made)}
                 for s in applied[-50:]]  # fmt: skip
        return {
            "graph": str(after),
            "steps": steps,
            "rules": sorted({s.rule for s in applied}),
            "endless": any(s.rule == "budget" for s in log.steps),
        }

    def fails(case: Case) -> bool:
        return _fails(transform, case, budget)

    case = Case(graph, inputs_from_json(question["inputs"], graph))
    if fails(case):
        case = reduce_case(case, fails, REDUCE_SECONDS)
    return {"graph": str(case.graph), "inputs": arrays_to_json(case.feeds)}


def _fails(transform: Transform, case: Case, budget: float) -> bool:
    try:
        after = read_graph(str(transform(case.graph, Log())))
    except CompileError:
        return False
    if objection_to_signature(case.graph, after):
        return False
    found = make_round(case.graph, "normal", case.feeds)
    return found is not None and bool(found.objection(after, budget)[1].objection)


def objection_to_signature(before: Graph, after: Graph) -> str:
    """Return how inputs or results of a graph changed, or ""."""
    inputs = {v.name: v.type for v in before.inputs}
    for v in after.inputs:
        if v.name not in inputs:
            return f"the graph has a new input {v.name}"
        if v.type != inputs[v.name]:
            return f"the input {v.name} is {v.type} instead of {inputs[v.name]}"
    for name in inputs.keys() - {v.name for v in after.inputs}:
        return f"the input {name} is missing"
    names = [r.name for r in before.results]
    if [r.name for r in after.results] != names:
        shown = ", ".join(r.name for r in after.results)
        return f"the results are {shown or 'none'} instead of {', '.join(names)}"
    for b, a in zip(before.results, after.results, strict=True):
        wanted, got = before.types[b.value], after.types[a.value]
        if wanted != got:
            return f"the result {b.name} is {got} instead of {wanted}"
    return ""


@dataclass(slots=True)
class GraphJudge:
    """The judge of one answer on all graphs of an exercise."""

    j: Judgement
    budget: float
    has_shown: bool = False
    """Whether a smallest graph was searched for: only the first failing graph is reduced."""

    def judge(self, cases: Sequence[GraphCase]) -> dict[str, list[str]]:
        """Test the answer on all graphs; return the rules that applied, by the name of a graph."""
        asked = [(case, name, g) for case in cases for name, _, g in case.graphs()]
        replies = self.j.ask([{"graph": str(g)} for _, _, g in asked])
        rules: dict[str, list[str]] = {}
        for (case, name, before), reply in zip(asked, replies, strict=True):
            error = error_of(reply)
            if error is not None:
                self.j.refused(name, error)
                continue
            value = reply["value"]
            rules[name] = _texts(value.get("rules")) if isinstance(value, Mapping) else []
            self.one(case, name, before, value)
        return rules

    def one(self, case: GraphCase, name: str, before: Graph, value: Any) -> None:
        """Test the graph that the answer made of one graph."""
        j, step = self.j, _last_step(value)
        try:
            text = value.get("graph") if isinstance(value, Mapping) else None
            if not isinstance(text, str):
                raise CompileError("E-ANSWER-FORM", "the answer returned no graph")
            after = read_graph(text, "answer")
        except CompileError as e:
            shown = {"graph": str(before), "step": step, "differs": e.message}
            j.failed(name, f"the answer is not a valid graph: {e.message}", shown)
            return
        objection = objection_to_signature(before, after)
        if objection:
            shown = {"graph": str(before), "answer": str(after), "step": step, "differs": objection}
            j.failed(name, objection, shown)
            return
        wrong = self.wrong_round(before, after)
        if wrong is not None:
            self.numbers(name, before, after, step, *wrong)
            return
        if value.get("endless"):
            shown = {"graph": str(before), "answer": str(after), "step": step}
            j.failed(name, "the rewrites never end: each one makes another match", shown)
            return
        if case.same and str(after) != str(before):
            shown = {"graph": str(before), "answer": str(after), "step": step}
            j.failed(name, "this graph must stay unchanged, but it changed", shown)
            return
        j.passed(name, "the results stay the same")
        score_goals(j, name, case, after)

    def wrong_round(self, before: Graph, after: Graph) -> tuple[Round, str, Verdict] | None:
        """Return the first random inputs on which a result differs."""
        return wrong_round(before, after, self.j.seed, self.budget)

    def numbers(
        self, test: str, before: Graph, after: Graph, step: Any, r: Round, name: str, v: Verdict
    ) -> None:
        """Record a failed test on numbers, with the smallest failing graph."""
        words = f"wrong result {name}: {v.objection}" if name else v.objection
        shown = None if self.has_shown else self.smallest(before, r)
        self.has_shown = True
        shown = shown or counterexample(before, after, r.feeds, v.objection, step)
        self.j.failed(test, words, shown)

    def smallest(self, before: Graph, r: Round) -> Mapping[str, Any] | None:
        """Ask for a smaller failing graph, and confirm it; None if there is none."""
        question = {"graph": str(before), "inputs": arrays_to_json(r.feeds)}
        try:
            value = self.j.ask([question])[0]["value"]
            small = read_graph(value["graph"], "counterexample")
            feeds = inputs_from_json(value["inputs"], small)
            reply = self.j.ask([{"graph": str(small)}])[0]["value"]
            after = read_graph(reply["graph"], "answer")
        except (CompileError, KeyError, TypeError):
            return None
        if objection_to_signature(small, after):
            return None
        made = make_round(small, "normal", feeds)
        verdict = made.objection(after, self.budget)[1] if made else Verdict()
        if not verdict.objection:
            return None
        return counterexample(small, after, feeds, verdict.objection, _last_step(reply))


def wrong_round(
    before: Graph, after: Graph, seed: int, budget: float, *, moderate: bool = False
) -> tuple[Round, str, Verdict] | None:
    """Return the first random inputs on which a result differs, the result, and the verdict.

    With `moderate`, inputs contain no infinities, no NaN and no extreme numbers.
    Errors: E-EXERCISE-FORM if no random inputs are valid for the first graph: nothing could be
    compared.
    """
    rounds = make_rounds(before, seed, ROUND_SECONDS)
    if not rounds:
        raise CompileError("E-EXERCISE-FORM", "the graph of the exercise refuses random inputs")
    for r in rounds:
        if moderate and r.kind in OUT_OF_RANGE:
            continue
        name, verdict = r.objection(after, budget)
        if verdict.objection:
            return r, name, verdict
    return None


def score_goals(j: Judgement, name: str, case: GraphCase, graph: Graph) -> None:
    """Record the scores of a graph that the answer made of a graph of the exercise."""
    subject = Subject(graph)
    for goal, most in case.goals.items():
        amount = quantity_named(goal).of(subject)
        j.score(f"{name}: {goal}", Score(goal, amount.value, amount.unit, most))


def counterexample(
    before: Graph, after: Graph, feeds: Mapping[str, Any], differs: str, step: Any
) -> dict[str, Any]:
    """Return a counterexample as data: both graphs, the inputs, and both results."""
    try:
        got = arrays_to_json(evaluate_graph(after, feeds))
    except CompileError as e:
        got = {"error": {"type": "error", "values": e.message}}
    return {
        "graph": str(before),
        "answer": str(after),
        "inputs": arrays_to_json(feeds),
        "expected": arrays_to_json(evaluate_graph(before, feeds)),
        "got": got,
        "differs": differs,
        "step": step,
    }


def _last_step(value: Any) -> Any:
    steps = value.get("steps") if isinstance(value, Mapping) else None
    if not isinstance(steps, list) or not steps or not isinstance(steps[-1], Mapping):
        return None
    last = steps[-1]
    return {
        "rule": str(last.get("rule", ""))[:200],
        "at": str(last.get("at", ""))[:200],
        "took": _texts(last.get("took")),
        "made": _texts(last.get("made")),
    }


def _texts(value: Any) -> list[str]:
    return [str(x)[:200] for x in value[:50]] if isinstance(value, list) else []

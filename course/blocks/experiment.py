"""The block `experiment`: compile cases of a model, count, and measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.ir.graph import Graph
from compiler.ir.infer import fix_sizes
from compiler.ir.types import open_symbols
from compiler.memory.orders import METHODS
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import parse_pipeline
from compiler.place.place import SCHEDULERS
from compiler.place.platform_text import shipped
from compiler.targets.target import TARGETS
from course.blocks.results import Results, Run
from course.format.kind import NAME, block_kind
from course.format.toml import Table, read_toml
from course.quantities.amount import Amount, ratio_of
from course.quantities.compile_times import compile_times
from course.quantities.devices import Devices, PlacedSubject
from course.quantities.kernel_code import depends_on_target
from course.quantities.quantity import Quantity, quantity_named
from course.quantities.run_times import measured
from course.quantities.subject import Subject

_CASE = ("of", "sizes", "pipeline", "threads", "precision", "schedule", "order", "memory_limit",
         "devices", "scheduler", "ahead", "buckets", "run", "target", "words")  # fmt: skip
MOST_CASES = 20


@dataclass(frozen=True, slots=True)
class Case:
    """A case: a model (by default that of the experiment), and how it is compiled.

    `sizes` replaces open sizes of the model by numbers. `schedules` has the texts of schedules by
    the value that their kernel computes; `schedule` names a block with such a text. Schedules
    change machine code and times, and no other count. `order` is the method that orders the
    launches. With a memory limit in bytes (0: none), values are recomputed. `devices` is the
    platform of a simulated run. `buckets` lists values of open sizes with code of their
    own. `run` has the open sizes of the inputs of a timed run; counts are those of such a run.
    `target` names the machine of the quantities of kernels' code.
    """

    of: str
    sizes: Mapping[str, int]
    pipeline: str
    threads: int
    precision: str
    schedules: Mapping[str, str]
    schedule: str
    order: str
    memory_limit: int
    devices: Devices | None
    buckets: Mapping[str, tuple[int, ...]]
    run: Mapping[str, int]
    target: str
    words: str


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient of a quantity in one case and a quantity in another; by default the same one."""

    quantity: str
    per: str
    over: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Experiment:
    """The measured quantities, the cases and the reported quotients of an experiment."""

    measure: tuple[str, ...]
    cases: Mapping[str, Case]
    ratios: Mapping[str, Ratio]


def read_experiment(body: str, where: Where) -> Experiment:
    """Read the body of an experiment. Errors: E-LESSON-BLOCK."""
    table = read_toml(body, where).only("measure", "case", "ratio")
    measure = table.texts("measure")
    _known(table, measure)
    cases = {name: _case(t) for name, t in table.each("case").items()}
    if any(c.buckets for c in cases.values()):
        for q in map(quantity_named, measure):
            if q.needs not in ("time", "compiling"):
                raise table.fail(f"{q.name} has no value for buckets; measure times only")
    ratios = {name: _ratio(t, measure, cases) for name, t in table.each("ratio").items()}
    if not measure or not cases or len(cases) > MOST_CASES:
        raise table.fail(f"an experiment has a measure, and from 1 to {MOST_CASES} cases")
    others = [q for q in measure if not depends_on_target(q)]
    if others and any(c.target for c in cases.values()):
        raise table.fail(f"{', '.join(others)} cannot be measured for another target")
    for name in (*cases, *ratios):
        if not NAME.match(name) or (name in cases and name in ratios):
            raise table.fail(f"{name!r:.40} must be a word, and name one case or one ratio")
    return Experiment(measure, cases, ratios)


def _known(table: Table, names: tuple[str, ...]) -> None:
    for name in names:
        try:
            quantity_named(name)
        except CompileError as e:
            raise table.fail(e.message) from None


def _case(t: Table) -> Case:
    t.only(*_CASE)
    name, schedules = _schedule(t)
    order = t.text("order", "best")
    if order not in METHODS:
        raise t.fail(f"no order is named {order!r:.40}; orders: {', '.join(METHODS)}")
    return Case(
        t.text("of", ""),
        _sizes(t, "sizes"),
        t.text("pipeline", "none"),
        t.integer("threads", 1),
        t.text("precision", "f32"),
        schedules,
        name,
        order,
        t.integer("memory_limit", 0),
        _devices(t),
        _buckets(t),
        _sizes(t, "run"),
        _target(t),
        t.text("words", ""),
    )


def _target(t: Table) -> str:
    name = t.text("target", "")
    if name and name not in TARGETS:
        raise t.fail(f"no target is named {name!r:.40}; targets: {', '.join(TARGETS)}")
    return name


def _schedule(t: Table) -> tuple[str, Mapping[str, str]]:
    """Read the name of a block with a schedule, or the texts of schedules by value."""
    if isinstance(t.values.get("schedule"), str):
        return t.text("schedule"), {}
    texts = t.table("schedule", {})
    return "", {value: texts.text(value, "") for value in texts.values}


def _sizes(t: Table, key: str) -> Mapping[str, int]:
    sizes = t.table(key, {})
    given = {name: sizes.integer(name) for name in sizes.values}
    if any(n < 1 for n in given.values()):
        raise t.fail(f"sizes are positive, got {given}")
    return given


def _buckets(t: Table) -> Mapping[str, tuple[int, ...]]:
    sizes = t.table("buckets", {})
    return {name: sizes.integers(name) for name in sizes.values}


def _devices(t: Table) -> Devices | None:
    platform, scheduler = t.text("devices", ""), t.text("scheduler", "iterated")
    if scheduler not in SCHEDULERS:
        known = ", ".join(SCHEDULERS)
        raise t.fail(f"no scheduler is named {scheduler!r:.40}; schedulers: {known}")
    if platform and platform not in shipped():
        raise t.fail(f"no platform is named {platform!r:.40}; platforms: {', '.join(shipped())}")
    return Devices(platform, scheduler, t.integer("ahead", -1)) if platform else None


def _ratio(t: Table, measure: tuple[str, ...], cases: Mapping[str, Case]) -> Ratio:
    t.only("quantity", "per", "over")
    quantity, over = t.text("quantity"), t.texts("over")
    per = t.text("per", quantity)
    if not {quantity, per} <= set(measure) or len(over) != 2 or not set(over) <= set(cases):
        raise t.fail("a ratio has a measured quantity, and two cases in `over`")
    return Ratio(quantity, per, (over[0], over[1]))


@block_kind(body="toml", read=read_experiment)
def experiment(
    run: Run,
    plan: Experiment,
    *,
    name: str,
    of: str = "",
    draw: Literal["table", "bars", "roofline"] = "table",
) -> Results:
    """Compile each case, and count or measure the quantities that the experiment lists.

    Results are `case.quantity`, and the ratios by name. The rounds of all timed cases are
    interleaved, so noise affects all cases alike.
    """
    subjects = {name: _subject(run, case, of) for name, case in plan.cases.items()}
    chosen = [quantity_named(q) for q in plan.measure]
    amounts = _counted(run, chosen, subjects) | _compiled(run, chosen, subjects)
    times, rounds = _timed(run, chosen, subjects)
    amounts |= times
    wanted = {f"{case}.{q.name}" for q in chosen for case in subjects} | plan.ratios.keys()
    amounts |= _quotients(plan.ratios, amounts)
    data: dict[str, Any] = {
        "cases": {n: {"pipeline": c.pipeline, "words": c.words} for n, c in plan.cases.items()},
        "draw": draw,
        **({"rounds": rounds} if rounds else {}),
    }
    return Results(amounts, data=data, omitted=frozenset(wanted - amounts.keys()))


Subjects = Mapping[str, Subject]


def _counted(run: Run, chosen: Iterable[Quantity], subjects: Subjects) -> dict[str, Amount]:
    """Return the quantities that are equal in each run; code needs a run that measures."""
    needs = ("graph", "devices", "numbers", *(["code"] if run.seconds else []))
    counted = [q for q in chosen if q.needs in needs]
    return {f"{case}.{q.name}": q.of(s) for q in counted for case, s in subjects.items()}


def _compiled(run: Run, chosen: Iterable[Quantity], subjects: Subjects) -> dict[str, Amount]:
    if not run.seconds or all(q.needs != "compiling" for q in chosen):
        return {}
    times = compile_times(subjects, run.alone)
    return {f"{case}.compile_seconds": amount for case, amount in times.items()}


def _timed(
    run: Run, chosen: Iterable[Quantity], subjects: Subjects
) -> tuple[dict[str, Amount], dict[str, tuple[float, ...]]]:
    """Return the timed quantities, and the times of all rounds by case."""
    timed = [q.name for q in chosen if q.needs == "time"]
    if not timed or not run.seconds:
        return {}, {}
    times, rounds = measured(subjects, run.seconds, run.alone)
    return {f"{case}.{q}": a for q in timed for case, a in times.items()}, rounds


def _quotients(ratios: Mapping[str, Ratio], amounts: Mapping[str, Amount]) -> dict[str, Amount]:
    """Return the quotients whose two amounts exist."""
    found: dict[str, Amount] = {}
    for name, r in ratios.items():
        pairs = zip(r.over, (r.quantity, r.per), strict=True)
        over, under = (amounts.get(f"{case}.{q}") for case, q in pairs)
        if over is not None and under is not None:
            found[name] = ratio_of(over, under)
    return found


def _subject(run: Run, case: Case, of: str) -> Subject:
    source = _with_sizes(run, _model(run, case.of or of), case.sizes)
    try:
        lines = parse_pipeline(case.pipeline)
    except CompileError as e:
        raise e.at(run.where) from None
    options: dict[str, Any] = {
        "pipeline": lines, "threads": case.threads, "precision": case.precision,
        "order": case.order, "memory_limit_bytes": case.memory_limit or None,
    }  # fmt: skip
    if case.buckets:
        options["buckets"] = dict(case.buckets)
    if case.target:
        options["target"] = case.target
    if case.schedules:
        options["schedules"] = dict(case.schedules)
    if case.schedule:
        options["schedules"] = _schedules(run, case.schedule)
    fed = _with_sizes(run, source, case.run)
    return PlacedSubject(run_pipeline(fed, lines)[0], options, source, fed, devices=case.devices)


def _schedules(run: Run, name: str) -> Mapping[str, str]:
    """Return the schedule of a block, by the name of its kernel. Errors: E-LESSON-RESULT."""
    found = run.results.get(name)
    if found is None or "kernel" not in found.data:
        message = f"no earlier block {name!r:.60} has a schedule"
        raise CompileError("E-LESSON-RESULT", message, where=run.where)
    return {found.data["kernel"]: found.texts["schedule"]}


def _with_sizes(run: Run, graph: Graph, sizes: Mapping[str, int]) -> Graph:
    if not sizes:
        return graph
    known = open_symbols(v.type for v in graph.inputs)
    for name in sizes:
        if name not in known:
            shown = ", ".join(sorted(known)) or "none"
            message = f"the model has no open size {name!r:.40}; open sizes: {shown}"
            raise CompileError("E-LESSON-RESULT", message, where=run.where)
    return fix_sizes(graph, sizes)


def _model(run: Run, name: str) -> Graph:
    if not name:
        message = "the experiment names no model: give it the option of=NAME"
        raise CompileError("E-LESSON-BLOCK", message, where=run.where)
    return run.graph(name)

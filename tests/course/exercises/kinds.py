"""An exercise of each kind, with a solution, and wrong answers with what the judge says."""

from __future__ import annotations

from typing import Any, NamedTuple


class Sample(NamedTuple):
    settings: dict[str, Any]
    solution: str
    wrong: list[tuple[str, str]]
    """Answers that must fail, and a part of a message."""


NEGATIONS = """
graph g(x: {T}[{N},3]) {
  a = neg(x)
  b = neg(a)
  y = relu(b)
  return y
}
"""
ONE_NEGATION = """
graph g(x: f32[2,3]) {
  a = neg(x)
  y = relu(a)
  return y
}
"""
SUBTRACTIONS = """
graph g(a: {T}[{N},3], b: {T}[3], c: {T}[{N},3]) {
  d = sub(a, b)
  e = sub(d, c)
  f = relu(e)
  return f
}
"""
RULE = """
from course.student.rules import Any, o, rule

@rule(o.neg(o.neg(Any("x"))))
def drop_negations(x):
    return x
"""
SUBTRACT = """
from course.student.rules import Any, o, rule

@rule(o.neg(o.neg(Any("x"))))
def drop_negations(x):
    return x

@rule(o.sub(o.sub(Any("a"), Any("b")), Any("c")))
def subtract_once(a, b, c):
    return o.sub(a, o.add(b, c))
"""
SIZES = {"N": [2, 5]}

BUCKETS = """
from itertools import combinations

def buckets(lengths, most):
    def padded(chosen):
        return sum(min(b for b in chosen if b >= n) - n for n in lengths)
    others = sorted({*lengths} - {max(lengths)})
    choices = [[*chosen, max(lengths)] for chosen in combinations(others, most - 1)]
    return min(choices, key=padded)
"""
EVEN_BUCKETS = """
def buckets(lengths, most):
    step = -(-max(lengths) // most)
    return [step * (i + 1) for i in range(most)]
"""
RUNS = {"lengths": [3, 4, 4, 17, 21, 20], "buckets": 3}
PRODUCTS = [
    {"name": "small", "rows": 60, "columns": 72, "depth": 90},
    {"name": "flat", "rows": 7, "columns": 1200, "depth": 900},
]
SEARCH = """
def search(space, cost, chance):
    best = space.default
    while True:
        other = space.neighbour(best, chance)
        if cost(other) < cost(best):
            best = other
"""
MODEL = """
def fit(features, costs):
    def predict(asked):
        known = [
            (sum(abs(a - b) / (a + b + 1) for a, b in zip(asked, f)), c)
            for f, c in zip(features, costs)
        ]
        return min(known)[1]
    return predict
"""

PASS = """
def run(graph, log):
    from course.student.graphs import Editor
    ed = Editor(graph)
    changed = False
    for node in graph.nodes:
        inner = ed.producer(node.inputs[0])
        if node.op == "neg" and inner is not None and inner.op == "neg":
            ed.replace(node.output, inner.inputs[0])
            ed.remove_unused([node.output])
            changed = True
    return ed.graph() if changed else graph
"""

POLICY = """
from course.student.fusion import Plan, Units, why_not_into

def policy(graph, limits, log):
    units = Units(graph)
    for unit in units.all():
        readers = units.readers(unit)
        if len(readers) == 1 and not why_not_into(units, unit, readers[0], limits.max_nodes):
            units.absorb(unit, readers[0])
    made, groups = units.result()
    return Plan(made, groups, lambda node, user: "not alone")
"""

PLANNER = """
def plan(problem):
    offsets, placed = [0] * len(problem.blocks), []
    order = sorted(range(len(problem.blocks)), key=lambda i: -problem.blocks[i].size)
    for i in order:
        b, at = problem.blocks[i], 0
        for low, high, other in sorted(placed, key=lambda p: p[:2]):
            if other.start < b.end and b.start < other.end and at + b.size > low:
                at = max(at, high)
        offsets[i] = at
        placed.append((at, at + b.size, b))
    return offsets
"""

SCHEDULER = """
from course.student.devices import Timeline

def schedule(problem):
    line = Timeline(problem)
    pairs = []
    for t in sorted(range(problem.n), key=lambda t: -problem.upward_ranks[t]):
        def end(d):
            return line.ends(t, d)
        d = min(problem.able[t], key=end)
        line.put(t, d)
        pairs.append((problem.graph.tasks[t].name, problem.platform.devices[d].name))
    return pairs
"""
TASKS = """
tasks fork {
  given x: 4000 bytes
  a: 1000 bytes = a(x), core0 1.0 s, core1 2.0 s
  b: 9000 bytes = b(x), core0 2.0 s, core1 2.0 s
  c: 500 bytes = c(a, b), core0 1.0 s, core1 1.5 s
  return c
}
"""
COMPUTATION = """
computation doubled(A: f32[8,10]) -> Y: f32[10,8] {
  Y[i, j] = add(A[j, i], A[j, i])  for i<10, j<8
}
"""

SAMPLES: dict[str, Sample] = {
    "write_rule": Sample(
        {
            "rules": ["drop_negations"],
            "graph": [
                {
                    "name": "twice",
                    "text": NEGATIONS,
                    "types": ["f32", "i32", "f16"],
                    "sizes": SIZES,
                    "goals": {"nodes": 1},
                },
                {"name": "once", "text": ONE_NEGATION, "same": True},
            ],
        },
        RULE,
        [
            (RULE.replace("return x", "return o.neg(x)"), "differ"),
            (RULE.replace("return x", "return o.exp(x)"), "differ"),
            (RULE.replace('o.neg(o.neg(Any("x")))', 'o.neg(Any("x"))'), "differ"),
            (RULE.replace("neg", "abs"), "the answer defines no rule drop_negations"),
            (RULE.replace("(x):", "(y):"), "takes y, but the pattern binds x"),
            (RULE.replace("return x", "return 1 / 0"), "ZeroDivisionError"),
            (RULE.replace("return x", "return x.nothing"), "has no attribute 'nothing'"),
            (RULE.replace("def", "dfe"), "syntax"),
            ("", "defines no rule"),
        ],
    ),
    "fix_rule": Sample(
        {
            "rules": ["drop_negations", "subtract_once"],
            "error": 2e-6,
            "graph": [
                {"text": NEGATIONS, "types": ["f32"], "sizes": SIZES},
                {"text": SUBTRACTIONS, "types": ["f32", "f64"], "sizes": SIZES},
            ],
        },
        SUBTRACT,
        [
            (SUBTRACT.replace("o.add(b, c)", "o.sub(b, c)"), "differ"),
            (SUBTRACT.replace("o.sub(a, o.add(b, c))", "o.sub(o.sub(b, a), c)"), "never end"),
            (SUBTRACT.replace("o.sub(o.sub(", "o.mul(o.sub("), "subtract_once matches nothing"),
        ],
    ),
    "write_pass": Sample(
        {
            "graph": [
                {
                    "name": "twice",
                    "text": NEGATIONS,
                    "types": ["f32", "i64"],
                    "sizes": SIZES,
                    "goals": {"nodes": 1},
                },
                {"name": "once", "text": ONE_NEGATION, "same": True},
            ]
        },
        PASS,
        [
            (PASS.replace("output, inner.inputs[0]", "output, node.inputs[0]"), "differ"),
            (PASS.replace("ed.graph() if changed else graph", "None"), "expected a graph"),
            (PASS.replace("ed.graph() if changed else graph", "graph"), "nodes: 3"),
            (PASS.replace("def run", "def walk"), "no function run"),
        ],
    ),
    "write_policy": Sample(
        {
            "graph": [
                {
                    "name": "chain",
                    "text": NEGATIONS,
                    "types": ["f32"],
                    "sizes": SIZES,
                    "goals": {"kernels": 1},
                }
            ]
        },
        POLICY,
        [
            (POLICY.replace("if len(readers) == 1", "if False"), "kernels: 3"),
            (POLICY.replace("return Plan(", "return ("), "expected a Plan"),
        ],
    ),
    "write_planner": Sample(
        {
            "problem": [
                {
                    "text": "plan 0 bytes, alignment 1 {\n  a: 4 bytes, live 0..2\n"
                    "  b: 3 bytes, live 1..3\n}"
                }
            ],
            "random": 5,
            "within": 1.3,
        },
        PLANNER,
        [
            (PLANNER.replace("other.start < b.end", "other.start < b.end - 1"), "both are alive"),
            (PLANNER.replace("return offsets", "return [0] * len(offsets)"), "both are alive"),
            (PLANNER.replace("return offsets", "return offsets[1:]"), "returned 1 offsets"),
            (PLANNER.replace("return offsets", "return ['x' for _ in offsets]"), "no integer"),
            (PLANNER.replace("return offsets", "return 3"), "not iterable"),
            (PLANNER.replace("other.start < b.end and", ""), "the goal is at most"),
        ],
    ),
    "write_scheduler": Sample(
        {"platform": "two-cores", "tasks": [{"name": "fork", "text": TASKS}], "within": 1.1},
        SCHEDULER,
        [
            (SCHEDULER.replace("return pairs", "return pairs[::-1]"), "comes before"),
            (SCHEDULER.replace("return pairs", "return pairs[1:]"), "comes before"),
            (SCHEDULER.replace("return pairs", "return pairs[:-1]"), "does not run"),
            (SCHEDULER.replace("return pairs", "return pairs + pairs"), "runs twice"),
            (SCHEDULER.replace(".platform.devices[d].name", ".platform.name"), "no device"),
            (
                SCHEDULER.replace("return pairs", "return [(a, 'core1') for a, _ in pairs]"),
                "the goal is at most",
            ),
        ],
    ),
    "write_buckets": Sample(
        {"runs": [RUNS], "random": 0},
        BUCKETS,
        [
            (EVEN_BUCKETS, "the goal is at most"),
            (BUCKETS.replace("most - 1", "most"), "4 buckets; at most 3"),
            (BUCKETS.replace("return min(choices, key=padded)", "return [4]"), "fits no bucket"),
            (BUCKETS.replace("return min(", "return 0.5, min("), "not a list of whole numbers"),
            (BUCKETS.replace("return min(choices, key=padded)", "return 5"), "not iterable"),
        ],
    ),
    "write_search": Sample(
        {"product": PRODUCTS, "tries": 30, "seeds": 5, "within": 0.95},
        SEARCH,
        [
            (SEARCH.replace("space.neighbour(best, chance)", "space.random(chance)"), "goal"),
            (SEARCH.replace("cost(other) < cost(best)", "cost(other) > cost(best)"), "goal"),
            (SEARCH.replace("best = space.default", "return"), "tries no point"),
            (SEARCH.replace("best = space.default", "cost((1, 2))"), "no point of the space"),
            (SEARCH.replace("space.default", "(16, 0, 0, 0)"), "no point of the space"),
            (SEARCH.replace("def search", "def find"), "no function search"),
        ],
    ),
    "write_cost_model": Sample(
        {"product": PRODUCTS, "tries": 30, "most_wrong": 0.36},
        MODEL,
        [
            (MODEL.replace("return predict", "return None"), "fit returns a function"),
            (MODEL.replace("min(known)", "max(known)"), "the goal is at most"),
            (MODEL.replace("return min(known)[1]", "return float('nan')"), "no finite number"),
            (MODEL.replace("return min(known)[1]", "return 'x'"), "could not convert"),
            (MODEL.replace("def fit", "def learn"), "no function fit"),
        ],
    ),
    "write_graph": Sample(
        {
            "graph": {
                "text": NEGATIONS,
                "types": ["f32", "f64"],
                "sizes": SIZES,
                "goals": {"nodes": 1},
            },
            "without": ["neg"],
        },
        "graph g(x: {T}[{N},3]) {\n  y = relu(x)\n  return y\n}",
        [
            (NEGATIONS, "uses neg"),
            ("graph g(x: {T}[{N},3]) {\n  z = relu(x)\n  y = relu(z)\n  return y\n}", "nodes: 2"),
            ("graph g(x: {T}[{N},3]) {\n  y = abs(x)\n  return y\n}", "differ"),
            ("graph g(x: f32[2,3]) {\n  y = abs(x)\n  return y\n}", "instead of f64[5,3]"),
            ("graph g(x: {T}[{N},3]) {\n  z = abs(x)\n  return z\n}", "the results are z"),
            ("graph g(x: {T}[{N},3]) {\n  y = matmul(x, x)\n  return y\n}", "needs size 3"),
            ("graph g(", "needed a name"),
        ],
    ),
    "order_passes": Sample(
        {
            "passes": ["fuse", "dead_code_elimination", "simplify"],
            "most": 3,
            "graph": [
                {
                    "name": "chain",
                    "text": NEGATIONS,
                    "types": ["f32"],
                    "sizes": {"N": [2]},
                    "goals": {"kernels": 1},
                }
            ],
        },
        "fuse",
        [
            ("", "the pipeline is empty"),
            ("default", "not an answer here"),
            ("fuze", "fuze"),
            ("fold_constants,fuse", "fold_constants is not among"),
            ("fuse,fuse,fuse,fuse", "at most 3"),
            ("fuse{policy=none}", "kernels: 3"),
        ],
    ),
    "edit_schedule": Sample(
        {"computation": COMPUTATION, "goals": {"iterations": 16}, "uses": ["vectorize"]},
        "// all lanes at once\nY: vectorize(j)\n",
        [
            ("", "no move vectorize"),
            ("Y: vectorize(i)", "must be innermost"),
            ("Y: reorder(i, k)", "k"),
            ("nonsense", "needed"),
        ],
    ),
    "predict": Sample(
        {
            "graph": {"text": NEGATIONS, "types": ["f32"], "sizes": {"N": [2]}},
            "pipeline": "fuse",
            "quantity": "bytes",
            "within": 0.05,
            "mistake": [{"value": 96, "words": "The value between both nodes stays inside."}],
        },
        "48",
        [
            ("96", "more than counted. The value between both nodes stays inside."),
            ("97", "97 B is more than counted."),
            ("10", "less than"),
            ("many", "expected a number"),
        ],
    ),
}

"""Growth of an e-graph by iterations of egglog, and its conversion back to data.

An egglog rule only proposes that two terms are equal. Two terms become a single class only if they
have the same type. The type rules of operators give the types of new terms. Source: egg, Willsey et
al. 2021 (arXiv:2004.03082); egglog, Zhang et al. 2023 (arXiv:2304.04332).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import field
from functools import cache
from typing import Any

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import uniform
from compiler.passes.equality_saturation.axioms import AXIOMS, derived, rules_of
from compiler.passes.equality_saturation.egraph import EClass, EGraph, ENode
from compiler.passes.equality_saturation.terms import (
    Region,
    Vocabulary,
    call,
    operands_of,
    quoted,
    result_type,
)

PRELUDE = """
(datatype T (L String) (N1 String String T) (N2 String String T T) (N3 String String T T T))
(function ty (T) String :merge old)
(function out1 (String String String) String :merge old)
(function out2 (String String String String) String :merge old)
(function out3 (String String String String String) String :merge old)
(function compose (String String) String :merge old)
(relation is (String T))
(relation cand (T T))
(relation uniform (T f64))
(relation pointwise (String))
(relation whole (String))
(relation real (String))
(relation rank2 (String))
(relation identity (String))
(ruleset types)
(ruleset rules)
(ruleset unite)
(rule ((= e (N1 o p a)) (= t (out1 o p (ty a)))) ((set (ty e) t)) :ruleset types :name "t1")
(rule ((= e (N2 o p a b)) (= t (out2 o p (ty a) (ty b)))) ((set (ty e) t))
  :ruleset types :name "t2")
(rule ((= e (N3 o p a b c)) (= t (out3 o p (ty a) (ty b) (ty c)))) ((set (ty e) t))
  :ruleset types :name "t3")
(rule ((cand a b) (= (ty a) (ty b)) (!= a b)) ((union a b)) :ruleset unite :name "unite")
(rule ((= r (N1 "transpose" q (N1 "transpose" p a))) (= pq (compose p q)))
  ((cand r (N1 "transpose" pq a))) :ruleset rules :name "transposes_compose")
(rule ((= r (N1 "transpose" p a)) (identity p)) ((cand r a))
  :ruleset rules :name "transpose_to_itself")
"""

MAX_RANK = 4
"""Largest rank up to which permutations are composed; rank 4 has 24 permutations."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the growth: iterations, and nodes."""

    rounds: int
    nodes: int


def grow(graph: Graph, region: Region, inexact: bool, limits: Limits) -> EGraph:
    """Return the e-graph of a region after saturation, or at the limits of growth."""
    return _Growing(graph, region, inexact).run(limits)


@dataclass(slots=True)
class _Growing:
    graph: Graph
    region: Region
    inexact: bool
    words: Vocabulary = field(default_factory=Vocabulary)
    known: set[tuple[str, ...]] = field(default_factory=set)
    """Calls whose types are inferred: operator, attributes, operand types."""
    told: set[str] = field(default_factory=set)
    matches: dict[str, int] = field(default_factory=dict)
    engine: Any = None

    def run(self, limits: Limits) -> EGraph:
        from egglog import bindings

        self.engine = bindings.EGraph()
        self.engine.run_program(*_program(self.inexact))
        self.say(*self._facts(), *self._terms())
        self._settle()
        found = self._read_back()
        for done in range(1, limits.rounds + 1):
            before = found.n_nodes, len(found.classes)
            self._count(self.say("(run rules 1)"))
            self._settle()
            found = self._read_back()
            found.rounds = done
            if (found.n_nodes, len(found.classes)) == before:
                found.saturated = True
                break
            if found.n_nodes > limits.nodes:
                break
        self._order(found)
        found.matches = {k: v for k, v in sorted(self.matches.items()) if v}
        return found

    def _order(self, found: EGraph) -> None:
        """Sort the original nodes of the graph first: at equal cost extraction prefers them."""
        stood = {
            ENode(n.op, self.words.attributes(n), tuple(found.of_value[i] for i in operands_of(n)))
            for n in self.region.nodes
        }
        for c in found.classes.values():
            c.nodes.sort(key=lambda n: (n not in stood, n))

    def say(self, *texts: str) -> list[Any]:
        return self.engine.run_program(*self.engine.parse_program("\n".join(texts)))

    # Facts and terms for egglog

    def _facts(self) -> Iterator[str]:
        for name in sorted({n.op for n in self.region.nodes}):
            if OPERATORS[name].kind == "elementwise":
                yield f"(pointwise {quoted(name)})"
        ranks = {n.tensor.rank for n in self.region.nodes if n.op == "transpose"} | {2}
        transpose = OPERATORS["transpose"]
        for rank in sorted(r for r in ranks if r <= MAX_RANK):
            orders = list(itertools.permutations(range(rank)))
            texts = {o: self.words.attributes_of(transpose, {"perm": o}) for o in orders}
            yield f"(identity {quoted(texts[orders[0]])})"
            for p, q in itertools.product(orders, orders):
                both = texts[tuple(p[i] for i in q)]
                yield f"(set (compose {quoted(texts[p])} {quoted(texts[q])}) {quoted(both)})"
        for axis in (0, 1):
            self.words.attributes_of(OPERATORS["concat"], {"axis": axis})

    def _terms(self) -> Iterator[str]:
        made = {n.output for n in self.region.nodes}
        terms: dict[str, str] = {}
        for node in self.region.nodes:
            for i in operands_of(node):
                if i not in made and i not in terms:
                    terms[i] = f"(L {quoted(i)})"
                    yield from self._leaf(i, terms[i])
            terms[node.output] = f"$v{len(terms)}"
            operands = [terms[i] for i in operands_of(node)]
            made_of = call(node.op, self.words.attributes(node), operands)
            yield f"(let {terms[node.output]} {made_of})"
            yield f"(is {quoted(node.output)} {terms[node.output]})"
            t = self._type(node.tensor)
            yield f"(set (ty {terms[node.output]}) {quoted(t)})"

    def _leaf(self, value: str, term: str) -> Iterator[str]:
        t = self.graph.types[value]
        assert isinstance(t, TensorType)
        yield f"(is {quoted(value)} {term})"
        yield f"(set (ty {term}) {quoted(self._type(t))})"
        constant = self.graph.constants.get(value)
        number = None if constant is None else uniform(constant)
        if isinstance(number, int | float) and not isinstance(number, bool):
            if number == number and abs(number) < 1e15:
                yield f"(uniform {term} {float(number)!r})"

    def _type(self, t: TensorType) -> str:
        """Return the text of a type, and add its properties as facts to egglog once."""
        text = self.words.type_text(t)
        if text not in self.told:
            self.told.add(text)
            whole = t.dtype.is_integer and not t.dtype.is_storage
            words = ["whole"] if whole else ["real"] if t.dtype.is_float else []
            words += ["rank2"] if t.rank == 2 else []
            if words:
                self.say(*(f"({w} {quoted(text)})" for w in words))
        return text

    # Type inference of new terms

    def _settle(self) -> None:
        """Infer the types of new terms; unite terms that rules equate if their types are equal."""
        while True:
            self.say("(run-schedule (saturate types) (saturate unite) (saturate types))")
            found = self._read_back()
            unknown = list(dict.fromkeys(self._untyped(found)))
            if not unknown:
                return
            self.known.update(unknown)
            self.say(*filter(None, map(self._typed, unknown)))

    def _untyped(self, found: EGraph) -> Iterator[tuple[str, ...]]:
        for c in found.classes.values():
            for n in c.nodes:
                types = [found.classes[i].type for i in n.operands]
                if n.op and all(types):
                    key = (n.op, n.attrs, *map(str, types))
                    if key not in self.known:
                        yield key

    def _typed(self, key: tuple[str, ...]) -> str:
        op, attrs, *texts = key
        t = result_type(op, self.words.attrs[attrs], [self.words.types[t] for t in texts])
        if t is None:
            return ""
        operands = " ".join(map(quoted, [op, attrs, *texts]))
        return f"(set (out{len(texts)} {operands}) {quoted(self._type(t))})"

    # Conversion back

    def _read_back(self) -> EGraph:
        nodes = json.loads(self.engine.serialize([]).to_json())["nodes"]
        found = EGraph(self.words.attrs)
        for key, node in nodes.items():
            if node["op"] in ("L", "N1", "N2", "N3"):
                at = found.classes.setdefault(node["eclass"], EClass(node["eclass"]))
                parts = [nodes[c] for c in node["children"]]
                at.nodes.append(_enode(node["op"], parts))
            elif node["op"] == "ty":
                of = nodes[node["children"][0]]["eclass"]
                at = found.classes.setdefault(of, EClass(of))
                at.type = self.words.types[json.loads(_text_in(nodes, key))]
            elif node["op"] == "is":
                name, term = (nodes[c] for c in node["children"])
                found.of_value[json.loads(name["op"])] = term["eclass"]
        return found

    def _count(self, outputs: list[Any]) -> None:
        for output in outputs:
            for name, n in output.report.num_matches_per_rule.items():
                self.matches[name] = self.matches.get(name, 0) + n


@cache
def _program(inexact: bool) -> tuple[Any, ...]:
    """Return the prelude and rules that all e-graphs share, parsed once."""
    from egglog import bindings

    rules = rules_of((*AXIOMS, *derived()), inexact)
    return tuple(bindings.EGraph().parse_program("\n".join([PRELUDE, *rules])))


def _enode(kind: str, parts: list[dict[str, Any]]) -> ENode:
    if kind == "L":
        return ENode("", json.loads(parts[0]["op"]), ())
    op, attrs, *operands = parts
    return ENode(
        json.loads(op["op"]), json.loads(attrs["op"]), tuple(p["eclass"] for p in operands)
    )


def _text_in(nodes: dict[str, Any], key: str) -> str:
    """Return the text that the e-graph stores in the class of a node."""
    eclass = nodes[key]["eclass"]
    return nodes[f"primitive-{eclass}"]["op"]

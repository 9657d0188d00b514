"""A mutable working copy of a graph with use lists, for passes and importers.

The first output of a node is its key. The new graph shares unchanged nodes with the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from compiler.errors import CompileError
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Result, Value, names_inside
from compiler.ir.infer import Facts, bounded, node_types
from compiler.ir.operator import Array, Call, Operand, Out, Regioned, Tensor
from compiler.ir.regions import rename_values, with_origins
from compiler.ir.types import TensorType, Type, logical
from compiler.ir.verify import refines


class Editor:
    """An editor of nodes; `graph()` returns the result in topological order."""

    def __init__(self, graph: Graph, outer: Facts | None = None) -> None:
        self.name = graph.name
        self.inputs: list[Value] = list(graph.inputs)
        self.results: list[Result] = list(graph.results)
        self.constants: dict[str, Constant] = dict(graph.constants)
        self._nodes: dict[str, Node] = {n.output: n for n in graph.nodes}
        self._producer: dict[str, str] = {o: n.output for n in graph.nodes for o in n.outputs if o}
        self._users: dict[str, dict[str, None]] = {}
        for n in graph.nodes:
            self._note_uses(n)
        self._facts = Facts.of_graph(graph, outer)
        self._names: set[str] = set(self._facts.types) | set(self._producer)
        for n in graph.nodes:
            # A new name must differ from the names inside regions, which would capture it.
            self._names.update(name for g in n.regions.values() for name in names_inside(g))
        for n in graph.nodes:
            self._facts.types.update(zip(n.outputs, n.types, strict=True))
        # For an initially empty graph, each edit updates the facts; else, queries compute them.
        self._known_done = not graph.nodes
        self._suffix: dict[str, int] = {}
        self._built: dict[int, tuple[Call | Regioned, Node]] = {}
        self.made: list[Node] = []
        """Nodes created since the list was last cleared, for the ledger."""
        self.made_constants: list[str] = []
        """Constants added since the list was last cleared."""

    # Queries

    def nodes(self) -> list[Node]:
        """Return the nodes, in topological order unless nodes were inserted."""
        return list(self._nodes.values())

    def alive(self, node: Node) -> bool:
        """Return whether this node object is still part of the graph."""
        return self._nodes.get(node.output) is node

    def producer(self, value: str) -> Node | None:
        """Return the node that defines a value; None for inputs, constants and outer values."""
        key = self._producer.get(value)
        return None if key is None else self._nodes[key]

    def users(self, value: str) -> list[Node]:
        """Return the distinct nodes that read a value."""
        return [self._nodes[k] for k in self._users.get(value, ())]

    def n_uses(self, value: str) -> int:
        """Return the number of nodes and results that read a value."""
        return len(self._users.get(value, ())) + sum(r.value == value for r in self.results)

    def is_result(self, value: str) -> bool:
        """Return whether a value is a result of the graph."""
        return any(r.value == value for r in self.results)

    def type(self, value: str) -> Type:
        """Return the type of a value."""
        return self._facts.types[value]

    def constant(self, value: str) -> Constant | None:
        """Return the constant of a value, or None."""
        return self.constants.get(value)

    def tensor(self, value: str) -> Tensor:
        """Return a value as an operand of calls, with its elements if known.

        Errors: E-OP-OPERANDS for a value that is not a tensor.
        """
        t = self._facts.types[value]
        if not isinstance(t, TensorType):
            raise CompileError("E-OP-OPERANDS", f"{value!r} is {t}, not a tensor")
        return Tensor(value, t, self.known(value))

    def known(self, value: str) -> Array | None:
        """Return the elements (numbers or symbols) of a small value, if known at compile time."""
        if not self._known_done:
            for n in self.graph().nodes:
                if n.output in self._nodes:
                    self._facts.follow(n)
                    self._facts.types.update(zip(n.outputs, n.types, strict=True))
            self._known_done = True
        return self._facts.known.get(value)

    @property
    def facts(self) -> Facts:
        """Return the types and known elements so far, from which nested regions are inferred."""
        self.known("")
        return self._facts

    def defines(self, value: str) -> bool:
        """Return whether this graph, not an enclosing one, defines a value."""
        if value in self._producer or value in self.constants:
            return True
        return any(v.name == value for v in self.inputs)

    def infer(self, node: Node) -> tuple[Type, ...]:
        """Infer the output types of a node not yet added. Errors: those of the node's type rule."""
        types, known = self.facts.operands(node)
        return node_types(node, types, known, self.facts.types)[: len(node.outputs)]

    # Edits

    def add_input(self, value: Value) -> None:
        """Add an input of the graph; its name must be new."""
        self.inputs.append(value)
        self._names.add(value.name)
        self._facts.types[value.name] = value.type

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve names for nodes that will be added unchanged."""
        self._names.update(names)

    def fresh(self, hint: str) -> str:
        """Return an unused name; the hint is used if possible."""
        hint = hint or "v"
        name, i = hint, self._suffix.get(hint, 1)
        while name in self._names:
            i += 1
            name = f"{hint}_{i}"
        self._suffix[hint] = i
        self._names.add(name)
        return name

    def give_back(self, names: Iterable[str]) -> None:
        """Release unused fresh names."""
        self._names.difference_update(n for n in names if n and n not in self._facts.types)

    def add_constant(
        self, values: Array | Constant, hint: str = "c", origins: tuple[str, ...] = ()
    ) -> str:
        """Add a constant and return its name."""
        c = values if isinstance(values, Constant) else Constant.of(values, origins=origins)
        name = self.fresh(hint)
        self.constants[name] = c
        self._facts.constant(name, c)
        self.made_constants.append(name)
        return name

    def add(self, node: Node) -> Node:
        """Add a node unchanged; its outputs must be new names."""
        assert node.output not in self._nodes, f"{node.output!r} is already defined"
        self._nodes[node.output] = node
        for name, t in zip(node.outputs, node.types, strict=True):
            if name:
                self._producer[name] = node.output
                self._names.add(name)
                self._facts.types[name] = t
        self._note_uses(node)
        self.made.append(node)
        return node

    def build(
        self,
        operand: Operand,
        *,
        hint: str = "",
        origins: tuple[str, ...] = (),
        name: str = "",
        outputs: Sequence[str] | None = None,
    ) -> str:
        """Create the nodes of a call and of its nested calls; return the name of the call's value.

        `outputs` are the names of the outer call's outputs, and `name` is the name of its node;
        arrays become constants.
        Errors: those of the operators' type rules.
        """
        match operand:
            case None:
                return ""
            case Tensor():
                return operand.name or self.add_constant(operand.known, hint or "c", origins)
            case np.ndarray() | np.generic():
                return self.add_constant(np.asarray(operand), hint or "c", origins)
            case Constant():
                return self.add_constant(operand, hint or "c", origins)
            case Out(call, index):
                assert isinstance(call, Call | Regioned), "standard nodes are for export only"
                if id(call) not in self._built:
                    if isinstance(call, Regioned):
                        node = self._build_regioned(call, hint, origins)
                    else:
                        node = self._build_call(call, hint, origins, name, outputs)
                    self._built[id(call)] = (call, node)
                return self._built[id(call)][1].outputs[index]
            case Call():
                return self._build_call(operand, hint, origins, name, outputs).output
            case _:
                raise TypeError(f"{operand!r} cannot become a value")

    def _build_call(
        self,
        call: Call,
        hint: str,
        origins: tuple[str, ...],
        name: str,
        outputs: Sequence[str] | None,
    ) -> Node:
        inputs = tuple(
            self.build(a, hint=f"{hint}.{p}" if hint else p, origins=origins)
            for a, p in zip(call.args, _operand_names(call), strict=True)
        )
        node = Node(call.op.name, inputs, (), (), call.op.bind(call.attrs), name, origins)
        operand_types, known = self._facts.operands(node)
        for i, value in enumerate(inputs):
            if value and known[i] is None:
                known[i] = self.known(value)
        tensors = [
            Tensor(n, t.logical, k) if isinstance(t, TensorType) else None
            for n, t, k in zip(inputs, operand_types, known, strict=True)
        ]
        types = call.op.infer(tensors, node.attrs)
        if outputs is None:
            outputs = [self.fresh(hint or call.op.name) for _ in types]
        types = bounded(outputs, types)
        if len(outputs) > len(types):
            raise CompileError(
                "E-OP-OPERANDS",
                f"{call.op.name} has {len(types)} outputs, but {len(outputs)} names were given",
            )
        types = types[: len(outputs)]
        node = replace(node, outputs=tuple(outputs), types=types)
        node = replace(node, name=name or node.output, origins=origins or (name or node.output,))
        self.add(node)
        if self._known_done:
            self._facts.evaluate(node, operand_types, known, types)
        return node

    def _build_regioned(self, call: Regioned, hint: str, origins: tuple[str, ...]) -> Node:
        inputs = tuple(self.build(a, hint=hint, origins=origins) for a in call.args)
        regions = {
            key: rename_values(region, {n: self.fresh(f"{hint}.{n}") for n in region.types})
            for key, region in call.regions.items()
        }
        outputs = tuple(self.fresh(hint) for _ in call.results)
        regions = {k: with_origins(g, origins or outputs[:1]) for k, g in regions.items()}
        node = Node(
            call.op,
            inputs,
            outputs,
            call.results,
            call.attrs,
            outputs[0],
            origins or outputs[:1],
            regions,
        )
        return self.add(node)

    def rename(self, node: Node, onto: Node) -> Node:
        """Replace `onto` by the unread single-output `node`, which takes over the names of `onto`.

        The type of `node` must equal the type of `onto` or be more open. Only the first output of
        `onto` may have readers.
        """
        a, b = logical(onto.type), logical(node.type)
        assert a == b or refines(a, b), f"{onto.output!r} is {a}, {node.output!r} is {b}"
        self.remove(node)
        for o in onto.outputs[1:]:
            assert not o or not self.n_uses(o), f"{o!r} is still read"
            self._producer.pop(o, None)
        self._drop_uses(onto)
        renamed = replace(node, outputs=(onto.output,), types=(onto.type,), name=onto.name)
        self._nodes[onto.output] = renamed
        self._note_uses(renamed)
        self.made = [renamed if n is node else n for n in self.made]
        return renamed

    def settle(self, node: Node, values: Sequence[Constant | None]) -> None:
        """Replace a node by constants under the names of its outputs.

        `values` has one constant per output, None for an omitted output.
        """
        self._drop_uses(node)
        del self._nodes[node.output]
        for name, c in zip(node.outputs, values, strict=True):
            if name:
                assert c is not None, f"{name!r} needs a constant"
                self._producer.pop(name)
                self.constants[name] = c
                self._facts.constant(name, c)
                self.made_constants.append(name)

    def update(self, old: Node, new: Node) -> None:
        """Replace a node by a changed version with the same output names."""
        assert old.outputs == new.outputs, f"{old.name}: an update keeps the outputs"
        self._drop_uses(old)
        self._nodes[old.output] = new
        self._facts.types.update((v.name, v.type) for v in new.values())
        self._note_uses(new)

    def rename_output(self, node: Node, old: str, new: str) -> None:
        """Rename an output and its uses in nodes.

        Results of the graph still read `old`, so a new node must define `old`.
        """
        readers = self.users(old)
        node = self._nodes.pop(node.output)
        self._drop_uses(node)
        self._producer.pop(old)
        renamed = replace(node, outputs=tuple(new if o == old else o for o in node.outputs))
        self._nodes[renamed.output] = renamed
        for o in filter(None, renamed.outputs):
            self._producer[o] = renamed.output
        self._names.add(new)
        self._facts.types[new] = self._facts.types.pop(old)
        self._note_uses(renamed)
        for reader in readers:
            self.update(reader, reader.with_inputs({old: new}))

    def replace(self, old: str, new: str) -> None:
        """Replace all uses of `old` by `new`, which must have the same type.

        Results of the graph keep their public names. The node that defines `old` stays in the graph
        until `remove`.
        """
        a, b = logical(self.type(old)), logical(self.type(new))
        assert a == b, f"{old!r} is {a}, its replacement {new!r} is {b}"
        for node in self.users(old):
            self.update(node, node.with_inputs({old: new}))
        self.results = [replace(r, value=new) if r.value == old else r for r in self.results]

    def remove(self, node: Node) -> None:
        """Remove a node without uses."""
        node = self._nodes[node.output]
        for o in filter(None, node.outputs):
            assert not self.n_uses(o), f"{o!r} is still read"
            self._producer.pop(o)
        self._drop_uses(node)
        del self._nodes[node.output]

    def remove_unused(self, values: Iterable[str]) -> list[Node]:
        """Remove the nodes of unread values, and operands that thereby become unread."""
        removed: list[Node] = []
        pending = [v for v in values if v]
        while pending:
            node = self.producer(pending.pop())
            if node is None or any(self.n_uses(o) for o in node.outputs if o):
                continue
            self.remove(node)
            removed.append(node)
            pending.extend(node.reads)
        return removed

    # The result

    def graph(self) -> Graph:
        """Return the graph: nodes in a stable topological order, without unread constants.

        Errors: E-GRAPH-CYCLE.
        """
        nodes = tuple(self._sorted())
        read = {i for n in nodes for i in n.reads} | {r.value for r in self.results}
        constants = {k: c for k, c in self.constants.items() if k in read}
        return Graph(self.name, tuple(self.inputs), tuple(self.results), nodes, constants)

    def _sorted(self) -> Iterator[Node]:
        done: set[str] = set()
        open_: set[str] = set()
        for root in self._nodes:
            stack = [root]
            while stack:
                key = stack[-1]
                if key in done:
                    stack.pop()
                    continue
                node = self._nodes[key]
                needed = [p for i in node.reads if (p := self._producer.get(i)) and p not in done]
                if needed:
                    if key in open_:
                        raise CompileError("E-GRAPH-CYCLE", f"{node.name!r} depends on itself")
                    open_.add(key)
                    stack.extend(reversed(needed))
                    continue
                stack.pop()
                done.add(key)
                yield node

    def _note_uses(self, node: Node) -> None:
        for i in node.reads:
            self._users.setdefault(i, {})[node.output] = None

    def _drop_uses(self, node: Node) -> None:
        for i in dict.fromkeys(node.reads):
            self._users[i].pop(node.output, None)


def _operand_names(call: Call) -> list[str]:
    names = list(call.op.schema.operands)
    while len(names) < len(call.args):
        names.append(names[-1])
    return names[: len(call.args)]

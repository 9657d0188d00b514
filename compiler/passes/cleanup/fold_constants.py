"""Constant folding with a budget.

Splats of any size stay a single number; shape arithmetic becomes constants. Nodes with any other
result are folded as long as the total size of stored constants stays within the limit of the
options.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.closing import with_closed_types
from compiler.ir.constant import Constant, Splat
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType
from compiler.limits import check
from compiler.ops.evaluation.foreign import evaluate_foreign
from compiler.passes.cleanup.splats import splat_results
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.quantization.codes import MOVED
from compiler.trace import Log

SLACK_BYTES = 1 << 16
"""Growth in bytes that is always allowed, for small parameters of models with few weights."""

FLOPS_LIMIT = 200_000_000
"""Limit on the number of operations of a fold, which runs a slow reference implementation."""

UNIFORM_LIMIT = 1 << 20
"""Largest number of elements of a result that is tested for being a splat."""


@graph_pass(
    known_as={"LLVM": "ConstantFolding", "XLA": "HloConstantFolding", "TVM": "FoldConstant"},
    elsewhere={"keep_quantized": True},
    gives=["constants"],
    example="""
    graph g(x: f32[2,3]) {
      const rows: i64[1] = literal(3)
      const two: f32[] = literal(2.0)
      w: f32[3] = fill(rows, value=0.25)
      v: f32[3] = mul(w, two)
      y: f32[2,3] = mul(x, v)
      s: i64[2] = shape(y)
      z: f32[2,3] = expand(y, s)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const v: f32[3] = splat(0.5)
      const s: i64[2] = literal(2,3)
      y: f32[2,3] = mul(x, v)
      z: f32[2,3] = expand(y, s)
      return z
    }
    """,
    steps=[
        step_kind(
            "fold_constants",
            "Evaluate a node whose operands are all constants.",
            example="""
            graph g(x: f32[2,3]) {
              const a: f32[3] = literal(1.0,2.0,3.0)
              const b: f32[3] = literal(4.0,5.0,6.0)
              c: f32[3] = mul(a, b)
              y: f32[2,3] = add(x, c)
              return y
            }
            =>
            graph g(x: f32[2,3]) {
              const c: f32[3] = literal(4.0,10.0,18.0)
              y: f32[2,3] = add(x, c)
              return y
            }
            """,
            near_miss="""
            graph g(x: f32[2,3]) {
              const a: f32[3] = literal(1.0,2.0,3.0)
              b: f32[2,3] = mul(x, a)
              return b
            }
            """,
        ),
        step_kind(
            "fold_splat",
            "Evaluate a node whose result has equal elements, and store one of them.",
            near_miss="""
            graph g(x: f32[2,3], n: i64[1]) {
              w: f32[M] = fill(n, value=0.25)
              return x, w
            }
            """,
        ),
        step_kind(
            "known_shape",
            "Replace shape arithmetic whose elements follow from the types of the operands.",
            near_miss="""
            graph g(x: f32[N,3]) {
              s: i64[2] = shape(x)
              return s
            }
            """,
        ),
    ],
)
def fold_constants(
    graph: Graph,
    log: Log,
    *,
    max_growth: float = 1.1,
    max_bytes: int = 1 << 25,
    keep_codes: bool = False,
    keep_quantized: bool = False,
) -> Graph:
    """Evaluate nodes whose operands are constants.

    A folded node costs nothing at run time, but its result is stored. The stored constants may grow
    to `max_growth` times their size, and a single fold may store at most `max_bytes`. A splat stays
    a single number. With `keep_codes` the quantized weights of products stay integers, which a
    later pass may multiply directly. With `keep_quantized` all quantized constants stay integers,
    for runtimes whose patterns match a dequantize.
    """
    folder = _Folder(graph, log, max_growth, max_bytes, keep_codes, keep_quantized)
    for node in graph.nodes:
        folder.visit(node)
    return with_closed_types(folder.ed.graph()) if folder.n_folded else graph


def held_bytes(c: Constant) -> int:
    """Return the number of bytes that a model stores for a constant; a splat stores one element."""
    return c.type.dtype.nbytes if c.is_splat else c.type.nbytes


@dataclass(slots=True)
class _Budget:
    """The current bytes of constants, and their limit."""

    now: int
    limit: int

    def objection(self, more: int, max_growth: float) -> str:
        if more <= 0 or self.now + more <= self.limit:
            return ""
        return (
            f"would add {more:,} bytes: the constants take {self.now:,} and may grow to "
            f"{self.limit:,} (max_growth={max_growth:g})"
        )


class _Folder:
    """A visitor of nodes in order; folded nodes become constants under their own names."""

    def __init__(
        self,
        graph: Graph,
        log: Log,
        max_growth: float,
        max_bytes: int,
        keep_codes: bool,
        keep_quantized: bool,
    ) -> None:
        self.ed = Editor(graph)
        self.log = log
        self.max_growth, self.max_bytes = max_growth, max_bytes
        self.keep_codes, self.keep_quantized = keep_codes, keep_quantized
        held = sum(held_bytes(c) for c in graph.constants.values())
        self.budget = _Budget(held, max(int(held * max_growth), held + SLACK_BYTES))
        self.cut_off: dict[str, int] = {}
        self.follow_shapes = any(n.op == "shape" for n in graph.nodes)
        self.n_folded = 0

    def visit(self, node: Node) -> None:
        check()
        if not all(isinstance(t, TensorType) and t.is_static for t in node.types):
            return
        if all(not i or i in self.ed.constants for i in node.reads):
            self.fold(node)
        elif self.follow_shapes:
            self.settle_known(node)

    def settle_known(self, node: Node) -> None:
        """Fold shape arithmetic, whose elements follow from the operand types."""
        values: list[Constant | None] = []
        for name, t in zip(node.outputs, node.types, strict=True):
            known = self.ed.known(name) if name else None
            if name and (known is None or known.dtype == np.object_):
                return
            assert isinstance(t, TensorType)
            values.append(None if known is None else Constant.of(known, t.dtype, node.origins))
        if not _fits(node, values):
            return
        shown = ", ".join(str(c.array().tolist()) for c in values if c is not None)
        self.settle("known_shape", node, values, f"the shapes determine the result: {shown:.120}")

    def fold(self, node: Node) -> None:
        """Fold a node with constant operands."""
        objection = self.objection(node)
        if objection:
            return self.decline(node, objection)
        operands = [self.ed.constants[i] if i else None for i in node.inputs]
        splats = splat_results(node, operands)
        if splats is not None:
            whole = sum(t.nbytes for t in node.types if isinstance(t, TensorType))
            stored = sum(held_bytes(c) for c in splats)
            because = f"all elements are equal: a splat of {stored:,} bytes instead of {whole:,}"
            return self.settle("fold_splat", node, splats, because)
        new = sum(t.nbytes for t in node.types if isinstance(t, TensorType))
        objection = self.size_objection(node, new, operands)
        if objection:
            return self.decline(node, objection)
        values = self.compute(node, operands)
        if isinstance(values, str):
            return self.decline(node, values)
        because = f"all operands are constants; {_held(values):,} bytes stored"
        self.settle("fold_constants", node, values, because)

    def decline(self, node: Node, because: str) -> None:
        self.log.declined("fold_constants", node.output, because, [node])

    def objection(self, node: Node) -> str:
        if self.keep_codes and node.op == "dequantize" and self.feeds_product(node.output):
            return "a product reads the result, and may multiply the quantized integers directly"
        if self.keep_quantized and node.op == "dequantize":
            return "other runtimes recognise quantized weights by their dequantize"
        if node.regions:
            return f"{node.op} contains a subgraph, which is not run at compile time"
        if not is_deterministic(node):
            return f"{node.op} gives different results on each run"
        if any(t.dtype.label == "string" for t in node.types if isinstance(t, TensorType)):
            return "strings are not stored as constants"
        read = (self.ed.constants[i].type for i in node.inputs if i in self.ed.constants)
        if any(t.dtype.label == "string" for t in read):
            return "the cost of string operations cannot be estimated"
        return ""

    def feeds_product(self, value: str) -> bool:
        """Whether a product or a loop reads a value, directly or through operators in MOVED."""
        return any(
            user.op in ("conv", "matmul", "lstm", "onnx.Scan")  # Own: later passes read integers.
            or (user.op in MOVED and any(map(self.feeds_product, user.outputs)))
            for user in self.ed.users(value)
        )

    def size_objection(self, node: Node, new: int, operands: Sequence[Constant | None]) -> str:
        """Return the reason against storing or computing a result, or "" if there is none."""
        if new > self.max_bytes:
            return f"would store {new:,} bytes; the limit for one fold is {self.max_bytes:,}"
        objection = self.budget.objection(new - self.freed(node), self.max_growth)
        if objection:
            return objection
        flops = _flops(node, operands)
        if flops > FLOPS_LIMIT:
            return f"the fold takes {flops:,} operations; the limit is {FLOPS_LIMIT:,}"
        return ""

    def freed(self, node: Node) -> int:
        """Return the size in bytes of operands that become dead when the node is folded.

        If all readers of a constant are slices, folding one slice frees the bytes of that slice.
        """
        return sum(
            self.piece(i, node) for i in dict.fromkeys(node.inputs) if i in self.ed.constants
        )

    def piece(self, operand: str, node: Node) -> int:
        """Return the number of bytes of an operand that become dead when the node is folded."""
        held = held_bytes(self.ed.constants[operand])
        if self.ed.n_uses(operand) == 1:
            return held - self.cut_off.get(operand, 0)
        pieces = {u.output: self.result_bytes(u, operand) for u in self.ed.users(operand)}
        if sum(pieces.values()) > held - self.cut_off.get(operand, 0):
            return 0
        return pieces[node.output]

    def result_bytes(self, user: Node, operand: str) -> int:
        """Return the bytes of a reader's results, or a larger number if the reader cannot fold."""
        whole = held_bytes(self.ed.constants[operand])
        folds = all(not i or i in self.ed.constants for i in user.reads) and not user.regions
        known = [t.nbytes for t in user.types if isinstance(t, TensorType) and t.is_static]
        return sum(known) if folds and len(known) == len(user.types) else whole + 1

    def compute(
        self, node: Node, operands: Sequence[Constant | None]
    ) -> list[Constant | None] | str:
        """Run a node's reference implementation; return the results, or the reason if it fails."""
        arrays = [None if c is None else c.array() for c in operands]
        operator = OPERATORS.get(node.op)
        try:
            with np.errstate(all="ignore"):
                if operator is None:
                    result = evaluate_foreign(node, arrays)
                elif operator.reference_fn is None:
                    return f"{node.op} has no reference implementation"
                else:
                    result = operator.reference_fn(*arrays, **node.attrs)
        except CompileError as e:
            return f"its reference implementation rejected the operands: {e.message}"
        except Exception as e:  # The user chose the operands: the failure recurs at run time.
            return f"its reference implementation rejected the operands: {type(e).__name__}: {e}"
        results = list(result) if isinstance(result, tuple | list) else [result]
        values: list[Constant | None] = []
        for name, t, r in zip(node.outputs, node.types, results, strict=False):
            assert isinstance(t, TensorType)
            values.append(_constant(np.asarray(r), t) if name else None)
        if not _fits(node, values):
            return "the types of the reference implementation and of the type rule differ"
        return values

    def settle(
        self, rule: str, node: Node, values: Sequence[Constant | None], because: str
    ) -> None:
        if not self.log.may(rule, node.output):
            return
        operands = [i for i in dict.fromkeys(node.inputs) if i in self.ed.constants]
        origins = merge_origins(*(self.ed.constants[i].origins for i in operands), node.origins)
        self.budget.now += _held(values) - self.freed(node)
        for i in operands:
            self.cut_off[i] = self.cut_off.get(i, 0) + self.piece(i, node)
        placed = [None if c is None else c.with_origins(origins) for c in values]
        self.ed.settle(node, placed)
        for i in operands:
            if not self.ed.n_uses(i):
                del self.ed.constants[i]
        self.n_folded += 1
        self.log.applied(rule, node.output, because, [node, *operands], filter(None, node.outputs))


def _held(values: Sequence[Constant | None]) -> int:
    return sum(held_bytes(c) for c in values if c is not None)


def _fits(node: Node, values: Sequence[Constant | None]) -> bool:
    """Whether all results exist and have the types recorded by the node."""
    return len(values) == len(node.outputs) and all(
        not name or (c is not None and isinstance(t, TensorType) and c.type == t.logical)
        for name, t, c in zip(node.outputs, node.types, values, strict=True)
    )


def _constant(result: np.ndarray, t: TensorType) -> Constant:
    """Convert a result to a constant; equal elements give a splat."""
    c = Constant.of(np.ascontiguousarray(result) if any(result.strides) else result, t.dtype)
    if 1 < result.size <= UNIFORM_LIMIT and not c.is_splat:
        flat = c.array().reshape(-1)
        first = flat[:1]
        if (
            flat[-1:].tobytes() == first.tobytes()
        ) and flat.tobytes() == first.tobytes() * flat.size:
            return Constant(c.type, Splat(first[0]))
    return c


def _flops(node: Node, operands: Sequence[Constant | None]) -> int:
    operator = OPERATORS.get(node.op)
    if operator is None or operator.cost_fn is None:
        return 0
    out = node.types[0] if len(node.types) == 1 else node.types
    types = [None if c is None else c.type for c in operands]
    return operator.cost_fn(*types, out=out, **node.attrs).flops

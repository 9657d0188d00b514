"""Faults in graph passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import compiler.passes  # noqa: F401  (the passes are declared when this is imported)
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from tests.faults.fault import Fault, function, instead


def _module(name: str) -> Any:
    """Return the module of a pass; its package has the pass under the same name."""
    import importlib

    return importlib.import_module(f"compiler.passes.{name}")


def _blind_key(old: Any) -> Any:
    """Treat nodes with different attributes as equal."""
    return lambda node: (node.op, node.inputs, tuple(map(str, node.types)))


def _unordered_key(old: Any) -> Any:
    """Treat operands as a set for every operator."""

    def key(node: Node) -> Any:
        return (node.op, tuple(sorted(node.inputs)), str(dict(node.attrs)), str(node.types))

    return key


def _first_element(old: Any) -> Any:
    """Inspect only the first element of a constant."""
    return lambda c, which: old(c, slice(0, 1))


def _off(old: Any) -> Any:
    """Add one to folded results."""

    def compute(self: Any, node: Node, operands: Any) -> Any:
        made = old(self, node, operands)
        if isinstance(made, str):
            return made
        return [
            c if c is None or not c.type.dtype.is_float else Constant.of(c.array() + np.float32(1))
            for c in made
        ]

    return compute


def _all_splats(old: Any) -> Any:
    """Replace copied constants by splats of their first element."""

    def number(c: Constant) -> object:
        return c.array().reshape(-1)[0] if c.type.n_elements else None

    return number


def _other_branch(old: Any) -> Any:
    return lambda condition: not old(condition)


def _reversed_pile(old: Any) -> Any:
    return lambda self, node, values: old(self, node, values[::-1])


def _everything_is_invariant(old: Any) -> Any:
    """Treat a loop-carried value as invariant if no outer value has its name."""

    def invariant(body: Graph, log: Any, loop: Node, outer: Any) -> list[Node]:
        # The state is treated as a captured value, so only the iteration number and condition vary.
        return old(replace(body, inputs=body.inputs[:2]), log, loop, outer)

    return invariant


def _missed_use(old: Any) -> Any:
    """Remove a node that still has a reader."""

    def merge(ed: Any, first: Node, node: Node, log: Any) -> None:
        ed.remove(node)
        log.applied(
            "common_subexpression_elimination", node.output, "it is the same", [node], [first]
        )

    return merge


def _stale(old: Any) -> Any:
    """Merge two nodes of different types."""
    return lambda node: (node.op, node.inputs)


def _breaks_down(**given: Any) -> Any:
    raise IndexError("the axis does not exist")


_LOOP = """
graph g(x: f32[2,3], n: i64[]) {
  y: f32[2,3] = onnx.Loop(n, _, x, opset=16) {
    body: graph body(i: i64[], on: bool[], s: f32[2,3]) {
      t: f32[2,3] = neg(x)
      u: f32[2,3] = exp(t)
      v: f32[2,3] = add(s, u)
      return on, v
    }
  }
  return y
}
"""

FEW_STEPS = """
graph g(x: f32[2,3]) {
  const n: i64[] = literal(3)
  y: f32[2,3], p: f32[3,2,3] = onnx.Loop(n, _, x, opset=16) {
    body: graph body(i: i64[], on: bool[], s: f32[2,3]) {
      t: f32[2,3] = exp(s)
      u: f32[2,3] = neg(t)
      return on, u, t
    }
  }
  return y, p
}
"""

PASSES_FAULTS = [
    Fault(
        "nodes with other attributes are merged",
        "wrong attribute kept",
        ("common_subexpression_elimination",),
        [function(_module("cleanup.common_subexpression_elimination"), "_key", _blind_key)],
        """
        graph g(x: f32[4,4]) {
          a: f32[4,1] = reduce_max(x, axes=[1])
          b: f32[4,4] = softmax(x, axis=0)
          c: f32[4,4] = softmax(x, axis=1)
          d: f32[4,4] = sub(b, c)
          e: f32[4,4] = add(d, a)
          return e
        }
        """,
    ),
    Fault(
        "differences with exchanged operands are merged",
        "swapped operands",
        ("common_subexpression_elimination",),
        [function(_module("cleanup.common_subexpression_elimination"), "_key", _unordered_key)],
        """
        graph g(x: f32[4,5], y: f32[4,5]) {
          a: f32[4,5] = sub(x, y)
          b: f32[4,5] = sub(y, x)
          c: f32[4,5] = exp(a)
          d: f32[4,5] = mul(c, b)
          return d
        }
        """,
    ),
    Fault(
        "constants that begin alike are merged",
        "wrong constant",
        ("merge_constants",),
        [
            function(
                _module("cleanup.common_subexpression_elimination"), "_elements", _first_element
            )
        ],
        """
        graph g(x: f32[2,3]) {
          const c: f32[3] = literal(1.0,2.0,3.0)
          const d: f32[3] = literal(1.0,-2.0,0.5)
          a: f32[2,3] = add(x, c)
          b: f32[2,3] = tanh(a)
          y: f32[2,3] = mul(b, d)
          return y
        }
        """,
    ),
    Fault(
        "a merged node is still read",
        "missed use",
        ("common_subexpression_elimination",),
        [function(_module("cleanup.common_subexpression_elimination"), "_merge", _missed_use)],
    ),
    Fault(
        "merged nodes are of two types",
        "stale type",
        ("common_subexpression_elimination",),
        [function(_module("cleanup.common_subexpression_elimination"), "_key", _stale)],
        """
        graph g(x: f32[4,5]) {
          a: f32[1,5] = reduce_sum(x, axes=[0])
          b: f32[4,1] = reduce_sum(x, axes=[1])
          c: f32[1,5] = exp(a)
          y: f32[4,5] = mul(b, c)
          return y
        }
        """,
    ),
    Fault(
        "a rule looks at an axis that is not there",
        "crash",
        ("merge_squeezes",),
        [instead("merge_squeezes", _breaks_down)],
    ),
    Fault(
        "a rule looks at an axis that is not there, behind another",
        "crash",
        ("drop_identity", "merge_squeezes"),
        [instead("merge_squeezes", _breaks_down)],
        """
        graph g(x: f32[2,1,3,1]) {
          a: f32[2,3,1] = squeeze(x, axes=[1])
          b: f32[2,3,1] = identity(a)
          y: f32[2,3] = squeeze(b, axes=[2])
          return y
        }
        """,
    ),
    Fault(
        "folded results are one more",
        "wrong constant",
        ("fold_constants",),
        [function(_module("cleanup.fold_constants")._Folder, "compute", _off)],
        """
        graph g(x: f32[2,3]) {
          const c: f32[3] = literal(1.0,2.0,3.0)
          d: f32[3] = exp(c)
          y: f32[2,3] = mul(x, d)
          return y
        }
        """,
    ),
    Fault(
        "copies of a constant hold its first element",
        "wrong constant",
        ("fold_splat",),
        [function(_module("cleanup.splats"), "_number", _all_splats)],
        """
        graph g(x: f32[3,2]) {
          const c: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
          d: f32[3,2] = transpose(c, perm=[1,0])
          y: f32[3,2] = mul(x, d)
          return y
        }
        """,
    ),
    Fault(
        "the other branch is taken",
        "dropped condition",
        ("fold_constant_branches",),
        [function(_module("control_flow.fold_constant_branches"), "is_true", _other_branch)],
    ),
    Fault(
        "the rows of a loop's results are piled up backwards",
        "wrong axis",
        ("unroll_loops",),
        [function(_module("control_flow.unroll_loops")._Steps, "_pile", _reversed_pile)],
        FEW_STEPS,
    ),
    Fault(
        "what a loop changes is moved out of it",
        "dropped condition",
        ("loop_invariant_code_motion",),
        [
            function(
                _module("control_flow.loop_invariant_code_motion"),
                "_invariant",
                _everything_is_invariant,
            )
        ],
        _LOOP,
    ),
]

"""Tests of the exercise to write a fusion policy: the limit on the nodes of a kernel."""

from __future__ import annotations

from typing import Any

from course.judging import judge_in_process
from tests.course.exercises.kinds import POLICY
from tests.course.exercises.test_kinds import request

CHAIN = """
graph chain(x: f32[4,3]) {
  a = neg(x)
  b = exp(a)
  y = tanh(b)
  return y
}
"""
UNCHECKED = POLICY.replace(
    "and not why_not_into(units, unit, readers[0], limits.max_nodes)", "and why_not_into"
)


def judged(code: str, max_nodes: int) -> dict[str, Any]:
    graph = {"name": "chain", "text": CHAIN}
    return judge_in_process(request("write_policy", code, max_nodes=max_nodes, graph=[graph]))


def test_a_policy_within_the_limit_passes() -> None:
    assert judged(POLICY, 2)["verdict"] == "passed"
    assert judged(POLICY, 3)["verdict"] == "passed"


def test_a_kernel_with_more_nodes_than_the_limit_fails() -> None:
    answer = judged(UNCHECKED, 2)
    assert answer["verdict"] == "failed"
    messages = [t["message"] for t in answer["tests"] if not t["passed"]]
    assert messages == ["the kernel that computes y holds 3 nodes; at most 2 are allowed"]

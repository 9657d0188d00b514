"""How long values live, where they lie in the arena, and a checker that knows nothing of both."""

from compiler.memory.buffer import Buffer, Plan, parse_plan
from compiler.memory.check import check_plan, check_steps
from compiler.memory.lifetimes import Step, join_lifetimes
from compiler.memory.plan import plan_memory

__all__ = [
    "Buffer",
    "Plan",
    "Step",
    "check_plan",
    "check_steps",
    "join_lifetimes",
    "parse_plan",
    "plan_memory",
]

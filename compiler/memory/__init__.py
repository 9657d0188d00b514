"""Lifetimes of values, planners that assign arena offsets, and an independent checker of plans."""

from compiler.memory.buffer import Buffer, Plan
from compiler.memory.check import check_plan, check_steps
from compiler.memory.lifetimes import Step, join_lifetimes
from compiler.memory.plan import plan_memory
from compiler.memory.problem import Problem
from compiler.memory.text import parse_plan

__all__ = [
    "Buffer",
    "Plan",
    "Problem",
    "Step",
    "check_plan",
    "check_steps",
    "join_lifetimes",
    "parse_plan",
    "plan_memory",
]

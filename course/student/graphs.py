"""Graphs in student code: `from course.student.graphs import parse, Editor, Node`."""

from __future__ import annotations

from compiler import parse
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType
from compiler.passes.pipeline.run import run_pipeline
from compiler.trace import Log

__all__ = [
    "OPERATORS",
    "Editor",
    "Graph",
    "Log",
    "Node",
    "Result",
    "TensorType",
    "Value",
    "parse",
    "run_pipeline",
]

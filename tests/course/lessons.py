"""Texts of lessons for tests."""

from __future__ import annotations

FRONT = """+++
title = "Fusion"
goal = "You can count the trips to memory of a chain."
question = "Why is one kernel faster than three?"
part = 2
number = 70
minutes = 20
+++
"""

CHAIN = """```graph {name=chain}
graph chain(x: f32[6,5]) {
  a = neg(x)
  b = exp(a)
  y = relu(b)
  return y
}
```
"""


def lesson_text(*parts: str) -> str:
    return FRONT + "\n" + "\n".join(parts)

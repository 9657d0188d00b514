"""Examples that several planners share: a problem and its plan."""

from __future__ import annotations

FIVE_BUFFERS = """
    plan 0 bytes, alignment 1 {
      a: 4 bytes, live 0..2
      b: 2 bytes, live 1..5
      c: 3 bytes, live 2..4
      d: 3 bytes, live 4..6
      e: 1 bytes, live 0..6
    }
    =>
    plan 7 bytes, alignment 1 {
      a: 4 bytes at 0, live 0..2
      b: 2 bytes at 4, live 1..5
      c: 3 bytes at 0, live 2..4
      d: 3 bytes at 0, live 4..6
      e: 1 bytes at 6, live 0..6
    }
"""
"""A problem that searching planners solve optimally, with its plan."""

FOUR_BUFFERS = """
    plan 0 bytes, alignment 1 {
      a: 5 bytes, live 3..5
      b: 4 bytes, live 0..4
      c: 4 bytes, live 4..6
      d: 1 bytes, live 0..6
    }
    =>
    plan 10 bytes, alignment 1 {
      a: 5 bytes at 0, live 3..5
      b: 4 bytes at 5, live 0..4
      c: 4 bytes at 5, live 4..6
      d: 1 bytes at 9, live 0..6
    }
"""
"""A problem that planners solve optimally by trying several orders, with its plan."""

TWO_SPANS = """
    plan 0 bytes, alignment 1 {
      a: 5 bytes, live 0..1
      b: 2 bytes, live 0..9
      c: 3 bytes, live 1..9
      d: 4 bytes, live 1..2
    }
    =>
    plan 9 bytes, alignment 1 {
      a: 5 bytes at 2, live 0..1
      b: 2 bytes at 0, live 0..9
      c: 3 bytes at 2, live 1..9
      d: 4 bytes at 5, live 1..2
    }
    """

SIX_WITHOUT_A_GAP = """
    plan 0 bytes, alignment 1 {
      a: 5 bytes, live 0..4
      b: 2 bytes, live 0..2
      c: 3 bytes, live 0..2
      d: 5 bytes, live 2..6
      e: 4 bytes, live 4..6
      f: 1 bytes, live 4..6
    }
    =>
    plan 10 bytes, alignment 1 {
      a: 5 bytes at 0, live 0..4
      b: 2 bytes at 8, live 0..2
      c: 3 bytes at 5, live 0..2
      d: 5 bytes at 5, live 2..6
      e: 4 bytes at 0, live 4..6
      f: 1 bytes at 4, live 4..6
    }
"""
"""A problem without spare memory at any step, with the plan of the planners that join blocks."""

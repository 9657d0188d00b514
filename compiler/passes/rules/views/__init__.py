"""Rules for views and data movement: consecutive nodes merge, become cheaper, or cancel."""

from __future__ import annotations

from compiler.passes.engine.rule import Rule
from compiler.passes.rules.views.expands import EXPANDS
from compiler.passes.rules.views.gathers import GATHERS
from compiler.passes.rules.views.matmul_operands import MATMUL_OPERANDS
from compiler.passes.rules.views.pads import PADS
from compiler.passes.rules.views.reductions import REDUCTIONS
from compiler.passes.rules.views.reshapes import RESHAPES
from compiler.passes.rules.views.slices import SLICES
from compiler.passes.rules.views.squeezes import SQUEEZES
from compiler.passes.rules.views.transposes import TRANSPOSES
from compiler.passes.rules.views.units import UNITS

VIEWS: list[Rule] = [
    *TRANSPOSES,
    *RESHAPES,
    *SQUEEZES,
    *SLICES,
    *GATHERS,
    *EXPANDS,
    *PADS,
    *REDUCTIONS,
    *MATMUL_OPERANDS,
    *UNITS,
]
"""Rules of `algebraic_simplification` for shapes, in the order they are tried."""

"""All rules of `algebraic_simplification`, by family, in the order they are tried.

Of two rules with the same root operator, the more specific rule comes first.
"""

from __future__ import annotations

from compiler.passes.engine.rule import Rule
from compiler.passes.rules.bits import BITS
from compiler.passes.rules.bounds import BOUNDS
from compiler.passes.rules.casts import CASTS
from compiler.passes.rules.choices import CHOICES
from compiler.passes.rules.clips import CLIPS
from compiler.passes.rules.comparisons import COMPARISONS
from compiler.passes.rules.distribute import DISTRIBUTE
from compiler.passes.rules.exponentials import EXPONENTIALS
from compiler.passes.rules.extremes import EXTREMES
from compiler.passes.rules.gather_constants import GATHER
from compiler.passes.rules.inverses import INVERSES
from compiler.passes.rules.known_signs import KNOWN_SIGNS
from compiler.passes.rules.logic import LOGIC
from compiler.passes.rules.magnitudes import MAGNITUDES
from compiler.passes.rules.negated_constants import NEGATED_CONSTANTS
from compiler.passes.rules.powers import POWERS
from compiler.passes.rules.product_order import PRODUCT_ORDER
from compiler.passes.rules.products import PRODUCTS
from compiler.passes.rules.quotients import QUOTIENTS
from compiler.passes.rules.reassociate import REASSOCIATE
from compiler.passes.rules.reductions import REDUCTIONS
from compiler.passes.rules.selections import SELECTIONS
from compiler.passes.rules.signs import SIGNS
from compiler.passes.rules.sums import SCALED_SUMS

ARITHMETIC: list[Rule] = [
    *KNOWN_SIGNS,
    *MAGNITUDES,
    *CLIPS,
    *BOUNDS,
    *EXTREMES,
    *SIGNS,
    *NEGATED_CONSTANTS,
    *CASTS,
    *POWERS,
    *EXPONENTIALS,
    *INVERSES,
    *QUOTIENTS,
    *REASSOCIATE,
    *GATHER,
    *DISTRIBUTE,
]
"""Rules for elementwise arithmetic."""

CONDITIONS: list[Rule] = [*LOGIC, *BITS, *COMPARISONS, *CHOICES, *SELECTIONS]
"""Rules for conditions and selections."""

SUMS: list[Rule] = [*REDUCTIONS, *SCALED_SUMS, *PRODUCT_ORDER, *PRODUCTS]
"""Rules for reductions and matrix products."""

ALGEBRA: list[Rule] = [*ARITHMETIC, *CONDITIONS, *SUMS]
"""All rules of `algebraic_simplification`, in the order they are tried."""

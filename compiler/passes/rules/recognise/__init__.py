"""Rules that recognise an operator in the primitives that an exporter wrote for it.

Each family has a module. Exporters differ in the order of factors, in divisions and in the
position of casts. The pattern of a rule covers the equivalent forms; the near miss is a similar
form with another result.
"""

from compiler.passes.engine.rule import Rule
from compiler.passes.rules.recognise.attention import ATTENTION
from compiler.passes.rules.recognise.blocks import BLOCKS
from compiler.passes.rules.recognise.cells import recognise_cells
from compiler.passes.rules.recognise.exact import EXACT
from compiler.passes.rules.recognise.gelu import GELU
from compiler.passes.rules.recognise.group_norm import GROUP_NORM
from compiler.passes.rules.recognise.hard import HARD
from compiler.passes.rules.recognise.kept_axes import KEPT_AXES
from compiler.passes.rules.recognise.layer_norm import LAYER_NORM
from compiler.passes.rules.recognise.norm_parameters import NORM_PARAMETERS
from compiler.passes.rules.recognise.rotary import ROTARY
from compiler.passes.rules.recognise.shuffle import SHUFFLE
from compiler.passes.rules.recognise.slopes import SLOPES
from compiler.passes.rules.recognise.smooth import SMOOTH
from compiler.passes.rules.recognise.softmax import SOFTMAX
from compiler.passes.rules.recognise.sums import SUMS

RECOGNISE: list[Rule] = [
    *HARD,
    *SMOOTH,
    *SLOPES,
    *GELU,
    *KEPT_AXES,
    *SUMS,
    *LAYER_NORM,
    *NORM_PARAMETERS,
    *GROUP_NORM,
    *SOFTMAX,
    *ROTARY,
    *BLOCKS,
]
"""Rules of `recognise`, in the order they are tried.

The rules of `attention`, `exact` and `shuffle` form separate passes, which presets include or omit
individually.
"""

__all__ = ["ATTENTION", "EXACT", "RECOGNISE", "SHUFFLE", "recognise_cells"]

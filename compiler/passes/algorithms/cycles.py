"""Cost model of convolution algorithms, in cycles of a core with 512-bit vectors.

A cost is the sum of three times: products at the rate of the register tiles, loads of weights
from beyond the L2 cache, and tile transforms. Only the ratio of two costs matters. With
shorter vectors, products take a larger share of the time. So an algorithm that saves products
and is faster with 512-bit vectors is also faster with shorter vectors.
"""

from __future__ import annotations

from typing import Literal

from compiler.dataclass import dataclass
from compiler.ops.convolution.winograd import Tiling

PRODUCTS_PER_CYCLE = 27.5
"""Products per cycle: two vectors of 16 lanes, less for loads, short tiles and loop tails."""

Products = Literal["f32", "bf16", "bf16_tiles", "parts"]
"""Hardware for a direct sum: vectors, matrix tiles, or three tile products of bf16 parts of f32."""

DIRECT: dict[Products, tuple[float, int]] = {
    "f32": (PRODUCTS_PER_CYCLE, 4),
    "bf16": (1.8 * PRODUCTS_PER_CYCLE, 2),
    "bf16_tiles": (200, 2),
    "parts": (65, 6),
}
"""For each kind of hardware: products per cycle, and bytes per weight.

The rates of matrix tiles are for rows that are three quarters full; the measured rates with full
rows are slightly higher.
"""

LEAST_OUTPUTS = 64
"""Smallest number of output channels that amortises splitting f32 numbers into bf16 parts."""

FAR_BYTES_PER_CYCLE = 8
"""Bytes per cycle for weights evicted from L1 and L2 since the last run (measured: 7 to 15)."""

TRANSFORM_CYCLES = {2: (70, 50), 4: (220, 160)}
"""For each size of a result tile: the cycles per 16 channels of the transform of an image tile,
and of the transform of a result tile."""

LEAST_TILES = 7
"""Least number of tiles that fills the pipeline of accumulators; fewer tiles take the same time."""

COPY_BYTES_PER_CYCLE = 3
"""Bytes copied per cycle from plain order into channel blocks, by gathering distant elements."""

LANES = 16


@dataclass(frozen=True, slots=True)
class Shape:
    """A 3x3 convolution: images, input and output channels, height and width of the result."""

    images: int
    channels: int
    outputs: int
    height: int
    width: int
    products: Products = "f32"

    @property
    def direct(self) -> float:
        """Cycles of the direct sum."""
        n_weights = 9 * self.channels * self.outputs
        n_products = n_weights * self.images * self.height * self.width
        kind = self.products
        if kind == "parts" and self.outputs < LEAST_OUTPUTS:
            kind = "f32"
        per_cycle, weight_bytes = DIRECT[kind]
        return n_products / per_cycle + weight_bytes * n_weights / FAR_BYTES_PER_CYCLE

    def tiled(self, tiling: Tiling) -> float:
        """Cycles of the Winograd convolution."""
        m, n_places = tiling.outputs, tiling.inputs**2
        n_tiles = self.images * -(-self.height // m) * -(-self.width // m)
        n_weights = n_places * self.channels * self.outputs
        products = n_weights * max(n_tiles, LEAST_TILES) / PRODUCTS_PER_CYCLE
        of_image, of_result = TRANSFORM_CYCLES[m]
        blocks = -(-self.channels // LANES) * of_image + -(-self.outputs // LANES) * of_result
        return products + 4 * n_weights / FAR_BYTES_PER_CYCLE + n_tiles * blocks

    @property
    def copy(self) -> float:
        """Cycles to copy the image into blocks of channels before the convolution."""
        n_bytes = 4 * self.images * self.channels * (self.height + 2) * (self.width + 2)
        return 2 * n_bytes / COPY_BYTES_PER_CYCLE

"""What a convolution costs by each algorithm: cycles of a core with vectors of 512 bits.

Products at the speed that the register tiles reach, weights that stream from behind the second
cache level, and the transforms of tiles. Only the ratio of two costs decides. Shorter vectors make
products dearer beside the rest, so what is chosen here is no worse there.
"""

from __future__ import annotations

from typing import Literal

from compiler.dataclass import dataclass
from compiler.ops.winograd import Tiling

PRODUCTS_PER_CYCLE = 27.5
"""Two vectors of sixteen, less what loads, short tiles and the ends of loops take."""

Products = Literal["f32", "bf16", "bf16_tiles", "parts"]
"""What multiplies in a direct sum: vectors, matrix tiles, or tiles three times, of parts of f32."""

DIRECT: dict[Products, tuple[float, int]] = {
    "f32": (PRODUCTS_PER_CYCLE, 4),
    "bf16": (1.8 * PRODUCTS_PER_CYCLE, 2),
    "bf16_tiles": (200, 2),
    "parts": (65, 6),
}
"""Products in a cycle, and bytes of a weight. Tiles: three quarters of a row filled, and a little
less than what was measured with full ones."""

LEAST_OUTPUTS = 64
"""Parts of numbers that are used less often than this are not made."""

FAR_BYTES_PER_CYCLE = 8
"""Weights of a layer have left the near caches since the last run (measured: 7 to 15)."""

TRANSFORM_CYCLES = {2: (70, 50), 4: (220, 160)}
"""One tile of sixteen channels of the image, and of the results, by the size of result tiles."""

LEAST_TILES = 7
"""Fewer tiles than this take as long: too few sums are under way at once."""

COPY_BYTES_PER_CYCLE = 3
"""An image is copied from plain order into blocks: channels that lay far apart come together."""

LANES = 16


@dataclass(frozen=True, slots=True)
class Shape:
    """A 3x3 convolution: images, channels read and made, and the size of its results."""

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
        """Cycles in tiles."""
        m, n_places = tiling.outputs, tiling.inputs**2
        n_tiles = self.images * -(-self.height // m) * -(-self.width // m)
        n_weights = n_places * self.channels * self.outputs
        products = n_weights * max(n_tiles, LEAST_TILES) / PRODUCTS_PER_CYCLE
        of_image, of_result = TRANSFORM_CYCLES[m]
        blocks = -(-self.channels // LANES) * of_image + -(-self.outputs // LANES) * of_result
        return products + 4 * n_weights / FAR_BYTES_PER_CYCLE + n_tiles * blocks

    @property
    def copy(self) -> float:
        """Cycles to copy the image into blocks of channels first."""
        n_bytes = 4 * self.images * self.channels * (self.height + 2) * (self.width + 2)
        return 2 * n_bytes / COPY_BYTES_PER_CYCLE

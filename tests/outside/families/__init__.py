"""One module a family of operators; importing this registers all of them."""

from tests.outside.families import (
    attention,
    control,
    elementwise,
    images,
    norms,
    places,
    products,
    quantization,
    recurrent,
    reductions,
    sequences,
    shapes,
    signals,
    texts,
    windows,
)

__all__ = [
    "attention",
    "control",
    "elementwise",
    "images",
    "norms",
    "places",
    "products",
    "quantization",
    "recurrent",
    "reductions",
    "sequences",
    "shapes",
    "signals",
    "texts",
    "windows",
]

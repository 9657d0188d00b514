"""One module for each family of operators; importing this package registers all families."""

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

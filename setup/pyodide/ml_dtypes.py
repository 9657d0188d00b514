"""A substitute for the package ml_dtypes in the page, where its machine code does not exist.

Each small type is a distinct numpy type without arithmetic, so graphs with these types can be read
and rewritten, but not evaluated. `app.wire.in_page` leaves such exercises to the server.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


def _storage(name: str, word: str) -> np.dtype[Any]:
    return np.dtype([(name, word)])


bfloat16 = _storage("bfloat16", "u2")
float8_e4m3fn = _storage("float8_e4m3fn", "u1")
float8_e4m3fnuz = _storage("float8_e4m3fnuz", "u1")
float8_e5m2 = _storage("float8_e5m2", "u1")
float8_e5m2fnuz = _storage("float8_e5m2fnuz", "u1")
float8_e8m0fnu = _storage("float8_e8m0fnu", "u1")
float6_e2m3fn = _storage("float6_e2m3fn", "u1")
float6_e3m2fn = _storage("float6_e3m2fn", "u1")
float4_e2m1fn = _storage("float4_e2m1fn", "u1")
int4 = _storage("int4", "u1")
uint4 = _storage("uint4", "u1")
int2 = _storage("int2", "u1")
uint2 = _storage("uint2", "u1")

_FLOATS = {
    bfloat16: (2.0**-7, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
    float8_e4m3fn: (2.0**-3, 2.0**-6, 448.0),
    float8_e4m3fnuz: (2.0**-3, 2.0**-7, 240.0),
    float8_e5m2: (2.0**-2, 2.0**-14, 57344.0),
    float8_e5m2fnuz: (2.0**-2, 2.0**-15, 57344.0),
    float8_e8m0fnu: (1.0, 2.0**-127, 2.0**127),
    float6_e2m3fn: (2.0**-3, 1.0, 7.5),
    float6_e3m2fn: (2.0**-2, 0.25, 28.0),
    float4_e2m1fn: (0.5, 1.0, 6.0),
}
"""The machine epsilon, the smallest normal number and the largest number of each small float."""
_INTEGERS = {int4: (-8, 7), uint4: (0, 15), int2: (-2, 1), uint2: (0, 3)}


def finfo(dtype: Any) -> Any:
    """Return the limits of a floating-point type."""
    found = _FLOATS.get(np.dtype(dtype))
    if found is None:
        return np.finfo(dtype)
    eps, smallest, largest = found
    least = smallest if dtype == float8_e8m0fnu else -largest  # the only type without a sign
    return SimpleNamespace(eps=eps, smallest_normal=smallest, tiny=smallest, max=largest, min=least)


def iinfo(dtype: Any) -> Any:
    """Return the limits of an integer type."""
    found = _INTEGERS.get(np.dtype(dtype))
    return np.iinfo(dtype) if found is None else SimpleNamespace(min=found[0], max=found[1])

"""Pointwise arithmetic: remainders, integer division, bits, casts, special functions."""

import torch

from tests.outside.torch_modules.case import b, call, f, i, unit, values

WHOLE, DIVISOR = (
    values(-7, -6, -1, 0, 1, 5, 8, dtype=torch.int64),
    values(3, -4, 2, 5, -1, 3, -3, dtype=torch.int64),
)
REAL, BY = (
    values(-7.5, -6.0, -0.3, 0.0, 0.3, 5.5, 8.0),
    values(2.0, -4.0, 0.2, 5.0, -0.1, 1.5, -3.0),
)
X, POSITIVE, BETWEEN = (
    f("N", "L", scale=2),
    unit("N", "L", low=0.1, high=5.0),
    unit("N", "L", low=-0.95, high=0.95),
)

REAL_NAMES = """
    abs neg sign sgn ceil floor round trunc frac exp exp2 expm1 sin cos tan sinh cosh tanh asinh
    atan erf erfc square signbit isnan isfinite sinc sigmoid relu deg2rad rad2deg
"""
OF_REAL = {name: getattr(torch, name) for name in REAL_NAMES.split()}
OF_POSITIVE = {
    name: getattr(torch, name)
    for name in (
        "sqrt",
        "rsqrt",
        "log",
        "log2",
        "log10",
        "log1p",
        "reciprocal",
        "lgamma",
        "digamma",
    )
}
OF_BETWEEN = {name: getattr(torch, name) for name in ("asin", "acos", "atanh", "erfinv")}
OF_TWO = {
    name: getattr(torch, name)
    for name in (
        "add",
        "sub",
        "mul",
        "maximum",
        "minimum",
        "atan2",
        "hypot",
        "fmax",
        "fmin",
        "logaddexp",
        "logaddexp2",
        "copysign",
        "heaviside",
        "eq",
        "ne",
        "lt",
        "ge",
        "isclose",
    )
}
DIVIDING = {
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "floor_divide": torch.floor_divide,
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "true_divide": torch.true_divide,
}
CASTS = {
    "f16": torch.float16,
    "f64": torch.float64,
    "i32": torch.int32,
    "i8": torch.int8,
    "i64": torch.int64,
    "bool": torch.bool,
    "bf16": torch.bfloat16,
}


def _cast(kind: torch.dtype):
    return lambda x: x.to(kind).float()


CASES = [
    *(call(name, function, X) for name, function in OF_REAL.items()),
    *(call(name, function, POSITIVE) for name, function in OF_POSITIVE.items()),
    *(call(name, function, BETWEEN) for name, function in OF_BETWEEN.items()),
    *(call(name, function, X, f("N", "L")) for name, function in OF_TWO.items()),
    *(call(name, function, REAL, BY) for name, function in DIVIDING.items()),
    *(call(f"{name}_whole", function, WHOLE, DIVISOR) for name, function in DIVIDING.items()),
    *(call(f"to_{name}", _cast(kind), f("N", "L", scale=20)) for name, kind in CASTS.items()),
    call("half_way", lambda x: x.round(), values(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5)),
    call("round_decimals", lambda x: torch.round(x, decimals=2), X),
    call("remainder_number", lambda x: x % 1.7, X),
    call("fmod_number", lambda x: torch.fmod(x, -1.7), X),
    call("pow", lambda x, y: x**y, POSITIVE, X),
    call("pow_whole", lambda x: x**3, i(-5, 5, "N", "L")),
    call("pow_negative", lambda x: x**-2, POSITIVE),
    call("number_pow", lambda x: 2.0**x, X),
    call("float_power", lambda x: torch.float_power(x, 2.5), POSITIVE),
    call("clamp", lambda x: x.clamp(-0.5, 0.7), X),
    call("clamp_low", lambda x: x.clamp(min=0.2), X),
    call("clamp_tensors", lambda x, y: x.clamp(y - 1, y), X, f("L")),
    call("clamp_whole", lambda x: x.clamp(-2, 3), i(-9, 9, "N", "L")),
    call("lerp", lambda x, y: torch.lerp(x, y, 0.3), X, f("N", "L")),
    call("lerp_tensor", lambda x, y, w: torch.lerp(x, y, w), X, f("N", "L"), unit("N", 1)),
    call("rsub", lambda x: torch.rsub(x, 3, alpha=2), X),
    call("nan_to_num", lambda x: (x / x.relu()).nan_to_num(0.5, 9.0, -9.0), X),
    call("xlogy", lambda x, y: torch.xlogy(x, y), X, POSITIVE),
    call("entr", lambda x: torch.special.entr(x), POSITIVE),
    call("logical", lambda x, y: (x & y) | ~x ^ y, b("N", "L"), b("N", "L")),
    call(
        "logical_of_numbers",
        lambda x, y: torch.logical_and(x, y.logical_not()),
        X,
        i(0, 2, "N", "L"),
    ),
    call("bits", lambda x, y: (x & y) | (x ^ 5) & ~y, i(0, 200, "N", "L"), i(0, 200, "N", "L")),
    call(
        "bits_i32",
        lambda x, y: (x ^ y) & 77,
        i(-200, 200, "N", "L", dtype=torch.int32),
        i(0, 200, "N", "L", dtype=torch.int32),
    ),
    call("shift_left", lambda x: x << 3, i(0, 200, "N", "L")),
    call("shift_right", lambda x: x >> 2, i(0, 200, "N", "L")),
    call("shift_right_negative", lambda x: x >> 2, i(-200, 200, "N", "L")),
    call("mixed_types", lambda x, y: x * y + (y > 2), X, i(0, 5, "N", "L")),
    call("half_chain", lambda x: (x.half() * 1.5 + 2).float(), X),
    call("double_chain", lambda x: x.double().sin().float(), X),
    call("u8_wrap", lambda x: (x + 100) // 3, i(0, 255, "N", "L", dtype=torch.uint8)),
    call("i8_product", lambda x: x * 3, i(-128, 127, "N", "L", dtype=torch.int8)),
    call("type_as", lambda x, y: x.type_as(y), X, i(0, 5, 2)),
    call("polar_free", lambda x, y: torch.stack([x * y.cos(), x * y.sin()], -1), X, f("N", "L")),
    call(
        "fake_quantize", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -128, 127), X
    ),
    call("std_score", lambda x: (x - x.mean()) / x.std(), X),
]

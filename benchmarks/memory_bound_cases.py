"""The small ONNX models of `benchmarks.memory_bound`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A named model in ONNX's text form."""

    name: str
    text: str


def _case(name: str, inputs: str, result: str, body: str, opset: int = 21) -> Case:
    head = f'<ir_version: 10, opset_import: ["" : {opset}]>'
    return Case(name, f"{head} g ({inputs}) => ({result}) {{ {body} }}")


_BIG = "float[4096,4096]"
_LONG = "a = Mul(x, z) b = Add(a, x) c = Tanh(b) d = Mul(c, z) e = Add(d, x) y = Relu(e)"
_CHEAP = "a = Mul(x, z) b = Add(a, x) c = Relu(b) d = Mul(c, z) e = Sub(d, x) y = Max(e, z)"
_SMOOTH = "a = Mul(x, z) b = Sigmoid(a) c = Mul(b, x) d = Add(c, z) e = Exp(d) y = Sub(e, x)"


def _chains() -> list[Case]:
    two = f"{_BIG} x, {_BIG} z"
    return [
        _case("chain tanh 64 MB", two, f"{_BIG} y", _LONG),
        _case("chain cheap 64 MB", two, f"{_BIG} y", _CHEAP),
        _case("chain sigmoid exp 64 MB", two, f"{_BIG} y", _SMOOTH),
        _case("chain tanh 1 MB", "float[512,512] x, float[512,512] z", "float[512,512] y", _LONG),
    ]


def _along(name: str, operator: str, shape: str, result: str | None = None) -> Case:
    return _case(name, f"float[{shape}] x", f"float[{result or shape}] y", f"y = {operator}")


def _rows() -> list[Case]:
    softmax = [
        _along(f"softmax {shape}", "Softmax<axis=-1>(x)", shape)
        for shape in ("512,512", "8,512,512", "1,1000", "4,1000000")
    ]
    across = _along("softmax axis 1 8,512,512", "Softmax<axis=1>(x)", "8,512,512")
    norm = "float[512,768] x, float[768] s, float[768] b"
    layer = "LayerNormalization<axis=-1>"
    square = "p = Mul(x, x) m = ReduceMean<keepdims=1>(p, axes) v = Add(m, eps) r = Sqrt(v) "
    known = "axes = Constant<value=int64[1]{1}>() eps = Constant<value=float{0.00001}>() "
    result = "float[512,768] y"
    return [
        *softmax,
        across,
        _case("layer norm 512x768", norm, result, f"y = {layer}(x, s, b)"),
        _case("layer norm + residual", f"{norm}, float[512,768] r", result,
              f"t = Add(x, r) y = {layer}(t, s, b)"),
        _case("layer norm + relu", norm, result, f"n = {layer}(x, s, b) y = Relu(n)"),
        _case("rms norm 512x768", norm, result,
              known + square + "q = Div(x, r) n = Mul(q, s) y = Add(n, b)"),
    ]  # fmt: skip


def _activations() -> list[Case]:
    shape = "512,3072"
    return [
        _along("gelu erf 512x3072", "Gelu(x)", shape),
        _along("gelu tanh 512x3072", 'Gelu<approximate="tanh">(x)', shape),
        _case("gelu tanh written out", f"float[{shape}] x", f"float[{shape}] y",
              "c = Constant<value=float{0.044715}>() h = Constant<value=float{0.5}>() "
              "r = Constant<value=float{0.7978845608}>() o = Constant<value=float{1}>() "
              "three = Constant<value=float{3}>() "
              "p = Pow(x, three) a = Mul(c, p) t = Add(x, a) u = Mul(r, t) v = Tanh(u) "
              "w = Add(v, o) q = Mul(x, w) y = Mul(q, h)"),
        *(_along(f"{name.lower()} 512x3072", f"{name}(x)", shape)
          for name in ("Tanh", "Sigmoid", "Exp", "Erf", "Sin", "Softplus")),
        _case("silu 512x3072", f"float[{shape}] x", f"float[{shape}] y",
              "s = Sigmoid(x) y = Mul(x, s)"),
        _case("log 512x3072", f"float[{shape}] x", f"float[{shape}] y", "s = Abs(x) y = Log(s)"),
        _case("pow 512x3072", f"float[{shape}] x", f"float[{shape}] y",
              "e = Constant<value=float{1.7}>() s = Abs(x) y = Pow(s, e)"),
    ]  # fmt: skip


def _attention(name: str, heads: int, queries: int, keys: int, size: int, mask: str = "") -> Case:
    q, k = f"float[1,{heads},{queries},{size}]", f"float[1,{heads},{keys},{size}]"
    inputs = f"{q} q, {k} k, {k} v" + (f", float[1,1,{queries},{keys}] m" if mask else "")
    body = "t = Transpose<perm=[0,1,3,2]>(k) f = Constant<value=float{0.125}>() "
    body += "s = MatMul(q, t) c = Mul(s, f) "
    if mask == "causal":
        inputs = f"{q} q, {k} k, {k} v"
        body += (
            f"n = Constant<value=int64[2]{{{queries},{keys}}}>() "
            "one = Constant<value=float[1]{1}>() "
            "ones = ConstantOfShape<value=float[1]{1}>(n) low = Trilu<upper=0>(ones) "
            "kept = Cast<to=9>(low) least = Constant<value=float{-3.4028235e38}>() "
            "d = Where(kept, c, least) p = Softmax<axis=-1>(d) "
        )
    elif mask:
        body += "d = Add(c, m) p = Softmax<axis=-1>(d) "
    else:
        body += "p = Softmax<axis=-1>(c) "
    return _case(name, inputs, f"{q} y", body + "y = MatMul(p, v)")


def _attentions() -> list[Case]:
    return [
        _attention("attention 512, 8 heads", 8, 512, 512, 64),
        _attention("attention 128, 12 heads", 12, 128, 128, 64),
        _attention("attention 512 causal", 8, 512, 512, 64, "causal"),
        _attention("attention 512 mask", 8, 512, 512, 64, "added"),
        _attention("attention 96 x 1100", 8, 96, 1100, 64),
    ]


def _movement() -> list[Case]:
    return [
        _case("transpose 4096x4096", f"{_BIG} x", f"{_BIG} y", "y = Transpose<perm=[1,0]>(x)"),
        _case("transpose 1000x1500", "float[1000,1500] x", "float[1500,1000] y",
              "y = Transpose<perm=[1,0]>(x)"),
        _case("transpose 0231", "float[1,64,112,112] x", "float[1,112,112,64] y",
              "y = Transpose<perm=[0,2,3,1]>(x)"),
        _case("transpose 0312", "float[1,112,112,64] x", "float[1,64,112,112] y",
              "y = Transpose<perm=[0,3,1,2]>(x)"),
        _case("heads 0213", "float[1,128,12,64] x", "float[1,12,128,64] y",
              "y = Transpose<perm=[0,2,1,3]>(x)"),
        _case("concat 2 x 4 MB", "float[1,256,64,64] x, float[1,256,64,64] z",
              "float[1,512,64,64] y", "y = Concat<axis=1>(x, z)"),
        _case("concat last axis", "float[4096,100] x, float[4096,156] z",
              "float[4096,256] y", "y = Concat<axis=1>(x, z)"),
        _case("split 2 x 4 MB", "float[1,512,64,64] x",
              "float[1,256,64,64] y, float[1,256,64,64] z",
              "y, z = Split<axis=1, num_outputs=2>(x)"),
        _case("resize nearest 2x", "float[1,64,56,56] x", "float[1,64,112,112] y",
              'r = Constant<value=float[4]{1,1,2,2}>() '
              'y = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", '
              'nearest_mode="floor">(x, , r)'),
        _case("resize linear 2x", "float[1,64,56,56] x", "float[1,64,112,112] y",
              'r = Constant<value=float[4]{1,1,2,2}>() y = Resize<mode="linear">(x, , r)'),
    ]  # fmt: skip


def _reductions() -> list[Case]:
    made: list[Case] = []
    for operator in ("ReduceMean", "ReduceMax"):
        for axis, result in ((0, "256,512"), (1, "64,512"), (2, "64,256")):
            body = (
                f"axes = Constant<value=int64[1]{{{axis}}}>() y = {operator}<keepdims=0>(x, axes)"
            )
            name = f"{operator} axis {axis}"
            made.append(_case(name, "float[64,256,512] x", f"float[{result}] y", body))
    for axis, result in ((0, "256,512"), (1, "64,512"), (2, "64,256")):
        body = f"y = ArgMax<axis={axis}, keepdims=0>(x)"
        made.append(_case(f"ArgMax axis {axis}", "float[64,256,512] x", f"int64[{result}] y", body))
    image = "float[1,64,112,112] x"
    made += [
        _case("max pool 3x3 s2", image, "float[1,64,56,56] y",
              "y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)"),
        _case("max pool 3x3 s1", image, "float[1,64,112,112] y",
              "y = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)"),
        _case("average pool 3x3 s1", image, "float[1,64,112,112] y",
              "y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)"),
        _case("global average pool", image, "float[1,64,1,1] y", "y = GlobalAveragePool(x)"),
    ]  # fmt: skip
    return made


GROUPS: Mapping[str, Sequence[Case]] = {
    "elementwise chains": _chains(),
    "softmax and norms": _rows(),
    "functions and activations": _activations(),
    "attention": _attentions(),
    "data movement": _movement(),
    "reductions and pools": _reductions(),
}
"""The cases by group."""

"""Tests of shape and movement operators: symbolic sizes, open parameters, old opsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.compute.builder import Lowering
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.text import parse_graph
from compiler.ir.types import tensor
from compiler.ir.verify import verify
from compiler.ops.data_movement.reshape import same_position
from tests.onnx_nodes import computed, expected, imported, normal

FAR = np.iinfo(np.int64).max


def operand(name: str, given: Any) -> Tensor | None:
    """Return a tensor of a type, or with known elements, in which strings are symbolic sizes."""
    if given is None or isinstance(given, str):
        return given and Tensor(name, tensor(given))  # type: ignore[return-value]
    if any(isinstance(v, str) for v in np.ravel(given)):
        array = np.empty(len(given), np.object_)
        array[:] = [affine.parse(v) if isinstance(v, str) else v for v in given]
        return Tensor(name, tensor(f"i64[{len(given)}]"), array)
    array = np.asarray(given)
    return Tensor(name, tensor(f"i64[{','.join(map(str, array.shape))}]"), array)


def inferred(name: str, *operands: Any, **attrs: Any) -> str:
    op = OPERATORS[name]
    names = (*op.schema.operands, *[f"more{i}" for i in range(len(operands))])
    tensors = [operand(n, o) for n, o in zip(names, operands, strict=False)]
    return " ".join(map(str, op.infer(tensors, op.bind(attrs))))


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "needed"),
    [
        ("reshape", ["f32[N,3,H]", [0, -1]], {}, "f32[N,3*H]"),
        ("reshape", ["f32[N,3,H]", ["N", -1, 3]], {}, "f32[N,H,3]"),
        ("reshape", ["f32[N,6]", [-1, 2, 3]], {}, "f32[N,2,3]"),
        ("reshape", ["f32[N,6]", [-1, 12]], {}, "f32[N//2,12]"),
        ("reshape", ["f32[N,6]", "i64[3]"], {}, "f32[x__shape_r0,x__shape_r1,x__shape_r2]"),
        ("reshape", ["f32[N,6]", "i64[K]"], {}, "f32[...]"),
        ("reshape", ["f32[...]", [2, 3]], {}, "f32[2,3]"),
        ("flatten", ["f32[N,3,H]"], {}, "f32[N,3*H]"),
        ("squeeze", ["f32[N,1,1]"], {"axes": (1, -1)}, "f32[N]"),
        ("unsqueeze", ["f32[N,3]"], {"axes": (0, -1)}, "f32[1,N,3,1]"),
        ("transpose", ["f32[N,C,3]"], {"perm": (2, 0, 1)}, "f32[3,N,C]"),
        ("concat", ["f32[N,3]", "f32[N,K]", "f32[5,2]"], {"axis": 1}, "f32[5,K+5]"),
        ("split", ["f32[N,K]"], {"axis": 1, "sizes": (2, 3)}, "f32[N,2] f32[N,3]"),
        ("slice", ["f32[N,8]", [1], [FAR]], {}, "f32[max(0, N-1),8]"),
        ("slice", ["f32[N,8]", [0], [FAR]], {}, "f32[N,8]"),
        ("slice", ["f32[N,8]", [-1], [-FAR], [0], [-1]], {}, "f32[N,8]"),
        ("slice", ["f32[N,8]", [0], [-1]], {}, "f32[max(0, N-1),8]"),
        ("slice", ["f32[N,8]", ["-N"], [FAR], [0]], {}, "f32[N,8]"),
        ("slice", ["f32[3*N,8]", ["-2*N"], ["-N"], [0]], {}, "f32[N,8]"),
        ("slice", ["f32[N,8]", [0], [FAR], [0], [2]], {}, "f32[(N+1)//2,8]"),
        ("slice", ["f32[N,8]", [0], ["N"], [0]], {}, "f32[N,8]"),
        ("slice", ["f32[N,8]", "i64[1]", [3], [1]], {}, "f32[N,x__starts__is_3__is_1_r1]"),
        ("slice", ["f32[8]", [0], [2], "i64[1]"], {}, "f32[x__is_0__is_2__axes_r0]"),
        ("gather", ["f32[N,8]", "i64[K,2]"], {"axis": 1}, "f32[N,K,2]"),
        ("pad", ["f32[N,8]", [1, 0, 2, 0]], {}, "f32[N+3,8]"),
        ("pad", ["f32[0,8]", [1, 0, 2, 0]], {}, "f32[3,8]"),
        ("pad", ["f32[0,8]", [0, 1, 0, 1]], {"mode": "wrap"}, "f32[0,10]"),
        ("pad", ["f32[N,8]", "i64[2]", None, [1]], {}, "f32[N,x__pads__is_1_r1]"),
        ("expand", ["f32[N,1]", ["K", "M", 1]], {}, "f32[K,max(M, N),1]"),
        ("expand", ["f32[1,3]", "i64[3]"], {}, "f32[x__shape_r0,x__shape_r1,x__shape_r2]"),
        ("tile", ["f32[N,3]", [2, 2]], {}, "f32[2*N,6]"),
        ("shape", ["f32[N,3,H]"], {"start": -2}, "i64[2]"),
        ("fill", [["N", 3]], {"value": 2.0}, "f32[N,3]"),
        ("fill", ["i64[2]"], {}, "f32[shape_r0,shape_r1]"),
        ("range", ["i64[]", "i64[n]", "i64[1]"], {}, "i64[start__limit__delta_r0]"),
        ("depth_to_space", ["f32[N,8,H,W]"], {"blocksize": 2}, "f32[N,2,2*H,2*W]"),
        ("space_to_depth", ["f32[N,2,H,W]"], {"blocksize": 2}, "f32[N,8,H//2,W//2]"),
    ],
)  # fmt: skip
def test_sizes_that_are_open_stay_expressions(
    name: str, operands: list[Any], attrs: dict[str, Any], needed: str
) -> None:
    assert inferred(name, *operands, **attrs) == needed


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "code"),
    [
        ("reshape", ["f32[2,3]", [4, 2]], {}, "E-OP-SHAPE"),
        ("reshape", ["f32[2,3]", [-1, -1]], {}, "E-OP-SHAPE"),
        ("reshape", ["f32[2,3]", [-1, 4]], {}, "E-OP-SHAPE"),
        ("reshape", ["f32[2,3]", [-2, 3]], {}, "E-OP-SHAPE"),
        ("reshape", ["f32[2,3]", [2, 3, 0]], {}, "E-OP-SHAPE"),
        ("reshape", ["f32[2,3]", "f32[2]"], {}, "E-OP-DTYPE"),
        ("squeeze", ["f32[2,3]"], {"axes": (0,)}, "E-OP-SHAPE"),
        ("squeeze", ["f32[1,1]"], {"axes": (0, -2)}, "E-OP-AXIS"),
        ("transpose", ["f32[2,3]"], {"perm": (0, 0)}, "E-OP-AXIS"),
        ("concat", [], {"axis": 0}, "E-OP-OPERANDS"),
        ("concat", ["f32[2]", "i64[2]"], {"axis": 0}, "E-OP-DTYPE"),
        ("concat", ["f32[2,3]", "f32[2,4]"], {"axis": 0}, "E-OP-SHAPE"),
        ("split", ["f32[5]"], {"axis": 0, "sizes": (2, 2)}, "E-OP-SHAPE"),
        ("slice", ["f32[5]", [0], [3], [0], [0]], {}, "E-OP-ATTRIBUTE"),
        ("slice", ["f32[5]", [0, 1], [3]], {}, "E-OP-SHAPE"),
        ("gather", ["f32[5]", "f32[2]"], {}, "E-OP-DTYPE"),
        ("pad", ["f32[5]", [1, 1]], {"mode": "wild"}, "E-OP-ATTRIBUTE"),
        ("pad", ["f32[5]", [-3, -3]], {}, "E-OP-SHAPE"),
        ("pad", ["f32[5]", [1]], {}, "E-OP-SHAPE"),
        ("pad", ["f32[0]", [1, 0]], {"mode": "reflect"}, "E-OP-SHAPE"),
        ("pad", ["f32[2,0]", [0, 0, 0, 2]], {"mode": "edge"}, "E-OP-SHAPE"),
        ("pad", ["f32[0]", [0, 1]], {"mode": "wrap"}, "E-OP-SHAPE"),
        ("expand", ["f32[2,3]", [4]], {}, "E-OP-SHAPE"),
        ("tile", ["f32[2,3]", [2]], {}, "E-OP-SHAPE"),
        ("fill", [[2, -1]], {}, "E-OP-SHAPE"),
        ("fill", ["i64[100]"], {}, "E-OP-SHAPE"),
        ("depth_to_space", ["f32[1,3,2,2]"], {"blocksize": 2}, "E-OP-SHAPE"),
        ("range", ["i64[]", "i64[2]", "i64[]"], {}, "E-OP-SHAPE"),
        ("range", [0, 3, 0], {}, "E-OP-ATTRIBUTE"),
        ("trilu", ["f32[3]"], {}, "E-OP-SHAPE"),
    ],
)
def test_operands_that_do_not_fit_are_refused(
    name: str, operands: list[Any], attrs: dict[str, Any], code: str
) -> None:
    with pytest.raises(CompileError) as caught:
        inferred(name, *operands, **attrs)
    assert caught.value.code == code


def test_shape_arithmetic_is_followed_through_these_operators() -> None:
    g = parse_graph("""graph g(x: f32[N,C,H,W]) {
  const one: i64[1] = literal(1)
  const three: i64[1] = literal(3)
  const zero: i64[] = literal(0)
  const rest: i64[1] = literal(-1)
  s: i64[4] = shape(x)
  n: i64[] = gather(s, zero)
  n1: i64[1] = unsqueeze(n, axes=[0])
  c: i64[2] = slice(s, one, three)
  t: i64[4] = concat(n1, c, rest, axis=0)
  y: f32[N,C,H,W] = reshape(x, t)
  f: f32[N,C,H,W] = fill(s, value=1.0)
  return y, f
}""")
    facts = verify(g)
    assert [str(v) for v in facts.known["t"]] == ["N", "C", "H", "-1"]


def test_a_lowering_says_what_it_does_not_know() -> None:
    for name, types, attrs in (
        ("slice", ["f32[5]", "i64[1]", "i64[1]", "f32[2]"], {}),
        ("pad", ["f32[5]", "i64[2]", "f32[7]"], {"mode": "constant"}),
    ):
        k = Lowering(name)
        handles = [k.input(f"a{i}", tensor(t)) for i, t in enumerate(types[:-1])]
        lower = OPERATORS[name].lower_fn
        assert lower is not None
        with pytest.raises(CompileError) as caught:
            lower(k, *handles, k.output("out", tensor(types[-1])), **attrs)
        assert caught.value.code == "E-SHAPE-OPEN"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((2, 3, 4), (6, 4)),
        ((6, 4), (2, 3, 4)),
        ((4, 6, 5), (8, 3, 5)),
        ((1, 12, 1), (3, 1, 4)),
        ((2, 3, 4), (4, 3, 2)),
        ((), (1, 1)),
        ((5, 1, 7), (35,)),
    ],
)
def test_a_reshape_reads_the_element_at_the_same_place(
    old: tuple[int, ...], new: tuple[int, ...]
) -> None:
    names = [affine.symbol(f"i{d}") for d in range(len(new))]
    index = same_position(new, names, old)
    flat = np.arange(np.prod(old, dtype=int)).reshape(old)
    for place in np.ndindex(*new):
        values = {f"i{d}": p for d, p in enumerate(place)}
        at = tuple(int(affine.substitute(e, values)) for e in index)
        assert flat[at] == np.ravel_multi_index(place, new) if new else True


def test_an_axis_that_a_reshape_keeps_has_a_plain_index() -> None:
    i, j, k = (affine.symbol(n) for n in "ijk")
    assert [str(e) for e in same_position((7, 6, 5), [i, j, k], (7, 2, 3, 5))] == [
        "i",
        "j//3",
        "j%3",
        "k",
    ]


X = normal(2, 3, 4)
ENDS = [(0, 0), (0, 0), (1, 1)]
BORDERED = np.pad(X, ENDS, constant_values=2)


@pytest.mark.parametrize(
    ("op_type", "operands", "opset", "attrs", "needed"),
    [
        ("Slice", [X], 1, {"starts": (1, -3), "ends": (5, -1), "axes": (1, 2)}, X[:, 1:, -3:-1]),
        ("Slice", [X], 9, {"starts": (0, 1), "ends": (1, FAR)}, X[:1, 1:]),
        ("Pad", [X], 1, {"paddings": (0, 1, 0, 0, 0, 2)}, np.pad(X, [(0, 0), (1, 0), (0, 2)])),
        ("Pad", [X], 2, {"pads": (0, 0, 1, 0, 0, 1), "mode": "edge"}, np.pad(X, ENDS, "edge")),
        ("Pad", [X], 2, {"pads": (0, 0, 1, 0, 0, 1), "value": 2}, BORDERED),
        ("Concat", [X, X], 1, {}, np.concatenate([X, X], 1)),
        ("Squeeze", [X[:, :1]], 1, {}, X[:, 0]),
        ("Unsqueeze", [X], 11, {"axes": (-1,)}, X[..., None]),
        ("Unsqueeze", [X, np.array([0, 2])], 13, {}, X[None, :, None]),
        ("Reshape", [X], 1, {"shape": (0, -1)}, X.reshape(2, 12)),
        ("Reshape", [X[:0], np.array([3, 0])], 14, {"allowzero": 1}, X[:0].reshape(3, 0)),
        ("Transpose", [X], 13, {}, X.transpose()),
        ("Tile", [X, np.array([2.0]), np.array([1.0])], 1, {}, np.tile(X, (1, 2, 1))),
        ("Dropout", [X, np.array(0.5, np.float32)], 12, {}, X),
        ("DepthToSpace", [normal(1, 4, 2, 2)], 1, {"blocksize": 2}, None),
        ("Range", [np.array(1.0), np.array(2.3), np.array(0.25)], 11, {}, None),
        ("Trilu", [X, np.array(1)], 14, {"upper": 0}, None),
        ("Pad", [X, np.array([0, 0, 5, 0, 0, 4])], 19, {"mode": "wrap"}, None),
        ("Pad", [X, np.array([0, 0, 3, 0, 0, 3])], 13, {"mode": "reflect"}, None),
    ],
)  # fmt: skip
def test_every_form_that_opsets_gave_these_operators_is_read(
    op_type: str, operands: list[Any], opset: int, attrs: dict[str, Any], needed: Any
) -> None:
    if needed is None:
        needed = expected(op_type, *operands, opset=opset, **attrs)
    got = computed(op_type, *operands, opset=opset, **attrs)
    assert got.dtype == needed.dtype
    np.testing.assert_array_equal(got, needed)


def test_split_follows_sizes_attributes_and_counts() -> None:
    def sizes(*operands: Any, opset: int, n_outputs: int = 2, **attrs: Any) -> Any:
        made = imported("Split", *operands, opset=opset, n_outputs=n_outputs, **attrs)
        return made[0].call.attrs["sizes"]

    assert tuple(sizes("f32[6,2]", opset=2)) == (3, 3)
    assert tuple(sizes("f32[6,2]", opset=11, split=(1, 5))) == (1, 5)
    assert tuple(sizes("f32[6,2]", np.array([4, 2]), opset=13)) == (4, 2)
    assert tuple(sizes("f32[7,2]", opset=18, n_outputs=3, num_outputs=3)) == (3, 3, 1)
    with pytest.raises(CompileError) as caught:
        sizes("f32[7,2]", opset=13)
    assert caught.value.code == "E-OP-SHAPE"
    with pytest.raises(CompileError) as caught:
        sizes("f32[N,2]", opset=13)
    assert caught.value.code == "E-SHAPE-OPEN"


def test_forms_that_these_operators_do_not_cover_stay_foreign() -> None:
    assert imported("Dropout", "f32[2]", opset=1) is None
    training = np.array(True)
    assert imported("Dropout", "f32[2]", None, training, opset=13) is None
    assert imported("Pad", "string[2]", "i64[2]", opset=18) is None

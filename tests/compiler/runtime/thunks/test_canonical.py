import dataclasses

from compiler.compute.scalar import IndexValue, Inside, Number, Read, apply
from compiler.ir.affine import minimum, symbol
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Kernel, Loop, Prefetch, Store
from compiler.runtime.thunks.canonical import canonical_text, renamed, symbol_name

F32 = DType.f32


def kernel(name: str, x: str, y: str, acc: str, i: str, j: str, scale: float = 2.0) -> Kernel:
    row, column = symbol(i), symbol(j)
    read = Inside(((column - 1, 8),), Read(x, (row, column - 1), F32), Number(0.0, F32))
    total = apply("add", Read(acc, (0,), F32), apply("mul", read, Number(scale, F32)))
    body = Loop(
        i,
        0,
        3,
        (
            Prefetch(x, (row, 0)),
            Loop(j, 0, minimum(row + 2, 8), (Store(acc, (0,), total),)),
            Store(y, (row,), apply("add", Read(acc, (0,), F32), IndexValue(row, F32))),
        ),
        "parallel",
    )
    params = (Buffer(x, F32, (3, 8), "input"), Buffer(y, F32, (3,), "output"))
    return Kernel(name, params, (body,), (Buffer(acc, F32, (1,), "register"),))


def test_names_do_not_matter() -> None:
    a = kernel("conv", "X", "Y", "acc", "i", "j")
    # Other names also change the sorting inside the expressions.
    b = kernel("other", "zz", "aa", "k", "z", "a")
    assert str(a) != str(b)
    assert canonical_text(a) == canonical_text(b)


def test_everything_else_matters() -> None:
    a = kernel("conv", "X", "Y", "acc", "i", "j")
    assert canonical_text(a) != canonical_text(kernel("conv", "X", "Y", "acc", "i", "j", 3.0))
    swapped = dataclasses.replace(a, params=a.params[::-1])
    assert canonical_text(a) != canonical_text(swapped)
    serial = dataclasses.replace(a, body=(dataclasses.replace(a.body[0], kind="for"),))  # type: ignore[type-var]
    assert canonical_text(a) != canonical_text(serial)


def test_a_loop_variable_used_twice_in_a_row_is_two_variables() -> None:
    store = Store("y", (symbol("i"),), Number(0.0, F32))
    y = Buffer("y", F32, (4,), "output")
    twice = Kernel("k", (y,), (Loop("i", 0, 4, (store,)), Loop("i", 0, 4, (store,))))
    other = Store("y", (symbol("j"),), Number(0.0, F32))
    apart = Kernel("k", (y,), (Loop("i", 0, 4, (store,)), Loop("j", 0, 4, (other,))))
    assert canonical_text(twice) == canonical_text(apart)
    assert renamed(twice, "k").body[1].var == "i1"  # type: ignore[union-attr]


def test_symbols_are_words_of_their_own() -> None:
    taken = {"run"}
    names = [symbol_name(n, taken) for n in ("conv relu", "conv_relu", "run", "", "sin")]
    assert names == ["conv_relu", "conv_relu_2", "run_2", "kernel", "sin_kernel"]

import pytest

from compiler.compute.scalar import Number, Read, Scalar, apply
from compiler.ir.affine import Expr, symbol
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Kernel, Loop, Statement, Store
from compiler.memory.in_place import overwritable

F32 = DType.f32
ROW, COLUMN = symbol("i"), symbol("j")


def x(*index: Expr) -> Read:
    return Read("x", index, F32)


def kernel(*body: Statement, inputs: tuple[Buffer, ...] = ()) -> Kernel:
    params = inputs or (Buffer("x", F32, (3, 8), "input"),)
    return Kernel("k", (*params, Buffer("y", F32, (3, 8), "output")), body)


def nest(store: Store, n: int = 3, m: int = 8) -> Loop:
    return Loop("i", 0, n, (Loop("j", 0, m, (store,), "vector"),))


def to_y(value: Scalar, *index: Expr) -> Store:
    return Store("y", index or (ROW, COLUMN), value)


def test_an_elementwise_kernel_may_overwrite_its_operand() -> None:
    assert overwritable(kernel(nest(to_y(apply("sqrt", x(ROW, COLUMN)))))) == {"y": ("x",)}


def test_the_same_place_under_another_shape_counts() -> None:
    flat = Read("x", (ROW * 8 + COLUMN,), F32)
    inputs = (Buffer("x", F32, (24,), "input"),)
    assert overwritable(kernel(nest(to_y(flat)), inputs=inputs)) == {"y": ("x",)}


@pytest.mark.parametrize(
    "body",
    [
        nest(to_y(x(ROW, 7 - COLUMN))),
        nest(to_y(apply("add", x(ROW, COLUMN), x(0, COLUMN)))),
        Loop("i", 0, 3, (Loop("j", 0, 8, (to_y(x(ROW, COLUMN)),)), nest(to_y(x(ROW, COLUMN))))),
        nest(to_y(x(ROW, COLUMN)), 2),
        nest(to_y(x(ROW, COLUMN)), symbol("n")),  # type: ignore[arg-type]
    ],
    ids=["reversed", "also elsewhere", "stored twice", "not all stored", "open count"],
)
def test_kernels_that_still_need_the_operand_may_not_overwrite_it(body: Loop) -> None:
    assert overwritable(kernel(body)) == {}


def test_a_read_outside_the_store_of_the_element_forbids_it() -> None:
    staged = Loop("i", 0, 3, (Store("acc", (0,), x(ROW, 0)),))
    assert overwritable(kernel(staged, nest(to_y(x(ROW, COLUMN))))) == {}


def test_only_operands_of_the_result_type_and_size_are_named() -> None:
    inputs = (
        Buffer("x", F32, (3, 8), "input"),
        Buffer("b", F32, (8,), "input"),
        Buffer("n", DType.i32, (3, 8), "input"),
        Buffer("w", F32, (3, 8), "constant"),
    )
    total = apply(
        "add",
        apply("mul", x(ROW, COLUMN), Read("w", (ROW, COLUMN), F32)),
        Read("b", (COLUMN,), F32),
    )
    assert overwritable(kernel(nest(to_y(total)), inputs=inputs)) == {"y": ("x",)}


def test_a_kernel_that_reads_its_result_elsewhere_may_not_write_over_an_operand() -> None:
    shifted = apply("add", x(ROW, COLUMN), Read("y", (0, COLUMN), F32))
    assert overwritable(kernel(nest(to_y(shifted)))) == {}


def test_an_operand_that_is_not_read_at_all_may_be_overwritten() -> None:
    assert overwritable(kernel(nest(to_y(Number(1.0, F32))))) == {"y": ("x",)}


def two_results(first: Store, second: Store) -> Kernel:
    body = Loop("i", 0, 3, (Loop("j", 0, 8, (first, second), "vector"),))
    params = tuple(
        Buffer(name, F32, (3, 8), "input" if name == "x" else "output") for name in ("x", "y", "z")
    )
    return Kernel("k", params, (body,))


def test_of_several_results_the_last_that_reads_an_operand_may_take_its_place() -> None:
    first = to_y(apply("sqrt", x(ROW, COLUMN)))
    second = Store("z", (ROW, COLUMN), apply("neg", x(ROW, COLUMN)))
    assert overwritable(two_results(first, second)) == {"z": ("x",)}
    only_first = Store("z", (ROW, COLUMN), Number(1.0, F32))
    assert overwritable(two_results(first, only_first)) == {"y": ("x",), "z": ("x",)}


def test_a_result_before_that_reads_the_operand_elsewhere_keeps_it() -> None:
    first = to_y(x(ROW, 7 - COLUMN))
    second = Store("z", (ROW, COLUMN), x(ROW, COLUMN))
    assert overwritable(two_results(first, second)) == {}


def test_a_result_that_is_loaded_again_is_not_written_over_an_operand_of_both() -> None:
    first = to_y(x(ROW, COLUMN))
    second = Store("z", (ROW, COLUMN), apply("add", x(ROW, COLUMN), Read("y", (ROW, COLUMN), F32)))
    assert overwritable(two_results(first, second)) == {"z": ("x",)}

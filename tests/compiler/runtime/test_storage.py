import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir.types import Layout, tensor
from compiler.runtime.storage import (
    PAGE_BYTES,
    aligned_array,
    aligned_bytes,
    physical_view,
    store_logical,
    to_logical,
)


@pytest.mark.parametrize("nbytes", [1, 63, 100_000])
def test_memory_starts_at_a_cache_line(nbytes: int) -> None:
    memory = aligned_bytes(nbytes)
    assert memory.nbytes == nbytes
    assert memory.ctypes.data % 64 == 0


def test_large_memory_starts_at_a_large_page() -> None:
    assert aligned_bytes(PAGE_BYTES + 5).ctypes.data % PAGE_BYTES == 0


def test_arrays_have_type_and_shape_also_when_empty_or_a_single_number() -> None:
    for text in ("f32[2,3]", "bf16[4]", "bool[]", "i64[0,3]", "f16[5]"):
        t = tensor(text)
        made = aligned_array(t)
        assert (made.dtype, made.shape) == (t.dtype.numpy, t.static_shape)
        assert made.flags.writeable


LAYOUTS = [
    Layout(),
    Layout(block=4),
    Layout(halo=(1, 2)),
    Layout(block=4, halo=(2, 1)),
    Layout(block=8, halo=(0, 3)),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("channels", [1, 4, 6, 8])
def test_elements_come_back_from_every_layout(layout: Layout, channels: int) -> None:
    t = tensor(f"f32[2,{channels},3,5]").with_layout(layout)
    array = np.arange(t.n_elements, dtype=np.float32).reshape(t.static_shape) + 1
    memory = aligned_bytes(t.nbytes + 128)
    memory[...] = 0xFF
    physical = physical_view(memory, 64, t)
    store_logical(array, physical, t)
    assert np.array_equal(to_logical(physical, t), array)
    # Halo and padding are zeros, and the memory outside is unchanged.
    assert physical.sum(dtype=np.float64) == array.sum(dtype=np.float64)
    assert (memory[:64] == 0xFF).all()
    assert (memory[64 + t.nbytes :] == 0xFF).all()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_an_element_lies_where_the_layout_says(layout: Layout) -> None:
    t = tensor("f32[2,6,3,5]").with_layout(layout)
    array = np.arange(t.n_elements, dtype=np.float32).reshape(t.static_shape)
    physical = physical_view(aligned_bytes(t.nbytes), 0, t)
    store_logical(array, physical, t)
    for index in ((0, 0, 0, 0), (1, 5, 2, 4), (0, 4, 1, 3), (1, 2, 0, 1)):
        place = tuple(int(i) for i in layout.physical_index(index))
        assert physical[place] == array[index]


@pytest.mark.parametrize("nbytes", [2**55, 2**62, 2**70])
def test_more_bytes_than_there_are_is_an_error_of_the_input(nbytes: int) -> None:
    with pytest.raises(CompileError) as e:
        aligned_bytes(nbytes)
    assert e.value.code == "E-RUN-MEMORY"

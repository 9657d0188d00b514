"""A program's native call on prepared memory, for measurements of the machine code alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compiler.codegen.jit import Library
from compiler.runtime.frame import Frame, address_of
from compiler.runtime.kept import Image, image_of
from compiler.runtime.storage import aligned_bytes

if TYPE_CHECKING:
    from compiler.runtime.program import Program


class NativeCall:
    """A copy of a program with its own code, weights, arena, inputs and results.

    A call runs all launches. The checks of inputs and the allocation of results happen once, in
    advance.
    """

    def __init__(self, image: Image, inputs: Mapping[str, Any]) -> None:
        frame = Frame(image.inputs, [o for _, o in image.results], image.arena_bytes)
        weights = aligned_bytes(image.weights.nbytes)
        weights[...] = image.weights
        library = Library.load(image.objects, [image.symbol])
        run = frame.start({name: value.copy() for name, value in inputs.items()})
        self._alive = (frame, weights, library, run)
        space, entry = run.space, library.function(image.symbol)
        places = (
            space.arena_address,
            address_of(weights),
            space.inputs_address,
            space.outputs_address,
        )
        self._call = lambda: entry(*places)

    def __call__(self) -> None:
        """Run all launches of the program."""
        self._call()


def native_calls(program: Program, inputs: Mapping[str, Any], n: int) -> tuple[NativeCall, ...]:
    """Return n independent copies of a program; () if a run needs more than one native call."""
    image = image_of(program)
    return () if image is None else tuple(NativeCall(image, inputs) for _ in range(n))

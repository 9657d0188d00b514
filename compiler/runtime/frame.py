"""The memory of one native call: an arena, tables of addresses, and arrays for its results."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.constant import Array
from compiler.ir.graph import Value
from compiler.ir.types import DType, TensorType, Type
from compiler.limits import check_bytes
from compiler.runtime.storage import LINE_BYTES, aligned_bytes

Entry = Callable[[int, int, int, int], None]
"""Native function of one segment. Parameters: addresses of arena, constants, inputs and outputs."""

SMALL_BYTES = 32 << 10
"""Results below this size in bytes keep numpy's alignment. The alignment of an array takes 0.3 us:
the time lost by about 500 unaligned stores."""

LARGE_BYTES = 1 << 20
"""Minimum size in bytes of memory that is taken from recycled blocks, or checked for
availability."""

MAX_KNOWN_SHAPES = 64
"""Maximum number of cached sets of input shapes."""

_POINTER_AT, _HEADER_BYTES = ctypes.c_void_p.from_address, object.__basicsize__


def _numpy_address(array: Array) -> int:
    return array.ctypes.data


def _field_address(array: Array) -> int:
    return _POINTER_AT(id(array) + _HEADER_BYTES).value or 0


def _pick_address() -> Callable[[Array], int]:
    """Return `_field_address` if it reads the correct address, else `_numpy_address`."""
    try:
        sample = np.empty(3, np.uint8)
        if _field_address(sample) == _numpy_address(sample):
            return _field_address
    except (TypeError, ValueError):
        pass
    return _numpy_address


address_of: Callable[[Array], int] = _pick_address()
"""Function that returns the address of an array's elements."""


def in_memory(t: Type | None) -> bool:
    """Return whether values of a type can be in the arena: their size in bytes is known."""
    return isinstance(t, TensorType) and t.is_static and t.dtype is not DType.string


@dataclass(frozen=True, slots=True)
class InputSpec:
    """The required type and shape of one input; `dtype` is None for values other than arrays."""

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]

    @staticmethod
    def of(v: Value) -> InputSpec:
        """Return the specification of a graph's input."""
        t = v.type
        if isinstance(t, TensorType) and in_memory(t):
            return InputSpec(v.name, np.dtype(t.dtype.numpy), t.static_shape)
        return InputSpec(v.name, None, ())

    def accept(self, value: Any) -> Any:
        """Return a row-major, aligned array that native code can read, copied only if necessary."""
        if self.dtype is None:
            return value
        array = np.asarray(value)
        assert array.dtype == self.dtype, f"{self.name} has element type {array.dtype}"
        assert array.shape == self.shape, f"{self.name} has shape {array.shape}"
        flags = array.flags
        if flags.c_contiguous and flags.aligned:
            return array
        return np.array(array, order="C")


class KnownShapes:
    """A cache of input shapes that passed the checks; runs with cached shapes skip the checks."""

    def __init__(self, inputs: Sequence[Value]) -> None:
        self._wanted = [(v.name, _plain_dtype(v.type)) for v in inputs]
        self._known: set[tuple[tuple[int, ...], ...]] = set()

    def note(self, inputs: Mapping[str, Any]) -> None:
        """Add the shapes of checked inputs to the cache, up to a limit."""
        shapes = self._shapes(inputs)
        if shapes is not None and len(self._known) < MAX_KNOWN_SHAPES:
            self._known.add(shapes)

    def fit(self, inputs: Mapping[str, Any]) -> bool:
        """Return whether inputs are arrays of the right element types in known shapes."""
        return self._shapes(inputs) in self._known

    def _shapes(self, inputs: Mapping[str, Any]) -> tuple[tuple[int, ...], ...] | None:
        if type(inputs) is not dict or len(inputs) != len(self._wanted):
            return None
        found: list[tuple[int, ...]] = []
        for name, dtype in self._wanted:
            value = inputs.get(name)
            if type(value) is not np.ndarray or value.dtype is not dtype:
                return None
            found.append(value.shape)
        return tuple(found)


def _plain_dtype(t: Type) -> np.dtype[Any] | None:
    """Return the element type of arrays whose elements need no check; None for other types."""
    if not isinstance(t, TensorType) or t.dtype is DType.string:
        return None
    return np.dtype(t.dtype.numpy)


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """A result that native code writes into a separate array. Units: bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int

    @staticmethod
    def of(t: TensorType) -> OutputSpec:
        """Return the specification of a result of a static type."""
        shape = t.static_shape
        return OutputSpec(np.dtype(t.dtype.numpy), shape, t.n_elements * t.dtype.nbytes)

    @property
    def maker(self) -> Callable[[], Array]:
        """Return a function that allocates an array.

        Large arrays are aligned to a cache line or a huge page.
        """
        small = self.nbytes < SMALL_BYTES
        return partial(np.empty, self.shape, self.dtype) if small else self._aligned

    def _aligned(self) -> Array:
        if self.nbytes < LARGE_BYTES:
            raw = np.empty(self.nbytes + LINE_BYTES, np.uint8)
            return np.ndarray(self.shape, self.dtype, raw, -address_of(raw) % LINE_BYTES)
        return aligned_bytes(self.nbytes).view(self.dtype).reshape(self.shape)


@dataclass(slots=True)
class Workspace:
    """The memory of one run: arena and tables of input and output addresses."""

    arena: Array
    inputs: Any
    outputs: Any
    arena_address: int
    inputs_address: int
    outputs_address: int

    @staticmethod
    def of(arena_bytes: int, n_inputs: int, n_outputs: int) -> Workspace:
        """Allocate a new workspace. Units: bytes."""
        arena = aligned_bytes(max(arena_bytes, 1))
        inputs = (ctypes.c_void_p * max(n_inputs, 1))()
        outputs = (ctypes.c_void_p * max(n_outputs, 1))()
        addresses = arena.ctypes.data, ctypes.addressof(inputs), ctypes.addressof(outputs)
        return Workspace(arena, inputs, outputs, *addresses)


class Workspaces:
    """Unused workspaces for later runs; programs for other sizes may share them."""

    def __init__(self) -> None:
        self._free: deque[Workspace] = deque()

    def take(self, arena_bytes: int, n_inputs: int, n_outputs: int) -> Workspace:
        """Return a workspace with a large enough arena."""
        try:
            space = self._free.pop()
        except IndexError:
            space = None
        if space is None or space.arena.nbytes < arena_bytes:
            space = Workspace.of(arena_bytes, n_inputs, n_outputs)
        return space

    def give(self, space: Workspace) -> None:
        """Return a workspace after a run."""
        self._free.append(space)


@dataclass(slots=True)
class Run:
    """The state of one run: memory, the caller's arrays, and values outside the arena."""

    space: Workspace
    inputs: list[Any]
    outputs: list[Any]
    kept: dict[str, Any] = field(default_factory=dict)


class Frame:
    """Creates the state of a run, with arrays for results that have a specification."""

    def __init__(
        self,
        inputs: Sequence[InputSpec],
        outputs: Sequence[OutputSpec | None],
        arena_bytes: int,
        spaces: Workspaces | None = None,
        copied_bytes: int = 0,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.arena_bytes = arena_bytes
        self.spaces = spaces or Workspaces()
        made = sum(o.nbytes for o in self.outputs if o is not None)
        self.needed_bytes = arena_bytes + made + copied_bytes
        self._arrays = tuple((i, o.maker) for i, o in enumerate(self.outputs) if o is not None)

    def start(self, inputs: Mapping[str, Any]) -> Run:
        """Allocate a run's memory for checked inputs; the workspace must be returned afterwards.

        Errors: E-RUN-MEMORY.
        """
        check_bytes(self.needed_bytes, "this run", "E-RUN-MEMORY")
        given = [spec.accept(inputs[spec.name]) for spec in self.inputs]
        outputs: list[Any] = [None] * len(self.outputs)
        for i, make in self._arrays:
            outputs[i] = make()
        space = self.spaces.take(self.arena_bytes, len(given), len(outputs))
        for i, spec in enumerate(self.inputs):
            if spec.dtype is not None:
                space.inputs[i] = address_of(given[i])
        for i, _ in self._arrays:
            space.outputs[i] = address_of(outputs[i])
        return Run(space, given, outputs)


@dataclass(frozen=True, slots=True)
class CopiedOutput:
    """A result that no launch writes: a copy of an input, of another result, or of a constant."""

    spec: OutputSpec
    of: Callable[[Mapping[str, Any], Mapping[str, Any]], Array]
    """Returns the source, given the inputs and the written results."""


class DirectCall:
    """A program of one native call, for arrays of exactly the required types and shapes.

    All lookups are prepared in advance. The lookups, checks and allocations before a native call
    can take longer than the run of a small model.
    """

    def __init__(
        self,
        frame: Frame,
        entry: Entry,
        constants_address: int,
        results: Mapping[str, OutputSpec | CopiedOutput],
    ) -> None:
        self._wanted = tuple((s.name, s.dtype, s.shape) for s in frame.inputs)
        copied = {n: r for n, r in results.items() if isinstance(r, CopiedOutput)}
        self._results = tuple(
            (n, (r.spec if isinstance(r, CopiedOutput) else r).maker) for n, r in results.items()
        )
        self._copies = tuple((name, r.of, r.spec.shape) for name, r in copied.items())
        self._sizes = frame.arena_bytes, len(frame.inputs), len(frame.outputs)
        self._spaces = frame.spaces
        self._entry = entry
        self._constants_address = constants_address

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the results by name; None if the inputs have other types or need a conversion."""
        if type(inputs) is not dict or len(inputs) != len(self._wanted):
            return None
        addresses: list[int] = []
        for name, dtype, shape in self._wanted:
            value = inputs.get(name)
            if type(value) is not np.ndarray or value.dtype is not dtype or value.shape != shape:
                return None
            flags = value.flags
            if not (flags.c_contiguous and flags.aligned):
                return None
            addresses.append(address_of(value))
        made: dict[str, Any] = {}
        results: list[int] = []
        for name, make in self._results:
            made[name] = array = make()
            results.append(address_of(array))
        space = self._spaces.take(*self._sizes)
        try:
            space.inputs[: len(addresses)] = addresses
            space.outputs[: len(results)] = results
            self._entry(
                space.arena_address,
                self._constants_address,
                space.inputs_address,
                space.outputs_address,
            )
        finally:
            self._spaces.give(space)
        for name, of, shape in self._copies:
            np.copyto(made[name], of(inputs, made).reshape(shape))
        return made

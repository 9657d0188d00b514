"""Sizes for open dimensions of inputs, by the roles of the axes: see axis_roles.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.ir.types import Dim, TensorType, Type
from compiler.runtime.axis_roles import Evidence, Role, roles_of, symbol_of

Shapes = dict[str, tuple[int, ...]]

ASSUMED_CHANNELS = 3
ASSUMED_IMAGE_PIXELS = 224
ASSUMED_LENGTH = 16

_SIDES = ((48, 192), (32, 128), (64, 256), (256, 256), (299, 299), (512, 512), (32, 32), (28, 28))
"""Further sizes of images: height and width."""
_LENGTHS = (64, 256, 1024, 16_384)
"""Further sizes of volumes, signals and sequences."""


@dataclass(frozen=True)
class Habits:
    """The sizes of images, and of all other open axes, in one guess."""

    height: int = ASSUMED_IMAGE_PIXELS
    width: int = ASSUMED_IMAGE_PIXELS
    length: int = ASSUMED_LENGTH
    channels_last: bool = False


def assumed_shapes(
    graph: Graph,
    given: Mapping[str, Sequence[int]] | None = None,
    habits: Habits = Habits(),  # noqa: B008 - immutable
) -> Shapes:
    """Return assumed shapes for the tensor inputs that have open dimensions and no `given` shape.

    Batches have one example. Images have 3 channels and 224 x 224 pixels; sizes that an operator
    requires take precedence. If only the height is fixed, the width is four times the height. Other
    open dimensions are 16. A named dimension has the same size in all inputs.
    Errors: those of `specialize` for given shapes.
    """
    shapes = {name: tuple(int(d) for d in shape) for name, shape in (given or {}).items()}
    known = specialize(graph, shapes) if shapes else graph
    evidence = Evidence()
    sizes: dict[str, int] = {}
    assumed: Shapes = {}
    for v, decided in zip(graph.inputs, known.inputs, strict=True):
        t = decided.type
        if isinstance(v.type, TensorType) and not v.type.is_static and v.name not in shapes:
            if not evidence.is_complete:
                evidence.read(known)
            dims = t.shape if isinstance(t, TensorType) and t.shape is not None else ()
            roles = roles_of(dims, evidence, habits.channels_last)
            assumed[v.name] = tuple(
                d
                if isinstance(d, int)
                else sizes.setdefault(str(d), _size(i, dims, roles, evidence, habits))
                for i, d in enumerate(dims)
            )
    return assumed


def shapes_that_fit(graph: Graph, given: Mapping[str, Sequence[int]]) -> Shapes:
    """Choose shapes for inputs with open dimensions: the first guess that the model accepts, if
    possible without empty tensors.

    Errors: those of the model for the given shapes. If the model rejects every guess: the error for
    the first guess, with a note that states the guess.
    """
    first = assumed_shapes(graph, given)
    if not first:
        return first
    problem: CompileError | None = None
    best, fewest = first, -1
    always = len(empty_values(graph))
    for guess in _guesses(graph, given, first):
        try:
            n_empty = len(empty_values(specialize(graph, {**given, **guess}))) - always
        except CompileError as e:
            problem = problem or e
            continue
        if n_empty <= 0:
            return guess
        if fewest < 0 or n_empty < fewest:
            best, fewest = guess, n_empty
    if fewest >= 0:
        return best
    assert problem is not None, "the first guess was accepted or refused"
    raise CompileError(
        problem.code,
        problem.message,
        where=problem.where,
        notes=[
            *problem.notes,
            f"open sizes of the model were assumed: {'; '.join(shape_texts(first))}",
        ],
        hint="give the shapes of the inputs explicitly",
    )


def empty_values(graph: Graph) -> list[str]:
    """Return the names of all node outputs that have no elements."""
    return [v.name for n in graph.nodes for v in n.values() if is_empty(v.type)]


def is_empty(t: Type) -> bool:
    """Return whether values of a type are tensors without elements."""
    return isinstance(t, TensorType) and t.shape is not None and 0 in t.shape


def shape_texts(shapes: Mapping[str, Sequence[int]]) -> list[str]:
    """Return each shape in the syntax of the option `--shape`: `x=1,3,224,224`."""
    return [f"{name}={','.join(map(str, shape))}" for name, shape in shapes.items()]


def _guesses(graph: Graph, given: Mapping[str, Sequence[int]], first: Shapes) -> Iterator[Shapes]:
    """Yield different guesses, the most common sizes first."""
    seen = [first]
    yield first
    for habits in _habits():
        with suppress(CompileError):
            guess = assumed_shapes(graph, given, habits)
            if guess not in seen:
                seen.append(guess)
                yield guess


def _habits() -> Iterator[Habits]:
    for last in (False, True):
        usual = Habits(channels_last=last)
        yield usual
        for height, width in _SIDES:
            yield replace(usual, height=height, width=width)
    for length in _LENGTHS:
        yield Habits(length=length)


def _size(
    axis: int,
    dims: Sequence[Dim],
    roles: Sequence[Role | None],
    evidence: Evidence,
    habits: Habits,
) -> int:
    """Return a size for one open dimension."""
    symbol, role = symbol_of(dims[axis]), roles[axis]
    if symbol in evidence.needed:
        return evidence.needed[symbol]
    if symbol in evidence.likely and role != "batch":
        return evidence.likely[symbol]
    if role == "batch":
        return 1
    if role == "channels":
        return ASSUMED_CHANNELS
    if role in ("height", "width") and len(dims) < 5:
        other = _other_side(dims, roles, role)
        if other is None:
            return habits.height if role == "height" else habits.width
        return 4 * other if role == "width" and other > 1 else other
    return habits.length


def _other_side(dims: Sequence[Dim], roles: Sequence[Role | None], role: Role) -> int | None:
    """Return the width of an image if `role` is height, else its height; None if this size is
    open."""
    if len(dims) != 4:
        return None
    sides = (1, 2) if roles[1] in ("height", "width") or roles[3] == "channels" else (2, 3)
    other = dims[sides[0] if role == "width" else sides[1]]
    return other if isinstance(other, int) else None

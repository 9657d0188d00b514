"""The declaration of a move: description, kinds of arguments, an example and a near miss.

    @move(example="...", near_miss="...")
    def split(self, loop: LoopName, factor: Count, outer: NewLoop, inner: NewLoop) -> Self:
        ...

A move is a method of a nest, or of the stages of a kernel. The method returns the transformed nest
or stages. The decorator records each call with its arguments, and `replay` can apply the record
again.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import wraps
from typing import (
    Annotated,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    get_type_hints,
)

from compiler.dataclass import dataclass
from compiler.schedule.language.call import Argument, Call


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a move's argument; `words` describe it in errors and on the page."""

    name: str
    words: str
    is_number: bool = False


LoopName = Annotated[str, Kind("loop", "the name of a loop")]
NewLoop = Annotated[str, Kind("new loop", "a name for a loop, not used before")]
Count = Annotated[int, Kind("number", "a whole number of at least 1", is_number=True)]
StepName = Annotated[str, Kind("step", "the name of an instruction: dot or tile")]
TensorName = Annotated[str, Kind("tensor", "the name of an operand")]
StageName = Annotated[str, Kind("stage", "the name of a stage")]

Level = Literal["stages", "nest"]
"""The level of a move: the stages of a kernel, or the loops of one nest."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a move; `is_rest` marks it as variadic, a `default` as optional."""

    name: str
    kind: Kind
    default: Argument | None = None
    is_rest: bool = False

    def __str__(self) -> str:
        return f"{self.name}..." if self.is_rest else self.name


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """A move: its description, parameters, example and near miss.

    `example` is a computation, a schedule that uses the move, and the resulting loops. `near_miss`
    is a computation, a schedule whose last line is refused, and a part of the error message. Tests
    execute the example and the near miss, and the page shows them.
    """

    name: str
    words: str
    parameters: tuple[Parameter, ...]
    example: str
    near_miss: str
    apply: Callable[..., Any]
    level: Level

    @property
    def title(self) -> str:
        """The first line of the description."""
        return " ".join(self.words.split("\n\n", 1)[0].split())

    @property
    def signature(self) -> str:
        """The signature as text: `split(loop, factor, outer, inner)`."""
        return f"{self.name}({', '.join(map(str, self.parameters))})"


MOVES: dict[str, Move] = {}


class Shaped(Protocol):
    """The subject of moves: a nest, or the stages of a kernel."""

    @property
    def reason(self) -> str:
        """The reason for the next move."""
        ...

    def because(self, reason: str) -> Self:
        """Return the subject with a reason for its next move."""
        ...

    def require_sound(self) -> None:
        """Check the invariants that every move preserves. Errors: E-SCHEDULE-MOVE."""
        ...

    def noted(self, call: Call, before: Self) -> Self:
        """Return the subject with this move recorded; moves that it called are not recorded."""
        ...


State = TypeVar("State", bound=Shaped)
P = ParamSpec("P")
Method = Callable[Concatenate[State, P], State]


def move(
    *, example: str, near_miss: str, level: Level = "nest"
) -> Callable[[Callable[Concatenate[State, P], State]], Callable[Concatenate[State, P], State]]:
    """Declare a move, named after the method and described by its docstring.

    A call without effect is not recorded.
    """

    def declare(
        method: Callable[Concatenate[State, P], State],
    ) -> Callable[Concatenate[State, P], State]:
        name = method.__name__
        assert name not in MOVES, f"move {name} is declared twice"
        signature = inspect.signature(method)

        @wraps(method)
        def call(nest: State, /, *args: P.args, **kwargs: P.kwargs) -> State:
            made = method(nest, *args, **kwargs)
            if made is nest:
                return nest.because("") if nest.reason else nest
            made.require_sound()
            bound = signature.bind(nest, *args, **kwargs)
            return made.noted(Call(name, tuple(_flat(bound)), nest.reason), nest)

        texts = textwrap.dedent(example).strip(), textwrap.dedent(near_miss).strip()
        words = inspect.getdoc(method) or ""
        parameters = tuple(_parameters(method, signature))
        MOVES[name] = Move(name, words, parameters, *texts, call, level)
        return call

    return declare


def _flat(bound: inspect.BoundArguments) -> Iterator[Argument]:
    """Yield the arguments in order, without the subject and without omitted optional arguments."""
    given = list(bound.args[1:])
    while given and given[-1] == "":
        given.pop()
    yield from given


def _parameters(method: Callable[..., Any], signature: inspect.Signature) -> Iterator[Parameter]:
    hints = get_type_hints(method, include_extras=True)
    for p in list(signature.parameters.values())[1:]:
        (kind,) = hints[p.name].__metadata__
        default = None if p.default is inspect.Parameter.empty else p.default
        yield Parameter(p.name, kind, default, p.kind is p.VAR_POSITIONAL)


def moves_table() -> str:
    """Print the moves as the Markdown table of docs/schedules.md, moves on nests first."""
    moves = sorted(MOVES.values(), key=lambda m: m.level != "nest")
    rows = [f"| `{m.signature}` | {m.title} |" for m in moves]
    return "\n".join(["| move | what it does |", "|---|---|", *rows]) + "\n"

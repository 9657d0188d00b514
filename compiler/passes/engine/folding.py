"""Rules that fold a node to one of its operands: their declaration by table rows, and examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.dataclass import dataclass
from compiler.passes.engine.pattern import Root
from compiler.passes.engine.rule import Rule, Skip, rule


@dataclass(frozen=True, slots=True)
class Example:
    """A graph that computes a value by `lines`, and reads it once.

    `kept` are the preceding lines, which remain after the fold; `operand` is the value that
    replaces the result of the last line. `reader` is a call with `{}` for the value. The result of
    this call has the type of the value, and is named by the next letter. Without a reader, the
    value is the result.
    """

    lines: Sequence[str]
    inputs: str = "x: f32[2,3]"
    reader: str = "relu({})"
    kept: Sequence[str] = ()

    @property
    def value(self) -> str:
        """The value that the graph reads."""
        return _defined(self.lines[-1])[0]

    @property
    def operand(self) -> str:
        """The last value that remains after the fold."""
        return _defined(self.kept[-1])[0] if self.kept else self.inputs.partition(":")[0]

    @property
    def text(self) -> str:
        """The text of the graph."""
        return self._text([*self.kept, *self.lines], self.value)

    @property
    def folded(self) -> str:
        """The text of the graph after the fold."""
        return self._text(self.kept, self.operand)

    def _text(self, lines: Sequence[str], value: str) -> str:
        name, dtype = _defined(self.lines[-1])
        result = name if value == name else f"{name}={value}"
        if self.reader:
            result = chr(ord(name) + 1)
            lines = [*lines, f"{result}: {dtype} = {self.reader.format(value)}"]
        body = "\n  ".join([*lines, f"return {result}"])
        return f"\ngraph g({self.inputs}) {{\n  {body}\n}}\n"


def _defined(line: str) -> tuple[str, str]:
    """Return name and type of the first value that a line defines."""
    name, _, dtype = line.partition(" = ")[0].partition(", ")[0].partition(": ")
    return name.removeprefix("const "), dtype


def folds_to_operand(
    name: str,
    pattern: Root,
    words: str,
    *,
    example: Example,
    near_miss: Example,
    operand: str = "x",
    unless: Callable[..., Skip | None] | None = None,
    error: float = 0.0,
    result: str = "",
) -> Rule:
    """Declare the rule that replaces a pattern with the value of one of its placeholders.

    `unless` has placeholders as parameters, and returns Skip if the rule does not apply to these
    operands.
    """
    guard = unless or _never
    code = guard.__code__
    taken = code.co_varnames[: code.co_argcount]

    def body(**bound: Any) -> Any:
        return guard(**{key: bound[key] for key in taken}) or bound[operand]

    return rule(
        pattern,
        example=f"{example.text}=>{example.folded}",
        near_miss=near_miss.text,
        error=error,
        result=result,
        name=name,
        words=words,
    )(body)


def _never() -> None:
    return None

"""The parser of graphs: recursive descent over characters."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from compiler.errors import CompileError, Where
from compiler.ir import operator as ops
from compiler.ir.constant import (
    Constant,
    FileRange,
    Literal,
    Seeded,
    Splat,
    Storage,
    loaded_storage,
)
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.types import DType, TensorType, Type, parse_type

WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./\-]*")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_NUMBER = re.compile(r"[-+]?(?:inf|nan|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)")
_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\n]*)*")

SEEDS = 1 << 32
"""The number of possible seeds for constants with random elements."""


def place(source: str, text: str, start: int, end: int) -> Where:
    """Return line, column and length of a part of a text, given by its offsets."""
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return Where(source, line, column, max(end - start, 1))


T = TypeVar("T")


Span = tuple[int, int]
"""Start and end offsets in a text."""


class Parser:
    """A recursive-descent parser that reads characters without a separate lexer."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source, self.at, self.start, self.depth = text, source, 0, 0, 0

    def where(self) -> Where:
        """Return the position of the last token."""
        return place(self.source, self.text, self.start, self.at)

    def note(self, part: str, name: str, span: Span | None = None) -> None:
        """Record the position of a syntax element, by default the last token; for draft.py."""

    def fail(self, needed: str) -> CompileError:
        """Return a syntax error at this position."""
        got = self.text[self.at : self.at + 20].split("\n")[0] or "the end"
        self.start = self.at
        return CompileError("E-TEXT-SYNTAX", f"needed {needed}, got {got!r}", where=self.where())

    def skip(self) -> None:
        """Skip blanks and comments."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def peek(self, token: str) -> bool:
        """Return whether a token is next."""
        self.skip()
        return self.text.startswith(token, self.at)

    def take(self, token: str) -> bool:
        """Consume this token if it is next; return whether it was next."""
        if self.peek(token):
            self.start = self.at
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        """Consume a token. Errors: E-TEXT-SYNTAX for another token."""
        if not self.take(token):
            raise self.fail(repr(token))

    def match(self, pattern: re.Pattern[str], needed: str) -> str:
        """Consume and return a match of a pattern. Errors: E-TEXT-SYNTAX."""
        self.skip()
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.fail(needed)
        self.start, self.at = self.at, found.end()
        return found.group()

    def end(self) -> None:
        """Check for the end of the text. Errors: E-TEXT-SYNTAX."""
        self.skip()
        if self.at != len(self.text):
            raise self.fail("the end of the text")

    def string(self) -> str:
        """Parse a quoted string."""
        value: str = json.loads(self.match(_STRING, "a quoted string"))
        return value

    def name(self) -> str:
        """Parse a name, bare or quoted."""
        return self.string() if self.peek('"') else self.match(WORD, "a name")

    def optional_name(self) -> str:
        """Parse a name, or "" for a bare `_`, which marks an omitted value."""
        bare = not self.peek('"')
        name = self.name()
        return "" if bare and name == "_" else name

    def keyword(self, word: str) -> bool:
        """Consume this word if it is next; return whether it was next."""
        self.skip()
        found = WORD.match(self.text, self.at)
        if found is None or found.group() != word:
            return False
        self.start, self.at = self.at, found.end()
        return True

    def list_until(self, close: str, item: Callable[[], T]) -> list[T]:
        """Parse comma-separated items up to a token."""
        items: list[T] = []
        while not self.take(close):
            if items:
                self.expect(",")
            items.append(item())
        return items

    def graph(self) -> Graph:
        """Parse a graph or a region."""
        self.depth += 1
        if self.depth > 64:
            raise self.fail("at most 64 nested regions")
        if not self.keyword("graph"):
            raise self.fail("'graph'")
        name = self.name()
        self.expect("(")
        inputs = self.list_until(")", self.typed_name)
        self.expect("{")
        constants: dict[str, Constant] = {}
        nodes: list[Node] = []
        while not self.keyword("return"):
            if self.keyword("const"):
                key, c = self.constant()
                constants[key] = c
            else:
                nodes.append(self.node())
        results: list[Result] = []
        while not self.take("}"):
            if results:
                self.expect(",")
            label = self.name()
            self.note("result", label)
            results.append(Result(label, self.name() if self.take("=") else label))
        self.depth -= 1
        return Graph(name, tuple(inputs), tuple(results), tuple(nodes), constants)

    def typed_name(self) -> Value:
        """Parse a name with its type."""
        name = self.optional_name()
        self.note("output", name)
        self.expect(":")
        t = self.type()
        self.note("type", name)
        return Value(name, t)

    def output(self) -> Value:
        """Parse an output of a node."""
        return self.typed_name()

    def type(self) -> Type:
        """Parse a type."""
        self.skip()
        self.start = begin = self.at
        depth = 0
        while self.at < len(self.text):
            ch = self.text[self.at]
            if ch in "([{":
                if ch == "{" and self.text[self.at - 1] != "]":
                    break
                depth += 1
            elif ch in ")]}":
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and not (ch.isalnum() or ch == "_"):
                break
            self.at += 1
        return parse_type(self.text[begin : self.at])

    def origins(self) -> tuple[str, ...]:
        """Parse the names of origins after `<-`."""
        found = [self.optional_name()]
        while self.take(","):
            found.append(self.name())
        return () if found == [""] else tuple(found)

    def constant(self) -> tuple[str, Constant]:
        """Parse a constant after `const`."""
        v = self.typed_name()
        if not isinstance(v.type, TensorType):
            raise self.fail("a tensor type")
        self.expect("=")
        storage = self.storage(v.type)
        return v.name, Constant(v.type, storage, self.origins() if self.take("<-") else ())

    def storage(self, t: TensorType) -> Storage:
        """Parse the storage of a constant."""
        kind = self.match(WORD, "splat, literal, seeded, blob or file")
        self.expect("(")
        if kind == "seeded":
            return self.seeded(t)
        if kind in ("blob", "file"):
            storage = loaded_storage(kind, self.string())
            self.expect(")")
            if len_of(storage, t) != t.n_elements * t.dtype.nbytes:
                raise self.fail(f"as many bytes as {t} has")
            return storage
        values = self.elements(t.dtype)
        if kind == "splat" and len(values) == 1:
            return Splat(values[0])
        if kind == "literal" and len(values) == t.n_elements:
            return Literal(values.reshape(t.static_shape))
        raise self.fail(f"a splat of one element, or a literal of all elements of {t}")

    def seeded(self, t: TensorType) -> Seeded:
        """Parse the seed and the standard deviation of a constant."""
        numbers = self.list_until(")", self.value)
        match numbers:
            case [int(seed), int() | float() as deviation] if 0 <= seed < SEEDS and t.is_static:
                if t.dtype.is_float and 0 <= deviation < float("inf"):
                    return Seeded(seed, float(deviation))
            case _:
                pass
        raise self.fail("a seed and a deviation, for a float type of known sizes")

    def elements(self, dtype: DType) -> np.ndarray[Any, Any]:
        """Parse the elements of a constant."""
        if self.keyword("hex"):
            raw = self.hex()
            self.expect(")")
            if len(raw) % dtype.nbytes:
                raise self.fail(f"whole elements of {dtype}")
            return np.frombuffer(raw, dtype.numpy)
        items = self.list_until(")", self.value)
        array = np.empty(len(items), dtype.numpy)
        is_whole = array.dtype.kind in "iu"
        for i, item in enumerate(items):
            try:
                array[i] = operator.index(item) if is_whole else item
            except (TypeError, ValueError, OverflowError):
                message = f"needed elements of {dtype}, got {item!r}"
                raise CompileError("E-TEXT-SYNTAX", message, where=self.where()) from None
        return array

    def hex(self) -> bytes:
        """Parse bytes as hexadecimal digits."""
        self.expect("(")
        text = self.string()
        try:
            raw = bytes.fromhex(text)
        except ValueError:
            raise self.fail("bytes as pairs of hexadecimal digits") from None
        self.expect(")")
        return raw

    def node(self) -> Node:
        """Parse a node with its regions."""
        outputs = [self.output()]
        while self.take(","):
            outputs.append(self.output())
        self.expect("=")
        op = self.name()
        op_span = self.start, self.at
        if op not in ops.OPERATORS and op != "fusion" and not op.startswith("onnx."):
            raise CompileError(
                "E-TEXT-OPERATOR", f"there is no operator {op!r}", where=self.where()
            )
        self.expect("(")
        inputs: list[str] = []
        attrs: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        for key, value, span in self.list_until(")", self.argument):
            if value is _OPERAND:
                inputs.append(key)
            else:
                attrs[key] = value
            spans.setdefault(key, span)
        first = next((v.name for v in outputs if v.name), "")
        name = self.name() if self.take("@") else first
        self.note("operator", name, op_span)
        for key, span in spans.items():
            self.note("operand", f"{name} {key}", span)
        origins = self.origins() if self.take("<-") else (name,)
        regions = dict(self.list_until("}", self.region)) if self.take("{") else {}
        if op in ops.OPERATORS:
            self.start, end, self.at = op_span[0], self.at, op_span[1]
            attrs = ops.OPERATORS[op].bind(attrs)
            self.start = self.at = end
        return Node(
            op,
            tuple(inputs),
            tuple(v.name for v in outputs),
            tuple(v.type for v in outputs),
            attrs,
            name,
            origins,
            regions,
        )

    def region(self) -> tuple[str, Graph]:
        """Parse a region with the key that names it."""
        key = self.name()
        self.expect(":")
        g = self.graph()
        self.skip()
        if not self.peek("}"):
            # Regions, like lines, are not separated by commas.
            self.text = self.text[: self.at] + "," + self.text[self.at :]
        return key, g

    def argument(self) -> tuple[str, Any, Span]:
        """Parse an operand, or an attribute with its value; return also the span of its name."""
        name = self.optional_name()
        span = self.start, self.at
        if self.take("="):
            return name, self.value(), span
        return name, _OPERAND, span

    def value(self) -> Any:
        """Parse the value of an attribute."""
        if self.peek('"'):
            return self.string()
        if self.take("["):
            return tuple(self.list_until("]", self.value))
        self.skip()
        number = _NUMBER.match(self.text, self.at)
        word = WORD.match(self.text, self.at)
        if number and (not word or number.end() >= word.end()):
            text = self.match(_NUMBER, "a number")
            return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
        return self.word_value(self.match(WORD, "a value"))

    def word_value(self, word: str) -> Any:
        """Parse a value that begins with a word."""
        if word in ("true", "false", "none"):
            return {"true": True, "false": False, "none": None}[word]
        if word == "hex":
            return self.hex()
        if word == "type":
            self.expect("(")
            t = self.type()
            self.expect(")")
            return t
        if word == "tensor":
            self.expect("(")
            t = self.type()
            self.expect(",")
            if not isinstance(t, TensorType):
                raise self.fail("a tensor type")
            c = Constant(t, self.storage(t))
            self.expect(")")
            return c
        return DType.parse(word)


_OPERAND = object()


def len_of(storage: Storage, t: TensorType) -> int:
    """Return the number of bytes of a stored constant."""
    return storage.nbytes if isinstance(storage, FileRange) else storage.read(t).nbytes


def parsed(p: Parser) -> Graph:
    """Parse a graph. Errors: see parse_graph."""
    try:
        g = p.graph()
        p.end()
    except CompileError as e:
        raise e.at(p.where()) from None
    except (ValueError, OverflowError, KeyError, RecursionError) as e:
        raise CompileError(
            "E-TEXT-SYNTAX", f"the text could not be read: {e}", where=p.where()
        ) from e
    return g

"""The text form of graphs: prints, parses back to an equal graph, and diffs well.

    graph g(x: f32[N,3]) {
      const w: f32[3,4] = splat(0.5)
      h: f32[N,4] = matmul(x, w) @ "MatMul 0" <- m0, m1
      a: f32[N,1], b: f32[N,3] = split(h, axis=1, sizes=[1,3])
      return a, second=b
    }

One node a line: outputs with types, operator, operands (`_` for one left out), attributes with
defaults; `@` names the node when the name is not its first output's, `<-` lists the origins when
they are not just that name. Regions follow as blocks. Names that are not plain words are quoted.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from compiler.errors import CompileError, Where
from compiler.ir import operator as ops
from compiler.ir.constant import Bytes, Constant, FileRange, Literal, Splat, Storage, loaded_storage
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.types import DType, TensorType, Type, parse_type

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./\-]*")
_RESERVED = {"_", "return", "const", "graph"}
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_NUMBER = re.compile(r"[-+]?(?:inf|nan|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)")
_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\n]*)*")

# Printing


def quote(name: str) -> str:
    """A name as it stands in text: bare when it is a plain word."""
    return name if _WORD.fullmatch(name) and name not in _RESERVED else json.dumps(name)


def print_graph(g: Graph) -> str:
    """The text of a graph."""
    return "\n".join(_graph_lines(g))


def _graph_lines(g: Graph) -> Iterator[str]:
    inputs = ", ".join(f"{quote(v.name)}: {v.type}" for v in g.inputs)
    yield f"graph {quote(g.name)}({inputs}) {{"
    for name, c in g.constants.items():
        origins = f" <- {', '.join(map(quote, c.origins))}" if c.origins else ""
        yield f"  const {quote(name)}: {c.type} = {storage_text(c)}{origins}"
    for n in g.nodes:
        yield from (f"  {line}" for line in node_lines(n))
    results = ", ".join(
        quote(r.name) if r.name == r.value else f"{quote(r.name)}={quote(r.value)}"
        for r in g.results
    )
    yield f"  return {results}".rstrip()
    yield "}"


def node_lines(n: Node) -> Iterator[str]:
    """The lines of one node; more than one when it has regions."""
    outputs = ", ".join(
        f"{quote(o)}: {t}" if o else f"_: {t}" for o, t in zip(n.outputs, n.types, strict=True)
    )
    operands = [quote(i) if i else "_" for i in n.inputs]
    attrs = [f"{quote(k)}={attribute(v)}" for k, v in n.attrs.items()]
    line = f"{outputs} = {quote(n.op)}({', '.join(operands + attrs)})"
    if n.name != n.output:
        line += f" @ {quote(n.name)}"
    if n.origins != (n.name,):
        line += f" <- {', '.join(map(quote, n.origins)) or '_'}"
    if not n.regions:
        yield line
        return
    yield line + " {"
    for key, region in n.regions.items():
        first, *rest = _graph_lines(region)
        yield f"  {quote(key)}: {first}"
        yield from (f"  {r}" for r in rest)
    yield "}"


def attribute(value: Any) -> str:
    """One attribute value."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case int() | float() | DType():
            return repr(value)
        case str():
            return json.dumps(value)
        case bytes():
            return f'hex("{value.hex()}")'
        case tuple():
            return "[" + ",".join(map(attribute, value)) + "]"
        case Constant():
            return f"tensor({value.type}, {storage_text(value)})"
        case _:
            return f"type({value})"


def storage_text(c: Constant) -> str:
    """How a constant is stored, as the text form says it."""
    match c.storage:
        case Splat(value):
            one = np.asarray(value, c.type.dtype.numpy).reshape(1)
            return f"splat({_elements(one, c.type.dtype)})"
        case Literal(values):
            return f"literal({_elements(values.reshape(-1), c.type.dtype)})"
        case Bytes() as b:
            return f'blob("{b.digest}")'
        case FileRange() as f:
            return f"file({json.dumps(f.label())})"


def _elements(flat: np.ndarray[Any, Any], dtype: DType) -> str:
    if dtype is DType.string:
        return ",".join(json.dumps(_as_str(v)) for v in flat)
    if dtype is DType.bool:
        return ",".join("true" if v else "false" for v in flat)
    if dtype.is_integer:
        return ",".join(str(int(v)) for v in flat)
    if dtype in (DType.c64, DType.c128) or np.isnan(flat.astype(np.float64)).any():
        return f'hex("{flat.tobytes().hex()}")'
    if dtype is DType.f64:
        return ",".join(repr(float(v)) for v in flat)
    return ",".join(str(v) if dtype is DType.f32 else repr(float(v)) for v in flat)


def _as_str(v: Any) -> str:
    return v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)


# Parsing


def parse_graph(text: str, source: str = "text") -> Graph:
    """The graph that a text describes; names, types and structure are not verified here.

    Errors: E-TEXT-SYNTAX with line and column, E-TEXT-STORAGE for bytes that are not loaded.
    """
    p = _Parser(text, source)
    try:
        g = p.graph()
        p.end()
    except CompileError as e:
        raise e.at(p.where()) from None
    except (ValueError, OverflowError, KeyError, RecursionError) as e:
        raise CompileError("E-TEXT-SYNTAX", f"could not be read: {e}", where=p.where()) from e
    return g


T = TypeVar("T")


class _Parser:
    """Recursive descent straight over the characters."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source, self.at, self.start, self.depth = text, source, 0, 0, 0

    def where(self) -> Where:
        line = self.text.count("\n", 0, self.start) + 1
        column = self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1
        return Where(self.source, line, column, max(self.at - self.start, 1))

    def fail(self, needed: str) -> CompileError:
        got = self.text[self.at : self.at + 20].split("\n")[0] or "the end"
        self.start = self.at
        return CompileError("E-TEXT-SYNTAX", f"needed {needed}, got {got!r}", where=self.where())

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def peek(self, token: str) -> bool:
        self.skip()
        return self.text.startswith(token, self.at)

    def take(self, token: str) -> bool:
        if self.peek(token):
            self.start = self.at
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.fail(repr(token))

    def match(self, pattern: re.Pattern[str], needed: str) -> str:
        self.skip()
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.fail(needed)
        self.start, self.at = self.at, found.end()
        return found.group()

    def end(self) -> None:
        self.skip()
        if self.at != len(self.text):
            raise self.fail("the end of the text")

    def string(self) -> str:
        value: str = json.loads(self.match(_STRING, "a quoted string"))
        return value

    def name(self) -> str:
        return self.string() if self.peek('"') else self.match(_WORD, "a name")

    def optional_name(self) -> str:
        """A name, or "" for a bare `_`, which stands for what is left out."""
        bare = not self.peek('"')
        name = self.name()
        return "" if bare and name == "_" else name

    def keyword(self, word: str) -> bool:
        self.skip()
        found = _WORD.match(self.text, self.at)
        if found is None or found.group() != word:
            return False
        self.start, self.at = self.at, found.end()
        return True

    def list_until(self, close: str, item: Callable[[], T]) -> list[T]:
        items: list[T] = []
        while not self.take(close):
            if items:
                self.expect(",")
            items.append(item())
        return items

    def graph(self) -> Graph:
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
            results.append(Result(label, self.name() if self.take("=") else label))
        self.depth -= 1
        return Graph(name, tuple(inputs), tuple(results), tuple(nodes), constants)

    def typed_name(self) -> Value:
        name = self.optional_name()
        self.expect(":")
        return Value(name, self.type())

    def type(self) -> Type:
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
        found = [self.optional_name()]
        while self.take(","):
            found.append(self.name())
        return () if found == [""] else tuple(found)

    def constant(self) -> tuple[str, Constant]:
        v = self.typed_name()
        if not isinstance(v.type, TensorType):
            raise self.fail("a tensor type")
        self.expect("=")
        storage = self.storage(v.type)
        return v.name, Constant(v.type, storage, self.origins() if self.take("<-") else ())

    def storage(self, t: TensorType) -> Storage:
        kind = self.match(_WORD, "splat, literal, blob or file")
        self.expect("(")
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
        raise self.fail(f"splat with one element or literal with as many as {t} has")

    def elements(self, dtype: DType) -> np.ndarray[Any, Any]:
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
        self.expect("(")
        text = self.string()
        try:
            raw = bytes.fromhex(text)
        except ValueError:
            raise self.fail("bytes as pairs of hexadecimal digits") from None
        self.expect(")")
        return raw

    def node(self) -> Node:
        outputs = [self.typed_name()]
        while self.take(","):
            outputs.append(self.typed_name())
        self.expect("=")
        op = self.name()
        if op not in ops.OPERATORS and op != "fusion" and not op.startswith("onnx."):
            raise CompileError(
                "E-TEXT-OPERATOR", f"there is no operator {op!r}", where=self.where()
            )
        self.expect("(")
        inputs: list[str] = []
        attrs: dict[str, Any] = {}
        for key, value in self.list_until(")", self.argument):
            if value is _OPERAND:
                inputs.append(key)
            else:
                attrs[key] = value
        first = next((v.name for v in outputs if v.name), "")
        name = self.name() if self.take("@") else first
        origins = self.origins() if self.take("<-") else (name,)
        regions = dict(self.list_until("}", self.region)) if self.take("{") else {}
        if op in ops.OPERATORS:
            attrs = ops.OPERATORS[op].bind(attrs)
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
        key = self.name()
        self.expect(":")
        g = self.graph()
        self.skip()
        if not self.peek("}"):
            # Regions follow each other without commas, as lines do.
            self.text = self.text[: self.at] + "," + self.text[self.at :]
        return key, g

    def argument(self) -> tuple[str, Any]:
        name = self.optional_name()
        if self.take("="):
            return name, self.value()
        return name, _OPERAND

    def value(self) -> Any:
        if self.peek('"'):
            return self.string()
        if self.take("["):
            return tuple(self.list_until("]", self.value))
        self.skip()
        number = _NUMBER.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if number and (not word or number.end() >= word.end()):
            text = self.match(_NUMBER, "a number")
            return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
        return self.word_value(self.match(_WORD, "a value"))

    def word_value(self, word: str) -> Any:
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
    """Bytes that a stored constant holds."""
    return storage.nbytes if isinstance(storage, FileRange) else storage.read(t).nbytes

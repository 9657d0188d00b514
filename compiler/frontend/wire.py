"""A pre-scan of a protobuf message before the protobuf library parses it.

The scan checks all tags and lengths without building a message, so that a hostile file is refused
before it allocates memory. The scan also locates large weights, which are removed from the parsed
message and remain in the file.
Source: the protobuf encoding, protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import field
from functools import cache
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.limits import Limits, check

LARGE_BYTES = 64 << 10
"""The minimum size of weights that remain in the file. Units: bytes."""

CHECK_EVERY = 1 << 16
"""The number of fields between two checks of the time limit."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SCALAR, _STRING, _TEXT, _MESSAGE, _RAW_DATA, _EXTERNAL, _LOCATION = range(7)

Table = dict[int, tuple[int, "Table"]]
"""Maps a field number to the kind of the field and, for a message field, to the table of the
message."""


@dataclass(slots=True)
class Cut:
    """The large weights that remain in the file.

    Units: offsets in bytes from the start of the file.
    """

    start: int
    end: int
    enclosing: tuple[tuple[int, int, int], ...]
    """For each enclosing message, outermost first: offsets of its length field, start and end."""


@dataclass(slots=True)
class Scanned:
    """The result of a scan."""

    cuts: list[Cut] = field(default_factory=list)
    n_messages: int = 0
    n_nodes: int = 0
    n_initialisers: int = 0
    n_fields: int = 0
    unknown_bytes: int = 0


def scan(data: Any, limits: Limits) -> Scanned:
    """Scan the bytes of a ModelProto.

    Errors: E-MODEL-PROTOBUF for invalid protobuf, E-MODEL-SIZE beyond a limit, E-MODEL-EXTERNAL for
    a tensor with external data.
    """
    model = _tables()
    node, tensor = _special()
    found = Scanned()
    stack: list[tuple[int, Table, int, int]] = [(len(data), model, -1, 0)]
    n_strings = [0]
    """For each message on the stack, the number of its strings: mainly operands and outputs of
    nodes."""
    at = 0
    while stack:
        end, table, _, start = stack[-1]
        if at == end:
            stack.pop()
            n_strings.pop()
            continue
        found.n_fields += 1
        if found.n_fields % CHECK_EVERY == 0:
            check("reading the file")
        tag, at = _varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        kind, inner = table.get(number, (None, None))
        if wire == _BYTES:
            length_at = at
            length, at = _varint(data, at, end)
            stop = at + length
            if stop > end:
                raise _broken(
                    at, f"a field of {length:,} bytes where only {end - at:,} bytes remain"
                )
            if kind == _MESSAGE and inner is not None:
                found.n_messages += 1
                found.n_nodes += inner is node
                found.n_initialisers += inner is tensor
                stack.append((stop, inner, length_at, at))
                n_strings.append(0)
                if len(stack) > limits.nested_messages:
                    limits.check("nested messages", len(stack), len(stack) - 1)
                if found.n_messages > limits.n_messages:
                    limits.check("messages", found.n_messages, limits.n_messages)
                continue
            if kind == _STRING or kind == _TEXT:
                _check_string(data, at, stop, limits if kind == _STRING else None)
                n_strings[-1] += 1
                if table is node:
                    limits.check("operands of one node", n_strings[-1], limits.n_operands)
            elif kind == _RAW_DATA and length >= LARGE_BYTES:
                found.cuts.append(Cut(at, stop, _around(stack, length_at)))
            elif kind is None:
                found.unknown_bytes += length
            at = stop
        elif wire == _VARINT:
            value, at = _varint(data, at, end)
            if kind == _LOCATION and value != 0:
                raise _external(data, start, end)
        elif wire == _FIXED64 or wire == _FIXED32:
            at += 8 if wire == _FIXED64 else 4
            if at > end:
                raise _broken(at, "the message ends in the middle of a number")
        else:
            raise _broken(at, f"a field of wire type {wire}, which ONNX does not use")
        if kind == _EXTERNAL:
            raise _external(data, start, end)
    limits.check("nodes", found.n_nodes, limits.n_nodes)
    limits.check("stored tensors", found.n_initialisers, limits.n_initialisers)
    limits.check("bytes in unknown fields", found.unknown_bytes, limits.unknown_bytes)
    return found


def _varint(data: Any, at: int, end: int) -> tuple[int, int]:
    """Read a number of at most 10 bytes; return the number and the offset of its end."""
    if at >= end:
        raise _broken(at, "the message ends where a number is required")
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        if at >= end:
            raise _broken(at, "the message ends in the middle of a number")
        if shift > 63:
            raise _broken(at, "a number of more than 10 bytes")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7


def _check_string(data: Any, at: int, stop: int, limits: Limits | None) -> None:
    if limits is not None:
        limits.check("bytes of a name", stop - at, limits.name_bytes)
    try:
        bytes(data[at:stop]).decode()
    except UnicodeDecodeError:
        shown = bytes(data[at : min(stop, at + 40)]).decode(errors="replace")
        raise _broken(at, f"a name that is not UTF-8: {shown!r}") from None


def _around(stack: list[tuple[int, Table, int, int]], length_at: int) -> tuple[Any, ...]:
    """Return the offsets of the enclosing messages inside the outermost one, then of the field."""
    outer = tuple((where, start, end) for end, _, where, start in stack[1:])
    return (*outer, (length_at, 0, 0))


def _broken(at: int, what: str) -> CompileError:
    return CompileError("E-MODEL-PROTOBUF", f"at byte {at:,}: {what}")


def _external(data: Any, start: int, end: int) -> CompileError:
    """Return the error for external data, with the name of the tensor in these bytes."""
    name, at = "", start
    while at < end:
        tag, at = _varint(data, at, end)
        wire = tag & 7
        if wire == _VARINT:
            at = _varint(data, at, end)[1]
        elif wire == _BYTES:
            length, at = _varint(data, at, end)
            if tag >> 3 == _TENSOR_NAME:
                name = bytes(data[at : at + min(length, 200)]).decode(errors="replace")
            at += length
        else:
            at += 8 if wire == _FIXED64 else 4
    return CompileError(
        "E-MODEL-EXTERNAL",
        f"the tensor {name!r} stores its data in another file, which was not opened",
    )


_TENSOR_NAME = 8


# The schema


@cache
def _all_tables() -> dict[str, Table]:
    """Build a table per ONNX message type from the installed package's descriptors."""
    import onnx

    tables: dict[str, Table] = {}
    pending = [onnx.ModelProto.DESCRIPTOR]
    tables[pending[0].full_name] = {}
    while pending:
        message = pending.pop()
        table = tables[message.full_name]
        for f in message.fields:
            inner: Table = {}
            if f.message_type is not None:
                name = f.message_type.full_name
                if name not in tables:
                    tables[name] = {}
                    pending.append(f.message_type)
                inner = tables[name]
            table[f.number] = (_kind(message.name, f), inner)
    return tables


def _kind(message: str, f: Any) -> int:
    special = {
        ("TensorProto", "raw_data"): _RAW_DATA,
        ("TensorProto", "external_data"): _EXTERNAL,
        ("TensorProto", "data_location"): _LOCATION,
        ("StringStringEntryProto", "value"): _TEXT,
    }
    if (message, f.name) in special:
        return special[message, f.name]
    if f.type == f.TYPE_MESSAGE:
        return _MESSAGE
    if f.type == f.TYPE_STRING:
        return _TEXT if f.name == "doc_string" else _STRING
    return _SCALAR


def _tables() -> Table:
    return _all_tables()["onnx.ModelProto"]


def _special() -> tuple[Table, Table]:
    tables = _all_tables()
    return tables["onnx.NodeProto"], tables["onnx.TensorProto"]


# Cutting


class Tokens:
    """Unforgeable placeholders, in the parsed message, for bytes that remain in the file."""

    def __init__(self, cuts: list[Cut]) -> None:
        self._secret = os.urandom(16)
        self._cuts = cuts

    def mark(self, index: int) -> bytes:
        """Return the placeholder for the cut of this index."""
        return self._secret + struct.pack("<I", index)

    def cut(self, raw: bytes) -> Cut | None:
        """Return the cut that has these bytes as its placeholder; None if no cut has them."""
        if len(raw) != 20 or not raw.startswith(self._secret):
            return None
        return self._cuts[struct.unpack("<I", raw[16:])[0]]


def without_cuts(data: Any, cuts: list[Cut], tokens: Tokens) -> bytes:
    """Replace the bytes of every cut by its placeholder, and correct all enclosing lengths."""
    if not cuts:
        return bytes(data)
    return b"".join(_pieces(data, 0, len(data), list(enumerate(cuts)), 0, tokens))


def _pieces(
    data: Any, start: int, end: int, cuts: list[tuple[int, Cut]], depth: int, tokens: Tokens
) -> Iterator[bytes]:
    """Yield a message's new bytes in segments; `cuts` are the cuts inside the message."""
    at = start
    while cuts:
        index, first = cuts[0]
        length_at, inner_start, inner_end = first.enclosing[depth]
        yield bytes(data[at:length_at])
        if depth == len(first.enclosing) - 1:
            mark = tokens.mark(index)
            cuts = cuts[1:]
            at = first.end
        else:
            inside = [c for c in cuts if c[1].enclosing[depth] == first.enclosing[depth]]
            mark = b"".join(_pieces(data, inner_start, inner_end, inside, depth + 1, tokens))
            cuts = cuts[len(inside) :]
            at = inner_end
        yield _encoded(len(mark)) + mark
    yield bytes(data[at:end])


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

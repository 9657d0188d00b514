"""Model loading: check the bytes, parse without large weights, import."""

from __future__ import annotations

import mmap
import os
import stat
from typing import Any

import compiler.ops
from compiler.errors import CompileError, Where, require
from compiler.frontend.importer import import_model
from compiler.frontend.tensors import TensorReader
from compiler.frontend.wire import Tokens, scan, without_cuts
from compiler.frontend.written import decoded, graph_of, language_of
from compiler.ir.graph import Graph
from compiler.limits import MESSAGE_BYTES, NODE_BYTES, OWN_LIMITS, Limits, check_bytes, limited

MAPPED_BYTES = 64 << 20
"""The minimum size of files to memory-map: most bytes of a large file are weights, which are read
later."""

assert compiler.ops.__doc__, "importing the operators registers them"


def load(source: str | os.PathLike[str] | bytes, limits: Limits = OWN_LIMITS) -> Graph:
    """Load an ONNX model from a file or bytes as a graph.

    A file with the extension .ir or .py is a written model: see written/. Large weights remain in
    the file until they are read. External data files are not opened.
    Errors: E-MODEL-*, each with its position in the model and a remedy. For written models:
    E-TEXT-*, E-WRITE-* and errors of operators, each with its line and column. E-LIMIT-* beyond
    `limits`.
    """
    with limited(limits):
        return _load_any(source, limits)


def _load_any(source: str | os.PathLike[str] | bytes, limits: Limits) -> Graph:
    if isinstance(source, bytes | bytearray | memoryview):
        return _load(bytes(source), None, limits)
    path = os.path.abspath(os.fspath(source))
    name = os.path.basename(path)
    language = language_of(name)
    try:
        if language:
            return graph_of(decoded(bytes(_contents(path, limits)), name), language, name)
        return _load(_contents(path, limits), path, limits)
    except CompileError as e:
        where = Where(name, e.where.line, e.where.column, e.where.length, e.where.node)
        raise e.moved_to(where) from e.__cause__


def _contents(path: str, limits: Limits) -> Any:
    """Return the bytes of a regular file. Errors: E-MODEL-FILE, E-MODEL-SIZE."""
    try:
        status = os.stat(path)
        # A pipe or a device could block or be infinite.
        require(stat.S_ISREG(status.st_mode), "E-MODEL-FILE", f"{path!r} is not a regular file")
        limits.check("bytes", status.st_size, limits.file_bytes)
        with open(path, "rb") as f:
            if status.st_size > MAPPED_BYTES:
                return memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
            return f.read(limits.file_bytes + 1)
    except (OSError, ValueError) as e:
        raise CompileError("E-MODEL-FILE", f"{path!r}: {getattr(e, 'strerror', None) or e}") from e


def _load(data: Any, path: str | None, limits: Limits) -> Graph:
    limits.check("bytes", len(data), limits.file_bytes)
    require(len(data) > 0, "E-MODEL-EMPTY", "the file is empty")
    _check_kind(bytes(data[:64]))
    found = scan(data, limits)
    check_bytes(found.n_messages * MESSAGE_BYTES, f"a file of {found.n_messages:,} messages")
    check_bytes(found.n_nodes * NODE_BYTES, f"a model of {found.n_nodes:,} nodes")
    tokens = Tokens(found.cuts)
    model = _parsed(without_cuts(data, found.cuts, tokens))
    _check_version(model)
    return import_model(model, TensorReader(data, path, tokens, limits), limits)


_OTHER_KINDS = (
    (b"\x1f\x8b", "gzip", "unpack it first"),
    (b"PK\x03\x04", "zip", "unpack it first"),
    (b"\x89HDF", "HDF5", "convert the model to ONNX"),
    (b"\x80\x02", "pickle", "export the model as ONNX"),
)


def _check_kind(head: bytes) -> None:
    """Refuse a file whose first bytes identify a format other than ONNX.

    Errors: E-MODEL-PROTOBUF.
    """
    for magic, kind, hint in _OTHER_KINDS:
        if head.startswith(magic):
            raise CompileError("E-MODEL-PROTOBUF", f"this is a {kind} file, not ONNX", hint=hint)
    if head[4:8] == b"ORTM":
        raise CompileError(
            "E-MODEL-PROTOBUF", "this is a model in the ORT format of ONNX Runtime, not ONNX"
        )
    if len(head) > 3 and all(32 <= b < 127 or b in b"\t\r\n" for b in head):
        is_graph = head.lstrip().startswith(b"graph ")
        raise CompileError(
            "E-MODEL-PROTOBUF",
            f"this is a text file that begins with {head[:24].decode('ascii')!r}",
            hint="a file with a graph in text form needs a name that ends in .ir"
            if is_graph
            else "save the model as binary .onnx, not as text or JSON",
        )


def _parsed(data: bytes) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        return onnx.ModelProto.FromString(data)
    except (DecodeError, UnicodeDecodeError) as e:
        raise CompileError("E-MODEL-PROTOBUF", f"the message could not be parsed: {e}") from e


def _check_version(model: Any) -> None:
    import onnx

    require(model.HasField("graph"), "E-MODEL-INVALID", "the message has no graph")
    require(
        model.ir_version <= onnx.IR_VERSION,
        "E-MODEL-OPSET",
        f"the file has IR version {model.ir_version}, but the newest supported version is "
        f"{onnx.IR_VERSION}",
    )
    require(model.ir_version >= 1, "E-MODEL-INVALID", "the file has no IR version")

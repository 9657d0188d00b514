"""LLVM text -> machine code: compilation, disk cache, loading, calls; assembly and object files."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from compiler.cache.directory import kept_directory
from compiler.cache.store import GuardedStore
from compiler.codegen.threads.forks import NUMBER_OF_THREADS
from compiler.codegen.threads.openmp import runtime
from compiler.codegen.threads.pool_text import SHARE
from compiler.codegen.threads.thread_pool import thread_pool
from compiler.targets.target import Target, host

_lock = threading.RLock()
_counter = 0


@cache
def _initialised() -> bool:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return True


EFFORT = 3
"""LLVM's highest optimisation level for instruction selection and register allocation."""


@cache
def _machine(target: Target, effort: int = EFFORT) -> Any:
    """Return LLVM's target machine for position-independent code."""
    _initialised()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=effort, reloc="pic", codemodel="small"
    )


def _parsed(ir: str) -> Any:
    module = llvm.parse_assembly(ir)
    module.verify()
    return module


def assembly(ir: str, target: Target) -> str:
    """Return the assembly text of a module."""
    with _lock:
        return _machine(target).emit_assembly(_parsed_after_start(ir))


def _parsed_after_start(ir: str) -> Any:
    _initialised()
    return _parsed(ir)


def code_bytes(ir: str, target: Target) -> int:
    """Return the size of a module's machine code, without constants and tables. Units: bytes."""
    found = llvm.ObjectFileRef.from_data(object_code(ir, target))
    return sum(s.size() for s in found.sections() if s.is_text())


def object_code(
    ir: str, target: Target, store: ObjectStore | None = None, effort: int = EFFORT
) -> bytes:
    """Return the relocatable object of a module, from the store if cached there.

    The default store is the store of this user.
    """
    store = store or ObjectStore.default()
    return _object_code(ir, target, store, effort, store.put)


def _object_code(
    ir: str,
    target: Target,
    store: ObjectStore,
    effort: int,
    put: Callable[[str, bytes], object],
) -> bytes:
    key = store.key(ir, target, effort)
    found = store.get(key)
    if found is None:
        with _lock:
            found = _machine(target, effort).emit_object(_parsed_after_start(ir))
        put(key, found)
    return found


class ObjectStore:
    """A cache of object files on disk, keyed by text, target and version of LLVM.

    A damaged or foreign entry counts as missing (see `GuardedStore`). A store in a read-only
    directory caches nothing.
    """

    def __init__(self, directory: Path | None, limit_bytes: int = 512 << 20) -> None:
        self.files = GuardedStore(directory, limit_bytes)

    @staticmethod
    @cache
    def default() -> ObjectStore:
        """Return the store of this user."""
        return ObjectStore(kept_directory("objects"))

    def key(self, ir: str, target: Target, effort: int = EFFORT) -> str:
        """Return the key of the entry for a module."""
        facts = (llvmlite.__version__, target.triple, target.cpu, target.features, effort, ir)
        return hashlib.sha256(
            "\0".join(map(str, (*llvm.llvm_version_info, *facts))).encode()
        ).hexdigest()

    def get(self, key: str) -> bytes | None:
        """Read an entry; None if it is missing or damaged."""
        return self.files.read(key)

    def put(self, key: str, code: bytes) -> None:
        """Write an entry; do nothing in a read-only directory."""
        self.files.write(key, code)


class Library:
    """Machine code in memory, callable during the lifetime of this object.

    `objects` are the object files of the machine code.
    """

    def __init__(
        self, addresses: dict[str, int], keep: object, objects: tuple[bytes, ...] = ()
    ) -> None:
        self.objects = objects
        self._addresses = addresses
        self._keep = keep

    @staticmethod
    def compile(
        ir: str,
        target: Target | None = None,
        store: ObjectStore | None = None,
        effort: int = EFFORT,
    ) -> Library:
        """Compile a module for this machine and load all its functions."""
        code = object_code(ir, target or host(), store, effort)
        return Library.load((code,), defined_symbols(ir))

    @staticmethod
    def load(objects: Sequence[bytes], symbols: Iterable[str]) -> Library:
        """Load object files for this machine; they may call each other and the thread pool."""
        others = _threads(objects, set(symbols))
        global _counter
        with _lock:
            jit = _linker()
            builder = llvm.JITLibraryBuilder().add_current_process()
            for code in objects:
                builder.add_object_img(code)
            for name, address in others.items():
                builder.import_symbol(name, address)
            for name in symbols:
                builder.export_symbol(name)
            _counter += 1
            tracker = builder.link(jit, f"library{_counter}")
            return Library({name: tracker[name] for name in symbols}, tracker, tuple(objects))

    @property
    def symbols(self) -> list[str]:
        """The loaded functions."""
        return list(self._addresses)

    def address(self, symbol: str) -> int:
        """Return the address of a function."""
        return self._addresses[symbol]

    def function(self, symbol: str, n_pointers: int = 4) -> Callable[..., None]:
        """Return a Python callable for a function of pointers; calls release the GIL."""
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_pointers)
        made = kind(self._addresses[symbol])
        made.library = self  # type: ignore[attr-defined]
        return made


def _threads(objects: Sequence[bytes], defined: set[str]) -> dict[str, int]:
    """Return the functions of the threading runtime that objects call, with their addresses."""
    if SHARE not in defined and any(SHARE.encode() in o for o in objects):
        return thread_pool(Library.compile).addresses
    if any(NUMBER_OF_THREADS.encode() in o for o in objects):
        found = runtime()
        return found.addresses if found is not None else {}
    return {}


BATCH_CHARACTERS = 60_000
"""The number of characters of LLVM text per module; the overhead per module is then negligible."""


class Objects:
    """Object files of functions; LLVM compiles them while later functions are emitted.

    LLVM serves one caller at a time, so a single thread compiles, without holding the GIL. A second
    thread writes the object files to disk.
    """

    def __init__(self, target: Target, effort: int = EFFORT) -> None:
        self._target, self._effort = target, effort
        self._pool = ThreadPoolExecutor(1, "machine code")
        self._disk = ThreadPoolExecutor(1, "object cache")
        self._made: list[Future[bytes]] = []
        self._symbols: list[str] = []
        self._texts: list[str] = []
        self._declarations: dict[str, None] = {}

    def add(self, text: str, declarations: Sequence[str]) -> None:
        """Add a function and its declarations; several consecutive functions form one module."""
        self._texts.append(text)
        self._declarations.update(dict.fromkeys(declarations))
        if sum(map(len, self._texts)) >= BATCH_CHARACTERS:
            self._send()

    def _send(self) -> None:
        triple = f'target triple = "{self._target.triple}"'
        ir = "\n\n".join([triple, "\n".join(self._declarations), *self._texts]) + "\n"
        self._texts, self._declarations = [], {}
        self._symbols += defined_symbols(ir)
        self._made.append(self._pool.submit(self._make, ir))

    def _make(self, ir: str) -> bytes:
        store = ObjectStore.default()

        def put(key: str, code: bytes) -> None:
            try:
                self._disk.submit(store.put, key, code)
            except RuntimeError:  # dropped, or no threads available
                store.put(key, code)

        return _object_code(ir, self._target, store, self._effort, put)

    def close(self, callers: str, declarations: Sequence[str]) -> None:
        """Add the last module, whose functions call the functions of all previous modules."""
        if self._texts:
            self._send()
        self.add(callers, declarations)
        if self._texts:
            self._send()
        self._pool.submit(self._disk.shutdown, wait=False)
        self._pool.shutdown(wait=False)

    def library(self) -> Library:
        """Wait for all object files and load them."""
        return Library.load([made.result() for made in self._made], self._symbols)

    def drop(self) -> None:
        """Discard the object files."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._disk.shutdown(wait=False)


@cache
def _linker() -> Any:
    _initialised()
    llvm.initialize_native_asmparser()
    return llvm.create_lljit_compiler(_machine(host()))


def defined_symbols(ir: str) -> list[str]:
    """Return the names of the external functions that a module defines."""
    names: list[str] = []
    for line in ir.splitlines():
        if line.startswith("define ") and not line.startswith("define internal "):
            name = line[line.index("@") + 1 :]
            names.append(name[1:].split('"')[0] if name.startswith('"') else name.split("(")[0])
    return names

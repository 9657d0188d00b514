"""The disk cache of programs: other processes can run a cached program without compiling it.

A cached program is an entry of a `GuardedStore`. The entry has a line of JSON (inputs, results,
sizes), then the object files; its bulk file has the packed weights. Other facts about a program are
not cached: on request, the deterministic compilation is repeated to compute them.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import astuple
from pathlib import Path
from threading import Lock, Thread, get_native_id
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from compiler.cache.store import GuardedStore, Seal
from compiler.codegen.jit import Library
from compiler.dataclass import dataclass
from compiler.ir.constant import Array
from compiler.limits import Limits, limited
from compiler.runtime.frame import DirectCall, Frame, InputSpec, OutputSpec, address_of
from compiler.runtime.storage import aligned_bytes

if TYPE_CHECKING:
    from compiler.runtime.program import Program

FORMAT = 2
"""The version of the cache format."""

LIMIT_BYTES = 2 << 30
"""Maximum total size of the cache in bytes; the least recently used programs are evicted first."""

PROGRAM_LIMIT_BYTES = 512 << 20
"""Maximum size in bytes of a cached program's weights: writing more would take longer than the
cache saves."""

LEAST_PRIORITY = 19
"""The lowest priority of a Linux thread."""


@dataclass(frozen=True, slots=True)
class Image:
    """The cacheable part of a program of one native call: all sizes known, no fallbacks.

    Units: bytes. `objects` are object files for this machine, and `symbol` names their entry point.
    """

    inputs: tuple[InputSpec, ...]
    results: tuple[tuple[str, OutputSpec], ...]
    arena_bytes: int
    symbol: str
    objects: tuple[bytes, ...]
    weights: Array


class KeptProgram:
    """A program from the cache: runs need no compilation; other requests recompile the program."""

    def __init__(self, image: Image, again: Callable[[], Program]) -> None:
        frame = Frame(image.inputs, [o for _, o in image.results], image.arena_bytes)
        entry = Library.load(image.objects, [image.symbol]).function(image.symbol)
        self._direct = DirectCall(frame, entry, address_of(image.weights), dict(image.results))
        self._weights = image.weights
        self._again = again
        self._whole: Program | None = None
        self._lock = Lock()

    @property
    def whole(self) -> Program:
        """Return the complete program, recompiled if necessary."""
        with self._lock:
            if self._whole is None:
                self._whole = self._again()
            return self._whole

    def run(self, inputs: Mapping[str, Any], *, limits: Limits | None = None) -> dict[str, Any]:
        """Run the program as `Program.run` does."""
        if limits is not None:
            with limited(limits):
                return self.whole.run(inputs, limits=limits)
        made = self._direct(inputs)
        return self.whole.run(inputs) if made is None else made

    __call__ = run

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Return True immediately: a cached program already has its best code."""
        return True

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Report the class `Program`, so that `isinstance` accepts a cached program."""
        from compiler.runtime.program import Program

        return Program

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole, name)


def image_of(program: Program) -> Image | None:
    """Return the cacheable part of a program; None if a run needs more than one native call."""
    built = program.fixed
    executable = built.executable if built is not None else None
    if built is None or executable is None:
        return None
    specs, frame = executable.frame.inputs, executable.frame
    outputs = [o for o in frame.outputs if o is not None]
    if executable.direct is None or len(outputs) < len(frame.outputs):
        return None
    names = [r.name for r in executable.graph.results]
    results = tuple(zip(names, outputs, strict=True))
    return Image(
        specs, results, frame.arena_bytes, "run", built.library.objects, executable.constants
    )


class ProgramStore:
    """The cached programs of a folder. A damaged, incomplete or foreign program counts as missing.

    Units: bytes.
    """

    writing: ClassVar[dict[tuple[Path | None, str], Thread]] = {}
    """For each program that this process has yet to write: the writing thread."""

    def __init__(self, directory: Path | None, limit_bytes: int = LIMIT_BYTES) -> None:
        self.directory = directory
        self.files = GuardedStore(directory, limit_bytes)

    def get(self, key: str) -> Image | None:
        """Return the cached program of a key; None if it is missing."""
        on_its_way = ProgramStore.writing.get((self.directory, key))
        if on_its_way is not None:
            on_its_way.join()
        entry = self.files.read(key)
        if entry is None:
            return None
        end = entry.index(b"\n") + 1
        facts = json.loads(entry[:end])
        if facts["format"] != FORMAT:
            return None
        seal = Seal(*facts["weights"])
        weights = aligned_bytes(seal.n_bytes)
        if not self.files.read_bulk(key, seal, weights.data):
            return None
        self.files.touch(key)
        ends = list(itertools.accumulate(facts["object_bytes"], initial=end))
        return Image(
            tuple(InputSpec(n, np.dtype(d), tuple(s)) for n, d, s in facts["inputs"]),
            tuple((n, OutputSpec(np.dtype(d), tuple(s), b)) for n, d, s, b in facts["results"]),
            facts["arena_bytes"],
            facts["symbol"],
            tuple(entry[a:b] for a, b in itertools.pairwise(ends)),
            weights,
        )

    def put_beside(self, key: str, image: Image) -> Thread | None:
        """Write a program in a background thread; return the thread, or None if none could start.

        The process waits for the thread before exit; `get` of the same program also waits for it.
        """
        place = (self.directory, key)

        def thunk() -> None:
            _give_way()
            try:
                self.put(key, image)
            finally:
                ProgramStore.writing.pop(place, None)

        thread = Thread(target=thunk, name="kept program", daemon=False)
        ProgramStore.writing[place] = thread
        try:
            thread.start()
        except RuntimeError:  # no threads available
            thunk()
            return None
        return thread

    def put(self, key: str, image: Image) -> None:
        """Write a program to the cache, if possible."""
        if self.directory is None or image.weights.nbytes > PROGRAM_LIMIT_BYTES:
            return
        seal = self.files.write_bulk(key, image.weights.data)
        if seal is None:
            return
        facts = {
            "format": FORMAT,
            "inputs": [(s.name, _text(s.dtype), s.shape) for s in image.inputs],
            "results": [(n, _text(o.dtype), o.shape, o.nbytes) for n, o in image.results],
            "arena_bytes": image.arena_bytes,
            "weights": astuple(seal),
            "symbol": image.symbol,
            "object_bytes": [len(o) for o in image.objects],
        }
        self.files.write(key, json.dumps(facts).encode(), b"\n", *image.objects)

    def trim(self) -> None:
        """Evict the least recently used programs until the cache is within the limit."""
        self.files.trim()


def _give_way() -> None:
    """Lower this thread's priority on systems with priorities per thread."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, get_native_id(), LEAST_PRIORITY)


def _text(dtype: np.dtype[Any] | None) -> str:
    """Return a name that numpy can parse, including the small types of ml_dtypes."""
    assert dtype is not None, "only arrays are cached"
    return dtype.name


def load(store: ProgramStore, key: str, again: Callable[[], Program]) -> KeptProgram | None:
    """Load the cached program of a key, or return None; `again` recompiles the program."""
    image = store.get(key)
    if image is None:
        return None
    try:
        return KeptProgram(image, again)
    except (RuntimeError, KeyError):  # an object that does not link is damaged
        return None

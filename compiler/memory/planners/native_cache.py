"""The disk cache of compiled searches: files beside their source, or entries of a guarded store.

numba unpickles the files that it reads, and unpickling may execute any code. The folder beside the
source is as trustworthy as the source, if only this user may write it. For other folders, a
`GuardedStore` checks the files before numba reads them. A process without a cache folder, as in a
sandbox, only reads the folder beside the source.
"""

from __future__ import annotations

import hashlib
import pickle
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from compiler.cache.directory import kept_directory
from compiler.cache.store import GuardedStore
from compiler.cache.trust import refusal

LIMIT_BYTES = 64 << 20
"""Maximum total size in bytes of the compiled searches in the user's cache folder."""


def keep_on_disk(function: Any) -> None:
    """Let a function of numba, which has no machine code yet, load and store it on disk."""
    made = _cache_class()(function.py_func)
    if not _is_usable(made):
        made._cache_file = Entries(made)
    function._cache = made


@cache
def _cache_class() -> Any:
    """Return numba's cache of functions, with files beside their source."""
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator

    class BesideSource(InTreeCacheLocator):
        def ensure_cache_path(self) -> None:
            """Accept a read-only folder: `keep_on_disk` then uses another one."""

    class Files(CompileResultCacheImpl):
        _locator_classes = (BesideSource,)

    class Cached(FunctionCache):
        _impl_class = Files

        def save_overload(self, sig: Any, data: Any) -> None:
            """Store machine code, unless the folder is read-only."""
            with suppress(OSError):
                super().save_overload(sig, data)

    return Cached


def _is_usable(made: Any) -> bool:
    """Return whether the folder beside the source is trusted, and writable or the only one."""
    from numba.core.caching import InTreeCacheLocator

    try:
        InTreeCacheLocator.ensure_cache_path(made._impl.locator)
    except OSError:  # a read-only folder serves if there is no other
        if kept_directory("searches") is not None:
            return False
    return refusal(Path(made.cache_path)) is None


class Entries:
    """The files of one function, as numba's `IndexDataCacheFile`, in the user's cache folder."""

    def __init__(self, made: Any) -> None:
        locator = made._impl.locator
        self._function = (made.cache_path, made._impl.filename_base, locator.get_source_stamp())
        self._files = GuardedStore(kept_directory("searches"), LIMIT_BYTES)

    def load(self, key: object) -> Any:
        """Return the machine code for a signature and processor; None if it is not stored."""
        data = self._files.read(self._name(key))
        return None if data is None else pickle.loads(data)

    def save(self, key: object, data: object) -> None:
        """Store the machine code for a signature and processor."""
        from numba.core.serialize import dumps

        self._files.write(self._name(key), dumps(data))

    def flush(self) -> None:
        """Keep all files: numba calls this method to recompile a function."""

    def _name(self, key: object) -> str:
        import numba

        facts = repr((numba.__version__, self._function, key))
        return hashlib.sha256(facts.encode()).hexdigest()

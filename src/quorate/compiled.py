"""One way to compile a kernel, used by every numeric module.

`kernel` is numba's `njit` with the on-disk cache, without the GIL, with one difference: the cache of every kernel
is tied to the content of ALL kernel sources. Numba itself looks only at the file of the outermost function, so a
repaired inner kernel would silently not be used. The first compilation of a process says so on stderr.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching, event

Function = TypeVar("Function", bound=Callable[..., Any])
_njit: Any = numba.njit
_index_file: Any = caching.IndexDataCacheFile
_register: Any = event.register

_KERNEL_SOURCES = ("compiled.py", "densities.py", "prior", "posterior", "decision", "learning", "streams")


@cache
def sources_digest() -> str:
    """Digest of every source file that may hold a kernel, hence of anything a compiled kernel may contain."""
    package = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=16)
    for name in _KERNEL_SOURCES:
        path = package / name
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(source.read_bytes())
    return digest.hexdigest()


class _Announcer(event.Listener):
    """Says once, on stderr, that a compilation is going on: the only long wait a first-time user meets."""

    def __init__(self) -> None:
        self.announced = False

    def on_start(self, event: event.Event) -> None:
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self.announced and getattr(function, "__module__", "").startswith("quorate."):
            self.announced = True
            words = "compiling kernels not used on this machine before (about a minute, once)"
            print(f"quorate: {words} ...", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        pass


_register("numba:compile", _Announcer())


def kernel(function: Function) -> Function:
    """Compile `function` on its first call and keep the machine code on disk for later processes.

    Where no folder can hold the cache (a read-only install without a home), it is compiled in every process.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        dispatcher: Any = _njit(function, cache=True, **options)
    except RuntimeError:  # numba: "cannot cache function: no locator available"
        compiled: Function = _njit(function, **options)
        return compiled
    try:
        store = dispatcher._cache
        store._cache_file = _index_file(
            cache_path=store._cache_path,
            filename_base=store._impl.filename_base,
            source_stamp=sources_digest(),
        )
    except (AttributeError, TypeError):  # another numba: better to compile in every process than to run stale code
        dispatcher = _njit(function, **options)
    cached: Function = dispatcher
    return cached

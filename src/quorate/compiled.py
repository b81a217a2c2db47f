"""Numeric kernels: run as plain Python until machine code is available, then as machine code, with equal results.

`kernel` marks a function. On a new installation kernels run interpreted, without delay. After `PATIENCE` seconds of
interpreted work a child process compiles every kernel into numba's cache on disk (`quorate.compile_kernels`); this
process switches to machine code when the child has finished, and imports numba only then.
`QUORATE_KERNELS=interpreted` or `compiled` fixes the choice.

The cache key of every kernel covers all kernel sources. numba itself checks only the file of the outermost function,
so a changed inner kernel would not be recompiled.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache, cached_property, partial, update_wrapper
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
Status = Literal["interpreted", "compiling", "compiled"]

SWITCH = "QUORATE_KERNELS"
PATIENCE = 2.0  # seconds of interpreted work before a child process compiles
LOOK_EVERY, TELL_EVERY = 0.2, 15.0  # seconds between checks of the child process, and between progress messages
FEW_ITEMS = 1500  # streams up to this length run interpreted in less time than compiling takes
_OPTIONS = {"nogil": True, "error_model": "numpy"}  # for numba
_LINKING_NUMBA = "0.68."  # with this version inner kernels are linked; with others compiling takes a third longer
NO_NUMBER = (OverflowError, ZeroDivisionError, ValueError)  # raised by Python where compiled code gives inf or nan
_KERNEL_SOURCES = ("compiled.py", "densities.py", "prior.py", "posterior", "decision", "learning", "experts", "streams")


@cache
def sources_digest() -> str:
    """Digest of every source file that may contain a kernel."""
    package = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=16)
    for name in _KERNEL_SOURCES:
        path = package / name
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(source.read_bytes())
    return digest.hexdigest()


class Kernel:
    """A numeric function that runs interpreted or compiled. Kernels may call kernels in both modes."""

    def __init__(self, function: Callable[..., Any], plain: Callable[..., Any]) -> None:
        self.py_func, self.plain = function, plain
        update_wrapper(self, function)

    def __call__(self, *arguments: object) -> object:
        """The function's result; the outermost interpreted call checks whether compiled kernels are available."""
        if _state.compiled or (not _thread.inside and _state.look()):
            return self.dispatcher(*arguments)
        if _thread.inside:
            return self._interpreted(*arguments)
        _thread.inside = True
        try:
            with np.errstate(all="ignore"):  # like compiled code
                return self._interpreted(*arguments)
        finally:
            _thread.inside = False

    def _interpreted(self, *arguments: object) -> object:
        try:
            return self.plain(*arguments)
        except NO_NUMBER:  # raised by this kernel itself: inner kernels handle their own
            return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Callable[..., Any]:
        """numba's dispatcher of this function, with a cache on disk if there is a folder for it."""
        _announce()
        njit = _numba("numba").njit
        try:
            made = njit(self.py_func, cache=True, **_OPTIONS)
            store = made._cache
            store._cache_file = _index_file()(
                cache_path=store._cache_path,
                filename_base=store._impl.filename_base,
                source_stamp=sources_digest(),
            )
        except (RuntimeError, AttributeError, TypeError):  # no cache folder, or an unknown numba: compile without cache
            made = njit(self.py_func, **_OPTIONS)
        if _links_inner_kernels() and made is not self.py_func:  # as with NUMBA_DISABLE_JIT
            made._compiler._compile_core = partial(_compile, made._compiler._compile_core)
        return cast(Callable[..., Any], made)

    @cached_property
    def _callee(self) -> object:
        """numba's dispatcher of this function for the kernels that call it and link its code.

        It produces no machine code of its own: that would be repeated at every level of calls.
        """
        made = _numba("numba").njit(self.py_func, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)
        made._compiler._compile_core = partial(_compile_for_linking, made._compiler)
        return cast(object, made)

    @property
    def _numba_type_(self) -> object:
        """What numba sees when a kernel calls this one: an ordinary compiled function."""
        made = self._callee if _links_inner_kernels() else self.dispatcher
        return cast(object, _numba("numba.core.types").Dispatcher(made))


def _links_inner_kernels() -> bool:
    """Whether this is the numba version whose internals `_callee` uses; others compile every inner kernel alone."""
    return version("numba").startswith(_LINKING_NUMBA)


def _compile(compile_core: Callable[..., Any], args: object, return_type: object) -> object:
    """Run numba's compiler for a function, then set the constants of the kernels it contains."""
    made = compile_core(args, return_type)
    for constants in made._find_referenced_environments():
        made.library.codegen.set_env(constants.env_name, constants)
    return cast(object, made)


def _compile_for_linking(compiler: Any, args: object, return_type: object) -> object:  # noqa: ANN401 - numba's
    """Run numba's compiler for a function, with a library that is only linked into others."""
    target, core = compiler.targetdescr, _numba("numba.core.compiler")
    flags = core.Flags()
    target.options.parse_as_flags(flags, compiler.targetoptions)
    library = _linked_library()(target.target_context.codegen(), compiler.py_func.__qualname__)
    return cast(
        object,
        core.compile_extra(
            target.typing_context,
            target.target_context,
            compiler.py_func,
            args=args,
            return_type=return_type,
            flags=flags,
            locals=compiler.locals,
            library=library,
            pipeline_class=compiler.pipeline_class,
        ),
    )


@cache
def _linked_library() -> Callable[..., object]:
    """numba's code library, neither optimised nor turned into machine code before it is linked into another."""
    library = _numba("numba.core.codegen").JITCodeLibrary

    class LinkedLibrary(library):  # type: ignore[misc, valid-type]
        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            return 0

        @property
        def codegen(self) -> object:
            return self

        def set_env(self, name: str, constants: object) -> None:
            pass

    return LinkedLibrary


@cache
def _index_file() -> Callable[..., object]:
    """numba's cache index; one of another version, which may name classes that no longer exist, counts as empty."""
    index_file = _numba("numba.core.caching").IndexDataCacheFile

    class IndexFile(index_file):  # type: ignore[misc, valid-type]
        def _load_index(self) -> dict[object, object]:
            try:
                return cast(dict[object, object], super()._load_index())
            except (AttributeError, ImportError):
                return {}

    return IndexFile


@cache
def _announce() -> None:
    """Print once, on stderr, that numba compiles in this process, because the user waits for it."""
    event = _numba("numba.core.event")

    class Announcer(event.Listener):  # type: ignore[misc, name-defined]
        announced = False

        def on_start(self, event: Any) -> None:  # noqa: ANN401 - numba's
            function = getattr(event.data.get("dispatcher"), "py_func", None)
            if not self.announced and getattr(function, "__module__", "").startswith("quorate."):
                self.announced = True
                _say("compiling a kernel that was not used here before")

        def on_end(self, event: Any) -> None:  # noqa: ANN401 - numba's
            pass

    event.register("numba:compile", Announcer())


def _numba(module: str) -> Any:  # noqa: ANN401 - a module without types, imported when it is needed
    return import_module(module)


def kernel(function: Function) -> Function:
    """Run `function` compiled if machine code is available, else interpreted."""
    return cast(Function, Kernel(function, function))


def kernel_or(plain: Function) -> Callable[[Function], Function]:
    """A kernel with a NumPy version: `plain`, equal to the last bit, runs until the kernel is compiled."""
    return lambda function: cast(Function, Kernel(function, plain))


class _Thread(threading.local):
    inside = False  # whether an interpreted kernel is running in this thread


class _State:
    """How kernels run in this process, and the child process that compiles them."""

    def __init__(self) -> None:
        choice = os.environ.get(SWITCH)
        if choice not in (None, "", "interpreted", "compiled"):
            _say(f"{SWITCH}={choice} is ignored: it must be interpreted or compiled")
        self.compiled = choice == "compiled"
        self.fixed = choice == "interpreted"
        self.failed = False
        self.first_call = 0.0
        self.forget_child()

    def forget_child(self) -> None:
        """Reset after a fork: the new process has no child, and no thread that holds the lock."""
        self.next_look = 0.0
        self.child: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def look(self, *, start: bool = False) -> bool:
        """Whether kernels run compiled now; starts the child process after `PATIENCE` seconds, or at once (`start`)."""
        now = time.monotonic()
        if self.compiled or self.fixed or (now < self.next_look and not start):
            return self.compiled
        with self.lock:
            self.first_call = self.first_call or now
            self.next_look = now + LOOK_EVERY
            has_ended = self.child is not None and self.child.poll() is not None
            marker = marker_file()
            if marker is not None and marker.exists():
                self.compiled = True
            elif has_ended and not self.failed:
                self.failed = True
                _say(f"compiling failed: continuing interpreted, which is slower. {SWITCH}=compiled shows why")
            elif self.child is None and (start or now - self.first_call > PATIENCE):
                self._start(can_keep=marker is not None)
        return self.compiled

    def _start(self, *, can_keep: bool) -> None:
        """Start the child process, which outlives this one. Without a cache folder, compile in this process."""
        if not can_keep or getattr(sys, "frozen", False):
            self.compiled = True
            return
        _say("compiling for this installation (a minute or two, once)")
        found = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))
        command, nothing = [sys.executable, "-P", "-m", "quorate.compile_kernels"], subprocess.DEVNULL
        try:
            self.child = subprocess.Popen(
                command,
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                env=os.environ | {"PYTHONPATH": found},
                start_new_session=True,
            )
        except OSError:
            self.compiled = True


def _say(text: str) -> None:
    print(f"quorate: {text} ...", file=sys.stderr)


_thread = _Thread()
_state = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_state.forget_child)


def status() -> Status:
    """How kernels run in this process now."""
    if _state.compiled:
        return "compiled"
    return "compiling" if _state.child is not None and not _state.failed else "interpreted"


def will_be_compiled() -> bool:
    """Start compiling if needed; True while kernels still run as plain Python, so that work that can wait should."""
    compile_in_background()
    return not (_state.compiled or _state.fixed or _state.failed)


def interpret() -> None:
    """Never compile in this process: for a single decision, importing numba takes longer than the decision."""
    _state.fixed = not _state.compiled


def compile_here() -> None:
    """Compile in this process from now on, however long it takes."""
    _state.compiled, _state.fixed = True, False


def compile_in_background() -> None:
    """Start compiling now instead of after `PATIENCE` seconds: for long-running services."""
    _state.look(start=True)


def wait_until_compiled() -> None:
    """Return when kernels are compiled, or cannot be: for work that would take minutes interpreted."""
    compile_in_background()
    began = reported = time.monotonic()
    while not _state.look() and status() == "compiling":
        time.sleep(LOOK_EVERY)
        if time.monotonic() - reported > TELL_EVERY:
            reported = time.monotonic()
            _say(f"still compiling, {reported - began:.0f} s so far")


def prepare_for(num_items: int) -> None:
    """Wait until kernels are compiled if `num_items` items would take longer interpreted."""
    if num_items > FEW_ITEMS:
        wait_until_compiled()


@cache
def marker_file() -> Path | None:
    """The file that marks kernels as compiled for these sources and this machine; None if no folder is writable."""
    parts = (sources_digest(), version("numba"), platform.python_version(), _processor())
    digest = hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
    package = Path(__file__).parent
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    for place in (chosen,) if chosen else (package / "__pycache__", "~/.cache/quorate"):
        try:
            folder = Path(place).expanduser()
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # not writable; no home directory
            continue
        if os.access(folder, os.W_OK):
            return folder / f"compiled-{digest}"
    return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        return platform.processor() + platform.machine()

"""Numeric kernels: run as plain Python until machine code is available, then as machine code, with equal results.

`kernel` marks a function. On a new installation kernels run interpreted, without delay. After `PATIENCE` seconds of
interpreted work a child process compiles all kernels into numba's cache on disk (`quorate.compile_kernels`). It creates
one marker file when those of streams and sessions are compiled, and a second one, `EXPERTS`, after those of crowds and
panels. This process switches to machine code in the same two steps, and imports numba only then.
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
from functools import cache, cached_property, update_wrapper
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np

from quorate import machine_code
from quorate.machine_code import say

Function = TypeVar("Function", bound=Callable[..., Any])
Status = Literal["interpreted", "compiling", "compiled"]

SWITCH = "QUORATE_KERNELS"
PATIENCE = 2.0  # seconds of interpreted work before a child process compiles
LOOK_EVERY, TELL_EVERY = 0.2, 15.0  # seconds between checks of the child process, and between progress messages
EXPERTS = ".experts"  # added to the name of the marker: the kernels of crowds and panels are compiled too
FEW_ITEMS = 1500  # streams up to this length run interpreted in less time than compiling takes
NO_NUMBER = (OverflowError, ZeroDivisionError, ValueError)  # raised by Python where compiled code gives inf or nan
_KERNEL_SOURCES = (
    "compiled.py", "compile_kernels.py", "machine_code.py", "validate.py", "densities.py", "exponential.py", "prior.py",
    "posterior", "decision", "learning", "experts", "streams",
)  # fmt: skip


@cache
def sources_digest() -> str:
    """Digest of every source file that may contain a kernel or a constant of one, and of what is compiled."""
    package = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=16)
    for name in _KERNEL_SOURCES:
        path = package / name
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(source.read_bytes())
    return digest.hexdigest()


class Kernel:
    """A numeric function that runs interpreted or compiled. Kernels may call kernels in both modes."""

    def __init__(self, function: Callable[..., Any], plain: Callable[..., Any], *, is_shared: bool = False) -> None:
        self.py_func, self.plain, self.is_shared = function, plain, is_shared
        self.of_experts = function.__module__.startswith("quorate.experts.")
        update_wrapper(self, function)

    def __call__(self, *arguments: object) -> object:
        """The function's result; the outermost interpreted call checks whether compiled kernels are available.

        Whatever an interpreted kernel calls is interpreted too: not every inner kernel is stored by itself.
        """
        if _thread.inside:
            return self._interpreted(*arguments)
        ready = _state.experts if self.of_experts else _state.compiled
        if ready or _state.look(of_experts=self.of_experts):
            return self.dispatcher(*arguments)
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
            if self.plain is not self.py_func:  # NumPy raises none of these, so the NumPy version is wrong
                raise
            return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Callable[..., Any]:
        """numba's dispatcher of this function, with a cache on disk if there is a folder for it."""
        return machine_code.dispatcher(self.py_func, sources_digest())

    @cached_property
    def _callee(self) -> object:
        """numba's dispatcher of this function for the kernels that call it."""
        return machine_code.shared(self) if self.is_shared else machine_code.linked(self.py_func)

    @property
    def _numba_type_(self) -> object:
        """What numba sees when a kernel calls this one: an ordinary compiled function."""
        return machine_code.type_of(self._callee if machine_code.links_inner_kernels() else self.dispatcher)


def kernel(function: Function) -> Function:
    """Run `function` compiled if machine code is available, else interpreted."""
    return cast(Function, Kernel(function, function))


def shared_kernel(function: Function) -> Function:
    """A kernel that is compiled once and called by the others, which otherwise contain a copy of what they call.

    For large kernels that several others call: it saves most of the time to compile. A call costs some nanoseconds.
    """
    return cast(Function, Kernel(function, function, is_shared=True))


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
            say(f"{SWITCH}={choice} is ignored: it must be interpreted or compiled")
        self.compiled = self.experts = choice == "compiled"  # `experts`: also the kernels of crowds and panels
        self.fixed = choice == "interpreted"
        self.failed = False
        self.first_call = 0.0
        self.forget_child()

    def forget_child(self) -> None:
        """Reset after a fork: the new process has no child, and no thread that holds the lock."""
        self.next_look = 0.0
        self.child: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def look(self, *, of_experts: bool = False, start: bool = False) -> bool:
        """Whether kernels (`of_experts`: those of crowds and panels) run compiled now.

        Starts the child process after `PATIENCE` seconds, or at once (`start`).
        """
        now = time.monotonic()
        if self._has(of_experts) or self.fixed or (now < self.next_look and not start):
            return self._has(of_experts)
        with self.lock:
            self.first_call = self.first_call or now
            self.next_look = now + LOOK_EVERY
            has_ended = self.child is not None and self.child.poll() is not None
            marker = marker_file()
            self.compiled = self.compiled or (marker is not None and marker.exists())
            self.experts = self.experts or (marker is not None and marker.with_suffix(EXPERTS).exists())
            if self._has(of_experts):
                pass
            elif has_ended and not self.failed:
                self.failed = True
                say(f"compiling failed: continuing interpreted, which is slower. {SWITCH}=compiled shows why")
            elif self.child is None and (start or now - self.first_call > PATIENCE):
                self._start(can_keep=marker is not None, of_experts=of_experts)
        return self._has(of_experts)

    def _has(self, of_experts: bool) -> bool:
        return self.experts if of_experts else self.compiled

    def _start(self, *, can_keep: bool, of_experts: bool) -> None:
        """Start the child process, which outlives this one. Without a cache folder, compile in this process."""
        if not can_keep or getattr(sys, "frozen", False):
            self.compiled = self.experts = True
            return
        say("compiling for this installation (a minute or two, once)")
        found = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))
        command, nothing = [sys.executable, "-P", "-m", "quorate.compile_kernels"], subprocess.DEVNULL
        command += [] if of_experts else ["later"]
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
            self.compiled = self.experts = True


_thread = _Thread()
_state = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_state.forget_child)


def status(*, of_experts: bool = False) -> Status:
    """How kernels (`of_experts`: those of crowds and panels) run in this process now."""
    if _state.experts if of_experts else _state.compiled:
        return "compiled"
    return "compiling" if _state.child is not None and not _state.failed else "interpreted"


def will_be_compiled(*, of_experts: bool = False) -> bool:
    """Start compiling if needed; True while kernels still run as plain Python, so that work that can wait should.

    `of_experts`: also those of crowds and panels.
    """
    return not (_state.look(of_experts=of_experts, start=True) or _state.fixed or _state.failed)


def interpret() -> None:
    """Never compile in this process: for a single decision, importing numba takes longer than the decision."""
    _state.fixed = not _state.compiled


def compile_here() -> None:
    """Compile in this process from now on, however long it takes."""
    _state.compiled, _state.experts, _state.fixed = True, True, False


def compile_in_background() -> None:
    """Start compiling now instead of after `PATIENCE` seconds: for long-running services."""
    _state.look(start=True)


def wait_until_compiled(*, of_experts: bool = False) -> None:
    """Return when kernels are compiled, or cannot be: for work that would take minutes interpreted.

    `of_experts`: also those of crowds and panels, which are compiled last.
    """
    _state.look(of_experts=of_experts, start=True)
    began = reported = time.monotonic()
    while not _state.look(of_experts=of_experts) and _state.child is not None and not _state.failed:
        time.sleep(LOOK_EVERY)
        if time.monotonic() - reported > TELL_EVERY:
            reported = time.monotonic()
            say(f"still compiling, {reported - began:.0f} s so far")


def prepare_for(num_items: int, *, of_experts: bool = False) -> None:
    """Wait until kernels are compiled if `num_items` items would take longer interpreted."""
    if num_items > FEW_ITEMS:
        wait_until_compiled(of_experts=of_experts)


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

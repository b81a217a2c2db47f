"""How numba turns kernels into machine code, and keeps it on disk. Imports numba only when it is needed.

Three kinds of code: a *dispatcher* is called from Python; a *linked* kernel becomes part of each kernel that calls it,
and is optimised there; a *shared* kernel is compiled once, by itself, and called by address.
"""

from __future__ import annotations

import hashlib
import operator
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache, partial, partialmethod
from importlib import import_module
from importlib.metadata import version
from operator import attrgetter
from typing import Any, Protocol, cast

_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # for numba
_INNER = _OPTIONS | {"no_cpython_wrapper": True}  # kernels that no Python code calls
_TESTED_NUMBA = ("0.68.1",)  # with these versions inner kernels are linked; with others compiling takes much longer
_INTERNALS = (
    "llvmlite.binding:add_symbol",
    "numba.core.codegen:JITCPUCodegen.create_library",
    "numba.core.codegen:JITCPUCodegen.set_env",
    "numba.core.codegen:JITCPUCodegen.unserialize_library",
    "numba.core.codegen:JITCodeLibrary._finalize_final_module",
    "numba.core.codegen:JITCodeLibrary._optimize_final_module",
    "numba.core.codegen:JITCodeLibrary._unserialize",
    "numba.core.codegen:JITCodeLibrary.enable_object_caching",
    "numba.core.codegen:JITCodeLibrary.get_pointer_to_function",
    "numba.core.compiler:CompileResult._find_referenced_environments",
    "numba.core.compiler:Flags",
    "numba.core.compiler:compile_extra",
    "numba.core.dispatcher:_FunctionCompiler._compile_core",
    "numba.core.lowering:Lower.create_cfunc_wrapper",
    "numba.core.lowering:Lower.create_cpython_wrapper",
    "numba.core.registry:cpu_target",
    "numba.core.targetconfig:TargetConfig.values",
    "numba.core.types:unliteral",
    "numba.core.types.functions:BaseFunction.get_call_type",
)  # what linking uses of numba
_OPERATORS = frozenset(getattr(operator, name) for name in operator.__all__ if not name.endswith(("getter", "caller")))
_symbols: dict[str, object] = {}  # the shared kernels that machine code of this process may call, kept alive


class SharedKernel(Protocol):
    """What `shared` needs to know of a kernel."""

    @property
    def py_func(self) -> Callable[..., Any]:
        """The function itself."""

    @property
    def dispatcher(self) -> Any:  # noqa: ANN401 - numba's
        """numba's dispatcher of it."""


def say(text: str) -> None:
    """Tell the user, on stderr, what takes time."""
    print(f"quorate: {text} ...", file=sys.stderr)


def numba(module: str) -> Any:  # noqa: ANN401 - a module without types, imported when it is needed
    """A module of numba."""
    return import_module(module)


@cache
def links_inner_kernels() -> bool:
    """Whether numba is a version whose internals were tested here, and has them; others compile each kernel alone."""
    return version("numba") in _TESTED_NUMBA and all(map(_exists, _INTERNALS))


def _exists(name: str) -> bool:
    """Whether there is such a "module:name"."""
    module, _, path = name.partition(":")
    try:
        attrgetter(path)(import_module(module))
    except (ImportError, AttributeError):
        return False
    return True


def dispatcher(function: Callable[..., Any], digest: str) -> Callable[..., Any]:
    """numba's dispatcher of a function, with a cache on disk, valid for this digest, if there is a folder for it."""
    _announce()
    njit = numba("numba").njit
    try:
        made = njit(function, cache=True, **_OPTIONS)
        store = made._cache
        store._cache_file = index_file()(
            cache_path=store._cache_path,
            filename_base=store._impl.filename_base,
            source_stamp=digest,
        )
    except (RuntimeError, AttributeError, ImportError, TypeError):  # no cache folder, or an unknown numba: no cache
        made = njit(function, **_OPTIONS)
    if links_inner_kernels() and made is not function:  # as with NUMBA_DISABLE_JIT
        made._compiler._compile_core = partial(_compile, made._compiler, False)
    return cast(Callable[..., Any], made)


def linked(function: Callable[..., Any]) -> object:
    """numba's dispatcher of a function for the kernels that call it and link its code.

    It produces no machine code of its own: that would be repeated at every level of calls.
    """
    made = numba("numba").njit(function, **_INNER)
    made._compiler._compile_core = partial(_compile, made._compiler, True)
    return cast(object, made)


def shared(kernel: SharedKernel) -> object:
    """numba's dispatcher of a shared kernel for the kernels that call it: they contain its address only."""
    made = numba("numba").njit(kernel.py_func, **_INNER)
    made._compiler._compile_core = partial(_declare, kernel, {})
    return cast(object, made)


def type_of(made: object) -> object:
    """numba's type of a dispatcher."""
    return cast(object, numba("numba.core.types").Dispatcher(made))


def _compile(compiler: Any, is_linked: bool, args: object, return_type: object) -> Any:  # noqa: ANN401 - numba's
    """Run numba's compiler for a function: machine code, or a library that is only linked into others."""
    target, core = compiler.targetdescr, numba("numba.core.compiler")
    flags = core.Flags()
    target.options.parse_as_flags(flags, compiler.targetoptions)
    library_class = _linked_library() if is_linked else numba("numba.core.codegen").JITCodeLibrary
    library = library_class(target.target_context.codegen(), compiler.py_func.__qualname__)
    library.enable_object_caching()
    made = core.compile_extra(
        target.typing_context,
        target.target_context,
        compiler.py_func,
        args=args,
        return_type=return_type,
        flags=flags,
        locals=compiler.locals,
        library=library,
        pipeline_class=compiler.pipeline_class,
    )
    if not is_linked:  # set the constants of what it contains
        for constants in made._find_referenced_environments():
            library.codegen.set_env(constants.env_name, constants)
    return made


@dataclass(frozen=True)
class _Load:
    """Makes a shared kernel available before cached machine code that calls it is loaded: numba stores and calls it."""

    module: str
    name: str
    args: tuple[Any, ...]

    def __call__(self) -> None:
        _provide(getattr(import_module(self.module), self.name), self.args)


def _provide(kernel: SharedKernel, args: tuple[Any, ...]) -> tuple[str, Any]:
    """Compile or load a shared kernel for these types; returns the symbol by which machine code calls it."""
    function = kernel.py_func
    digest = hashlib.blake2b(str(args).encode(), digest_size=8).hexdigest()
    symbol = f"quorate.{function.__module__}.{function.__qualname__}.{digest}"
    kernel.dispatcher.compile(args)
    made = kernel.dispatcher.overloads[args]
    if symbol not in _symbols:
        address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        import_module("llvmlite.binding").add_symbol(symbol, address)
        _symbols[symbol] = made
    return symbol, made


def _declare(kernel: SharedKernel, known: dict[object, object], args: Any, _: object) -> object:  # noqa: ANN401 - numba's
    """What numba's compiler would return for a shared kernel, with a library that only declares its symbol."""
    plain = tuple(numba("numba.core.types").unliteral(arg) for arg in args)
    if plain not in known:
        symbol, made = _provide(kernel, plain)
        target = made.target_context
        described = copy(made.fndesc)
        described.mangled_name = symbol
        library = _linked_library()(target.codegen(), symbol)
        library._reload_init.add(_Load(kernel.py_func.__module__, kernel.py_func.__qualname__, plain))
        library.finalize()
        library._shared_module = library._final_module  # empty: the caller declares the symbol
        entry = target.get_executable(library, made.fndesc, made.environment)
        target.insert_user_function(entry, described, [library])
        known[plain] = made._replace(entry_point=entry, fndesc=described, library=library, metadata=None)
    return known[plain]


@cache
def _linked_library() -> Callable[..., Any]:
    """numba's code library, neither optimised nor turned into machine code before it is linked into another."""
    library = numba("numba.core.codegen").JITCodeLibrary

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


def compile_quickly() -> None:
    """Make numba's compiler faster, in a process that compiles nothing but kernels.

    What numba itself provides is linked too, instead of becoming machine code at every level of calls; sets of options,
    which numba compares all the time, are compared by what was set; and the types of an operator are found once.
    """
    if not links_inner_kernels():
        return
    config, lower = numba("numba.core.targetconfig").TargetConfig, numba("numba.core.lowering").Lower
    codegen = numba("numba.core.registry").cpu_target.target_context.codegen()
    codegen.create_library = partial(_linked_library(), codegen)
    codegen.unserialize_library = partial(_from_disk, codegen)
    config.__hash__ = lambda self: hash(type(self))
    config.__eq__ = lambda self, other: (
        self is other
        or (isinstance(other, config) and (self._values == other._values or self.values() == other.values()))
    )
    function = numba("numba.core.types.functions").BaseFunction
    function.get_call_type = partialmethod(_remembered, function.get_call_type, {})
    for name in ("create_cpython_wrapper", "create_cfunc_wrapper"):
        setattr(lower, name, partialmethod(_wrap_machine_code, getattr(lower, name)))


def _remembered(
    function: Any,  # noqa: ANN401 - numba's
    resolve: Callable[..., Any],
    known: dict[object, tuple[Any, object]],
    context: object,
    args: tuple[object, ...],
    kws: object,
) -> object:
    """The types of a call of an operator as found before, or by numba's `resolve`, which tries all that there are.

    There is one `context`: kernels are compiled for processors only. What `resolve` notes for lowering is noted again.
    """
    if kws or function.typing_key not in _OPERATORS:
        return resolve(function, context, args, kws)
    asked = (function, tuple(args))
    if asked not in known:
        found = resolve(function, context, args, kws)
        known[asked] = found, function._impl_keys[found.args]
    found, function._impl_keys[found.args] = known[asked]
    return found


def _from_disk(codegen: Any, stored: object) -> object:  # noqa: ANN401 - numba's
    """Machine code that was stored on disk."""
    links, library = codegen.create_library, numba("numba.core.codegen").JITCodeLibrary
    codegen.create_library = partial(library, codegen)
    try:
        return cast(object, library._unserialize(codegen, stored))
    finally:
        codegen.create_library = links


def _wrap_machine_code(lower: Any, create: Callable[..., None], *options: object) -> None:  # noqa: ANN401 - numba's
    """Create a wrapper for Python code, unless the function is only linked."""
    if not isinstance(lower.library, cast(type, _linked_library())):
        create(lower, *options)


@cache
def index_file() -> Callable[..., object]:
    """numba's cache index; one of another version, which may name classes that no longer exist, counts as empty."""
    numbas = numba("numba.core.caching").IndexDataCacheFile

    class IndexFile(numbas):  # type: ignore[misc, valid-type]
        def _load_index(self) -> dict[object, object]:
            try:
                return cast(dict[object, object], super()._load_index())
            except (AttributeError, ImportError):
                return {}

    return IndexFile


@cache
def _announce() -> None:
    """Print once, on stderr, that numba compiles in this process, because the user waits for it."""
    if not _exists("numba.core.event:Listener"):
        return
    event = numba("numba.core.event")

    class Announcer(event.Listener):  # type: ignore[misc, name-defined]
        announced = False

        def on_start(self, event: Any) -> None:  # noqa: ANN401 - numba's
            function = getattr(event.data.get("dispatcher"), "py_func", None)
            if not self.announced and getattr(function, "__module__", "").startswith("quorate."):
                self.announced = True
                say("compiling a kernel that was not used here before")

        def on_end(self, event: Any) -> None:  # noqa: ANN401 - numba's
            pass

    event.register("numba:compile", Announcer())

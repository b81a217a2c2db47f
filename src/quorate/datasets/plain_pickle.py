"""A pickle of numpy arrays -> the arrays, read by a small interpreter that never imports or calls what the file names.

Called by the loaders of published `.pkl` files.
"""

from __future__ import annotations

import math
import pickletools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import RefusedPickle, shown
from quorate.packed_files import check_size
from quorate.validate import invalid

PLAIN = re.compile(r"[<>=|]?(b1|\?|[iu][1248]|f[248]|c8|c16|[SU][0-9]{1,6}|[bBhHiIlLqQefdFD])")
MOST_AXES = 16


@dataclass(slots=True, eq=False)
class Element:
    """A plain element type: a numpy dtype without objects. The file sets its byte order later."""

    dtype: np.dtype[Any]


@dataclass(slots=True, eq=False)
class Blank:
    """An array that the file has created (`_reconstruct`) and fills later."""

    array: NDArray[Any] | None = field(default=None)


def element_of(text: str) -> Element:
    """The element type of a code such as 'f8', '<i4' or 'U12'."""
    if not PLAIN.fullmatch(text):
        raise RefusedPickle(f"an array has elements of type {brief(text)}; only numbers and text are read, no objects.")
    return Element(np.dtype(text))


def set_element_state(element: Element, state: tuple[Any, ...]) -> None:
    """Set the byte order from a type's pickled state (version, order, subarray, names, fields, ...)."""
    order = state[1] if len(state) >= 5 else None
    if any(part is not None for part in state[2:5]) or not isinstance(order, str) or order not in {"<", ">", "|", "="}:
        raise RefusedPickle(f"an element type has the state {brief(state)}; only plain numbers and text are read.")
    element.dtype = element.dtype.newbyteorder(order)  # type: ignore[arg-type]


def array_of(buffer: object, element: Element, shape: object, *, order: object) -> NDArray[Any]:
    """The array; the shape must need exactly the bytes there are, so that a small file cannot claim a large array."""
    raw = buffer.encode("latin-1") if isinstance(buffer, str) else buffer  # text: written by Python 2
    if not isinstance(raw, (bytes, bytearray)):
        raise RefusedPickle(f"an array's content is {type(buffer).__name__}, not bytes: an array of objects.")
    if not isinstance(shape, tuple) or len(shape) > MOST_AXES or not all(_is_length(size) for size in shape):
        raise RefusedPickle(f"an array has the shape {brief(shape)}.")
    if math.prod(shape) * element.dtype.itemsize != len(raw) or (element.dtype.itemsize == 0 and math.prod(shape)):
        raise RefusedPickle(f"an array of shape {brief(shape)} and type {element.dtype} has {len(raw)} bytes in it.")
    if not isinstance(order, str) or order not in {"C", "F"}:
        raise RefusedPickle(f"an array has the order {brief(order)}.")
    flat = np.frombuffer(bytes(raw), dtype=element.dtype) if raw else np.zeros(0, dtype=element.dtype)
    native = flat.astype(element.dtype.newbyteorder("="))
    return native.reshape(shape, order="F" if order == "F" else "C")


def _is_length(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**40


def brief(value: object) -> str:
    """A value of a file for a message: never its whole content, which may be endless."""
    if isinstance(value, (str, bytes)):
        return shown(value[:100])
    if isinstance(value, tuple) and len(value) <= 8:
        return f"({', '.join(brief(part) if not isinstance(part, tuple) else 'tuple' for part in value)})"
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**64):
        return repr(value)
    return str(getattr(value, "name", type(value).__name__))


IN_MEMORY = 3  # bytes of memory per byte of a pickle: its content, and twice as much built from it
MOST_OPCODES = 2_000_000  # takes seconds; the published files have fewer than 300
MOST_DEPTH = 32  # of nested containers
MOST_KEY = 2**31  # whole numbers as keys of a dict: small ones cannot be crafted to collide
FIX = "Ask its author for an .npz, or convert it where you trust it: np.savez(name, probs=..., votes=...)."

# Every name that numpy 1 and 2 write, with the few builtins that protocol 2 needs for bytes.
GLOBALS = {
    f"{module} {name}": name
    for modules, names in (
        (("numpy.core.multiarray", "numpy._core.multiarray"), ("_reconstruct", "scalar")),
        (("numpy.core.numeric", "numpy._core.numeric"), ("_frombuffer",)),
        (("numpy",), ("ndarray", "dtype")),
        (("_codecs",), ("encode",)),
        (("builtins", "__builtin__"), ("bytes",)),
    )
    for module in modules
    for name in names
}
VALUES = frozenset(
    {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
     "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
     "BINBYTES8", "BYTEARRAY8"}
)  # fmt: skip
CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
PUTS, GETS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"}), frozenset({"GET", "BINGET", "LONG_BINGET"})
SILENT = frozenset({"PROTO", "FRAME", "READONLY_BUFFER", "STOP"})
EXPLAINED = {
    "PERSID": "a persistent id", "BINPERSID": "a persistent id", "NEXT_BUFFER": "a buffer outside the file",
    "EXT1": "an extension code", "EXT2": "an extension code", "EXT4": "an extension code",
    "INST": "an object of a class", "OBJ": "an object of a class", "NEWOBJ": "an object of a class",
    "NEWOBJ_EX": "an object of a class",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Global:
    """A name that the file may use; it stands for a function of this module, and is never imported."""

    name: str


def read_pickle(path: str | Path) -> object:
    """The content of a pickle of numpy arrays: arrays, numbers, text, and dicts, lists and tuples of them.

    Anything else (a function, a class, an array of objects, ...) is refused and nothing in the file is run.

    >>> import pickle, tempfile
    >>> import numpy as np
    >>> file = Path(tempfile.mkdtemp()) / "probs.pkl"
    >>> _ = file.write_bytes(pickle.dumps({"probs": np.array([[0.5, 0.5]])}))
    >>> read_pickle(file)["probs"]
    array([[0.5, 0.5]])
    """
    file = Path(path)
    if not file.is_file():
        raise invalid("path", str(path), "a file", "pass a pickle of numpy arrays.")
    check_size(file, IN_MEMORY * file.stat().st_size)
    return read_pickle_bytes(file.read_bytes(), where=str(file))


def read_pickle_bytes(content: bytes, *, where: str = "pickle") -> object:
    """As `read_pickle`, from memory; `where` names the source in messages."""
    try:
        return _resolved(_Machine(len(content)).run(content), {})
    except RefusedPickle as cause:
        raise RefusedPickle(f"{where!r} is refused: {cause} Nothing in it was run. {FIX}") from None
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, UnicodeError) as cause:
        raise RefusedPickle(
            f"{where!r} is not a complete pickle ({shown(str(cause))}); expected a pickle of numpy arrays, as "
            f"published. Download it again. {FIX}"
        ) from cause


def _opcodes(content: bytes) -> Iterator[tuple[str, Any]]:
    """Name and argument of each opcode, up to the end of the file."""
    end = 0
    for number, (opcode, argument, position) in enumerate(pickletools.genops(content)):
        if number >= MOST_OPCODES:
            raise RefusedPickle(f"it has more than {MOST_OPCODES} opcodes, so it is not a file of arrays.")
        yield opcode.name, argument
        end = position or 0
    if end + 1 != len(content):
        raise RefusedPickle(f"{len(content) - end - 1} bytes follow its end.")


class _Machine:
    """The pickle's stack and memo: plain Python values, `Blank` arrays to be filled, and `Global` names."""

    def __init__(self, num_bytes: int) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}  # a dict: a huge index costs nothing
        self.room = (IN_MEMORY - 1) * num_bytes + 64  # bytes that may be built from it: text to bytes, bytes to array

    def take_room(self, num_bytes: int) -> None:
        """Refuse a file that builds from one content again and again."""
        self.room -= num_bytes
        if self.room < 0:
            raise RefusedPickle("it expands to far more than its own size.")

    def run(self, content: bytes) -> object:
        """The one value left at the end."""
        for name, argument in _opcodes(content):
            self.step(name, argument)
        if len(self.stack) != 1 or self.marks:
            raise RefusedPickle(f"it leaves {len(self.stack)} values behind instead of one.")
        return self.stack[0]

    def step(self, name: str, argument: Any) -> None:  # noqa: ANN401
        """One opcode."""
        if name in VALUES:
            self.stack.append(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in PUTS:
            self.memo[argument] = self.stack[-1]
        elif name in GETS:
            self.stack.append(self.memo[argument])
        elif name in ACTIONS:
            ACTIONS[name](self, argument)
        elif name not in SILENT:
            what = EXPLAINED.get(name, "something arrays do not need")
            raise RefusedPickle(f"it asks for {what} ({name} {brief(argument)}).")

    def since_mark(self) -> list[Any]:
        """Pop what was put on the stack since the last mark."""
        start = self.marks.pop()
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def top(self, number: int) -> list[Any]:
        """Pop the last `number` values, which must be above the last mark."""
        floor = self.marks[-1] if self.marks else 0
        if len(self.stack) - number < floor:
            raise RefusedPickle("it takes more values off its stack than it put there.")
        taken = self.stack[len(self.stack) - number :]
        del self.stack[len(self.stack) - number :]
        return taken


def _mark(machine: _Machine, _: object) -> None:
    machine.marks.append(len(machine.stack))


def _memoize(machine: _Machine, _: object) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _named(machine: _Machine, argument: object) -> None:
    """GLOBAL and STACK_GLOBAL: push a known name, without importing it."""
    parts = [argument] if argument is not None else machine.top(2)
    words = [part for part in parts if isinstance(part, str)]
    if len(words) < len(parts):
        raise RefusedPickle("it asks for a global whose name is not text.")
    name = " ".join(words)
    if name not in GLOBALS:
        asked = brief(name.replace(" ", "."))
        raise RefusedPickle(f"it asks for {asked}; only numpy's array functions are allowed.")
    machine.stack.append(Global(GLOBALS[name]))


def _reduce(machine: _Machine, _: object) -> None:
    """A call: emulated for the known names, refused for everything else."""
    function, arguments = machine.top(2)
    if not isinstance(function, Global) or not isinstance(arguments, tuple):
        raise RefusedPickle(f"it calls {brief(function)}, which is not one of numpy's array functions.")
    machine.stack.append(_called(machine, function.name, arguments))


def _called(machine: _Machine, name: str, arguments: tuple[object, ...]) -> object:
    match name, arguments:
        case "_reconstruct", (Global(name="ndarray"), _, _):
            return Blank()
        case "_frombuffer", ((bytes() | bytearray()) as buffer, Element() as element, shape, order):
            machine.take_room(len(buffer))
            return Blank(array_of(buffer, element, shape, order=order))
        case "dtype", (str() as text, *_):
            return element_of(text)
        case "scalar", (Element() as element, buffer):
            machine.take_room(element.dtype.itemsize)
            return array_of(buffer, element, (1,), order="C")[0]
        case "encode", (str() as text, "latin1" | "latin-1"):
            machine.take_room(len(text))
            return text.encode("latin-1")
        case "bytes", ():
            return b""
    raise RefusedPickle(f"it calls {name} with {brief(arguments)}, which is not how numpy rebuilds an array.")


def _build(machine: _Machine, _: object) -> None:
    """Fill a blank array, or set the byte order of an element type; nothing else has a state here."""
    target, state = machine.top(2)
    if isinstance(target, Element) and isinstance(state, tuple):
        set_element_state(target, state)
    elif isinstance(target, Blank) and target.array is None and isinstance(state, tuple) and len(state) == 5:
        _, shape, element, is_fortran, buffer = state
        if not isinstance(element, Element):
            raise RefusedPickle(f"an array's type is {brief(element)}, not a numpy dtype.")
        machine.take_room(len(buffer) if isinstance(buffer, (bytes, bytearray, str)) else 0)
        target.array = array_of(buffer, element, shape, order="F" if is_fortran is True else "C")
    else:
        raise RefusedPickle(f"it sets the state of {brief(target)} to {brief(state)}.")
    machine.stack.append(target)


def _tuple_of(size: int) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine.stack.append(tuple(machine.top(size)))


def _extend(machine: _Machine, values: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, list):
        raise RefusedPickle(f"it appends to {brief(target)}, which is not a list.")
    target.extend(values)


def _set_items(machine: _Machine, pairs: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, dict):
        raise RefusedPickle(f"it sets items of {brief(target)}, which is not a dict.")
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        if not (isinstance(key, str) or (isinstance(key, int) and abs(key) < MOST_KEY)):
            raise RefusedPickle(f"a dict has the key {brief(key)}; expected text or a small whole number.")
        target[key] = value


def _new_dict(machine: _Machine, _: object) -> None:
    pairs = machine.since_mark()
    machine.stack.append({})
    _set_items(machine, pairs)


ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _mark,
    "MEMOIZE": _memoize,
    "GLOBAL": _named,
    "STACK_GLOBAL": _named,
    "REDUCE": _reduce,
    "BUILD": _build,
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.since_mark())),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "LIST": lambda machine, _: machine.stack.append(machine.since_mark()),
    "APPEND": lambda machine, _: _extend(machine, machine.top(1)),
    "APPENDS": lambda machine, _: _extend(machine, machine.since_mark()),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "DICT": _new_dict,
    "SETITEM": lambda machine, _: _set_items(machine, machine.top(2)),
    "SETITEMS": lambda machine, _: _set_items(machine, machine.since_mark()),
}


def _resolved(value: object, done: dict[int, object], depth: int = 0) -> object:
    """The value with every blank replaced by its array; each container is resolved once."""
    if depth > MOST_DEPTH:
        raise RefusedPickle(f"its containers are nested more than {MOST_DEPTH} deep, or contain themselves.")
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, Blank):
        if value.array is None:
            raise RefusedPickle("an array was created but never filled.")
        return value.array
    if isinstance(value, (Global, Element)):
        raise RefusedPickle(f"it holds {brief(value)} itself, which is not data.")
    if isinstance(value, dict):
        done[id(value)] = {key: _resolved(inner, done, depth + 1) for key, inner in value.items()}
    elif isinstance(value, (list, tuple)):
        done[id(value)] = type(value)(_resolved(inner, done, depth + 1) for inner in value)
    return done.get(id(value), value)

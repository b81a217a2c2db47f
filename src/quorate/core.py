"""The compiled core: declares, checks and calls the functions of core/ (C++), which hold all heavy numerics.

Each function is declared below in one line, in the order of its arguments: arrays with their type and shape, then whole
numbers, then numbers. `f` float64, `i` int64, `h` int16, `b` bool; a capital: the function writes it. Shapes are in the
paper's symbols: T items, M classifiers, K classes, N votes of an item, W items of the window, P parameters, F fits. A
letter stands for one number in a whole call; `(K,K)?` may also be empty, (0, 0).

A call checks types, shapes, C order, writeable outputs, and that no output overlaps another array; the library checks
values (counts, indices, sizes) and answers with a refusal, raised here as ValueError. So no call can crash the
interpreter. NaN gives NaN. The GIL is released: threads run in parallel, and must not write the arrays of a call.

To add a function: `EXPORT int name(const Array* a, const Int* n, const double* x, double* result)` in
core/exports*.cpp, a formula at its head, a line here. tests/core/wrong_calls.py makes its arguments from that line.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_TYPES: dict[str, np.dtype[Any]] = {
    "f": np.dtype(np.float64), "i": np.dtype(np.int64), "h": np.dtype(np.int16),
    "b": np.dtype(np.bool_),
}  # fmt: skip
_DECIDE = (
    "core.py", "numerics.py", "rng.py", "types.py", "validate.py", "model/*.py", "model/*/*.py", "methods/*.py",
    "people/*.py", "streams/*.py", "session/*.py",
)  # fmt: skip
_BUILD = "`python core/build.py` in the folder of the project, or install quorate again"


class CoreMissing(ImportError):
    """The compiled core is absent, cannot be loaded, or is older than its sources."""


def _load() -> ctypes.CDLL:
    here = Path(__file__).resolve().parent
    path = here / ("_core.dll" if platform.system() == "Windows" else "_core.so")
    if not path.exists():
        raise CoreMissing(f"quorate's compiled core is not built: run {_BUILD}.")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as cause:
        raise CoreMissing(f"quorate's compiled core cannot be loaded ({cause}): run {_BUILD}.") from cause
    library.core_digest.restype = ctypes.c_char_p
    sources = sorted((here.parents[1] / "core").glob("*.[ch]pp"))
    if sources and library.core_digest().decode() != _digest(sources):
        raise CoreMissing(f"quorate's compiled core is older than its sources in core/: run {_BUILD}.")
    return library


def _digest(sources: list[Path]) -> str:
    """Of the sources, as setup.py computes it."""
    made = hashlib.blake2b(digest_size=8)
    for source in sources:
        made.update(source.name.encode() + source.read_bytes())
    return made.hexdigest()


@cache
def sources_digest() -> str:
    """Digest of the library and of every Python source that takes part in a decision: names results that are stored."""
    here = Path(__file__).parent
    sources = [path for name in _DECIDE for path in sorted(here.glob(name))]
    return f"{_library.core_digest().decode()}-{_digest(sources)}"


class ArrayArgument(NamedTuple):
    """A declared array: its name, type, the letters or numbers of its shape, whether it is written, may be empty."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[str, ...]
    is_written: bool
    may_be_empty: bool


class Function:
    """One exported function: checks its arguments, calls."""

    def __init__(self, name: str, declaration: str, library: ctypes.CDLL) -> None:
        self.name, self.declaration = name, declaration
        arrays = re.findall(r"(\w+) ([bfihFI])\(([^)]*)\)(\??)", declaration)
        self.arrays = tuple(
            ArrayArgument(array, _TYPES[code.lower()], tuple(shape.split(",")), code.isupper(), bool(empty))
            for array, code, shape, empty in arrays
        )
        self._known = {letter: int(letter) for each in self.arrays for letter in each.shape if letter.isdigit()}
        self.whole = tuple(re.findall(r"(\w+) int\b", declaration))
        self.real = tuple(re.findall(r"(\w+) float\b", declaration))
        self._call = getattr(library, name)
        self._call.restype = ctypes.c_int
        self._call.argtypes = [ctypes.c_void_p] * 4
        self._table = ctypes.c_int64 * (4 * len(self.arrays))
        self._ints, self._floats = ctypes.c_int64 * len(self.whole), ctypes.c_double * len(self.real)

    def __call__(self, *arguments: Any) -> float:  # noqa: ANN401
        """Arguments in the order of the declaration; the number that the function returns, 0 if it returns none."""
        arrays, first = self.arrays, len(self.arrays)
        if len(arguments) != first + len(self.whole) + len(self.real):
            raise TypeError(f"core.{self.name}: {len(arguments)} arguments do not match the declaration")
        sizes = self._known.copy()
        table: list[int] = []
        spans: list[tuple[int, int, int]] = []
        for position, (declared, array) in enumerate(zip(arrays, arguments, strict=False)):
            address = _address(self.name, declared, array, sizes)
            table += (address, *array.shape, *(0, 0, 0)[array.ndim :])
            if array.size:
                spans.append((address, address + array.nbytes, position))
        self._keep_apart(sorted(spans))
        result = ctypes.c_double()
        refused = self._call(
            self._table(*table),
            self._ints(*arguments[first : first + len(self.whole)]),
            self._floats(*arguments[first + len(self.whole) :]),
            ctypes.byref(result),
        )
        if refused:
            raise ValueError(f"core.{self.name}: a count, an index or a size is out of range")
        return result.value

    def _keep_apart(self, spans: list[tuple[int, int, int]]) -> None:
        """Refuse a written array that overlaps another one; spans of memory (begin, end, array) in rising order."""
        end_of_all = end_of_written = 0
        for begin, end, place in spans:
            is_written = self.arrays[place].is_written
            if begin < (end_of_all if is_written else end_of_written):
                raise ValueError(f"core.{self.name}: {self.arrays[place].name} overlaps an array before it in memory")
            end_of_all = max(end_of_all, end)
            if is_written:
                end_of_written = max(end_of_written, end)


def _address(function: str, declared: ArrayArgument, array: Any, sizes: dict[str, int]) -> int:  # noqa: ANN401
    """The address of the array's memory, after all checks; `sizes` has the letters known so far."""
    if type(array) is not np.ndarray or (array.dtype is not declared.dtype and array.dtype != declared.dtype):
        raise TypeError(f"core.{function}: {declared.name} must be an array of {declared.dtype}")
    flags = array.flags
    if not flags.c_contiguous or not flags.aligned or (declared.is_written and not flags.writeable):
        order = "writeable and " if declared.is_written else ""
        raise ValueError(f"core.{function}: {declared.name} must be {order}in C order")
    if array.ndim != len(declared.shape):
        raise ValueError(f"core.{function}: {declared.name} must have shape ({','.join(declared.shape)})")
    if not (declared.may_be_empty and array.shape[0] == 0):
        for letter, length in zip(declared.shape, array.shape, strict=True):
            if sizes.setdefault(letter, length) != length:
                expected = tuple(sizes.get(other, other) for other in declared.shape)
                raise ValueError(f"core.{function}: {declared.name} has shape {array.shape}, expected {expected}")
    if flags.writeable and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    return int(array.__array_interface__["data"][0])


_library = _load()


def declare(name: str, declaration: str) -> Function:
    """The function of that name in the library."""
    return FUNCTIONS.setdefault(name, Function(name, declaration, _library))


FUNCTIONS: dict[str, Function] = {}
_PRIOR = "tau f(M,K), bias f(K)"
_HYPERPRIOR = (
    "theta_shape float, theta_rate float, phi_shape float, phi_rate float, tau_shape float, tau_rate float, "
    "tau_sd float, bias_sd float, bias_df float"
)

# posterior: who wins the pool
plurality_finite = declare("plurality_finite", "alpha f(T,K), votes i(T,K), pool_sizes i(T), out F(T,K), mass F(T)")
plurality_infinite = declare("plurality_infinite", "beta f(T,K), out F(T,K)")
concentrations = declare("concentrations", f"{_PRIOR}, log_predictions f(T,M,K), out F(T,K), theta float, phi float")
log_dirichlet_multinomial = declare("log_dirichlet_multinomial", "votes i(T,K), alpha f(T,K), out F(T)")

# decision: beliefs, answers, rules
beliefs = declare(
    "beliefs",
    f"{_PRIOR}, log_predictions f(T,M,K), predictions f(T,K), votes i(T,K), pool_sizes i(T), out F(T,K), "
    "posterior int, theta float, phi float",
)
answer = declare("answer", "probs f(K), error_costs f(K,K)?, tie_draw float")
rule_asks = declare(
    "rule_asks",
    "probs f(K), votes i(K), alpha f(K), error_costs f(K,K)?, kind int, num_remaining int, "
    "first float, second float, tie_draw float",
)
surely_asks = declare("surely_asks", "alpha f(K), votes i(K), num_remaining int, min_gain float")
wins_alone = declare("wins_alone", "alpha f(K), votes i(K), chosen int, num_remaining int")
expected_gain = declare("expected_gain", "alpha f(K), votes i(K), probs f(K), error_costs f(K,K)?, num_remaining int")
binomial_quantile = declare("binomial_quantile", "trials int, uniform float, rate float")
picker_rate = declare("picker_rate", "losses f(K), prediction f(K), rounds int, scale float")
picker_update = declare(
    "picker_update", "losses F(K), prediction f(K), votes i(K), rounds int, pool_size int, scale float"
)
decide_batch = declare(
    "decide_batch",
    "ask_tau f(M,K), ask_bias f(K), predict_tau f(M,K), predict_bias f(K), log_predictions f(T,M,K), "
    "predictions f(T,K), votes i(T,K), pool_sizes i(T), tie_draws f(T), error_costs f(K,K)?, "
    "probs F(T,K), labels I(T), codes I(T), "
    "rule_kind int, min_votes int, max_votes int, stops_when_settled int, ask_posterior int, predict_posterior int, "
    "same_belief int, rule_first float, rule_second float, "
    "ask_theta float, ask_phi float, predict_theta float, predict_phi float",
)

# learning
fit = declare(
    "fit",
    "start f(P), log_predictions f(W,M,K), votes i(W,K), out F(P), info F(4)?, is_refit int, " + _HYPERPRIOR,
)
objective = declare(
    "objective",
    "packed f(P), log_predictions f(W,M,K), votes i(W,K), direction f(P)?, gradient F(P), out F(R,P)?, "
    "curvature int, " + _HYPERPRIOR,
)

# a whole stream
run_stream = declare(
    "run_stream",
    "votes h(T,N), pool_sizes i(T), log_predictions f(T,M,K), mean_predictions f(T,K), tie_draws f(T), "
    "quota_draws f(T), rates f(T), recorded i(T), error_costs f(K,K)?, "
    "packed F(P), window_predictions F(W,M,K), window_votes I(W,K), losses F(K), counts I(4), rule f(2), "
    "costs I(T), labels I(T), confidence F(T), stops I(T), trace F(F,P), trace_at I(F), probs F(T,K)?, "
    "quota_kind int, rule_kind int, stops_when_settled int, ask_posterior int, ask_learned int, predict_posterior int, "
    "predict_learned int, learns int, window int, proportional int, refit_every int, stop_asking int, min_votes int, "
    "max_votes int, first int, last int, picker_scale float, " + _HYPERPRIOR,
)

# people: a crowd of E people, n items with V votes (n + 1 = S starts); a panel of E members, L = 3 K states of an item
_CROWD = (
    "confusion f(E,K,K), labels f(E,K), skill f(E), evidence f(E,2,4), pooled f(K,K), prevalence f(K), "
    "tau f(1), bias f(K)"
)
_LEARNING_CROWD = re.sub(r" f\(", " F(", _CROWD)
_ITEMS = (
    "start i(S), person i(V), label i(V), log_f f(N,K), belief F(N,K), careful F(V), gained F(V,2,4), if_careful F(V,K)"
)
_PANEL = "rows f(E,L,K), difficulty f(4,3), tau f(M,K), bias f(K), exchangeable f(P), evidence f(2)"
crowd_prior = declare("crowd_prior", f"{_CROWD}, log_f f(K), out F(K)")
crowd_count_votes = declare("crowd_count_votes", f"{_CROWD}, log_f f(K), person i(V), label i(V), belief F(K)")
crowd_gains = declare("crowd_gains", f"{_CROWD}, people i(N), log_f f(K), belief f(K), out F(N,2)")
crowd_person = declare("crowd_person", f"{_CROWD}, rows F(K,K), weights F(2,4), person int")
crowd_add = declare("crowd_add", f"{_LEARNING_CROWD}, {_ITEMS}, asked i(N)")
crowd_take_back = declare("crowd_take_back", f"{_LEARNING_CROWD}, {_ITEMS}, asked i(N)")
crowd_revise = declare("crowd_revise", f"{_LEARNING_CROWD}, {_ITEMS}, asked i(N)")
crowd_judge = declare("crowd_judge", f"{_CROWD}, {_ITEMS}, asked i(N)")
crowd_left_out = declare("crowd_left_out", f"{_LEARNING_CROWD}, {_ITEMS}, asked i(N), out F(N,K)")
crowd_refit_prior = declare("crowd_refit_prior", f"{_LEARNING_CROWD}, log_f f(N,K), belief f(N,K)")
crowd_stream = declare(
    "crowd_stream",
    f"{_LEARNING_CROWD}, {_ITEMS}, draws f(N,R), online F(N,K), asked I(N), "
    "refit_every int, window int, doubt float, warm_up float",
)
panel_latent = declare(
    "panel_latent", f"{_PANEL}, log_f f(N,M,K), votes i(N,E), bins I(N,K), latent F(N,L), log_likelihoods F(N,2)"
)
panel_advise = declare(
    "panel_advise",
    f"{_PANEL}, log_f f(M,K), votes i(E), available b(E), costs f(E), probs F(K), net_gains F(E), plan F(3), "
    "price float",
)

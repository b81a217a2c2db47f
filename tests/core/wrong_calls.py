"""Calls of every function of the core, made from its declaration: plausible ones, and ones with a single fault.

`python -m tests.core.wrong_calls COUNT` makes COUNT calls of each and prints each before it is made, so that the last
line names a call that crashed or did not end. Arrays lie between guards; a call may change its outputs only.
"""

import faulthandler
import sys

import numpy as np

from quorate import core

GUARD = 64  # bytes before and after every array
BIG = (2**31, 2**40, 2**62, -1, -(2**62))
WILD = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 5e-324)
FAULTS = ("dtype", "dimension", "length", "strided", "read-only", "overlap", "list")  # that every call must refuse


def sizes(rng):
    """A length for every letter of the declarations; P, L and S follow from the others."""
    found = {letter: int(rng.integers(0, 5)) for letter in "TMKNWFRVE"}
    found |= {"K": int(rng.integers(0 if rng.random() < 0.1 else 2, 5)), "M": int(rng.integers(1, 3))}
    P = 2 + found["M"] * found["K"] + found["K"] * int(rng.integers(2))
    return found | {"P": P, "L": 3 * found["K"], "S": found["N"] + 1}


def values(name, dtype, shape, length, rng):
    """What such an array may hold, by its name."""
    most = {"pool_sizes": 60, "person": length["E"], "people": length["E"], "label": length["K"], "recorded": 3}
    if name == "start" and dtype.kind == "i":
        return np.sort(rng.integers(0, length["V"] + 1, shape))
    if dtype.kind in "iu":
        return rng.integers(50 if name == "pool_sizes" else 0, max(most.get(name, 2), 1), shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    found = rng.random(shape)
    return found if "draw" in name or name in ("rates", "careful") else found + 0.1


def guarded(array):
    """A copy of the array with its memory and the guards around it."""
    memory = np.full(GUARD + array.nbytes + GUARD, 0xA5, dtype=np.uint8)
    inside = memory[GUARD : GUARD + array.nbytes].view(array.dtype).reshape(array.shape)
    inside[...] = array
    return inside, memory


def is_whole(memory):
    return bool((memory[:GUARD] == 0xA5).all() and (memory[memory.size - GUARD :] == 0xA5).all())


def arguments(function, rng):
    """Plausible arguments: arrays with their memory, whole numbers, numbers."""
    length = sizes(rng)
    arrays = []
    for each in function.arrays:
        shape = tuple(length[letter] if letter.isalpha() else int(letter) for letter in each.shape)
        if each.may_be_empty and rng.random() < 0.5:
            shape = (0, *shape[1:]) if len(shape) == 1 else (0, 0)
        arrays.append(guarded(values(each.name, each.dtype, shape, length, rng)))
    whole = [int(rng.integers(0, 3)) for _ in function.whole]
    return arrays, whole, [float(rng.random()) for _ in function.real]


def spoil(fault, function, arrays, rng):
    """The arrays with one structural fault, or None if this function has no place for it."""
    filled = [i for i, array in enumerate(arrays) if array.size]
    written = [i for i in filled if function.arrays[i].is_written]
    if not filled or (fault in ("read-only", "overlap") and not written):
        return None
    place = int(rng.choice(written if fault in ("read-only", "overlap") else filled))
    array = arrays[place]
    if fault == "dtype":
        others = [np.float32, np.int32, np.complex128, object, array.dtype.newbyteorder()]
        arrays[place] = array.astype(others[rng.integers(len(others))])
        if arrays[place].dtype == array.dtype:  # a byte has one order
            return None
    elif fault == "dimension":
        arrays[place] = array[None]
    elif fault == "length":
        letters = [letter for each in function.arrays if not each.may_be_empty for letter in each.shape]
        tied = [axis for axis, letter in enumerate(function.arrays[place].shape) if letters.count(letter) > 1]
        if not tied or function.arrays[place].may_be_empty:
            return None
        arrays[place] = np.concatenate([array, array], axis=int(rng.choice(tied)))
    elif fault == "strided":
        arrays[place] = np.repeat(array, 2, axis=-1)[..., ::2]
        if arrays[place].flags.c_contiguous:
            return None
    elif fault == "read-only":
        array.flags.writeable = False
    elif fault == "overlap":
        others = [i for i in filled if i != place and arrays[i].nbytes >= array.nbytes]
        if not others:
            return None
        memory = arrays[int(rng.choice(others))].reshape(-1).view(np.uint8)
        arrays[place] = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
    else:
        arrays[place] = array.tolist()
    return arrays


def call(name, seed):
    """One call; returns "answered" or "refused", and raises AssertionError if it does what a call must not do."""
    function, rng = core.FUNCTIONS[name], np.random.default_rng(seed)
    made, whole, real = arguments(function, rng)
    arrays, memories = [array for array, _ in made], [memory for _, memory in made]
    kind, fault = seed % 4, None
    if kind == 1:  # a fault of structure
        fault = FAULTS[seed // 4 % len(FAULTS)]
        spoiled = spoil(fault, function, list(arrays), rng)
        fault, arrays = (None, arrays) if spoiled is None else (fault, spoiled)
    elif kind == 2 and (filled := [array for array in arrays if array.size]):  # a wild value in an array
        array = filled[rng.integers(len(filled))]
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
        wild = rng.choice(WILD) if limits is None else np.clip(BIG[rng.integers(len(BIG))], limits.min, limits.max)
        array.reshape(-1)[rng.integers(array.size)] = wild
    elif kind == 3 and (whole or real):  # a wild number
        place = int(rng.integers(len(whole) + len(real)))
        if place < len(whole):
            whole[place] = BIG[rng.integers(len(BIG))]
        else:
            real[place - len(whole)] = float(rng.choice(WILD))
    before, outcome = [memory.copy() for memory in memories], "answered"
    try:
        function(*arrays, *whole, *real)
    except (TypeError, ValueError):
        outcome = "refused"
    assert fault is None or outcome == "refused", f"accepted an array with a fault: {fault}"
    for declared, memory, old in zip(function.arrays, memories, before, strict=True):
        assert is_whole(memory), f"wrote outside {declared.name}"
        assert declared.is_written or np.array_equal(memory, old), f"changed {declared.name}"
    return outcome


def main(count):
    faulthandler.enable()
    for name in core.FUNCTIONS:
        answers = []
        for seed in range(count):
            print(name, seed, flush=True)
            answers.append(call(name, seed))
        assert answers[::4].count("answered") >= 1, "no plausible call was answered"
    print("all done")


if __name__ == "__main__":
    main(int(sys.argv[1]))

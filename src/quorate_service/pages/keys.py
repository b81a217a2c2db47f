"""The keys that choose an answer, on the pages for votes and for verdicts."""

from __future__ import annotations

from collections.abc import Sequence

DIGITS = "1234567890"
TAKEN = "usxz"  # undo, skip or later, cannot tell, enlarge


def keys_of(classes: Sequence[str]) -> list[str]:
    """The key of each class: its own name where all are single characters, else 1 to 9 and 0; none for the rest.

    >>> keys_of(["cat", "dog"]), keys_of(["0", "1", "2"]), keys_of(["a", "u"])
    (['1', '2'], ['0', '1', '2'], ['1', '2'])
    """
    names = [name.lower() for name in classes]
    if len(set(names)) == len(names) and all(len(name) == 1 and name.isalnum() and name not in TAKEN for name in names):
        return names
    return list(DIGITS[: len(classes)]) + [""] * (len(classes) - len(DIGITS))


def keys_told(keys: Sequence[str]) -> str:
    """The range of keys, if they are digits.

    >>> keys_told(["1", "2", "3"]), keys_told([*DIGITS, ""])
    ('1 to 3', '1 to 9 and 0')
    """
    last = len([key for key in keys if key])
    return "1 to 9 and 0" if last == len(DIGITS) else f"1 to {last}"

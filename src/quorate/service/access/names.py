"""Names people give: of themselves, of keys, of invitations. Others see them, so nothing in them may be invisible.

Called at the doors of `accounts`, `keys` and `invitations`.
"""

from __future__ import annotations

import unicodedata

from quorate.errors import InvalidInput

LONGEST = 80
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # would let a name rewrite what stands around it


def checked_name(name: str, *, where: str = "name") -> str:
    """The name, trimmed and in normal form: 1 to LONGEST characters, none invisible.

    >>> checked_name("  Robin Reader ")
    'Robin Reader'
    """
    if not isinstance(name, str):
        raise InvalidInput(f"{where}={type(name).__name__}; expected text; pass a name.")
    trimmed = unicodedata.normalize("NFC", " ".join(name.split()))
    if not 1 <= len(trimmed) <= LONGEST:
        raise InvalidInput(
            f"{where}={trimmed[:20]!r}... has {len(trimmed)} characters; expected 1 to {LONGEST}. Choose another."
            if trimmed
            else f"{where}=''; expected 1 to {LONGEST} characters; write one."
        )
    odd = next((char for char in trimmed if unicodedata.category(char) in ("Cc", "Cs") or char in BIDI), None)
    if odd is not None:
        raise InvalidInput(f"{where} holds {odd!a}; expected visible characters only; leave it out.")
    if all(unicodedata.category(char) in ("Cf", "Mn", "Zs") for char in trimmed):
        raise InvalidInput(f"{where}={trimmed!a}; expected something to be seen; write a name.")
    return trimmed

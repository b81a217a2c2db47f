"""Names people give: of themselves, of keys, of invitations. Others see them, so nothing in them may be invisible.

Called at the doors of `accounts`, `keys` and `invitations`.
"""

from __future__ import annotations

import unicodedata

from quorate.validate import broken

LONGEST = 80
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # would let a name rewrite what stands around it


def checked_name(name: str, *, where: str = "name") -> str:
    """The name, trimmed and in normal form: 1 to LONGEST characters, none invisible.

    >>> checked_name("  Robin Reader ")
    'Robin Reader'
    """
    if not isinstance(name, str):
        raise broken(where, name, "text", "pass a name.")
    trimmed = unicodedata.normalize("NFC", " ".join(name.split()))
    if not 1 <= len(trimmed) <= LONGEST:
        fix = f"choose another: this one has {len(trimmed)}." if trimmed else "write one."
        raise broken(where, trimmed, f"1 to {LONGEST} characters", fix)
    odd = next((char for char in trimmed if unicodedata.category(char) in ("Cc", "Cs") or char in BIDI), None)
    if odd is not None:
        raise broken(where, trimmed, f"visible characters only, not {odd!a}", "leave it out.")
    if all(unicodedata.category(char) in ("Cf", "Mn", "Zs") for char in trimmed):
        raise broken(where, trimmed, "something to be seen", "write a name.")
    return trimmed

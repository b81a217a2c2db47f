"""Messages of the library, which name arguments -> messages for the command line, which name its options.

`task='...'` becomes `--task-column ...` where the command has that option. Used for every error of a command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

# Arguments of the library whose option has another name: argument -> parameter of the command.
ALIASES = {
    "task": "task_column",
    "worker": "worker_column",
    "label": "label_column",
    "timestamp": "time_column",
    "format": "votes_format",
    "num_bins": "bins",
    "methods": "method",
    "path": "file",
}


def option_names(command: Any) -> dict[str, str]:  # noqa: ANN401 - of click
    """Argument of the library -> option of the command, or its argument as the help names it; or those of a group."""
    found: dict[str, str] = {}
    for each in getattr(command, "commands", {}).values():
        found |= option_names(each)
    for param in getattr(command, "params", ()):
        long = [name for name in param.opts if name.startswith("--")]
        if long:
            found[param.name] = long[0]
        elif param.param_type_name == "argument":
            found[param.name] = param.name.upper()
    return found | {alias: found[name] for alias, name in ALIASES.items() if name in found}


def in_options(message: str, options: Mapping[str, str]) -> str:
    """The message with options for arguments.

    >>> in_options("name it: task='...'; or classes=[...], pass as_read=True (--as-read).",
    ...            {"task": "--task-column", "classes": "--classes", "as_read": "--as-read"})
    'name it: --task-column ...; or --classes ..., pass --as-read.'
    >>> in_options("threshold=95; expected a number", {"threshold": "--threshold"})
    '--threshold 95; expected a number'
    """
    if not options:
        return message
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    both = re.sub(rf"\b(?:{names})(?:=\S+)? \((--[^)]*)\)", r"\1", message)
    given = rf"(?<![\w.'\"-])({names})=(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^\s,;:)]*[^\s,;:).])?"

    def option(found: re.Match[str]) -> str:
        value = _typed(found[2] or "")
        return f"{options[found[1]]} {value}" if value else options[found[1]]

    return re.sub(given, option, both)


def _typed(value: str) -> str:
    """A value as it is typed on the command line: quoted where a shell needs it, a list with commas."""
    if value.startswith("["):
        value = "'" + ",".join(re.sub(r"^['\"]|['\"]$", "", part.strip()) for part in value[1:-1].split(",")) + "'"
    if value.startswith(("'", '"')):
        return value[1:-1] if value[1:-1] == "..." else shlex.quote(value[1:-1])
    return value

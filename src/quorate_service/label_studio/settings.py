"""How to read a Label Studio project: `ConnectSettings` from `connect.toml`, and the token.

The token is never in the database: it is in the environment (LABEL_STUDIO_API_KEY) or in a file that only its owner
can read. Called by the commands and by the service's connector.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from quorate.validate import bounded, invalid

VARIABLE = "LABEL_STUDIO_API_KEY"  # as Label Studio's own SDK calls it
POLL_SECONDS = 20.0
SECTIONS = ("label-studio", "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectSettings:
    """`choices` the control tag of the question, if there are several   `predictions` a table to use instead of those
    of the tasks   `id_column` its column of ids   `id_field` the field of a task's data with that id; None: the task's
    number   `poll_seconds` how often all tasks are read, in addition to webhooks   `token_file` with the token; None:
    in the environment   `callback` address at which Label Studio reaches this service
    """

    choices: str | None = None
    predictions: str | None = None
    id_column: str | None = None
    id_field: str | None = None
    poll_seconds: float = POLL_SECONDS
    token_file: str | None = None
    callback: str | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        bounded(self.poll_seconds, where="poll_seconds", least=1.0, most=3600.0)
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name != "poll_seconds" and not (value is None or (isinstance(value, str) and value)):
                raise invalid(option.name, value, "text", "put it into quotes, or leave it out.")

    def dumps(self) -> str:
        """Every setting, by name, as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """The settings of these names; unknown names are an error."""
        names = [option.name for option in fields(cls)]
        for name, value in content.items():
            if name not in names:
                raise invalid(name, value, f"one of the options: {', '.join(names)}", "correct the name.")
        return cls(**content)


@dataclass(frozen=True, slots=True)
class ConnectFile:
    """The contents of `connect.toml`: how to read the project there, and the `settings` of the one here."""

    how: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def read_config(path: str | Path) -> ConnectFile:
    """Read a `connect.toml`; names of files in it are relative to it."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as cause:
        raise invalid("config", str(path), f"a file that can be read ({cause.strerror})", "check its name.") from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise invalid("config", str(path), f"TOML ({cause})", "correct it.") from cause
    for name, value in content.items():
        if name not in SECTIONS or not isinstance(value, dict):
            rule = f"the sections {' and '.join(f'[{section}]' for section in SECTIONS)}"
            raise invalid(name, value, rule, "move it into one of them.", place=str(path))
    how = dict(content.get("label-studio", {}))
    for name in ("predictions", "token_file"):
        if isinstance(how.get(name), str):
            how[name] = str((file.parent / how[name]).absolute())
    return ConnectFile(how, dict(content.get("settings", {})))


def token_of(how: ConnectSettings, environment: Mapping[str, str] | None = None) -> str:
    """The token, from its file or from the environment."""
    if how.token_file is not None:
        return read_token(how.token_file)
    token = (os.environ if environment is None else environment).get(VARIABLE, "")
    if not token:
        rule = f"a token of Label Studio in the variable {VARIABLE} or in a file"
        raise invalid("token", None, rule, f"export {VARIABLE}=..., or pass `token_file`.")
    return token


def read_token(path: str | Path) -> str:
    """The token from a file that only its owner can read."""
    file = Path(path)
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            fix = f"chmod 600 {file}."
            raise invalid("token_file", str(file), f"a file that only you can read; its mode is {mode:o}", fix)
        return file.read_text(encoding="ascii").strip()
    except OSError as cause:
        raise invalid("token_file", str(file), f"a file that can be read ({cause.strerror})", "check it.") from cause
    except UnicodeDecodeError as cause:
        raise invalid("token_file", str(file), "a file that contains only the token", "correct it.") from cause

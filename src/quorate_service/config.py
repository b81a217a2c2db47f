"""The configuration of a service: database, address, trusted proxy, limits. Made by `quorate serve`, read by `app`.

Workers are separate processes and read it from environment variables, which `quorate serve` sets. To run the
application under another server, set the same variables (docs/service.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from quorate.validate import invalid, whole

DATABASE = "quorate.db"
UPLOAD_MEGABYTES = 2000
VOTES_PER_SECOND = 20
WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The configuration of a service; docs/service.md explains each field.

    >>> ServiceConfig(base_url="https://labels.example.org").is_https
    True
    >>> ServiceConfig.from_environment({"QUORATE_TRUST_PROXY": "1"}).trust_proxy
    True
    """

    database: str = field(default=DATABASE, repr=False)  # may hold a password
    base_url: str | None = None  # the public address; None: taken from each request
    secure: bool | None = None  # served over https; None: taken from base_url, else from each request
    trust_proxy: bool = False  # believe X-Forwarded-For and X-Forwarded-Proto: our own proxy sets them
    demo: bool = False  # simulated colleagues vote in the built-in project
    metrics_token: str | None = field(default=None, repr=False)  # None: /metrics is served to this machine only
    allow_private_addresses: bool = False  # webhooks to, and images from, this machine or its network
    upload_megabytes: int = UPLOAD_MEGABYTES  # of images, in each project
    votes_per_second: int = VOTES_PER_SECOND  # per account and worker; bursts may be twice as large

    def __post_init__(self) -> None:
        """Check the values."""
        whole(self.upload_megabytes, where="upload_megabytes", least=0)
        whole(self.votes_per_second, where="votes_per_second")
        if self.base_url is None:
            return
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            rule = "the address where browsers find the service"
            raise invalid("base_url", self.base_url, rule, "pass e.g. `base_url=https://labels.example.org`.")
        if parts.path not in ("", "/"):
            rule = "an address without a path"
            raise invalid("base_url", self.base_url, rule, "give the service its own host name.")
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        if self.secure is None:
            object.__setattr__(self, "secure", parts.scheme == "https")

    @property
    def is_https(self) -> bool:
        """Whether the service is known to be served over https."""
        return bool(self.secure)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> ServiceConfig:
        """Read the variables QUORATE_...; one that is empty or not set means the default."""
        texts = {name: value for name, value in (os.environ if environment is None else environment).items() if value}
        values: dict[str, Any] = {}
        for setting in fields(cls):
            text = texts.get(_variable(setting.name))
            if text is not None:
                values[setting.name] = _read(setting, text)
        return cls(**values)

    def to_environment(self) -> dict[str, str]:
        """The variables from which `from_environment` restores this configuration."""
        values = {_variable(name): value for name, value in asdict(self).items()}
        plain = {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}
        return {name: "" if value is None else str(value) for name, value in plain.items()}


def _variable(name: str) -> str:
    return f"QUORATE_{name.removeprefix('allow_').upper()}"


def _read(setting: Field[Any], text: str) -> str | bool | int:
    kind = str(setting.type).partition(" ")[0]
    if kind == "bool":
        return _flag(_variable(setting.name), text)
    return _number(_variable(setting.name), text, setting.default) if kind == "int" else text


def _flag(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word not in WORDS:
        raise invalid(name, text, "1 or 0", "set it to one of them, or leave it out.")
    return WORDS[word]


def _number(name: str, text: str, default: object) -> int:
    try:
        return int(text)
    except ValueError:
        raise invalid(name, text, "a whole number", f"set it to e.g. {default}, or leave it out.") from None

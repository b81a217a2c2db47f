"""How a service is run: its database, its address, whom it believes. Made by `quorate serve`, read by `app`.

Workers are processes of their own and read it from the environment, where `quorate serve` put it; whoever runs the
application under another server sets the same variables (docs/service.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from quorate.validate import broken, whole

DATABASE = "quorate.db"
FORMER_NAME = "QUORATE_PRIVATE_WEBHOOKS"  # of QUORATE_PRIVATE_ADDRESSES; it still works
UPLOAD_MEGABYTES = 2000
VOTES_PER_SECOND = 20
WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """How a service is run; see docs/service.md for each of them.

    >>> ServiceConfig(base_url="https://labels.example.org").is_https
    True
    >>> ServiceConfig.from_environment({"QUORATE_TRUST_PROXY": "1"}).trust_proxy
    True
    """

    database: str = field(default=DATABASE, repr=False)  # may hold a password
    base_url: str | None = None  # where it is reached from outside; None: as each request says
    secure: bool | None = None  # served over https; None: as base_url says, else as each request says
    trust_proxy: bool = False  # X-Forwarded-For and X-Forwarded-Proto are set by a proxy of ours
    demo: bool = False  # simulated colleagues vote in the built-in project
    metrics_token: str | None = field(default=None, repr=False)  # None: /metrics answers this machine only
    allow_private_addresses: bool = False  # webhooks to, and images from, this machine or its network
    upload_megabytes: int = UPLOAD_MEGABYTES  # of images, in each project
    votes_per_second: int = VOTES_PER_SECOND  # of each account, in each worker; twice as many at once
    fast_path: bool = True  # plain votes skip FastAPI's parsing (api/fast_path.py); off only to measure what that saves

    def __post_init__(self) -> None:
        """Check what came from outside."""
        whole(self.upload_megabytes, where="upload_megabytes", least=0)
        whole(self.votes_per_second, where="votes_per_second")
        if self.base_url is None:
            return
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            rule = "the address where browsers find the service"
            raise broken("base_url", self.base_url, rule, "pass e.g. `base_url=https://labels.example.org`.")
        if parts.path not in ("", "/"):
            rule = "an address without a path"
            raise broken("base_url", self.base_url, rule, "give the service a host name of its own.")
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        if self.secure is None:
            object.__setattr__(self, "secure", parts.scheme == "https")

    @property
    def is_https(self) -> bool:
        """Whether it is known to be reached over https."""
        return bool(self.secure)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> ServiceConfig:
        """As the variables QUORATE_... say; what is not set, or empty, is as by default."""
        found = {name: value for name, value in (os.environ if environment is None else environment).items() if value}
        return cls(
            database=found.get("QUORATE_DATABASE", DATABASE),
            base_url=found.get("QUORATE_BASE_URL"),
            secure=_flag(found, "QUORATE_SECURE"),
            trust_proxy=_flag(found, "QUORATE_TRUST_PROXY") or False,
            demo=_flag(found, "QUORATE_DEMO") or False,
            metrics_token=found.get("QUORATE_METRICS_TOKEN"),
            allow_private_addresses=_flag(found, "QUORATE_PRIVATE_ADDRESSES") or _flag(found, FORMER_NAME) or False,
            upload_megabytes=_number(found, "QUORATE_UPLOAD_MEGABYTES", UPLOAD_MEGABYTES),
            votes_per_second=_number(found, "QUORATE_VOTES_PER_SECOND", VOTES_PER_SECOND),
            fast_path=_flag(found, "QUORATE_FAST_PATH") is not False,
        )

    def to_environment(self) -> dict[str, str]:
        """The variables `from_environment` makes the same configuration of."""
        return {
            "QUORATE_DATABASE": self.database,
            "QUORATE_BASE_URL": self.base_url or "",
            "QUORATE_SECURE": "" if self.secure is None else str(int(self.secure)),
            "QUORATE_TRUST_PROXY": str(int(self.trust_proxy)),
            "QUORATE_DEMO": str(int(self.demo)),
            "QUORATE_METRICS_TOKEN": self.metrics_token or "",
            "QUORATE_PRIVATE_ADDRESSES": str(int(self.allow_private_addresses)),
            "QUORATE_UPLOAD_MEGABYTES": str(self.upload_megabytes),
            "QUORATE_VOTES_PER_SECOND": str(self.votes_per_second),
            "QUORATE_FAST_PATH": str(int(self.fast_path)),
        }


def _flag(found: Mapping[str, str], name: str) -> bool | None:
    if name not in found:
        return None
    word = found[name].strip().lower()
    if word not in WORDS:
        raise broken(name, found[name], "1 or 0", "set it to one of them, or leave it out.")
    return WORDS[word]


def _number(found: Mapping[str, str], name: str, otherwise: int) -> int:
    if name not in found:
        return otherwise
    try:
        return int(found[name])
    except ValueError:
        raise broken(name, found[name], "a whole number", f"set it to e.g. {otherwise}, or leave it out.") from None

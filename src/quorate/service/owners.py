"""A store -> a link that signs an owner in, or makes the first; a key for an owner's scripts; all accounts. For CLI.

Whoever can read the database file or its URL is trusted with this: they could change the database by hand.
"""

from __future__ import annotations

from quorate.errors import InvalidInput
from quorate.service.access.accounts import Account, list_accounts
from quorate.service.access.keys import create_key
from quorate.service.access.links import first_owner_link, sign_in_link
from quorate.service.store.store import Store


def new_link(store: Store, base_url: str, *, account: str | None = None, now: float) -> str:
    """A link for the account of this id, or for the only one that may make projects; the first owner's if none is."""
    first = first_owner_link(store, base_url, now=now) if account is None else None
    return first or sign_in_link(store, account or _only_owner(store), base_url, now=now)


def new_key(store: Store, name: str, *, account: str | None = None, now: float) -> str:
    """An API key, for all projects, of the account of this id, or of the only one that may make projects."""
    return create_key(store, account or _only_owner(store), name=name, now=now)[1]


def _only_owner(store: Store) -> str:
    owners = [each for each in everybody(store) if each.may_create and each.disabled is None]
    if len(owners) == 1:
        return owners[0].id
    if not owners:
        raise InvalidInput(
            "nobody is an owner yet; open the link that `quorate serve` prints first, or without a browser send it a "
            "name: curl --data 'name=Ada' LINK. `quorate service owner-link` prints a new one."
        )
    names = ", ".join(f"{each.id} ({each.name})" for each in owners[:20])
    raise InvalidInput(f"{len(owners)} accounts may make projects; say which one with --account: {names}.")


def everybody(store: Store) -> list[Account]:
    """Every account of the service, in order of their ids."""
    found: list[Account] = []
    while page := list_accounts(store, after=found[-1].id if found else ""):
        found += page
    return found

"""`quorate serve`: prepares the database, prints the first owner's link and runs the web service."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import typer
import uvicorn
from sqlalchemy import select

from quorate.commands.options import option
from quorate.commands.output import print_lines
from quorate.validate import invalid
from quorate_service.access.cookies import signing_key
from quorate_service.access.credentials import first_owner_link, remember_address
from quorate_service.config import ServiceConfig
from quorate_service.demo import PROJECT, is_over, seed
from quorate_service.store import Store, StoreUnavailable, as_url
from quorate_service.store.prepare import prepare
from quorate_service.store.schema import projects

DATABASE, DEMO_DATABASE = "quorate.db", "quorate-demo.db"  # the demo never uses the real one
APPLICATION = "quorate_service.app:from_environment"
CONNECTION = "quorate_service.app:TimedConnection"  # closes connections whose headers do not arrive
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
EVERYWHERE = ("0.0.0.0", "::", "")
STOP_WITHIN = 10  # seconds for running requests when the service stops
DATABASE_WITHIN, DATABASE_EVERY = 60, 1.0  # seconds to wait for a database server at the start, and between tries
UP_WITHIN = 120  # seconds after which the address is printed even if the service does not answer

Database = Annotated[
    str,
    typer.Option(
        "--database",
        "-d",
        envvar="QUORATE_DATABASE",
        show_envvar=False,
        help="A file (SQLite), or postgresql://host/name. Or set QUORATE_DATABASE, which keeps a password out of "
        "the list of processes.",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="QUORATE_BASE_URL",
        show_envvar=False,
        help="Public address of the service, e.g. https://example.org; default: the address it listens on.",
    ),
]


def serve(
    database: Database = DATABASE,
    host: Annotated[str, option("Address to listen on; 0.0.0.0: all addresses of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes; use more than one with PostgreSQL.")] = 1,
    base_url: BaseUrl = None,
    secure: Annotated[
        bool | None,
        option(
            "Whether cookies are for https only; default: by the scheme of --base-url, else of each request.",
            "--secure/--no-secure",
        ),
    ] = None,
    trust_proxy: Annotated[
        bool, option("Trust the X-Forwarded-For and X-Forwarded-Proto headers of your proxy.", "--trust-proxy")
    ] = False,
    demo: Annotated[bool, option("A built-in project in which simulated colleagues vote.", "--demo")] = False,
    open_browser: Annotated[bool, option("Open the first page in a browser.", "--open")] = False,
) -> None:
    """Serve projects in the browser and over an API: experts vote, quorate decides when enough have voted.

    Creates the database first, if it is new. There is no password: the first start prints a link that works once and
    makes whoever opens it the owner. Stop it with Ctrl-C; every acknowledged vote is on disk.

    Example: quorate serve --database quorate.db --port 8000
    """
    config = replace(
        from_options(DEMO_DATABASE if demo and database == DATABASE else database, base_url),
        secure=secure,
        trust_proxy=trust_proxy,
        demo=demo,
    )
    run_service(config, host=host, port=port, workers=workers, open_browser=open_browser)


def from_options(database: str, base_url: str | None) -> ServiceConfig:
    """The configuration: these options as given, everything else from the environment."""
    given = ServiceConfig.from_environment()
    return ServiceConfig(
        database=database,
        base_url=base_url,
        metrics_token=os.environ.get("QUORATE_METRICS_TOKEN"),
        allow_private_addresses=given.allow_private_addresses,
        upload_megabytes=given.upload_megabytes,
        votes_per_second=given.votes_per_second,
    )


def run_service(
    config: ServiceConfig,
    *,
    host: str,
    port: int,
    workers: int = 1,
    open_browser: bool = False,
    first: Sequence[str] = (),
) -> None:
    """Serve until stopped; `first`: lines to print before the others once the service answers."""
    here = config.base_url or listen_address(host, port)
    _refuse_taken_port(host, port)
    link = _make_ready(config, here)
    _warn(config, host, workers)
    page = (link or here) if open_browser else None
    lines = [*first, *_lines(here, link, demo=_demo_sentence(config.database) if config.demo else None)]
    news = (host, port, lines + _from_elsewhere(host, port, config.base_url), page)
    threading.Thread(target=_announce_when_up, args=news, daemon=True).start()
    _run(config, host=host, port=port, workers=workers)
    print_lines("Stopped; everything is on disk.")


def _make_ready(config: ServiceConfig, here: str) -> str | None:
    """Create the database if it is new; returns the link for its first owner, None if there is an owner."""
    os.umask(0o077)  # the database holds the key that signs cookies: only its owner may read it
    store = Store(config.database)
    try:
        if _prepared(store):
            print_lines("Database created.")
        remember_address(store, here, now=time.time())
        signing_key(store, now=time.time())  # to check: report an invalid key once, not in every worker
        return _demo_link(store, here) if config.demo else first_owner_link(store, here, now=time.time())
    finally:
        store.close()


def _prepared(store: Store) -> bool:
    """Create the tables of a new database; wait up to DATABASE_WITHIN for a server that is still starting."""
    until, is_announced = time.monotonic() + DATABASE_WITHIN, store.is_sqlite
    while True:
        try:
            return prepare(store)
        except StoreUnavailable:
            if store.is_sqlite or time.monotonic() >= until:  # waiting does not help with a file
                raise
        if not is_announced:
            print(f"quorate: waiting up to {DATABASE_WITHIN} s for the database to answer ...", file=sys.stderr)
            is_announced = True
        time.sleep(DATABASE_EVERY)


def _demo_link(store: Store, here: str) -> str:
    """Fill the demo's database if it is empty; returns the link that signs its owner in."""
    with store.read() as connection:
        names = set(connection.scalars(select(projects.c.name)))
    if names and PROJECT not in names:
        rule = "an empty database, or one of the demo; this one holds your projects"
        raise invalid("database", store.url.render_as_string(), rule, "pass another file, or leave it out.")
    return seed(store, here, now=time.time())


def _run(config: ServiceConfig, *, host: str, port: int, workers: int) -> None:
    os.environ.update(config.to_environment())
    with _shared_metrics(workers):
        uvicorn.run(
            APPLICATION,
            factory=True,
            http=CONNECTION,
            host=host,
            port=port,
            workers=workers,
            log_level="warning",
            access_log=False,  # paths contain one-time links
            proxy_headers=False,  # the service handles them itself: --trust-proxy
            server_header=False,
            timeout_graceful_shutdown=STOP_WITHIN,
        )


@contextlib.contextmanager
def _shared_metrics(workers: int) -> Iterator[None]:
    """A folder in which several workers share their metrics, so that any of them reports the totals."""
    if workers == 1 or METRICS_FOLDER in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="quorate-metrics-", ignore_cleanup_errors=True) as folder:
        os.environ[METRICS_FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[METRICS_FOLDER]


def listen_address(host: str, port: int) -> str:
    """The address under which this machine reaches the service."""
    name = "127.0.0.1" if host in EVERYWHERE else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _warn(config: ServiceConfig, host: str, workers: int) -> None:
    if workers > 1 and as_url(config.database).get_backend_name() == "sqlite":
        words = "SQLite allows one writer at a time, so more workers gain little; use PostgreSQL for many"
        print(f"quorate: {workers} workers on SQLite: {words} (docs/service.md).", file=sys.stderr)
    if not config.is_https and not config.trust_proxy and host not in ("127.0.0.1", "::1", "localhost"):
        print(
            f"quorate: listening on {host} without https: anyone on the network can read votes and cookies. "
            "Put a proxy with TLS in front and pass --base-url https://... --trust-proxy.",
            file=sys.stderr,
        )


def _refuse_taken_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as cause:
            rule = f"a free port of {host} ({cause.strerror})"
            raise invalid("port", port, rule, "choose another `port`.") from cause


def _lines(here: str, link: str | None, *, demo: str | None) -> list[str]:
    """The lines to print once the service answers; `demo`: a sentence on the demo, None if it is not the demo."""
    lines = [f"Serving at {here} (Ctrl-C stops it)"]
    if link is not None:
        use = (
            "see the demo; it works once, within 15 minutes"
            if demo
            else "become the owner; it works once, within 24 hours"
        )
        lines += [f"Open this link to {use}:", f"  {link}"]
    if demo:
        lines.append(demo)
    return lines


def _demo_sentence(database: str) -> str:
    """A sentence on what the demo shows, and how to restart it once every item is closed."""
    store = Store(database)
    try:
        again = f"stop it and delete {store.url.database}" if store.is_sqlite else "use another, empty database"
        over = is_over(store)
    finally:
        store.close()
    if over:
        return f"Nothing is left to vote on: every item of this demo is closed. To start again, {again}."
    return f"Simulated colleagues vote for about a quarter of an hour, until all is closed. To start again, {again}."


def _from_elsewhere(host: str, port: int, base_url: str | None) -> list[str]:
    """The address for colleagues, if it listens to other machines and there is no --base-url."""
    if host not in EVERYWHERE or base_url is not None:
        return []
    name = socket.gethostname()
    return [f"From other machines: http://{name}:{port}; pass it as --base-url to use it in links."]


def _announce_when_up(host: str, port: int, lines: list[str], page: str | None) -> None:
    """Print where to go once the service answers; only once, for any number of workers."""
    address = "127.0.0.1" if host in EVERYWHERE else host
    for _ in range(10 * UP_WITHIN):
        with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1):
            break
        time.sleep(0.1)
    print_lines(*lines)
    sys.stdout.flush()
    if page is not None:
        webbrowser.open(page)

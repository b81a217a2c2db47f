"""`quorate serve`, forked from a process that has imported everything: it is ready within a second.

For tests of a running server. Starting one is tested with a separate process (`tests/quorate_service/cli/serving.py`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.forked_imports"])


class Forked:
    """The command line `quorate ...` in its own process group, with the methods of `subprocess.Popen` it needs."""

    def __init__(
        self, arguments: Sequence[str], *, log: str, environment: Mapping[str, str], folder: str | None = None
    ) -> None:
        self._process = CONTEXT.Process(
            target=_run, args=(list(arguments), log, dict(environment), folder or os.curdir)
        )
        self._process.start()
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("quorate", timeout)
        return self._process.exitcode

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode


def _run(arguments: list[str], log: str, environment: Mapping[str, str], folder: str) -> None:
    os.setsid()
    os.chdir(folder)
    opened = os.open(log, os.O_WRONLY | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(opened, standard)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["quorate", *arguments]
    from quorate.commands.main import main

    main()

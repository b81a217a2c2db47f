"""`quorate serve` as a process of its own: started on a free port, asked over HTTP, stopped as by Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tests.forked import Forked
from tests.processes import free_port, wait_until


class Serving:
    """One service; `with Serving("--database", ...) as service` waits until it is ready to work.

    `forked`: from a process that has imported everything, where it does not matter how it starts.
    """

    def __init__(self, *options: str, folder: Path, ready_within: float = 90.0, forked: bool = False) -> None:
        self.port, self._within, self._log = free_port(), ready_within, folder / "serve.log"
        self.url = f"http://127.0.0.1:{self.port}"
        command = ["serve", "--port", str(self.port), *options]
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("QUORATE_")}
        self._log.write_bytes(b"")
        if forked:
            self.process = Forked(command, log=str(self._log), environment=surroundings, folder=str(folder))
            return
        command = [sys.executable, "-m", "quorate", *command]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=surroundings, cwd=folder)

    def __enter__(self) -> "Serving":
        try:
            wait_until(self._is_ready, "the service is ready", self._within)
        except BaseException:
            self.stop()
            print(self.printed)
            raise
        return self

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.printed
        return "Serving at" in self.printed and self.status("/readyz") == 200

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def printed(self) -> str:
        return self._log.read_text()

    @property
    def links(self) -> list[str]:
        return re.findall(r"http\S+/link/\S+", self.printed)

    def status(self, path: str) -> int:
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code
        except OSError:
            return 0

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)

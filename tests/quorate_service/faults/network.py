"""A proxy that cuts connections in the middle: of a request, or of the answer. Between the client and the server."""

from __future__ import annotations

import contextlib
import random
import socket
import threading


class CuttingProxy:
    """Passes bytes on to a port of this machine; a `share` of the exchanges is cut at a random place."""

    def __init__(self, port: int, *, share: float, seed: int) -> None:
        self.target, self.share, self.num_cut = port, share, 0
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    def __enter__(self) -> CuttingProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.target), timeout=20)
        except OSError:
            client.close()
            return
        both = (client, server)
        threading.Thread(target=self._pass_on, args=(server, client, both), daemon=True).start()
        self._pass_on(client, server, both)

    def _pass_on(self, source: socket.socket, sink: socket.socket, both: tuple[socket.socket, socket.socket]) -> None:
        try:
            while data := source.recv(65536):
                with self._lock:
                    cut = self._chance.random() < self.share / 2  # once on the way there, once on the way back
                    keep = self._chance.randrange(len(data))
                    self.num_cut += cut
                if cut:
                    sink.sendall(data[:keep])
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in both:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

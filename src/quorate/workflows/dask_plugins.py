"""What is told to Dask workers when they start; needs Dask at import, so it is imported only where there is a cluster.

Used by `dask_cluster`, and there by the workers.
"""

from __future__ import annotations

import signal

from distributed import WorkerPlugin


class Undisturbed(WorkerPlugin):
    """Workers started here share our terminal: its Ctrl-C is meant for us, and we end them."""

    def setup(self, worker: object) -> None:
        """Pass over it."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

"""Results on disk, one file a job, named by the content of its design: written whole or not at all, found again later.

`Store.get` and `Store.put` are all there is. A file that cannot be read counts as absent and is made anew. Each file
carries its birth: the design, the package's version and revision, and the checksums of data and code.
"""

from __future__ import annotations

import io
import json
import subprocess
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from zipfile import BadZipFile

import numpy as np

from quorate.compiled import sources_digest
from quorate.experiments.design import Job, digest
from quorate.experiments.outcome import ARRAYS, Outcome
from quorate.version import __version__

_ALSO = ("methods.py", "rng.py", "validate.py", "experiments/runs.py", "experiments/as_published.py")


@cache
def code_digest() -> str:
    """Digest of every source that can change a result."""
    package = Path(__file__).parents[1]
    content = b"".join((package / name).read_bytes() for name in _ALSO)
    return sha256(sources_digest().encode() + content).hexdigest()[:32]


@cache
def revision() -> str:
    """The git revision this code is checked out at, "" outside a repository."""
    folder = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


@dataclass(frozen=True, slots=True)
class Store:
    """The results in one folder. `checksums`: of each data set by its name."""

    folder: Path
    checksums: dict[str, str]

    def path(self, job: Job) -> Path:
        """Where the job's result is or would be."""
        name = digest(job, data=self.checksums[job.data], code=code_digest())
        return self.folder / name[:2] / f"{name}.npz"

    def get(self, job: Job) -> Outcome | None:
        """The stored result; None if there is none, or none that can be read."""
        try:
            with np.load(self.path(job), allow_pickle=False) as archive:
                return Outcome(job=job, **{name: archive[name] for name in ARRAYS})
        except (OSError, ValueError, KeyError, BadZipFile, EOFError):
            return None

    def put(self, outcome: Outcome) -> Path:
        """Store a result: into a temporary file beside its place, then moved there in one step."""
        path = self.path(outcome.job)
        path.parent.mkdir(parents=True, exist_ok=True)
        birth = json.dumps(
            {
                "design": outcome.job.as_dict(),
                "version": __version__,
                "revision": revision(),
                "data": self.checksums[outcome.job.data],
                "code": code_digest(),
            },
            sort_keys=True,
        )
        content = io.BytesIO()
        arrays: dict[str, Any] = outcome.arrays()
        np.savez_compressed(content, birth=np.array(birth), **arrays)
        with NamedTemporaryFile(dir=path.parent, prefix=".half-", delete=False) as half:
            half.write(content.getvalue())
        Path(half.name).replace(path)
        return path

"""A `RunResult` -> a folder of files, whole or not at all. Called by `workflows.run`.

summary.json comes last, so that a folder with a summary is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from quorate.files import write_folder
from quorate.reports.plain_json import plain
from quorate.tables.readers.arrow import arrow_csv, pq
from quorate.validate import broken
from quorate.workflows.params_file import write_params

if TYPE_CHECKING:
    from quorate.workflows.run.result import RunResult

LAST = "summary.json"


def check_free(out: str | Path, *, overwrite: bool) -> Path:
    """The folder to write to: new or empty, or any folder if `overwrite`; never one with files otherwise.

    Its parent is made if it is not there.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise broken("out", str(out), "a folder, not a file", "name another folder.")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        what = "a run" if (folder / LAST).exists() else "files"
        fix = "name another folder, or pass `overwrite=True`."
        raise broken("out", str(out), f"an empty folder; this one holds {what}", fix)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(folder.parent, os.W_OK):  # better said now than after the run
        rule = f"a folder that can be written to, unlike {str(folder.parent)!r}"
        raise broken("out", str(out), rule, "name another folder.")
    return folder


def write_run(result: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write all files of a run; other files in the folder are left alone."""
    return write_folder(folder, {name: partial(write, result) for name, write in FILES.items()})


def _decisions_csv(result: RunResult, path: Path) -> None:
    options = arrow_csv.WriteOptions(quoting_style="needed")
    arrow_csv.write_csv(result.table, str(path), write_options=options)


def _decisions_parquet(result: RunResult, path: Path) -> None:
    pq.write_table(result.table, path, compression="zstd")


def _params(result: RunResult, path: Path) -> None:
    write_params(
        path,
        result.params,
        classes=result.classes,
        models=result.models,
        method=result.last_method,
        pool_size=result.pools.params_pool_size,
        fitted_after=result.outcome.fitted_after,
        pool_rule="largest-recorded" if result.pools.pool_size is None else "given",
        min_votes=result.settings["min_votes"],
        max_votes=result.settings["max_votes"],
        error_costs=result.error_costs,
        accuracy=result.settings["accuracy"],
        abstain_labels=result.settings["abstain_labels"],
    )


def _rejects(result: RunResult, path: Path) -> None:
    result.report.write_rejects(path)


def _report(result: RunResult, path: Path) -> None:
    path.write_text(result.to_html(), encoding="utf-8", newline="\n")


def _summary(result: RunResult, path: Path) -> None:
    text = json.dumps(plain(result.summary()), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


FILES: dict[str, Callable[[RunResult, Path], None]] = {
    "decisions.parquet": _decisions_parquet,
    "decisions.csv": _decisions_csv,
    "rejects.csv": _rejects,
    "params.json": _params,
    "report.html": _report,
    LAST: _summary,
}

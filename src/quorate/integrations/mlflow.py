"""MLflow: `quorate.integrations.mlflow.log(result)` logs a run of `quorate.run`.

Tracking store and experiment are MLflow's own settings: MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME. Needs
`pip install 'quorate[mlflow]'`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorate.commands.run.result import RunResult, write_run
from quorate.errors import MissingExtra
from quorate.reports.format import setting_text
from quorate.version import __version__

MOST_TEXT = 6000  # characters of a parameter that every store of MLflow accepts
PARTS = ("votes", "error", "pools")  # parts of the summary whose numbers are logged as metrics


def log(result: RunResult, *, name: str | None = None) -> str:
    """Log a finished run; returns its id in MLflow. `name`: its name there.

    Settings are parameters; numbers of votes, error and pools are metrics, such as `votes.per_item` and `error.rate`;
    report.html, the decisions and the other files of `quorate run` are artifacts.
    """
    mlflow = _mlflow()
    summary = result.summary()
    with mlflow.start_run(run_name=name, nested=mlflow.active_run() is not None) as run:
        mlflow.set_tag("quorate.version", __version__)
        mlflow.set_tag("mlflow.note.content", result.headline)
        mlflow.log_params(_params(summary))
        mlflow.log_metrics(_metrics(summary))
        with tempfile.TemporaryDirectory() as folder:
            write_run(result, Path(folder))
            mlflow.log_artifacts(folder)
        return str(run.info.run_id)


def _params(summary: Mapping[str, Any]) -> dict[str, str]:
    """The method, its parameters and the settings of a run, as text."""
    method = summary["method"]
    parameters = {f"method.{name}": value for name, value in method.items() if name != "name"}
    logged = {"method": method["name"], **parameters, **summary["settings"]}
    return {key: setting_text(value)[:MOST_TEXT] for key, value in logged.items()}


def _metrics(summary: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of the summary's parts: `votes.per_item`, `error.rate`, ...

    >>> _metrics({"num_items": 2, "votes": {"money": {"spent": 3}}, "error": {"rate": None}, "pools": {}})
    {'num_items': 2.0, 'votes.money.spent': 3.0}
    """
    metrics = {"num_items": float(summary["num_items"])}
    for part in PARTS:
        metrics |= _numbers(part, summary[part])
    return metrics


def _numbers(name: str, value: object) -> dict[str, float]:
    if isinstance(value, Mapping):
        return {key: number for inner in value for key, number in _numbers(f"{name}.{inner}", value[inner]).items()}
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return {}
    return {name: float(value)}


def _mlflow() -> Any:  # noqa: ANN401 - of a library that may not be there
    try:
        import mlflow  # noqa: PLC0415 - optional
    except ImportError as cause:
        raise MissingExtra("MLflow is not installed: pip install 'quorate[mlflow]'") from cause
    return mlflow

"""A run is logged to MLflow's file store and read back."""

import json
from pathlib import Path

import pytest

import quorate
from quorate.datasets import synthetic
from quorate.integrations.mlflow import log

mlflow = pytest.importorskip("mlflow", reason="needs MLflow: pip install 'quorate[mlflow]'")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The file store, in a separate folder."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    mlflow.set_experiment("labels")
    yield mlflow.MlflowClient()
    mlflow.set_tracking_uri(before)


def test_parameters_metrics_report_and_decisions_are_there(store, tmp_path):
    result = quorate.run(synthetic(num_items=40, num_classes=3, pool_size=5, seed=1), price=0.5)
    found = store.get_run(log(result, name="first"))
    summary = result.summary()
    assert found.data.params["method"] == "value" and found.data.params["seed"] == "0"
    assert found.data.metrics["votes.per_item"] == pytest.approx(summary["votes"]["per_item"])
    assert found.data.metrics["error.rate"] == pytest.approx(summary["error"]["rate"])
    assert found.data.metrics["votes.money.spent"] == pytest.approx(summary["votes"]["money"]["spent"])
    files = {each.path for each in store.list_artifacts(found.info.run_id)}
    assert {"report.html", "decisions.csv", "decisions.parquet", "params.json", "summary.json"} <= files
    kept = store.download_artifacts(found.info.run_id, "summary.json", str(tmp_path))
    assert json.loads(Path(kept).read_text())["num_items"] == 40
    assert found.info.status == "FINISHED" and found.info.run_name == "first"

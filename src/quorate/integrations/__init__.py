"""Other libraries: `mlflow.log(result)` logs a run, `inspect_ai` stops epochs early and grades with a panel."""

"""The paper's experiments, and its estimators as published (for comparison only)."""

"""Opened tables and arrays -> checked predictions of classifiers."""

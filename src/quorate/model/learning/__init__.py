"""Votes seen -> parameters: how far the classifier can be trusted."""

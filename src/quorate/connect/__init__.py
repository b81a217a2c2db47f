"""Integrations with other tools: one file or folder per tool, each with its own optional dependency."""

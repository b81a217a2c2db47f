"""Opened tables -> clean votes."""

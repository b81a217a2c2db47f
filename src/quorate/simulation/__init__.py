"""Whole recorded streams in one compiled call, for sweeps; agrees with the session event by event."""

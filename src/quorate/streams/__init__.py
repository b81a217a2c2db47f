"""Whole recorded streams in one compiled call, for sweeps; agrees with the session event by event."""

from quorate.streams.prepare import Stream, prepare
from quorate.streams.simulate import Simulation, simulate

__all__ = ["Simulation", "Stream", "prepare", "simulate"]

"""Recorded streams, run in one compiled call, with the same decisions as a live session."""

from quorate.streams.prepare import Stream, prepare
from quorate.streams.simulate import Simulation, simulate

__all__ = ["Simulation", "Stream", "prepare", "simulate"]

"""Recorded streams, run in one compiled call, with the same decisions as a live session."""

from quorate.streams.control import BudgetControl, Control, at_deepest, at_shallowest, rule_parameter
from quorate.streams.curves import Curve, Point, Reading, difference, in_threads, point_of, swept
from quorate.streams.grid import grid_of, kind_of, label_of, parameter_grid
from quorate.streams.paths import FixedPaths, fixed_paths
from quorate.streams.pools import Order, Pools, PoolSize, build_pools, by_truth, uneven_pools
from quorate.streams.prepared_stream import Stream, prepare
from quorate.streams.replayed_run import ControlReport, ReplayResult, replay
from quorate.streams.runs import CompiledRun, StreamOptions, StreamRun
from quorate.streams.session_run import start_run
from quorate.streams.simulation import Simulation, expected_errors, simulate, simulate_stream
from quorate.streams.swapped import Swap, swapped_columns
from quorate.streams.target_error import AUDIT_RATE, CONFIDENCE_LEVEL, TargetErrorControl

__all__ = ["Simulation", "Stream", "prepare", "simulate"]

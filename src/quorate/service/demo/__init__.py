"""`quorate serve --demo`: a project to look at, and simulated colleagues who vote in it."""

from quorate.service.demo.colleagues import Colleagues
from quorate.service.demo.seed import seed

__all__ = ["Colleagues", "seed"]

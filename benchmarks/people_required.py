"""Every figure that is required of people known by name, in one table: all parts of crowds.py, then of panels.py.

`QUORATE_DATA=folder python benchmarks/people_required.py`, or `make bench-people` (half an hour). Ends with 1 if a
figure is missed.
"""

from __future__ import annotations

import crowds
import panels
from required import Required


def main():
    """Both files print what they measure; the table of all required figures comes last."""
    required = Required()
    for each in (crowds, panels):
        each.measure(required, [])
    required.end()


if __name__ == "__main__":
    main()

"""Files of this folder that are not tests."""

collect_ignore = ["jumping"]  # read by the Python of a server whose clock jumps

"""What of this folder is no test."""

collect_ignore = ["jumping"]  # read by the Python of a server whose clock jumps

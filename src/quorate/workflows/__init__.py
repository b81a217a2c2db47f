"""What the commands do, as library functions."""

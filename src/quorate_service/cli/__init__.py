"""The commands `quorate serve`, `quorate service` and `quorate connect`."""

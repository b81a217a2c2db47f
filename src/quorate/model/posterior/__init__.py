"""alpha and the votes seen -> who will win the pool."""

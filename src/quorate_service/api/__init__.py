"""The HTTP interface: JSON in, JSON out, problems as problem+json."""

"""Projects, items, votes and leases on top of the session core, without HTTP."""

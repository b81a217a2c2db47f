"""Who may do what: accounts, keys, invitations, signed cookies, rate limits."""

"""Label Studio: what to do on both sides, as plain functions of their states."""

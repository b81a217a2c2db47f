"""Projects whose front end is Label Studio: connect, keep in sync, and restore the tasks on disconnecting."""

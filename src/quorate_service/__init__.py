"""The service: items and votes come in over HTTP, the session core decides, a database keeps every event."""

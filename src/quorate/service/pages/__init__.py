"""The pages for voters and owners, rendered on the server."""

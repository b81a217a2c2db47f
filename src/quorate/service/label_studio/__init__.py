"""Projects whose front end is Label Studio: attached, kept in line with it, and given back as they were."""

"""Reports for people: their parts, templates, plots, small charts and number formats."""

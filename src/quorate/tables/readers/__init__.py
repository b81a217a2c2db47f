"""Files and frames -> columns in batches."""

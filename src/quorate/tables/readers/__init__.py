"""Files and frames -> named columns, read in batches of bounded size."""

"""What people look at: plots, styles and small charts shared by all reports."""

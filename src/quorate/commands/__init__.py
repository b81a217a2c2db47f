"""The commands as library functions: one folder or file per command; `cli` parses the arguments and prints."""

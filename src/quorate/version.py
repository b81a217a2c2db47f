"""The version, in one place: the package, the journals, the reports and the command line all read it here."""

__version__ = "0.3.0"

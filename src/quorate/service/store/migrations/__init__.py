"""How the tables came to be, one file for each step; `upgrade` runs the ones a database has not had.

A change of `schema.py` after a release comes with a new file here: `revision` is the next number, `down_revision` the
one before. What a released file does is never changed.
"""

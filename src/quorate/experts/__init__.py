"""The people behind the votes: how far they agree, how good each one is, and who votes carelessly.

`ballots` holds votes with the person of each; `agreement` measures a panel without a model; `crowd` learns online how
good each person is and what the true class behind the votes is.
"""

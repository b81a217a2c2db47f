"""The people behind the votes: how far they agree, how good each one is, and who votes carelessly.

`ballots` are votes with their voters; `agreement` measures agreement without a model; `crowd` learns online how good
each person is and what the true class behind the votes is; `panel` learns how each member votes and plans whom to ask.
"""

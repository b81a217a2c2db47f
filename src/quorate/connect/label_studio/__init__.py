"""Label Studio: what a project and its tasks say, and what to change there and here. `service` keeps the state.

`labelling` reads the classes, `tasks` what the API answers, `client` talks to it, `plan` says what is to be done.
"""

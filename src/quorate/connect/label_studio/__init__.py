"""Label Studio: reads projects and tasks, and plans what to change there and here. `service` stores the state.

`labelling` reads the classes, `tasks` the API's responses, `client` sends requests, `plan` computes what to do.
"""

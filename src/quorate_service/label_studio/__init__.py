"""Label Studio: reads projects and tasks, and plans what to change there and here. `service` stores the state.

`client` sends requests, `tasks` reads the responses, `plan` computes what to do, `settings` says how to read a project.
"""

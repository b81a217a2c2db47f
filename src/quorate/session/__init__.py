"""The online session: events are journalled, then applied; the state is a fold over them."""

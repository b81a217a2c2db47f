"""Pages for people: voting, the owner's dashboard, items, settings; no build step, nothing from elsewhere.

`app` includes `router` and hands `problem_page` to `problems.install`.
"""

from quorate.service.pages.failures import problem_page
from quorate.service.pages.router import router

__all__ = ["problem_page", "router"]

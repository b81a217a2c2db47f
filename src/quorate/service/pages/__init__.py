"""Pages for people: voting, the owner's dashboard, items, settings; no build step, nothing from elsewhere.

`app` includes `router` and hands `error_page` to `problems.install`.
"""

from quorate.service.pages.rendering import error_page
from quorate.service.pages.router import router

__all__ = ["error_page", "router"]

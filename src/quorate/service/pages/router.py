"""All pages as one router, for `app`."""

from __future__ import annotations

from fastapi import APIRouter

from quorate.service.pages import dashboard, data, entrance, items, people, projects, static_files, voter

router = APIRouter(include_in_schema=False)
for each in (static_files, entrance, voter, dashboard, items, projects, people, data):
    router.include_router(each.router)

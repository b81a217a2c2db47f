"""Telling others what happened: signed requests to addresses that owners chose, sent until they are taken."""

"""Errors whose message is for whoever asked, each with what the web and the commands answer to it."""

from __future__ import annotations


class Refusal(Exception):
    """`status` and `code` are what pages and the API answer, `exit_code` is what a command ends with."""

    status, code, exit_code = 400, "bad_request", 1


class NotThere(Refusal, LookupError):
    """Nothing has that name, number or place."""

    status, code = 404, "not_found"


class NotPossible(Refusal, RuntimeError):
    """It cannot be done here, or not now."""


class BadInput(Refusal, ValueError):
    """What was given cannot be taken."""


class WrongUse(BadInput):
    """What was given cannot be meant: a command was used wrongly."""

    exit_code = 2

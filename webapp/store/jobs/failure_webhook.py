"""Tells a program of the operator's of new failure groups: signed, retried, and noted where it could not be delivered.

The address comes from the settings alone. What there is to tell the groups say each time anew; what was told is saved
in the database, so that nothing is sent twice, after a restart or by another machine.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import logging
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import __version__
from webapp.config import Settings
from webapp.store import saved
from webapp.store.db import database, locks
from webapp.store.failures import groups
from webapp.store.failures.group import Group
from webapp.store.sessions.filters import Filters

MOST_GROUPS, MOST_KNOWN = 500, 20_000
MOST_TRIES = 12
FIRST_WAIT, LONGEST_WAIT = 30.0, 3600.0
"""seconds between tries: twice as long each time"""
TIMEOUT = 10.0
KIND = "webhook"
_log = logging.getLogger(__name__)
State = dict[str, Any]
"""`known`, the ids of what was told; `late`, by id the `tries`, when the next is `due`, and the last `error`; `lost`,
how many were given up"""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The operator named one address: nobody behind it names another."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


def deliver(engine: sa.Engine, settings: Settings, now: datetime | None = None) -> None:
    """Send what is new among the groups and was not told; what becomes of each is written down before the next. Without
    an address in the settings nothing."""
    if not settings.webhook:
        return
    now = now or datetime.now(UTC)
    with locks.hold(engine, settings.data, KIND) as mine:
        if not mine:
            return
        with orm.Session(engine) as db:
            found = groups.page(db, Filters(), limit=MOST_GROUPS, now=now).groups
        state, bodies = _state(engine), {number: body for group in found for number, body in alerts(group)}
        late = {number: tried for number, tried in state["late"].items() if number in bodies}
        if late != state["late"]:
            state["late"] = late
            _keep(engine, state)
        known = {*state["known"]}
        for number in bodies:
            if number not in known and state["late"].get(number, {"due": 0})["due"] <= now.timestamp():
                _tell(number, bodies[number], state, settings, now)
                _keep(engine, state)


def trouble(engine: sa.Engine, settings: Settings) -> str | None:
    """What could not be delivered, in words; None where there is nothing to say."""
    if not settings.webhook:
        return None
    state = _state(engine)
    errors = [tried["error"] for tried in state["late"].values()]
    words = [f"{len(errors):,} not delivered yet ({errors[0]})"] if errors else []
    words += [f"{state['lost']:,} given up after {MOST_TRIES} tries"] if state["lost"] else []
    return f"Alerts to the webhook: {', '.join(words)}." if words else None


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """`sha256=…`: the HMAC of the timestamp, a full stop and the body."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def alerts(group: Group) -> Iterator[tuple[str, dict[str, Any]]]:
    """What there is to tell of a group: by an id what is sent, with the model where it is new on one."""
    fields = {name: getattr(group, name) for name in ("key", "title", "count", "sessions", "share", "why")}
    fields |= {name: getattr(group, name).isoformat() for name in ("first_seen", "last_seen")}
    if group.state == "regressed" and group.event is not None:
        yield f"regressed:{group.event.id}:{group.key}", {"event": "regressed", "model": None, **fields}
    if group.state not in ("open", "regressed"):
        return
    if group.is_new:
        yield f"new:{group.key}", {"event": "new", "model": None, **fields}
    for model in group.new_models:
        yield f"new on model:{model}:{group.key}", {"event": "new on model", "model": model, **fields}


def _tell(number: str, body: dict[str, Any], state: State, settings: Settings, now: datetime) -> None:
    """Send an alert: it is known where it was taken or was tried often enough, else it has its next time."""
    tries = state["late"].pop(number, {"tries": 0})["tries"] + 1
    error = _post(body, settings, now)
    if error is not None and tries < MOST_TRIES:
        due = now.timestamp() + min(LONGEST_WAIT, FIRST_WAIT * 2 ** (tries - 1))
        state["late"][number] = {"tries": tries, "due": due, "error": error}
        return
    state["known"] = [*state["known"], number][-MOST_KNOWN:]
    if error is not None:
        state["lost"] += 1
        _log.error("webhook: given up on %s: %s", body["key"], error)


def _post(body: dict[str, Any], settings: Settings, now: datetime) -> str | None:
    """Send one alert; what went wrong, None where it was taken."""
    data, timestamp = json.dumps(body).encode("ascii"), str(int(now.timestamp()))
    request = urllib.request.Request(settings.webhook or "", data, method="POST")  # noqa: S310 - http or https, by the settings
    request.add_header("Content-Type", "application/json")
    request.add_header("User-Agent", f"fencepost/{__version__}")
    request.add_header("X-Fencepost-Timestamp", timestamp)
    request.add_header("X-Fencepost-Signature", signature(settings.webhook_secret or "", timestamp, data))
    try:
        with _opener.open(request, timeout=TIMEOUT) as answer:
            return None if 200 <= answer.status < 300 else f"it answered {answer.status}"
    except urllib.error.HTTPError as error:
        error.close()
        return f"it answered {error.code}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"no answer: {getattr(error, 'reason', None) or error or type(error).__name__}"


def _state(engine: sa.Engine) -> State:
    with engine.connect() as connection:
        item = saved.find(connection, KIND, KIND)
    return {"known": [], "late": {}, "lost": 0} | ({} if item is None else item.content)


def _keep(engine: sa.Engine, state: State) -> None:
    with database.writing(engine) as connection:
        saved.put(connection, KIND, KIND, state)

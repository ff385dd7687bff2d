"""Tells a program of the operator's of new failure groups: signed, retried, and noted where it could not be delivered.

The address comes from the settings alone. What was sent is saved in the database, so that nothing is sent twice, after
a restart or by another machine.
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
from webapp.store.failures.group_line import GroupLine
from webapp.store.sessions.filters import Filters

MOST_GROUPS, MOST_KNOWN = 500, 20_000
MOST_TRIES = 12
FIRST_WAIT, LONGEST_WAIT = 30.0, 3600.0
"""seconds between tries: twice as long each time"""
TIMEOUT = 10.0
KIND = "webhook"
_log = logging.getLogger(__name__)
State = dict[str, Any]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The operator named one address: nobody behind it names another."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


def deliver(engine: sa.Engine, settings: Settings, now: datetime | None = None) -> None:
    """Note what is new among the groups and send what is due; without an address in the settings nothing."""
    if not settings.webhook:
        return
    now = now or datetime.now(UTC)
    with locks.hold(engine, settings.data, KIND) as mine:
        if not mine:
            return
        state = _state(engine)
        with orm.Session(engine) as db:
            lines = groups.page(db, Filters(), limit=MOST_GROUPS, now=now).groups
        if _note(state, lines, now):
            _keep(engine, state)
        _send_due(engine, state, settings, now)


def trouble(engine: sa.Engine, settings: Settings) -> str | None:
    """What could not be delivered, in words; None where there is nothing to say."""
    if not settings.webhook:
        return None
    state = _state(engine)
    late = [alert for alert in state["pending"] if alert["error"]]
    words = [f"{len(late):,} not delivered yet ({late[0]['error']})"] if late else []
    words += [f"{state['lost']:,} given up after {MOST_TRIES} tries"] if state["lost"] else []
    return f"Alerts to the webhook: {', '.join(words)}." if words else None


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """`sha256=…`: the HMAC of the timestamp, a full stop and the body."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def alerts(line: GroupLine) -> Iterator[tuple[str, str, str | None]]:
    """What there is to tell of a group: an id, the kind, and the model where it is new on one."""
    if line.state == "regressed" and line.event is not None:
        yield f"regressed:{line.event.id}:{line.key}", "regressed", None
    if line.state not in ("open", "regressed"):
        return
    if line.is_new:
        yield f"new:{line.key}", "new", None
    for model in line.new_models:
        yield f"new on model:{model}:{line.key}", "new on model", model


def _note(state: State, lines: list[GroupLine], now: datetime) -> bool:
    """Note what there is to tell that was not told before; whether there was any."""
    known_keys = set(state["known"])
    new = [(line, *alert) for line in lines for alert in alerts(line) if alert[0] not in known_keys]
    for line, number, kind, model in new:
        state["known"].append(number)
        body = _body(line, kind, model)
        state["pending"].append({"body": body, "tries": 0, "due": now.timestamp(), "error": None})
    state["known"] = state["known"][-MOST_KNOWN:]
    return bool(new)


def _body(line: GroupLine, kind: str, model: str | None) -> dict[str, Any]:
    fields = {name: getattr(line, name) for name in ("key", "title", "count", "sessions", "share", "why")}
    times = {name: getattr(line, name).isoformat() for name in ("first_seen", "last_seen")}
    return {"event": kind, "model": model, **fields, **times}


def _send_due(engine: sa.Engine, state: State, settings: Settings, now: datetime) -> None:
    """Send what is due, one after the other; what became of each is written down before the next."""
    for alert in [alert for alert in state["pending"] if alert["due"] <= now.timestamp()]:
        if _is_over(alert, state, settings, now):
            state["pending"].remove(alert)
        _keep(engine, state)


def _is_over(alert: dict[str, Any], state: State, settings: Settings, now: datetime) -> bool:
    """Send an alert; whether it was taken, or was tried often enough. Else it has its next time."""
    alert["error"] = _post(alert["body"], settings, now)
    if alert["error"] is None:
        return True
    alert["tries"] += 1
    if alert["tries"] >= MOST_TRIES:
        state["lost"] += 1
        _log.error("webhook: given up on %s: %s", alert["body"]["key"], alert["error"])
        return True
    alert["due"] = now.timestamp() + min(LONGEST_WAIT, FIRST_WAIT * 2 ** (alert["tries"] - 1))
    return False


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
    return {"known": [], "pending": [], "lost": 0} if item is None else item.content


def _keep(engine: sa.Engine, state: State) -> None:
    with database.writing(engine) as connection:
        saved.put(connection, KIND, KIND, state)

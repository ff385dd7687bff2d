"""What a server writes to its log: text for people, or a JSON object a line for programs, by `FENCEPOST_LOG`."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pythonjsonlogger.json import JsonFormatter

STYLES = ("text", "json")
_FIELDS = {"asctime": "time", "levelname": "level", "name": "logger"}


def configure(style: str) -> None:
    """Have every record go to standard error in that style; `text` leaves Python's own way as it is."""
    if style != "json":
        return
    handler = logging.StreamHandler()
    handler.setFormatter(json_formatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)  # names its plugins at each start
    logging.captureWarnings(True)


def json_formatter() -> JsonFormatter:
    """Makes one JSON object a line of a record."""
    from pythonjsonlogger.json import JsonFormatter  # of the extra `server`; `fencepost --help` reads `STYLES` alone

    formatter = JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields=_FIELDS)
    formatter.default_time_format, formatter.default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03dZ"
    formatter.converter = time.gmtime
    return formatter


def use_for_celery(style: str) -> None:
    """Keep Celery from setting up a log of its own, where records are to be JSON."""
    if style == "json":
        from celery import signals

        signals.setup_logging.connect(lambda **_: None, weak=False)
        logging.getLogger("celery").setLevel(logging.WARNING)

"""What a server writes to its log: text for people, or a JSON object a line for programs, by `FENCEPOST_LOG`."""

from __future__ import annotations

import logging
import time

from pythonjsonlogger.json import JsonFormatter

STYLES = ("text", "json")
_FIELDS = {"asctime": "time", "levelname": "level", "name": "logger"}


def configure(style: str) -> None:
    """Have every record go to standard error in that style; `text` leaves Python's own way as it is."""
    if style != "json":
        return
    formatter = JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields=_FIELDS)
    formatter.default_time_format, formatter.default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03dZ"
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)

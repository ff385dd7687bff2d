"""Settings for gunicorn, `gunicorn --config python:webapp.gunicorn_config …`: its own lines as `FENCEPOST_LOG` says."""

from __future__ import annotations

import os
from typing import Any

_OF_ITS_OWN = {"level": "INFO", "handlers": ["stderr"], "propagate": False}
logconfig_dict: dict[str, Any] = {}
if os.environ.get("FENCEPOST_LOG") == "json":
    logconfig_dict = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "webapp.logs.json_formatter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"level": "INFO", "handlers": ["stderr"]},
        "loggers": {"gunicorn.error": _OF_ITS_OWN, "gunicorn.access": _OF_ITS_OWN},
    }

"""Settings: everything that can be set from outside, read once from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from webapp import paths


class BadSetting(ValueError):
    """A setting cannot be read; the message names the variable and what it takes."""


MEGABYTE = 1024 * 1024
DEFAULT_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Settings:
    """One value a `FENCEPOST_…` variable; `describe` lists them with their help."""

    data: Path
    database: str
    home: str = "fencepost"
    token: str | None = None
    trusted_hosts: tuple[str, ...] = DEFAULT_HOSTS
    max_upload: int = 1024 * MEGABYTE
    max_dump: int = 4096 * MEGABYTE

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read `FENCEPOST_*`; raises `BadSetting`."""
        data = Path(environ.get("FENCEPOST_DATA") or paths.default_data()).expanduser().absolute()
        hosts = environ.get("FENCEPOST_TRUSTED_HOSTS")
        return cls(
            data=data,
            database=environ.get("FENCEPOST_DATABASE") or f"sqlite:///{data / 'fencepost.sqlite3'}",
            home=environ.get("FENCEPOST_HOME") or "fencepost",
            token=environ.get("FENCEPOST_TOKEN") or None,
            trusted_hosts=(*DEFAULT_HOSTS, *_words(hosts)) if hosts else DEFAULT_HOSTS,
            max_upload=_megabytes(environ, "FENCEPOST_MAX_UPLOAD", 1024),
            max_dump=_megabytes(environ, "FENCEPOST_MAX_DUMP", 4096),
        )

    def environment(self) -> dict[str, str]:
        """The variables that give another process of ours the same database, data and limits."""
        return {
            "FENCEPOST_DATA": str(self.data),
            "FENCEPOST_DATABASE": self.database,
            "FENCEPOST_HOME": self.home,
            "FENCEPOST_MAX_DUMP": str(max(1, self.max_dump // MEGABYTE)),
        }


HELP = {
    "data": "folder for the database, kept dumps and written session dumps",
    "database": "SQLAlchemy URL; SQLite in the data folder, or postgresql+psycopg://…",
    "home": "home profile of sessions whose dump and format name none",
    "token": "access token; without one only loopback is served",
    "trusted_hosts": "further host names to answer to, comma-separated",
    "max_upload": "largest upload as sent, in megabytes (1024)",
    "max_dump": "largest dump once decompressed, in megabytes (4096)",
}


def describe() -> list[tuple[str, str]]:
    """Every setting's variable and help, in order."""
    return [(f"FENCEPOST_{field.name.upper()}", HELP[field.name]) for field in fields(Settings)]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _megabytes(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name)
    if not text:
        return default * MEGABYTE
    if not text.isdecimal() or int(text) == 0:
        raise BadSetting(f"{name} takes a whole number of megabytes above 0, not {text!r}")
    return int(text) * MEGABYTE

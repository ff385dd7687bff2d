"""Settings: everything that can be set from outside, read once from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webapp import account_settings, logs, paths
from webapp.account_settings import BadSetting as BadSetting
from webapp.capture import specs
from webapp.extras import install_extra

KILOBYTE = 1024
MEGABYTE = 1024 * KILOBYTE
SHORTEST_TOKEN = 16
"""characters: `fencepost token` makes longer ones"""
SHORTEST_SECRET_KEY = 32
ROLES = ("all-in-one", "web", "worker")
MOST_POOLED = 200
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+")
DEFAULT_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Settings:
    """One value a `FENCEPOST_…` variable; `describe` lists them with their help."""

    data: Path
    database: str
    home: str = "unknown"
    token: str | None = None
    trusted_hosts: tuple[str, ...] = DEFAULT_HOSTS
    max_upload: int = 1024 * MEGABYTE
    max_dump: int = 4096 * MEGABYTE
    secure: bool = False
    durable: bool = False
    findings: Path | None = None
    webhook: str | None = None
    webhook_secret: str | None = None
    profiles: tuple[str, ...] = ()
    log: str = "text"
    secret_key: str | None = None
    role: str = ROLES[0]
    prefix: str = ""
    """path under which browsers reach the pages, `/fencepost`; empty: none"""
    store: str | None = None
    broker: str | None = None
    queue: str = "fencepost"
    pool: int | None = None
    """connections to PostgreSQL that a process keeps open; None: `database.POOLED`"""
    export_days: int = 7
    accounts: bool = False
    newcomers: str = "none"
    proxies: tuple[str, ...] = ()
    proxy_header: str | None = None
    oidc_issuer: str | None = None
    oidc_client: str | None = None
    oidc_secret: str | None = None

    @property
    def asks_login(self) -> bool:
        """Whether pages and the API are for those alone who say who they are."""
        return self.accounts or self.token is not None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read `FENCEPOST_*`; raises `BadSetting`."""
        data = Path(environ.get("FENCEPOST_DATA") or paths.default_data()).expanduser().absolute()
        hosts = environ.get("FENCEPOST_TRUSTED_HOSTS")
        return cls(
            data=data,
            database=environ.get("FENCEPOST_DATABASE") or f"sqlite:///{data / 'fencepost.sqlite3'}",
            home=environ.get("FENCEPOST_HOME") or "unknown",
            token=_secret(environ, "FENCEPOST_TOKEN", SHORTEST_TOKEN),
            trusted_hosts=(*DEFAULT_HOSTS, *_words(hosts)) if hosts else DEFAULT_HOSTS,
            max_upload=_megabytes(environ, "FENCEPOST_MAX_UPLOAD", 1024),
            max_dump=_megabytes(environ, "FENCEPOST_MAX_DUMP", 4096),
            secure=_switch(environ, "FENCEPOST_SECURE"),
            durable=_switch(environ, "FENCEPOST_DURABLE"),
            findings=_findings(environ),
            webhook=_webhook(environ),
            webhook_secret=environ.get("FENCEPOST_WEBHOOK_SECRET") or None,
            profiles=_profiles(environ),
            log=_one_of(environ, "FENCEPOST_LOG", logs.STYLES),
            secret_key=_secret(environ, "FENCEPOST_SECRET_KEY", SHORTEST_SECRET_KEY),
            role=_role(environ),
            prefix=_prefix(environ),
            store=_store(environ),
            broker=_broker(environ),
            queue=environ.get("FENCEPOST_QUEUE") or "fencepost",
            pool=_pool(environ),
            export_days=_number(environ, "FENCEPOST_EXPORT_DAYS", 7, "a number of days from 1 to 3650", 1, 3650),
            **_access(environ),
        )

    def environment(self) -> dict[str, str]:
        """The variables that give another process of ours the same database, data and limits."""
        as_they_are = ("data", "database", "home", "log", "export_days", "findings", "pool")
        values = {name: getattr(self, name) for name in as_they_are}
        values |= {"max_dump": max(1, self.max_dump // MEGABYTE), "durable": int(self.durable)}
        values["store"] = self.store or ""
        return {f"FENCEPOST_{name.upper()}": str(value) for name, value in values.items() if value is not None}


HELP = {
    "data": "folder for the database, stored logs and written session dumps",
    "database": "SQLAlchemy URL; SQLite in the data folder, or postgresql+psycopg://…",
    "home": "default parser, if no log, format or rule names one; unset: unknown",
    "token": "access token of 16 characters or more (fencepost token makes one); without one only loopback is served",
    "trusted_hosts": "additional host names that the server accepts, comma-separated",
    "max_upload": "largest upload as sent, in megabytes (1024)",
    "max_dump": "largest log once decompressed, in megabytes (4096)",
    "secure": "1 if browsers use HTTPS: cookies are then sent over HTTPS only",
    "durable": "1: SQLite syncs to disk at each commit; slower, but a power cut loses no commit",
    "findings": "TOML file with your own findings (docs/findings.md); unset: only Fencepost's rules",
    "webhook": "http(s) URL that receives new failure groups (docs/failures.md)",
    "webhook_secret": "secret that signs those requests, 16 characters or more",
    "profiles": "your own parsers, comma-separated: pkg.mod:function, pkg.mod:function@/their/python, cmd:…, name=…",
    "log": "json: one JSON object a line on standard error, including each request; unset: text, without requests",
    "secret_key": "key that signs logins, 32 characters or more, the same on each machine; unset: generated once",
    "role": "all-in-one; web: pages only, workers do the work; worker: no pages, works for a PostgreSQL database",
    "prefix": "path under which a proxy serves the pages, like /fencepost; unset: none",
    "broker": "amqp://… or redis://…: Celery passes jobs to workers; unset: they poll the database",
    "queue": "name of the broker's queue, if other programs use it too; unset: fencepost",
    "pool": "connections to PostgreSQL that a process keeps open, 1 to 200 (5), plus 10 when needed",
    "store": "fsspec URL for stored logs, uploads and session dumps, such as s3://bucket/fencepost; unset: data",
    "export_days": "number of days after which a background export is removed (7)",
    "accounts": "1: everybody needs an account (fencepost user add; docs/accounts.md)",
    "newcomers": "role of people who sign in by OpenID or proxy without an account: none (refused), reader or labeler",
    "proxies": "addresses or networks of the proxies to trust, comma-separated",
    "proxy_header": "header in which those proxies name the account, such as X-Remote-User",
    "oidc_issuer": "address of an OpenID provider that people sign in with",
    "oidc_client": "this server's client id at that provider",
    "oidc_secret": "this server's client secret at that provider",
}


def describe() -> list[tuple[str, str]]:
    """Every setting's variable and help, in order."""
    return [(f"FENCEPOST_{field.name.upper()}", HELP[field.name]) for field in fields(Settings)]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _profiles(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the configured parsers, those of the nearest pyproject.toml among them."""
    try:
        specs.schemas()
        if specs.tools():
            from webapp.dumps.tools_file import configured

            configured()
        return tuple(specs.configured(environ))
    except specs.BadSpec as bad:
        raise BadSetting(str(bad)) from None


def _secret(environ: Mapping[str, str], name: str, shortest: int) -> str | None:
    secret = environ.get(name) or None
    if secret is not None and len(secret) < shortest:
        raise BadSetting(f"{name} takes {shortest} characters or more; fencepost token makes one")
    return secret


def _webhook(environ: Mapping[str, str]) -> str | None:
    url, secret = environ.get("FENCEPOST_WEBHOOK") or None, environ.get("FENCEPOST_WEBHOOK_SECRET") or ""
    if url is None:
        return None
    if not url.lower().startswith(("http://", "https://")) or not url.isprintable() or " " in url:
        raise BadSetting(
            f"FENCEPOST_WEBHOOK must be an address that begins with http:// or https://, not {url[:100]!r}"
        )
    if len(secret) < SHORTEST_TOKEN:
        raise BadSetting(f"FENCEPOST_WEBHOOK needs FENCEPOST_WEBHOOK_SECRET, {SHORTEST_TOKEN} characters or more")
    return url


def _findings(environ: Mapping[str, str]) -> Path | None:
    """The file of findings of one's own, read once here so that what is wrong with it is said at the start."""
    file_name = environ.get("FENCEPOST_FINDINGS")
    if not file_name:
        return None
    from webapp.findings import own  # most starts have none, and --help needs it as little

    path = Path(file_name).expanduser().absolute()
    try:
        own.refuse_taken_names(own.load(path))
    except own.BadFindings as bad:
        raise BadSetting(f"FENCEPOST_FINDINGS: {bad}") from None
    return path


def _one_of(environ: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    """The first of the values where none is named."""
    value = environ.get(name) or values[0]
    if value not in values:
        raise BadSetting(f"{name} takes {', '.join(values[:-1])} or {values[-1]}, not {value!r}")
    return value


def _is_on_postgresql(environ: Mapping[str, str]) -> bool:
    return (environ.get("FENCEPOST_DATABASE") or "").startswith("postgresql")


def _role(environ: Mapping[str, str]) -> str:
    role = _one_of(environ, "FENCEPOST_ROLE", ROLES)
    if role != ROLES[0] and not _is_on_postgresql(environ):
        raise BadSetting(f"FENCEPOST_ROLE={role} needs FENCEPOST_DATABASE on PostgreSQL: SQLite is one machine's")
    return role


def _prefix(environ: Mapping[str, str]) -> str:
    prefix = (environ.get("FENCEPOST_PREFIX") or "").rstrip("/")
    if prefix and not _PREFIX.fullmatch(prefix):
        raise BadSetting(
            f"FENCEPOST_PREFIX must be a path of letters, digits and . _ - like /fencepost, not {prefix!r}"
        )
    return prefix


def _broker(environ: Mapping[str, str]) -> str | None:
    url = environ.get("FENCEPOST_BROKER") or None
    if url is not None and not url.startswith(("amqp://", "amqps://", "redis://", "rediss://")):
        raise BadSetting(f"FENCEPOST_BROKER must be amqp://… or redis://…, not {url.partition('://')[0][:20]!r}")
    if url is not None and not _is_on_postgresql(environ):
        raise BadSetting("FENCEPOST_BROKER needs FENCEPOST_DATABASE on PostgreSQL: SQLite has one worker")
    if url is not None and find_spec("celery") is None:
        raise BadSetting(f"FENCEPOST_BROKER needs Celery: {install_extra('broker')}")
    return url


def _pool(environ: Mapping[str, str]) -> int | None:
    if not environ.get("FENCEPOST_POOL"):
        return None
    pool = _number(environ, "FENCEPOST_POOL", 1, f"a whole number from 1 to {MOST_POOLED}", 1, MOST_POOLED)
    if not _is_on_postgresql(environ):
        raise BadSetting("FENCEPOST_POOL needs FENCEPOST_DATABASE on PostgreSQL: it has no effect on SQLite")
    return pool


def _store(environ: Mapping[str, str]) -> str | None:
    url = environ.get("FENCEPOST_STORE") or None
    if url is not None and ("://" not in url or not url.isprintable()):
        raise BadSetting(f"FENCEPOST_STORE must be an fsspec URL, such as s3://bucket/folder, not {url[:100]!r}")
    return url


def _access(environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings of accounts, which do nothing without FENCEPOST_ACCOUNTS=1 and are refused then."""
    is_on = _switch(environ, "FENCEPOST_ACCOUNTS")
    return {"accounts": is_on, **account_settings.read(environ, is_on=is_on)}


def _number(
    environ: Mapping[str, str], name: str, default: int, words: str, least: int = 0, most: int = 10**18 - 1
) -> int:
    text = environ.get(name) or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and least <= int(text) <= most):
        raise BadSetting(f"{name} must be {words}, not {text[:100]!r}")
    return int(text)


def _switch(environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(name) or "0"
    if text not in ("0", "1"):
        raise BadSetting(f"{name} must be 0 or 1, not {text!r}")
    return text == "1"


def _megabytes(environ: Mapping[str, str], name: str, default: int) -> int:
    return _number(environ, name, default, "a whole number of megabytes above 0", 1) * MEGABYTE

"""Settings: everything that can be set from outside, read once from the environment."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webapp import installation, logs
from webapp.capture import specs
from webapp.installation import install_extra
from webapp.refusals import WrongUse

KILOBYTE = 1024
MEGABYTE = 1024 * KILOBYTE
SHORTEST_TOKEN = 16
"""characters: `fencepost token` makes longer ones"""
SHORTEST_SECRET_KEY = 32
ROLES = ("all-in-one", "web", "worker")
NEWCOMERS = ("none", "reader", "labeler")
"""roles for who comes without an account; an admin is made by hand alone"""
MOST_POOLED = 200
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+")
DEFAULT_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_OIDC = ("oidc_issuer", "oidc_client", "oidc_secret")
_OF_ACCOUNTS = ("newcomers", "proxies", "proxy_header", *_OIDC)


class BadSetting(WrongUse):
    """A setting cannot be read; the message names the variable and what it takes."""


def _path(variable: str, text: str) -> Path:
    return Path(text).expanduser().absolute()


def _words(variable: str, text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _hosts(variable: str, text: str) -> tuple[str, ...]:
    return (*DEFAULT_HOSTS, *_words(variable, text))


def _networks(variable: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ipaddress.ip_network(word)) for word in _words(variable, text))
    except ValueError as error:
        raise BadSetting(f"{variable} must be addresses or networks such as 10.0.0.0/8: {error}") from None


def _secret(shortest: int, variable: str, text: str) -> str:
    if len(text) < shortest:
        raise BadSetting(f"{variable} takes {shortest} characters or more; fencepost token makes one")
    return text


def _one_of(values: tuple[str, ...], variable: str, text: str) -> str:
    if text not in values:
        raise BadSetting(f"{variable} takes {', '.join(values[:-1])} or {values[-1]}, not {text!r}")
    return text


def _switch(variable: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise BadSetting(f"{variable} must be 0 or 1, not {text!r}")
    return text == "1"


def _number(words: str, least: int, most: int, variable: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and least <= int(text) <= most):
        raise BadSetting(f"{variable} must be {words}, not {text[:100]!r}")
    return int(text)


def _megabytes(variable: str, text: str) -> int:
    return _number("a whole number of megabytes above 0", 1, 10**18 - 1, variable, text) * MEGABYTE


def _matching(pattern: str, words: str, variable: str, text: str) -> str:
    """A text that has the form that `words` tell."""
    if not re.fullmatch(pattern, text) or not text.isprintable():
        raise BadSetting(f"{variable} must be {words}, not {text[:100]!r}")
    return text


def _prefix(variable: str, text: str) -> str:
    prefix = text.rstrip("/")
    if prefix and not _PREFIX.fullmatch(prefix):
        raise BadSetting(f"{variable} must be a path of letters, digits and . _ - like /fencepost, not {prefix!r}")
    return prefix


def _broker(variable: str, text: str) -> str:
    if not text.startswith(("amqp://", "amqps://", "redis://", "rediss://")):
        raise BadSetting(f"{variable} must be amqp://… or redis://…, not {text.partition('://')[0][:20]!r}")
    return text


_HTTP = partial(_matching, r"(?i)https?://[^ ]*", "an address that begins with http:// or https://")
_HEADER = partial(_matching, r"[A-Za-z0-9-]+", "the name of a header, such as X-Remote-User")
_ISSUER = partial(_matching, r"https://.*|http://(?:127\.0\.0\.1|localhost):.*", "an address that begins with https://")
_STORE = partial(_matching, r".*://.*", "an fsspec URL, such as s3://bucket/folder")
_POOL = partial(_number, f"a whole number from 1 to {MOST_POOLED}", 1, MOST_POOLED)
_DAYS = partial(_number, "a number of days from 1 to 3650", 1, 3650)


def _setting(words: str, default: Any = MISSING, *, reads: Callable[[str, str], Any] = lambda _, text: text) -> Any:
    """A setting: its help, what holds where its variable is not set, and what reads it (raises `BadSetting`)."""
    return field(default=default, metadata={"help": words, "reads": reads})


@dataclass(frozen=True, slots=True)
class Settings:
    """One value a `FENCEPOST_…` variable; `describe` lists them with their help."""

    data: Path = _setting("folder for the database, stored logs and written session dumps", reads=_path)
    database: str = _setting("SQLAlchemy URL; SQLite in the data folder, or postgresql+psycopg://…")
    home: str = _setting("default parser, if no log, format or rule names one; unset: unknown", "unknown")
    token: str | None = _setting(
        "access token of 16 characters or more (fencepost token makes one); without one only loopback is served",
        None,
        reads=partial(_secret, SHORTEST_TOKEN),
    )
    trusted_hosts: tuple[str, ...] = _setting(
        "additional host names that the server accepts, comma-separated", DEFAULT_HOSTS, reads=_hosts
    )
    max_upload: int = _setting("largest upload as sent, in megabytes (1024)", 1024 * MEGABYTE, reads=_megabytes)
    max_dump: int = _setting("largest log once decompressed, in megabytes (4096)", 4096 * MEGABYTE, reads=_megabytes)
    secure: bool = _setting("1 if browsers use HTTPS: cookies are then sent over HTTPS only", False, reads=_switch)
    durable: bool = _setting(
        "1: SQLite syncs to disk at each commit; slower, but a power cut loses no commit", False, reads=_switch
    )
    findings: Path | None = _setting(
        "TOML file with your own findings (docs/findings.md); unset: only Fencepost's rules", None, reads=_path
    )
    webhook: str | None = _setting("http(s) URL that receives new failure groups (docs/failures.md)", None, reads=_HTTP)
    webhook_secret: str | None = _setting("secret that signs those requests, 16 characters or more", None)
    profiles: tuple[str, ...] = _setting(
        "your own parsers, comma-separated: pkg.mod:function, pkg.mod:function@/their/python, cmd:…, name=…", ()
    )
    log: str = _setting(
        "json: one JSON object a line on standard error, including each request; unset: text, without requests",
        "text",
        reads=partial(_one_of, logs.STYLES),
    )
    secret_key: str | None = _setting(
        "key that signs logins, 32 characters or more, the same on each machine; unset: generated once",
        None,
        reads=partial(_secret, SHORTEST_SECRET_KEY),
    )
    role: str = _setting(
        "all-in-one; web: pages only, workers do the work; worker: no pages, works for a PostgreSQL database",
        ROLES[0],
        reads=partial(_one_of, ROLES),
    )
    prefix: str = _setting("path under which a proxy serves the pages, like /fencepost; unset: none", "", reads=_prefix)
    store: str | None = _setting(
        "fsspec URL for stored logs, uploads and session dumps, such as s3://bucket/fencepost; unset: data",
        None,
        reads=_STORE,
    )
    broker: str | None = _setting(
        "amqp://… or redis://…: Celery passes jobs to workers; unset: they poll the database", None, reads=_broker
    )
    queue: str = _setting("name of the broker's queue, if other programs use it too; unset: fencepost", "fencepost")
    pool: int | None = _setting(
        "connections to PostgreSQL that a process keeps open, 1 to 200 (5), plus 10 when needed", None, reads=_POOL
    )
    export_days: int = _setting("number of days after which a background export is removed (7)", 7, reads=_DAYS)
    accounts: bool = _setting(
        "1: everybody needs an account (fencepost user add; docs/accounts.md)", False, reads=_switch
    )
    newcomers: str = _setting(
        "role of people who sign in by OpenID or proxy without an account: none (refused), reader or labeler",
        NEWCOMERS[0],
        reads=partial(_one_of, NEWCOMERS),
    )
    proxies: tuple[str, ...] = _setting(
        "addresses or networks of the proxies to trust, comma-separated", (), reads=_networks
    )
    proxy_header: str | None = _setting(
        "header in which those proxies name the account, such as X-Remote-User", None, reads=_HEADER
    )
    oidc_issuer: str | None = _setting("address of an OpenID provider that people sign in with", None, reads=_ISSUER)
    oidc_client: str | None = _setting("this server's client id at that provider", None)
    oidc_secret: str | None = _setting("this server's client secret at that provider", None)

    @property
    def asks_login(self) -> bool:
        """Whether pages and the API are for those alone who say who they are."""
        return self.accounts or self.token is not None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read `FENCEPOST_*`; raises `BadSetting`. An empty variable is as if it were not set."""
        texts = {option: text for option in fields(cls) if (text := environ.get(_variable(option.name)))}
        values = {option.name: option.metadata["reads"](_variable(option.name), text) for option, text in texts.items()}
        values.setdefault("data", installation.default_data().expanduser().absolute())
        values.setdefault("database", f"sqlite:///{values['data'] / 'fencepost.sqlite3'}")
        settings = cls(**values | {"profiles": _profiles(environ)})
        _check(settings)
        _check_accounts(settings, values)
        return settings

    def environment(self) -> dict[str, str]:
        """The variables that give another process of ours the same database, data and limits."""
        as_they_are = ("data", "database", "home", "log", "export_days", "findings", "pool")
        values = {name: getattr(self, name) for name in as_they_are}
        values |= {"max_dump": max(1, self.max_dump // MEGABYTE), "durable": int(self.durable)}
        values["store"] = self.store or ""
        return {_variable(name): str(value) for name, value in values.items() if value is not None}


def _variable(name: str) -> str:
    return f"FENCEPOST_{name.upper()}"


def describe() -> list[tuple[str, str]]:
    """Every setting's variable and help, in order."""
    return [(_variable(option.name), option.metadata["help"]) for option in fields(Settings)]


def _check(settings: Settings) -> None:
    """Raises `BadSetting` for settings that do not go together."""
    if settings.webhook and len(settings.webhook_secret or "") < SHORTEST_TOKEN:
        raise BadSetting(f"FENCEPOST_WEBHOOK needs FENCEPOST_WEBHOOK_SECRET, {SHORTEST_TOKEN} characters or more")
    if settings.broker and find_spec("celery") is None:
        raise BadSetting(f"FENCEPOST_BROKER needs Celery: {install_extra('broker')}")
    if settings.database.startswith("postgresql"):
        return
    on_one_machine = {
        f"ROLE={settings.role}": "SQLite is one machine's" if settings.role != ROLES[0] else None,
        "BROKER": "SQLite has one worker" if settings.broker else None,
        "POOL": "it has no effect on SQLite" if settings.pool else None,
    }
    for setting, why in on_one_machine.items():
        if why:
            raise BadSetting(f"FENCEPOST_{setting} needs FENCEPOST_DATABASE on PostgreSQL: {why}")


def _check_accounts(settings: Settings, given: Mapping[str, Any]) -> None:
    """Raises `BadSetting` where what is for accounts alone is `given` without them, or without what belongs to it."""
    of_accounts = [name for name in _OF_ACCOUNTS if name in given and not (name == "proxies" and settings.token)]
    if of_accounts and not settings.accounts:
        raise BadSetting(f"{_variable(of_accounts[0])} has no effect without FENCEPOST_ACCOUNTS=1")
    if len({name in given for name in _OIDC}) == 2:
        raise BadSetting("FENCEPOST_OIDC_ISSUER, _CLIENT and _SECRET go together: set all three, or none")
    if settings.proxy_header and not settings.proxies:
        raise BadSetting("FENCEPOST_PROXY_HEADER needs FENCEPOST_PROXIES: who may send that header")


def _profiles(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the configured parsers, those of the nearest pyproject.toml among them."""
    try:
        return tuple(specs.configured(environ))
    except specs.BadSpec as bad:
        raise BadSetting(str(bad)) from None

"""The tables of accounts: who may sign in, their API tokens, the audit log, and the key that logins are signed with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import ExactJson, ExactText, UtcDateTime
from webapp.store.models.base import Base, Numbered


class Account(Numbered):
    """Somebody who may sign in."""

    name: orm.Mapped[str] = orm.mapped_column(sa.String(200))
    """the author of their labels"""
    name_key: orm.Mapped[str] = orm.mapped_column(sa.String(600), unique=True)
    """the name without case and compatibility forms: two that look alike are one"""
    role: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    password: orm.Mapped[str | None] = orm.mapped_column(sa.String(255))
    """an argon2id hash; None for who signs in elsewhere alone"""
    subject: orm.Mapped[str | None] = orm.mapped_column(sa.String(600), unique=True)
    """issuer and subject at an OpenID provider, with a space between them"""
    stamp: orm.Mapped[str] = orm.mapped_column(sa.String(32))
    """random; another one ends every login of the account"""
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    signed_in_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)


class ApiToken(Numbered):
    """What a program sends in place of its account's password; the token itself is kept nowhere."""

    account_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("account.id", ondelete="CASCADE"), index=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(200))
    digest: orm.Mapped[str] = orm.mapped_column(sa.String(64), unique=True)
    """SHA-256 of the token, in hexadecimal digits"""
    scopes: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    """rights, with spaces between them"""
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    used_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """to the minute"""


class AuditEntry(Numbered):
    """One write: who asked for what, and what came of it. It outlives the account, so it names it in words."""

    at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime, index=True)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    via: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    """how they proved who they are: sign-in, API token and its name, token, proxy, command"""
    peer: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    act: orm.Mapped[str] = orm.mapped_column(sa.String(100))
    """the route's or the command's name"""
    object: orm.Mapped[str] = orm.mapped_column(ExactText)
    """method and address, or the command's object"""
    detail: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """fields of the form that name the object further"""
    status: orm.Mapped[int | None]
    """the answer's; None where the request never came to its end"""


class DatabaseSecret(Base):
    """Made once, by whichever machine needs it first: see `store.db.database_secrets`."""

    name: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    value: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary)

"""Signing in: by password, as an OpenID provider's subject, or under the name that a trusted proxy says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from webapp.store.accounts import accounts, passwords
from webapp.store.models import Account


class NotAdmitted(LookupError):
    """A provider or a proxy knows them, and they have no account here; the message says what an admin does."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who signed in; `stamp` goes into their cookie."""

    id: int
    name: str
    role: str
    stamp: str


_COLUMNS = (Account.id, Account.name, Account.role, Account.stamp)


def by_password(connection: sa.Connection, name: str, password: str) -> SignedIn | None:
    """None where name or password is wrong, in the same time; raises `MissingLibrary` without argon2-cffi."""
    passwords.require()
    query = sa.select(*_COLUMNS, Account.password).where(Account.name_key == accounts.key(name))
    row = connection.execute(query).one_or_none()
    if not passwords.is_right(password, None if row is None else row.password) or row is None:
        return None
    return _noted(connection, SignedIn(*row[:4]))


def by_stamp(connection: sa.Connection, number: int, stamp: str) -> SignedIn | None:
    """Whose cookie it is; None where the account is gone or its logins were ended."""
    return _find(connection, Account.id == number, Account.stamp == stamp)


def by_name(connection: sa.Connection, name: str) -> SignedIn | None:
    return _find(connection, Account.name_key == accounts.key(name))


def by_subject(connection: sa.Connection, subject: str, name: str, newcomers: str) -> SignedIn:
    """The account of a provider's subject, made with the role `newcomers` where there is none and that is not `none`.

    An account of the same name that is another's is never given away. Raises `NotAdmitted`, `BadAccount`.
    """
    if (account := _find(connection, Account.subject == subject)) is not None:
        return _noted(connection, account)
    if newcomers == "none":
        command = f"fencepost user add NAME --subject '{subject}'"
        raise NotAdmitted(f"You have no account here. An admin makes one with: {command}")
    accounts.add(connection, name, newcomers, subject=subject)
    return by_subject(connection, subject, name, newcomers)


def by_proxy(connection: sa.Connection, name: str, newcomers: str) -> SignedIn:
    """The account of that name, made where there is none and `newcomers` is not `none`.

    Raises `NotAdmitted`, `BadAccount`.
    """
    if (account := by_name(connection, name)) is not None:
        return account
    if newcomers == "none":
        raise NotAdmitted(f"The proxy says that you are {name[:200]!r}, and there is no account of that name.")
    accounts.add(connection, name, newcomers)
    return by_proxy(connection, name, newcomers)


def _find(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> SignedIn | None:
    row = connection.execute(sa.select(*_COLUMNS).where(*where)).one_or_none()
    return None if row is None else SignedIn(*row)


def _noted(connection: sa.Connection, account: SignedIn) -> SignedIn:
    connection.execute(sa.update(Account).where(Account.id == account.id).values(signed_in_at=datetime.now(UTC)))
    return account

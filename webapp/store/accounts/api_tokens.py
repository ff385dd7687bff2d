"""API tokens: made once and shown once, kept as a SHA-256 of 256 random bits, revoked at any time."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import sqlalchemy as sa

from webapp.refusals import NotThere
from webapp.store.accounts.accounts import ROLES, BadAccount, checked_name, checked_scopes
from webapp.store.models import Account, ApiToken

PREFIX = "fencepost_"
_PRECISION = timedelta(minutes=1)
"""of `used_at`: a request that follows another within it writes nothing"""


class NoSuchToken(NotThere):
    """No API token has that number."""


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Whose token was sent, and which rights hold: its scopes, as far as its account's role still has them."""

    id: int
    name: str
    account: str
    rights: frozenset[str]
    is_noted: bool
    """whether `used_at` says so already"""


def make(connection: sa.Connection, account_id: int, name: str, scopes: list[str]) -> str:
    """Make a token and return it; raises `BadRole`, and `BadAccount` for a name or a scope beyond the role."""
    row = connection.execute(sa.select(Account.name, Account.role).where(Account.id == account_id)).one()
    scope_text = checked_scopes(scopes)
    if beyond := set(scope_text.split()) - ROLES[row.role]:
        raise BadAccount(f"{row.name} is a {row.role}: a token of theirs cannot have the scope {min(beyond)}")
    try:
        title = checked_name(name)[0]
    except BadAccount:
        raise BadAccount("a token has a name of 1 to 200 characters that can be seen, on one line") from None
    token = PREFIX + secrets.token_urlsafe(32)
    values = {"account_id": account_id, "name": title, "digest": digest(token.encode()), "scopes": scope_text}
    connection.execute(sa.insert(ApiToken).values(**values, made_at=datetime.now(UTC)))
    return token


def digest(sent: bytes) -> str:
    return hashlib.sha256(sent).hexdigest()


def find(connection: sa.Connection, sent: bytes) -> TokenUse | None:
    """Whose token `sent` is; None where it is no token, or revoked. `note_use` then writes that it was used."""
    columns = (ApiToken.id, ApiToken.name, ApiToken.scopes, ApiToken.used_at, Account.name, Account.role)
    query = sa.select(*columns).join(Account, Account.id == ApiToken.account_id)
    row = connection.execute(query.where(ApiToken.digest == digest(sent))).one_or_none()
    if row is None:
        return None
    number, name, scopes, used_at, account, role = row
    is_noted = used_at is not None and datetime.now(UTC) - used_at < _PRECISION
    return TokenUse(number, name, account, frozenset(scopes.split()) & ROLES[role], is_noted)


def note_use(connection: sa.Connection, number: int) -> None:
    connection.execute(sa.update(ApiToken).where(ApiToken.id == number).values(used_at=datetime.now(UTC)))


class TokenLine(NamedTuple):
    """A token. The account's role has the `lapsed` ones of its `scopes` not any more, so that they count for nothing;
    `used_at` (UTC, to the minute) is None where it never was used."""

    id: int
    account: str
    name: str
    scopes: list[str]
    lapsed: list[str]
    made_at: datetime
    used_at: datetime | None


def lines(connection: sa.Connection, account_id: int | None = None) -> list[TokenLine]:
    """The tokens of an account, or of all, as lists show them; the newest first."""
    columns = (ApiToken.id, Account.name.label("account"), ApiToken.name, ApiToken.made_at, ApiToken.used_at)
    query = sa.select(*columns, ApiToken.scopes, Account.role).join(Account, Account.id == ApiToken.account_id)
    if account_id is not None:
        query = query.where(ApiToken.account_id == account_id)
    tokens = []
    for number, account, name, made_at, used_at, scope_text, role in connection.execute(
        query.order_by(ApiToken.id.desc())
    ):
        scopes = scope_text.split()
        lapsed = [scope for scope in scopes if scope not in ROLES[role]]
        tokens.append(TokenLine(number, account, name, scopes, lapsed, made_at, used_at))
    return tokens


def revoke(connection: sa.Connection, number: int, *, account_id: int | None = None) -> None:
    """Revoke a token, of this account where one is given: it is refused from the next request on.

    Raises `NoSuchToken`.
    """
    query = sa.delete(ApiToken).where(ApiToken.id == number)
    if account_id is not None:
        query = query.where(ApiToken.account_id == account_id)
    if connection.execute(query).rowcount == 0:
        raise NoSuchToken(f"there is no API token {number}")

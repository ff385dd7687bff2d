"""Accounts: made, listed, changed and removed. Every function takes a connection whose transaction the caller ends.

Passwords are kept as argon2id hashes (RFC 9106), with OWASP's parameters for a small server: 19 MiB, two passes.
"""

from __future__ import annotations

import secrets
import threading
import unicodedata
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from webapp.installation import MissingLibrary, install_extra
from webapp.refusals import BadInput, NotThere, WrongUse
from webapp.store.labels.label_content import BadLabel, checked_author
from webapp.store.models import Account, ApiToken

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 12, 1000
"""characters"""
_TURN = threading.Semaphore(2)
"""hashes at once: each takes 19 MiB, and whoever may sign in may ask for many"""


class BadPassword(BadInput):
    """A password that is not taken; the message says what is."""


def hashed(password: str) -> str:
    """The hash that is stored; raises `BadPassword`, and `MissingLibrary` without argon2-cffi."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise BadPassword(f"a password has {SHORTEST} to {LONGEST:,} characters; this one has {len(password)}")
    with _TURN:
        return _hasher().hash(_bytes(password))


def is_right(password: str, stored: str | None) -> bool:
    """Whether `stored` is the hash of `password`. Without one it takes as long, so that time tells no names."""
    from argon2.exceptions import InvalidHashError, VerificationError

    with _TURN:
        try:
            return _hasher().verify(stored or _nobody(), _bytes(password[: LONGEST + 1])) and stored is not None
        except (InvalidHashError, VerificationError):
            return False


@cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ModuleNotFoundError:
        raise MissingLibrary(f"passwords need argon2-cffi: {install_extra('accounts')}") from None
    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


@cache
def _nobody() -> str:
    return _hasher().hash(b"nobody's password")


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")


READ, LABEL, INGEST, ADMIN = "read", "label", "ingest", "admin"
RIGHTS = {
    READ: "see, search and export what is stored",
    LABEL: "label, save views, run profiles, export in the background, work on failure groups",
    INGEST: "send logs and spans, without seeing what is stored",
    ADMIN: "delete sessions, set their parser, manage accounts, read the audit log",
}
"""what a role holds and an API token may be made for"""
ALL = frozenset(RIGHTS)
ROLES = {"reader": frozenset({READ}), "labeler": frozenset({READ, LABEL}), "admin": ALL}


class BadRole(WrongUse):
    """There is no such role or right; the message lists those that there are."""


def checked_role(role: str) -> str:
    """Raises `BadRole`."""
    if role not in ROLES:
        raise BadRole(f"a role is one of {', '.join(ROLES)}, not {role[:100]!r}")
    return role


def checked_scopes(scopes: list[str]) -> str:
    """Rights in the order of `RIGHTS`, as they are stored; raises `BadRole`."""
    wrong = [scope for scope in scopes if scope not in RIGHTS]
    if wrong or not scopes:
        raise BadRole(f"an API token has one or more of the scopes {', '.join(RIGHTS)}")
    return " ".join(right for right in RIGHTS if right in scopes)


_LONGEST_KEY = 600


class BadAccount(BadInput):
    """An account cannot be made as it was asked for; the message says why."""


class NoSuchAccount(NotThere):
    """No account has that name."""


_tokens = sa.select(sa.func.count()).where(ApiToken.account_id == Account.id).scalar_subquery()
_lines = sa.select(
    *(Account.id, Account.name, Account.role, Account.password.is_not(None).label("has_password"), Account.subject),
    *(_tokens.label("tokens"), Account.made_at, Account.signed_in_at),
).order_by(Account.name_key)


def add(
    connection: sa.Connection, name: str, role: str, *, password: str | None = None, subject: str | None = None
) -> int:
    """Make an account, and return its id; raises `BadAccount`, `BadRole`, `BadPassword`."""
    name, key = checked_name(name)
    row = {
        "name": name,
        "name_key": key,
        "role": checked_role(role),
        "password": None if password is None else hashed(password),
        "subject": subject,
        "stamp": new_stamp(),
        "made_at": datetime.now(UTC),
    }
    try:
        with connection.begin_nested():
            number: int = connection.execute(sa.insert(Account).values(row).returning(Account.id)).scalar_one()
    except sa.exc.IntegrityError:
        message = f"there is an account {name!r}, or one that differs from it in case alone"
        raise BadAccount(message if subject is None else f"{message}, or one of that subject") from None
    return number


def checked_name(name: str) -> tuple[str, str]:
    """The name as it is kept, and its key; raises `BadAccount`."""
    try:
        name = unicodedata.normalize("NFC", checked_author(name))
    except BadLabel:
        raise BadAccount("an account has a name of 1 to 200 characters that can be seen, on one line") from None
    if len(key(name)) > _LONGEST_KEY:
        raise BadAccount("the name is too long")
    return name, key(name)


def key(name: str) -> str:
    """What two names share that are one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name.strip()).casefold())


def lines(connection: sa.Connection) -> list[sa.Row[Any]]:
    """The accounts by name, as lists show them: how many `tokens`, and None where one never `signed_in_at`."""
    return list(connection.execute(_lines))


def find(connection: sa.Connection, name_or_id: str | int) -> sa.Row[Any]:
    """The account of that name, or number, as `lines` has it; raises `NoSuchAccount`."""
    is_it = Account.name_key == key(name_or_id) if isinstance(name_or_id, str) else Account.id == name_or_id
    if (line := connection.execute(_lines.where(is_it)).first()) is None:
        raise NoSuchAccount(f"there is no account {name_or_id!r:.200}")
    return line


def set_role(connection: sa.Connection, number: int, role: str) -> None:
    """Holds from the next request on; raises `BadRole`."""
    connection.execute(sa.update(Account).where(Account.id == number).values(role=checked_role(role)))


def set_password(connection: sa.Connection, number: int, password: str) -> None:
    """Give another password and end every login of the account; raises `BadPassword`."""
    values = {"password": hashed(password), "stamp": new_stamp()}
    connection.execute(sa.update(Account).where(Account.id == number).values(values))


def end_logins(connection: sa.Connection, number: int) -> None:
    """Sign the account out everywhere; its API tokens stay."""
    connection.execute(sa.update(Account).where(Account.id == number).values(stamp=new_stamp()))


def remove(connection: sa.Connection, number: int) -> None:
    """Remove the account with its API tokens and logins; its labels and its lines of the audit log stay."""
    connection.execute(sa.delete(Account).where(Account.id == number))


def keep_an_admin(connection: sa.Connection, number: int) -> None:
    """Raises `BadAccount` for the last admin: nobody could give the role back on a page."""
    admins = connection.scalars(sa.select(Account.id).where(Account.role == "admin").with_for_update()).all()
    if list(admins) == [number]:
        raise BadAccount("this is the last admin; make another one first")


def new_stamp() -> str:
    return secrets.token_hex(8)


class NotAdmitted(NotThere):
    """A provider or a proxy knows them, and they have no account here; the message says what an admin does."""

    status, code = 403, "forbidden"


def by_password(connection: sa.Connection, name: str, password: str) -> Account | None:
    """None where name or password is wrong, in the same time; raises `MissingLibrary` without argon2-cffi."""
    _hasher()  # which may be missing
    account = _find(connection, Account.name_key == key(name))
    if not is_right(password, None if account is None else account.password) or account is None:
        return None
    return _noted(connection, account)


def by_stamp(connection: sa.Connection, number: int, stamp: str) -> Account | None:
    """Whose cookie it is; None where the account is gone or its logins were ended."""
    return _find(connection, Account.id == number, Account.stamp == stamp)


def by_name(connection: sa.Connection, name: str) -> Account | None:
    return _find(connection, Account.name_key == key(name))


def by_subject(connection: sa.Connection, subject: str, name: str, newcomers: str) -> Account:
    """The account of a provider's subject, made with the role `newcomers` where there is none and that is not `none`.

    An account of the same name that is another's is never given away. Raises `NotAdmitted`, `BadAccount`.
    """
    if (account := _find(connection, Account.subject == subject)) is not None:
        return _noted(connection, account)
    if newcomers == "none":
        command = f"fencepost user add NAME --subject '{subject}'"
        raise NotAdmitted(f"You have no account here. An admin makes one with: {command}")
    add(connection, name, newcomers, subject=subject)
    return by_subject(connection, subject, name, newcomers)


def by_proxy(connection: sa.Connection, name: str, newcomers: str) -> Account:
    """The account of that name, made where there is none and `newcomers` is not `none`.

    Raises `NotAdmitted`, `BadAccount`.
    """
    if (account := by_name(connection, name)) is not None:
        return account
    if newcomers == "none":
        raise NotAdmitted(f"The proxy says that you are {name[:200]!r}, and there is no account of that name.")
    add(connection, name, newcomers)
    return by_proxy(connection, name, newcomers)


def _find(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> Account | None:
    row = connection.execute(sa.select(Account.__table__).where(*where)).one_or_none()
    return None if row is None else Account(**row._mapping)


def _noted(connection: sa.Connection, account: Account) -> Account:
    connection.execute(sa.update(Account).where(Account.id == account.id).values(signed_in_at=datetime.now(UTC)))
    return account

"""Who may read what: the members of a team and their projects. Only the owner of the database changes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.errors import NotFound, UsageError
from hansard.team.schema import ROLES, give_rights, take_rights

if TYPE_CHECKING:
    from hansard.team.connect import Database


class Member(Struct, frozen=True):
    """A login of the server and what it may read."""

    login: str
    role: str
    projects: tuple[str, ...]
    machines: tuple[str, ...]


def grant(database: Database, login: str, role: str, projects: Sequence[str] = ()) -> Member:
    """Make a login of the server a member with this role and these projects, in addition to those it has."""
    if role not in ROLES:
        raise UsageError(f"unknown role {role!r}; choose one of {', '.join(ROLES)}")
    if any(not project.strip("/\\ ") for project in projects):
        raise UsageError("a project is a path, or the last parts of one: give it as webshop or /src/webshop")
    with database.transaction():
        if database.one("SELECT FROM pg_roles WHERE rolname = %s AND rolcanlogin", (login,)) is None:
            raise NotFound(f"the server has no login {login!r}: make one with CREATE ROLE ... LOGIN")
        database.run(
            "INSERT INTO members VALUES (%s, %s) ON CONFLICT (login) DO UPDATE SET role = excluded.role", (login, role)
        )
        for project in projects:
            database.run(
                "INSERT INTO access VALUES (%s, %s) ON CONFLICT DO NOTHING", (login, project.rstrip("/\\") or project)
            )
        give_rights(database, login)
    return next(member for member in members(database) if member.login == login)


def revoke(database: Database, login: str, projects: Sequence[str] = ()) -> None:
    """Take projects from a member, or without any, all rights; the rows that its machines pushed stay."""
    with database.transaction():
        if database.one("SELECT FROM members WHERE login = %s", (login,)) is None:
            raise NotFound(f"{login!r} is not a member")
        if projects:
            database.run(
                "DELETE FROM access WHERE login = %s AND project = ANY (%s)",
                (login, [project.rstrip("/\\") or project for project in projects]),
            )
            return
        database.run("DELETE FROM members WHERE login = %s", (login,))
        if database.one("SELECT FROM pg_roles WHERE rolname = %s", (login,)) is not None:
            take_rights(database, login)


def members(database: Database) -> list[Member]:
    """The members that the caller may see: an admin sees all of them, everybody else one."""
    with database.errors():
        rows = database.rows(
            "SELECT m.login, m.role, array(SELECT project FROM access a WHERE a.login = m.login ORDER BY project),"
            " array(SELECT name FROM machines c WHERE c.owner = m.login ORDER BY name) FROM members m ORDER BY m.login"
        )
    return [Member(login, role, tuple(projects), tuple(machines)) for login, role, projects, machines in rows]

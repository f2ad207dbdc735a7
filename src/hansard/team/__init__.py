"""A team's database: the public views of many machines in one PostgreSQL, searched and reported as one history.

Machines push their own rows; the server's row-level security decides who may read them; views merge what several machines have. Nothing here
changes the local store.

Front ends import the names below from here, and nothing from its modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.quick_imports import lazy_names

if TYPE_CHECKING:
    from hansard.team.connect import hide_password as hide_password
    from hansard.team.push import PushReport as PushReport
    from hansard.team.roles import Member as Member
    from hansard.team.session_texts import SessionText as SessionText
    from hansard.team.session_texts import SessionTexts as SessionTexts
    from hansard.team.sessions import TeamSession as TeamSession
    from hansard.team.sessions import TeamSessionPage as TeamSessionPage
    from hansard.team.store import Team as Team
    from hansard.team.store import TeamStatus as TeamStatus
    from hansard.team.usage import OFFERED as OFFERED

__getattr__ = lazy_names(
    __name__,
    connect="hide_password",
    push="PushReport",
    roles="Member",
    session_texts="SessionText SessionTexts",
    sessions="TeamSession TeamSessionPage",
    store="Team TeamStatus",
    usage="OFFERED",
)

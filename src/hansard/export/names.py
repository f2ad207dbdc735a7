"""Names of exported files: readable, the same on every system, never two alike, and kept when a title changes."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from typing import TYPE_CHECKING

from hansard.render.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hansard.model.sessions import Session

LONGEST = 120  # characters of a name; with its ending and a folder's it fits every file system
_SLUG = 60
_LOOKED_AT = 400  # characters of a title
_OTHERS = re.compile(r"[^a-z0-9]+")
_NAME = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{LONGEST - 2}}}[a-z0-9])?")
# The letters that no decomposition turns into ASCII.
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "\u0131": "i"}
)


def slug(title: str) -> str:
    """A title as lower-case ASCII words with hyphens, cut between words; `untitled` if nothing is left."""
    folded = unicodedata.normalize("NFKD", clean(title[:_LOOKED_AT]).lower().translate(_LETTERS))
    plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
    words = _OTHERS.sub("-", plain.lower()).strip("-")
    if len(words) > _SLUG:
        cut = words[: _SLUG + 1].rpartition("-")[0]
        words = cut if len(cut) > _SLUG // 2 else words[:_SLUG].rstrip("-")
    return words or "untitled"


def is_name(text: str) -> bool:
    """Whether this could be a name that was given here; a list of names in a folder may have been written by anybody."""
    return _NAME.fullmatch(text) is not None


def name_sessions(sessions: Iterable[Session], known: Mapping[str, str]) -> dict[str, str]:
    """A name for each session, without its ending: the known one, or day, title and the first of the id.

    Where that is taken already, the name has more of the id.
    """
    names: dict[str, str] = {}
    taken = {name: session_id for session_id, name in known.items()}
    new: list[Session] = []
    for session in sessions:
        if session.session_id in known and taken[known[session.session_id]] == session.session_id:
            names[session.session_id] = known[session.session_id]
        else:
            new.append(session)
    for session in sorted(new, key=lambda session: session.session_id):
        day = "undated" if session.started_at is None else session.started_at.date().isoformat()
        stem = f"{day}-{slug(session.title)}"
        name = next(free for tail in _suffixes(session.session_id) if (free := f"{stem}-{tail}") not in taken)
        taken[name] = session.session_id
        names[session.session_id] = name
    return names


def _suffixes(session_id: str) -> Iterable[str]:
    """Longer and longer prefixes of an id, and finally its digest."""
    letters = _OTHERS.sub("", session_id.lower())
    digest = sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    if not letters:
        yield digest[:8]
    for length in range(8, 41, 8):
        if letters:
            yield letters[:length]
    yield digest[:40]

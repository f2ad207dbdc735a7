"""The user's remarks about a session: written to the record first, then to the index, so that every answer has them at once."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from hansard.errors import NotFound, StoreBusy, UsageError
from hansard.index.tokens import fold_text
from hansard.model.sessions import LONGEST_NOTE, LONGEST_TAG, LONGEST_TITLE
from hansard.record.store import NOTE, PIN, TAG, TITLE, Remark
from hansard.sources.names import storable
from hansard.sync.report import Change, SyncRequest
from hansard.sync.run import sync

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hansard.pricing.settle import Prices
    from hansard.record.store import Record

_NOT_IN_TAGS = frozenset(",;:*\"'“”()\\")
_WAIT = 60.0  # seconds for a running sync, and for others in the queue


def remark(home: str, change: Change, *, prices: Prices | None = None, wait_seconds: float = _WAIT) -> None:
    """Write a change to the record and bring the indexes up to date with it, without a walk of the sources."""
    report = sync(home, (), SyncRequest(only=(), wait_seconds=wait_seconds, change=change), prices=prices)
    if report.busy:
        raise StoreBusy(
            f"another process is syncing {home} and did not finish within {wait_seconds:g} s, so nothing was written."
            " Wait for it to end, then run this again"
        )


def pinning(session_id: str, message: str = "", *, remove: bool = False) -> Change:
    """Pin a session, or a message of it by its uuid; or unpin it."""
    return _removing(session_id, PIN, lambda value: value == message) if remove else _once(session_id, PIN, message)


def tagging(session_id: str, tags: Sequence[str], *, remove: bool = False) -> Change:
    """Give a session tags; those it has already, in any case, keep their spelling. Or remove them; missing tags are ignored."""
    if remove:
        unwanted = {fold_text(tag.strip()) for tag in tags}
        return _removing(session_id, TAG, lambda value: fold_text(value) in unwanted)
    values = [checked_tag(tag) for tag in tags]

    def change(record: Record) -> None:
        known = {fold_text(item.value) for item in record.remarks(session_id) if item.kind == TAG}
        for value in values:
            if fold_text(value) not in known:
                known.add(fold_text(value))
                record.add_remark(session_id, TAG, value)

    return change


def naming(session_id: str, title: str | None) -> Change:
    """Give a session a title, instead of an earlier one; None restores its original title."""
    if title is None:
        return _removing(session_id, TITLE)
    value = checked_title(title)

    def change(record: Record) -> None:
        former = [item for item in record.remarks(session_id) if item.kind == TITLE]
        if [item.value for item in former] != [value]:
            record.remove_remarks(item.id for item in former)
            record.add_remark(session_id, TITLE, value)

    return change


def noting(session_id: str, text: str) -> Change:
    """Add a note to a session, unless it has the same one."""
    return _once(session_id, NOTE, checked_note(text))


def unnoting(session_id: str, notes: Sequence[str], number: int) -> Change:
    """Remove a note by its number in the list that the user saw."""
    if not 1 <= number <= len(notes):
        have = f"it has {len(notes)}" if notes else "it has none"
        raise NotFound(f"the session has no note number {number}: {have}")
    unwanted = notes[number - 1]
    return _removing(session_id, NOTE, lambda value: value == unwanted)


def _once(session_id: str, kind: str, value: str) -> Change:
    def change(record: Record) -> None:
        def same(item: Remark) -> bool:
            return (item.kind, item.value) == (kind, value)

        if not any(map(same, record.remarks(session_id))):
            record.add_remark(session_id, kind, value)

    return change


def _removing(session_id: str, kind: str, fits: Callable[[str], bool] = lambda _value: True) -> Change:
    def change(record: Record) -> None:
        record.remove_remarks(item.id for item in record.remarks(session_id) if item.kind == kind and fits(item.value))

    return change


# -- valid remarks


def checked_tag(text: str) -> str:
    """Normalize a tag: one word that needs no quotes after `tag:` in a query."""
    tag = text.strip()
    if not tag:
        raise UsageError("a tag cannot be empty")
    if len(tag) > LONGEST_TAG:
        raise UsageError(f"a tag has {LONGEST_TAG} characters at most, this one has {len(tag)}: put the rest in a note")
    if any(sign.isspace() for sign in tag):
        raise UsageError(f"a tag is one word: write {'-'.join(tag.split())!r}, or give several without quotes")
    bad = sorted({sign for sign in tag if sign in _NOT_IN_TAGS or not _is_visible(sign)})
    if bad or tag.startswith("-") or not fold_text(tag):
        what = "begin with a hyphen" if tag.startswith("-") else f"contain {' '.join(map(ascii, bad or [tag]))}"
        raise UsageError(f"a tag cannot {what}: use letters, digits and signs such as - _ . / + # @")
    return tag


def checked_title(text: str) -> str:
    """Normalize a title: one line."""
    title = " ".join(storable(text).replace("\x00", "").split())
    if not title:
        raise UsageError("a title cannot be empty; --remove restores the original title")
    if len(title) > LONGEST_TITLE:
        raise UsageError(
            f"a title has {LONGEST_TITLE} characters at most, this one has {len(title)}: put the rest in a note"
        )
    return title


def checked_note(text: str) -> str:
    """Normalize a note: as it was typed, without surrounding blank lines."""
    note = storable(text).replace("\x00", "").strip()
    if not note:
        raise UsageError("a note cannot be empty")
    if len(note) > LONGEST_NOTE:
        raise UsageError(f"a note has {LONGEST_NOTE:,} characters at most, this one has {len(note):,}")
    return note


def _is_visible(sign: str) -> bool:
    # Joiners are parts of many emoji and of words in some scripts.
    return unicodedata.category(sign)[0] not in "CZ" or sign in "\u200c\u200d"

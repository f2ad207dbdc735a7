"""Fingerprints of everything an exported file depends on: if one changes, the file must be written again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hansard.model.serialize import plain

if TYPE_CHECKING:
    from hansard.model.sessions import Session
    from hansard.query.reader import Reader

_TRANSCRIPTS = "SELECT id, size, indexed, tail, current, state FROM transcripts"
_SIDE_FILES = "SELECT id, size, current FROM side_files"
_RATES = (
    "SELECT model, service_tier, speed, inference_geo, since, until, above, upto, priced_as, input, output, cache_read,"
    " cache_write_5m, cache_write_1h, web_search, source, notes FROM rates"
)


class Fingerprints:
    """Fingerprints of sessions and of tables."""

    def __init__(self, reader: Reader, code: str) -> None:
        """`code` is the fingerprint of the code that renders the files."""
        self._reader = reader
        self._code = code
        self._rates: dict[str, list[Any]] | None = None

    def of_session(self, session: Session) -> str:
        rows, key = self._reader.rows, (session.session_id,)
        models = [row[0] for row in rows("SELECT DISTINCT model FROM usage WHERE session_id = ? ORDER BY 1", key)]
        return _short(
            self._code,
            plain(session),
            list(rows(f"{_TRANSCRIPTS} WHERE session_id = ? ORDER BY id", key)),
            list(rows(f"{_SIDE_FILES} WHERE session_id = ? ORDER BY id", key)),
            [self._rates_of(model) for model in models],
        )

    def of_sessions(self, sessions: Iterable[Session]) -> str:
        return _short([(session.session_id, self.of_session(session)) for session in sessions])

    def of_list(self, listed: Iterable[tuple[Session, str]]) -> str:
        """Of a page that lists sessions with their file names."""
        return _short(self._code, [(name, plain(session)) for session, name in listed])

    def of_tables(self, sessions: Iterable[Session] | None) -> str:
        """Of everything the index was made from; and of the selected sessions, unless all are."""
        rows = self._reader.rows
        return _short(
            self._code,
            list(rows(f"{_TRANSCRIPTS} ORDER BY id")),
            list(rows(f"{_SIDE_FILES} ORDER BY id")),
            list(rows(f"{_RATES} ORDER BY id")),
            list(rows("SELECT id, session_id, kind, value, set_at FROM remarks ORDER BY id")),
            None if sessions is None else [plain(session) for session in sessions],
        )

    def _rates_of(self, model: str) -> list[Any]:
        if self._rates is None:
            self._rates = {}
            for row in self._reader.rows(f"{_RATES} ORDER BY id"):
                self._rates.setdefault(row[0], []).append(row)
        return self._rates.get(model, [])


def _short(*values: Any) -> str:
    return sha256(json.dumps(values).encode()).hexdigest()[:32]

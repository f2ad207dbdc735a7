"""What other clients' files state about usage, as the lines that other tools count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from hansard.clients.usage import dated, token_count
from hansard.ledger.reconcile.line_store import ANSWER, Row

if TYPE_CHECKING:
    from hansard.clients.lines import Lines
    from hansard.clients.statements import StatingClient
    from hansard.ledger.reconcile.line_store import Log
    from hansard.query.reader import Reader


class StatementLines:
    """Reads the statements of one transcript after the other."""

    def __init__(self, client: StatingClient, reader: Reader, day_of: Callable[[int], str]) -> None:
        self._client = client
        self._reader = client.statement_reader()
        self._day = day_of
        rows = reader.rows("SELECT iif(agent_id = '', session_id, agent_id) FROM transcripts WHERE current = 1")
        self._known = {name for (name,) in rows}
        self._shared: set[str] = set()

    def rows(self, log: Log, pieces: Iterable[bytes]) -> Iterator[Row]:
        """The rows of one transcript, without their place."""
        for number, said in enumerate(self._reader.read(_whole(self._client.lines(pieces, 0)))):
            usage = said.usage
            repeats = said.repeats
            if usage.is_shared and not repeats:
                repeats = self._reader.copied if usage.message_id in self._shared else ""
                self._shared.add(usage.message_id)
            ts = dated(said.ts)
            own = f"{log.session_id}/{usage.message_id}" if not repeats else f"{log.id}/{said.offset}/{number}"
            yield (
                *(log.number, log.id, said.offset, int(log.live and not said.is_gone), 0, 0, log.root),
                *(log.session_id, log.session_id, ANSWER, 0, 0, ts, self._day(ts), usage.message_id, "", "", own, 0),
                *(usage.model, "", "", "", token_count(usage.input), token_count(usage.output)),
                *(token_count(usage.cache_read), token_count(usage.cache_write), 0, 0, 0, 0, usage.cost),
                *(repeats, int(bool(said.origin) and said.origin not in self._known), said.reasoning),
                f"{log.session_id}/{log.agent_id}/{said.message}" if said.message else "",
            )


def _whole(lines: Lines) -> Iterator[tuple[int, bytes]]:
    """The lines, and what follows the last newline."""
    yield from lines
    if lines.rest:
        yield lines.offset, lines.rest

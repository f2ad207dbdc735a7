"""Whether answers cover the whole history yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.model.coverage import Coverage
    from hansard.query.reader import Reader


def find_coverage(reader: Reader) -> Coverage | None:
    """How much is indexed of a large history whose first sync is not complete; None where there is no such thing."""
    if reader.revision() > 0:
        return None
    expected = dict(
        reader.rows("SELECT name, value FROM meta WHERE name IN ('transcripts_expected', 'bytes_expected')")
    )
    if not expected:
        return None
    from hansard.model.coverage import Coverage

    count, size = reader.one("SELECT count(*), coalesce(sum(size), 0) FROM transcripts WHERE size > 0")
    total, total_size = expected["transcripts_expected"], expected["bytes_expected"]
    return Coverage(count, max(count, total), size, max(size, total_size))

"""Exporting sessions for Elasticsearch and OpenSearch: requests in files of bounded size, the mapping, and how to load them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.export import NotExported
from hansard.export.files import write_file
from hansard.export.formats import ENDINGS
from hansard.export.pool import Drawer, reason
from hansard.model.gate import count_anew, replaced
from hansard.model.serialize import json_bytes
from hansard.render.format import redaction_words

if TYPE_CHECKING:
    from hansard.export import Exported
    from hansard.export.run import Export, Progress
    from hansard.model.sessions import Session

MOST_BYTES = 50_000_000
"""Of a file: servers refuse requests of more than 100 MB."""
_MAPPING, _README = "mapping.json", "README.txt"
_NONE = "-"  # the fingerprint of no file: everything is written again if anything changed
_HOW = """\
Texts of coding-agent sessions for Elasticsearch or OpenSearch. Loading them again replaces the documents of the same texts.

  curl -X PUT "$AT/hansard" -H 'content-type: application/json' --data-binary @mapping.json
  for file in texts-*.bulk.ndjson; do
    curl -X POST "$AT/hansard/_bulk" -H 'content-type: application/x-ndjson' --data-binary @"$file"
  done

"""


def export_bulk(export: Export, sessions: Sequence[Session], progress: Progress | None = None) -> Exported:
    """Write the texts of sessions to files of at most `MOST_BYTES`, unless they are there already."""
    if export.single:
        raise UsageError("bulk needs a directory: set one with --to, without an extension")
    fingerprint = f"{export.form} {export.fingerprints.of_sessions(sessions)}"
    known = [path for path in export.manifest.files if path in (_MAPPING, _README) or _is_texts(path)]
    if not export.force and _README in known and all(export.manifest.is_current(path, fingerprint) for path in known):
        for path in known:
            export.write_one(path, fingerprint, lambda: None)
        return export.result()
    export.refuse_foreign_files([_MAPPING, _README])
    try:
        export.write_one(_MAPPING, _NONE, lambda: _write(export, _MAPPING, fingerprint, iter([_mapping()])))
        count_anew(export.store.redact)
        written = _write_texts(export, fingerprint, _documents(export, sessions, progress))
        readme = iter([_HOW.encode(), f"{_redaction(export)}\n".encode()])
        state = f"{fingerprint} incomplete" if export.failed else fingerprint  # then the next export tries again
        export.write_one(_README, _NONE, lambda: _write(export, _README, state, readme))
        for path in set(filter(_is_texts, export.manifest.files)) - written:  # of an export of more
            with suppress(FileNotFoundError):
                os.unlink(export.manifest.where(path))
            export.note_removed(path)
    finally:
        export.save()
    return export.result()


def _is_texts(path: str) -> bool:
    return path.startswith("texts-") and path.endswith(ENDINGS["bulk"][0])


def _redaction(export: Export) -> str:
    if export.store.redact is None:
        return "Secrets are not redacted."
    count = len(replaced(export.store.redact))
    return redaction_words(count) if count else "No secrets were found."


def _mapping() -> bytes:
    from hansard.render.bulk import MAPPING

    return json_bytes(MAPPING) + b"\n"


def _write(export: Export, path: str, fingerprint: str, pieces: Iterator[bytes]) -> None:
    file = write_file(export.manifest.where(path), pieces)
    export.note_written(path, "", fingerprint, file, replaced(export.store.redact))


def _write_texts(export: Export, fingerprint: str, documents: Iterator[bytes]) -> set[str]:
    """The files that the documents were written to, one after the other."""
    written: set[str] = set()
    waiting = next(documents, None)
    for number in count(1):
        if waiting is None:
            return written
        path = f"texts-{number:05}{ENDINGS['bulk'][0]}"

        def pieces() -> Iterator[bytes]:
            nonlocal waiting
            size = 0
            while waiting is not None and (not size or size + len(waiting) <= MOST_BYTES):
                size += len(waiting)
                yield waiting
                waiting = next(documents, None)

        export.write_one(path, _NONE, lambda path=path, pieces=pieces: _write(export, path, fingerprint, pieces()))  # type: ignore[misc]
        written.add(path)
    return written


def _documents(export: Export, sessions: Sequence[Session], progress: Progress | None) -> Iterator[bytes]:
    """Each document with its action; a session that cannot be read is reported, and does not stop the others."""
    drawer = Drawer(export.store, export.form, zone=export.zone, home="")
    done, total = 0, sum(session.bytes for session in sessions)
    for session in sessions:
        try:
            yield from drawer.pieces(session, lambda _name, _content: "")
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it
            export.failed.append(NotExported(session.session_id, reason(error)))
        done += session.bytes
        if progress is not None:
            progress(done, total)

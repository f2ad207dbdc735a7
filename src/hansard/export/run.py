"""Exporting: sessions to files, and only those that changed.

1. Each session gets its name: the one that a former export to this place gave it, or a new one.
2. A session whose fingerprint is the same as then, and whose file is still there, is left alone. A file that is there and that
   no export wrote stops everything before anything is written; one that was changed since is left alone and reported.
3. The manifest says which files will be written; then each is drawn to a temporary file that takes the name when it is complete.
4. What `prune` asks for is removed.
5. The index is drawn if the sessions of the folder are not the same as it says, and the manifest is written for the last time,
   if it says anything new.
"""

from __future__ import annotations

import os
import time
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from hansard.errors import HansardError, NotFound, UsageError, WouldOverwrite
from hansard.export import Exported, ExportedFile, NotExported, formats
from hansard.export.files import NotWritten, make_folder, refuse_roots, remove_remains, write_file
from hansard.export.known import note_folder
from hansard.export.manifest import NAME, SINGLE, Manifest, Written, locked
from hansard.export.names import name_sessions
from hansard.export.pool import Drawer, RenderedSession, assets_of, draw_all, reason
from hansard.model.calendar import Zone, find_zone
from hansard.model.gate import count_anew, replaced
from hansard.sources.names import printable

if TYPE_CHECKING:
    from hansard.model.sessions import Session
    from hansard.model.store_requests import ExportRequest
    from hansard.render.format import ProjectNames
    from hansard.sources.roots import Root
    from hansard.thread.store import ThreadStore

Progress = Callable[[int, int], None]
_PACKAGES = ("model", "clients", "query", "sql", "ledger", "pricing", "thread", "guard", "render", "export")
SAVE_SECONDS = 5.0  # how often the manifest is written while files are
_NAMED_AT_ONCE = 5
_WAIT = 10.0  # seconds for another export to the same folder
_CHANGED = "its file was changed after it was exported; --force overwrites it"


def export(
    store: ThreadStore,
    request: ExportRequest,
    sessions: Iterable[Session],
    *,
    home: str,
    roots: Sequence[Root],
    names: ProjectNames,
) -> Exported:
    """Write the sessions of a request to a file or a folder, never into a root; another export to the same folder is waited for."""
    whole = request.sessions is None
    chosen = list({session.session_id: session for session in sessions}.values())
    to = os.path.expanduser(request.to)
    found = formats.find_format(request.format, to)
    own = [place for root in roots for place in (root.path, root.transcripts, root.config) if place]
    refuse_roots(to, [*own, *(root.path for root in store.record.roots())])
    if request.tables and found not in formats.TABULAR:
        raise UsageError(f"tables are exported as {' or '.join(formats.TABULAR)}, not as {found}")
    if request.prune and found in (*formats.TABULAR, *formats.SEARCHED):
        raise UsageError("prune is for folders with a file for each session")
    if not chosen and not whole:
        raise NotFound("no sessions to export")
    zone = _info(find_zone(request.timezone))
    work = Export(store, to, found, home=home, zone=zone, names=names, force=request.force)

    def run() -> Exported:
        if found in formats.TABULAR:
            from hansard.export.tabular import export_tables

            return export_tables(work, chosen, request.tables, whole=whole, progress=request.progress)
        if found in formats.SEARCHED:
            from hansard.export.bulk import export_bulk

            return export_bulk(work, chosen, request.progress)
        return work.sessions(chosen, prune=request.prune, progress=request.progress)

    if work.single:
        return run()
    with locked(work.to, work.manifest.path, _WAIT):
        work.manifest.reload()
        if work.manifest.is_incomplete:
            remove_remains(work.to, whole=True)
        note_folder(home, work.to)
        return run()


def _info(zone: Zone) -> tzinfo:
    """A zone as drawings want it; the system's own by its name, which knows summer and winter."""
    if zone.info is not None:
        return zone.info
    try:
        return zoneinfo.ZoneInfo(zone.name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return datetime.now().astimezone().tzinfo or zoneinfo.ZoneInfo("UTC")


class Export:
    """One export to one place; files are named by their paths in the manifest."""

    def __init__(
        self,
        store: ThreadStore,
        to: str,
        form: str,
        *,
        home: str,
        zone: tzinfo = UTC,
        names: ProjectNames,
        force: bool = False,
    ) -> None:
        self.store = store
        self.to = os.path.abspath(to)
        self.form = form
        self.zone = zone
        self._names = names
        self.force = force
        self.single = formats.is_file(self.to, form)
        self._refuse_odd_place()
        place = os.path.join(home, SINGLE) if self.single else os.path.join(self.to, NAME)
        self.manifest = Manifest(place, single=self.single)
        self.fingerprints = store.fingerprints(f"{_code()} {getattr(store.redact, 'version', '')}")
        self.files: list[ExportedFile] = []
        self.failed: list[NotExported] = []
        self.listed = replaced(store.redact)  # secrets in the list of sessions
        self._redacted: set[str] = set()  # fingerprints of secrets
        self._drawn_now: set[str] = set()  # sessions
        self._kept: set[str] = set()  # pictures that their files show
        self._saved_at = time.monotonic()

    def _refuse_odd_place(self) -> None:
        if self.single or os.path.isdir(self.to):
            return
        if os.path.lexists(self.to):
            endings = " or ".join(formats.ENDINGS[self.form])
            raise UsageError(f"{printable(self.to)}: not a directory; files of this format end in {endings}")
        ending = os.path.splitext(self.to)[1].lower()
        if any(ending in endings for endings in formats.ENDINGS.values()):
            raise UsageError(f"{printable(self.to)}: the extension does not fit the format {self.form}")

    # -- sessions

    def sessions(
        self, sessions: Sequence[Session], *, prune: bool = False, progress: Progress | None = None
    ) -> Exported:
        if self.single and len(sessions) != 1:
            if self.form not in formats.LINES:
                raise UsageError(
                    f"{len(sessions):,} sessions need a directory: set one with --to, without an extension"
                )
            return self._together(sessions, progress)
        names = {} if self.single else name_sessions(sessions, self.manifest.names)
        due = self._due(sessions, names)
        listed = self.form in ("html", "markdown") and not self.single
        index = "index" + formats.ENDINGS[self.form][0]
        self.refuse_foreign_files([path for _, path, _ in due] + ([index] if listed else []))
        due = [entry for entry in due if self._is_free(entry[0], entry[1])]
        try:
            if due:
                self.manifest.names.update(names)
                for session, path, _ in due:
                    self.manifest.begin(path, session.session_id, self.form)
                self._make_place()
                self.manifest.save()
            self._draw_all(due, progress)
            if prune and not self.single:
                self._prune({session.session_id for session in sessions})
            if listed:
                self._index(index, sessions)
        finally:
            self.save()
        return self.result()

    def _due(self, sessions: Sequence[Session], names: dict[str, str]) -> list[tuple[Session, str, str]]:
        """The sessions to render, with path and fingerprint. The others are recorded as unchanged."""
        due = []
        assets: dict[str, list[str]] = {}
        for path in self.manifest.files:
            if ".assets/" in path:
                assets.setdefault(path.rpartition("/")[0], []).append(path)
        for session in sessions:
            path = self.to if self.single else names[session.session_id] + formats.ENDINGS[self.form][0]
            fingerprint = f"{self.form} {self.zone} {self.fingerprints.of_session(session)}"
            whole = all(os.path.isfile(self.manifest.where(asset)) for asset in assets.get(assets_of(path), ()))
            if not self.force and whole and self.manifest.is_current(path, fingerprint):
                self._note(path, session.session_id, "unchanged")
            else:
                due.append((session, path, fingerprint))
        return due

    def _draw_all(self, due: Sequence[tuple[Session, str, str]], progress: Progress | None) -> None:
        total = sum(session.bytes for session, _, _ in due)
        done = 0
        known = {session.session_id: (path, fingerprint) for session, path, fingerprint in due}
        tasks = [(session, self.manifest.where(path)) for session, path, _ in due]
        for (session, _), drawn in draw_all(self._drawer(), tasks):
            path, fingerprint = known[session.session_id]
            if isinstance(drawn, str):
                self._forget_file(path)
                self.failed.append(NotExported(session.session_id, drawn))
            else:
                self._keep(session.session_id, assets_of(path), drawn)
                self.note_written(path, session.session_id, fingerprint, drawn.file, drawn.redacted)
            done += session.bytes
            if progress is not None:
                progress(done, total)

    def _drawer(self) -> Drawer:
        home = "" if self.single else "index" + formats.ENDINGS[self.form][0]
        return Drawer(self.store, self.form, zone=self.zone, home=home)

    def _keep(self, session_id: str, folder: str, drawn: RenderedSession) -> None:
        self._drawn_now.add(session_id)
        for name, stamp in drawn.assets.items():
            asset = f"{folder}/{name}"
            self._kept.add(asset)
            self.manifest.files[asset] = Written(session_id, self.form, "asset", *stamp)

    def _together(self, sessions: Sequence[Session], progress: Progress | None) -> Exported:
        fingerprint = f"{self.form} {self.fingerprints.of_sessions(sessions)}"

        drawer = self._drawer()

        def pieces() -> Iterator[bytes]:
            done, total = 0, sum(session.bytes for session in sessions)
            for session in sessions:
                try:
                    yield from drawer.pieces(session, _no_assets)
                except Exception as error:  # noqa: BLE001 - one session that cannot be drawn must not stop the others
                    self.failed.append(NotExported(session.session_id, reason(error)))
                done += session.bytes
                if progress is not None:
                    progress(done, total)

        self.write_one(self.to, fingerprint, lambda: self._write(self.to, "", fingerprint, pieces()))
        self.save()
        return self.result()

    # -- the index

    def _index(self, path: str, sessions: Sequence[Session]) -> None:
        from hansard.render.index import SessionLink, draw_index

        given = {session.session_id: session for session in sessions}
        listed = []
        ending = formats.ENDINGS[self.form][0]
        for name, written in self.manifest.files.items():
            if written.format == self.form and written.session_id and "/" not in name and name.endswith(ending):
                session = given.get(written.session_id) or self._known(written.session_id)
                if session is not None and os.path.isfile(self.manifest.where(name)):
                    listed.append(SessionLink(session, name))
        listed.sort(
            key=lambda entry: (entry.session.started_at is not None, entry.session.started_at, entry.href), reverse=True
        )
        fingerprint = f"{self.form} {self.zone} {self.fingerprints.of_list(listed)}"
        self.write_one(
            path,
            fingerprint,
            lambda: self._write(path, "", fingerprint, draw_index(self.form, listed, self.zone, self._names)),
        )

    def _known(self, session_id: str) -> Session | None:
        try:
            session = self.store.find(session_id)
        except HansardError:
            return None
        return session if session.session_id == session_id else None

    # -- files

    def write_one(self, path: str, fingerprint: str, write: Callable[[], None]) -> None:
        """Write a file of several sessions, unless it is current."""
        if not self.force and self.manifest.is_current(path, fingerprint):
            self._note(path, None, "unchanged")
            return
        self.refuse_foreign_files([path])
        if not self.force and not self.manifest.is_ours(path):
            raise WouldOverwrite(
                f"{printable(self.manifest.where(path))} was changed since it was exported. Use --force to replace it"
            )
        self.manifest.begin(path, "", self.form)
        self._make_place()
        self.manifest.save()
        write()

    def note_written(
        self,
        path: str,
        session_id: str,
        fingerprint: str,
        written: tuple[int, int, str],
        redacted: frozenset[str] = frozenset(),
    ) -> None:
        """Record a finished file in the manifest."""
        self._redacted |= redacted
        self.manifest.files[path] = Written(session_id, self.form, fingerprint, *written, redacted=len(redacted))
        self._note(path, session_id or None, "written")
        if time.monotonic() - self._saved_at > SAVE_SECONDS:
            self.manifest.save()
            self._saved_at = time.monotonic()

    def note_removed(self, path: str) -> None:
        """Record that a file is gone."""
        self._note(path, self.manifest.files[path].session_id or None, "removed")
        del self.manifest.files[path]

    def _write(self, path: str, session_id: str, fingerprint: str, pieces: Iterator[bytes]) -> None:
        count_anew(self.store.redact)
        file = write_file(self.manifest.where(path), pieces)
        self.note_written(path, session_id, fingerprint, file, replaced(self.store.redact))

    def _forget_file(self, path: str) -> None:
        """Drop a file that could not be drawn from the manifest; an earlier version stays."""
        if not os.path.lexists(self.manifest.where(path)):
            self.manifest.files.pop(path, None)

    def refuse_foreign_files(self, paths: Sequence[str]) -> None:
        """Raise if a file exists that no export wrote."""
        if self.force:
            foreign = [path for path in paths if os.path.isdir(self.manifest.where(path))]
        else:
            foreign = [
                path for path in paths if path not in self.manifest.files and os.path.lexists(self.manifest.where(path))
            ]
        if foreign:
            named = ", ".join(printable(self.manifest.where(path)) for path in foreign[:_NAMED_AT_ONCE])
            more = f" and {len(foreign) - _NAMED_AT_ONCE} more" if len(foreign) > _NAMED_AT_ONCE else ""
            raise WouldOverwrite(
                f"{named}{more}: already exists, and not from an earlier export. Nothing was written."
                " Export to another place, or use --force to overwrite it"
            )

    def _is_free(self, session: Session, path: str) -> bool:
        if self.force or self.manifest.is_ours(path):
            return True
        self.failed.append(NotExported(session.session_id, _CHANGED))
        return False

    def _make_place(self) -> None:
        folder = os.path.dirname(self.to) if self.single else self.to
        make_folder(folder)
        remove_remains(folder)
        if self.single:
            make_folder(os.path.dirname(self.manifest.path))

    def _prune(self, wanted: set[str]) -> None:
        """Remove the files of sessions that are not wanted, and pictures that no file shows any more."""
        for path, written in list(self.manifest.files.items()):
            if written.format != self.form or not written.session_id:
                continue
            unused = "/" in path and written.session_id in self._drawn_now and path not in self._kept
            if written.session_id in wanted and not unused:
                continue
            place = self.manifest.where(path)
            if not self.manifest.is_ours(path):
                self.failed.append(NotExported(written.session_id, _CHANGED))
                continue
            with suppress(FileNotFoundError):
                os.unlink(place)
            self.note_removed(path)
            with suppress(OSError):
                if "/" in path:
                    os.rmdir(os.path.dirname(place))

    def _note(self, path: str, session_id: str | None, action: str) -> None:
        written = self.manifest.files.get(path)
        size, redacted = (written.size, written.redacted) if written is not None else (0, 0)
        self.files.append(ExportedFile(self.manifest.where(path), session_id, action, size, redacted))

    def save(self) -> None:
        if self.manifest.files or os.path.exists(self.manifest.path):
            with suppress(NotWritten):  # then the next export writes some files again
                self.manifest.save()

    def result(self) -> Exported:
        written = [file for file in self.files if file.action == "written"]
        return Exported(
            to=self.to,
            format=self.form,
            written=len(written),
            unchanged=sum(file.action == "unchanged" for file in self.files),
            skipped=len(self.failed),
            removed=sum(file.action == "removed" for file in self.files),
            bytes=sum(file.bytes for file in written),
            files=tuple(sorted(self.files, key=lambda file: file.path)),
            failed=tuple(self.failed),
            not_included=formats.not_included(self.form),
            redaction=getattr(self.store.redact, "mode", "off"),
            redacted=len(self._redacted),
        )


def _no_assets(name: str, content: bytes) -> str:  # noqa: ARG001 - lines hold their pictures themselves
    return ""


@cache
def _code() -> str:
    """A digest of the code that reads and draws: a newer Hansard may draw the same session differently."""
    digest = sha256()
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for part in _PACKAGES:
        for folder, folders, files in os.walk(os.path.join(package, part)):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(files):
                with open(os.path.join(folder, name), "rb") as file:
                    digest.update(name.encode() + b"\0" + file.read() + b"\0")
    return digest.hexdigest()

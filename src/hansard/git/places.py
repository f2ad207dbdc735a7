"""Where a repository lies, and did lie, on this machine and others: which paths in transcripts mean one of its files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hansard.query.reader import like

if TYPE_CHECKING:
    from hansard.git.repository import Repository
    from hansard.query.reader import Reader


class Places:
    """The folders of one repository."""

    def __init__(self, reader: Reader, repository: Repository) -> None:
        self._reader = reader
        self._repository = repository
        self._sessions: list[str] | None = None
        roots = [root.rstrip("/\\") for root in repository.worktrees()]
        # Worktrees that are gone, as the record remembers them.
        known = reader.rows(
            "SELECT path FROM worktrees WHERE repository IN (SELECT value FROM json_each(?1)) OR path IN (SELECT value FROM json_each(?1))",
            (json.dumps(roots),),
        )
        self.roots = list(dict.fromkeys([*roots, *(row[0].rstrip("/\\") for row in known)]))
        self._prefixes = tuple(sorted((f"{root.replace(os.sep, '/')}/" for root in self.roots), key=len, reverse=True))
        self._name = os.path.basename(os.path.realpath(repository.root))

    def relative(self, path: str) -> str | None:
        """A path of a transcript inside of the repository; None where it is elsewhere."""
        slashed = path.replace("\\", "/")
        for prefix in self._prefixes:
            if slashed.startswith(prefix):
                return slashed[len(prefix) :]
        # Another machine, or a folder that was moved: known by the folder's name.
        _, found, rest = slashed.partition(f"/{self._name}/")
        return rest if found and rest else None

    def spellings(self, names: Iterable[str]) -> list[str]:
        """The paths in transcripts that mean files of the repository."""
        names = set(names)
        found = {f"{root}/{name}" for root in self.roots for name in names}
        for name in names:
            rows = self._reader.rows(
                "SELECT DISTINCT path FROM session_files WHERE path LIKE ? ESCAPE '\\'", (like(name)[:-1],)
            )
            found.update(row[0] for row in rows if self.relative(row[0]) in names)
        return sorted(found)

    def sessions(self) -> list[str]:
        """The sessions that worked in it."""
        if self._sessions is None:
            self._sessions = [
                session_id
                for session_id, project, cwd in self._reader.rows("SELECT session_id, project, cwd FROM sessions")
                if self._holds(project) or self._holds(cwd)
            ]
        return self._sessions

    def _holds(self, folder: str) -> bool:
        slashed = folder.replace("\\", "/").rstrip("/") + "/"
        return slashed.startswith(self._prefixes) or slashed.endswith(f"/{self._name}/")

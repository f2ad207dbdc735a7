"""Places outside of the store that hold a secret: working trees and git histories of the projects it was in, and Hansard's exports.

Everything is read here and searched here: a secret is never an argument of another program.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.export.known import every_export, mentions
from hansard.files import READ_FLAGS
from hansard.git.objects import find_stored
from hansard.git.repository import GitFailed, Repository
from hansard.model.secrets import OtherPlace
from hansard.secrets.lists import reveal
from hansard.secrets.values import Value, plain_forms

if TYPE_CHECKING:
    from hansard.model.secrets import SecretReport
    from hansard.record.store import Record
    from hansard.secrets.lists import Findings
    from hansard.sources.roots import Root

_PIECE = 1 << 20
_OVERLAP = 64 << 10  # of two pieces of a file
PROJECT, COMMIT, EXPORT = "project", "commit", "export"


def search_elsewhere(
    findings: Findings, record: Record, report: SecretReport, *, home: str, roots: Sequence[Root]
) -> SecretReport:
    """The report of a secret with its places in the projects of its sessions, and in exports."""
    secret_id = report.secret.secret_id
    projects = {place.project for place in report.places if place.project}
    rule = findings.rows(secret_id)[0].rule
    text = reveal(findings, record, secret_id)
    pattern = Value(rule, secret_id, text).pattern()
    skipped = {os.path.realpath(place) for place in (home, *(root.config or root.path for root in roots))}
    places: list[OtherPlace] = []
    searched: list[str] = []
    folders, repositories = _folders(projects)
    for folder in folders:
        searched.append(folder)
        places += (OtherPlace(PROJECT, path) for path in _in_folder(folder, pattern, skipped))
    for repository in repositories:
        try:
            found = find_stored(repository, pattern)
        except GitFailed:
            continue
        searched.append(os.path.join(repository.root, ".git"))
        places += (OtherPlace(COMMIT, repository.root, one.commit, one.file) for one in found)
    texts = {form.encode("utf-8", "surrogateescape") for form in plain_forms(text)}
    exports = every_export(home)
    searched += sorted({os.path.dirname(place) for place in exports})
    places += (OtherPlace(EXPORT, place) for place in exports if mentions(place, texts))
    return replace(report, elsewhere=tuple(places), searched=tuple(searched))


def _folders(projects: Iterable[str]) -> tuple[list[str], list[Repository]]:
    """The working trees to search, none inside of another, and the repositories that they are of."""
    folders: set[str] = set()
    repositories: dict[str, Repository] = {}
    user = os.path.realpath(os.path.expanduser("~"))
    for project in projects:
        if not os.path.isabs(project) or not os.path.isdir(project):
            continue
        folder = os.path.realpath(project)
        try:
            repository = Repository.around(folder)
            shared = None if repository is None else os.path.realpath(repository.common_folder())
        except GitFailed:
            repository = shared = None
        if repository is not None and shared is not None:
            folder = os.path.realpath(repository.root)
            repositories.setdefault(shared, repository)
        if f"{user}{os.sep}".startswith(f"{folder.rstrip(os.sep)}{os.sep}") and repository is None:
            continue  # a session that was started at home: everything would be read
        folders.add(folder)
    outer = [one for one in folders if not any(one != other and one.startswith(other + os.sep) for other in folders)]
    return sorted(outer), list(repositories.values())


def _in_folder(folder: str, pattern: re.Pattern[bytes], skipped: Collection[str]) -> Iterator[str]:
    """The files of a working tree that have what a pattern finds; links are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git" and os.path.join(place, name) not in skipped)
        for name in sorted(names):
            path = os.path.join(place, name)
            if _has(path, pattern):
                yield path


def _has(path: str, pattern: re.Pattern[bytes]) -> bool:
    """Whether a regular file has what a pattern finds; one that cannot be read has nothing."""
    rest = b""
    try:
        with open(os.open(path, READ_FLAGS), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return False
            while piece := file.read(_PIECE):
                if pattern.search(data := rest + piece):
                    return True
                rest = data[-_OVERLAP:]
    except OSError:
        return False
    return False

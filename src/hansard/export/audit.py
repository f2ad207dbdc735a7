"""Audit reports as files, their signatures, and the revision that a file names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hansard.errors import NotFound, SourceUnreadable, UsageError
from hansard.export.sheets import records
from hansard.files import write_private
from hansard.model.audit import AUDIT_FORMATS, Operation
from hansard.model.serialize import encoded

if TYPE_CHECKING:
    from hansard.model.audit import AuditReport

NAMESPACE = "hansard-audit"
"""The namespace of signatures."""
_BY_EXTENSION = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".csv": "csv",
}
_REVISION = re.compile(r"(?<![0-9A-Za-z])[0-9]{1,18}:[0-9a-f]{64}(?![0-9A-Za-z])")
_LARGEST = 1 << 30


def format_of(path: str, given: str | None) -> str:
    """The format of a report: the given one, or that of the file's extension."""
    form = given or _BY_EXTENSION.get(os.path.splitext(path)[1].lower())
    if form not in AUDIT_FORMATS:
        raise UsageError(f"{path}: name it .md, .html, .json or .csv, or add --format")
    return form


def draw(report: AuditReport, form: str) -> Iterator[bytes]:
    """A report in one of `AUDIT_FORMATS`; CSV has the risky operations only, each with the record's revision."""
    if form == "json":
        yield encoded(report)
    elif form == "csv":
        names = (*Operation.__struct_fields__, "revision")
        rows = [
            {**{name: getattr(one, name) for name in Operation.__struct_fields__}, "revision": report.revision}
            for one in report.operations
        ]
        yield from records(rows, names)
    else:
        from hansard.render import audit

        if form == "html":
            yield from (piece.encode("utf-8", "replace") for piece in audit.html(report))
        else:
            yield from (line.encode("utf-8", "replace") + b"\n" for line in audit.markdown(report))


def write(report: AuditReport, path: str, form: str, *, force: bool = False) -> None:
    """Write a report to a file that only the user can read; an existing file is replaced with `force` only."""
    if os.path.lexists(path) and not force:
        raise UsageError(f"{path} exists: choose another name, or add --force")
    write_private(path, b"".join(draw(report, form)))


def sign(path: str, key: str) -> str:
    """Sign a file with an SSH key, or with its public part if an agent holds the key; returns the signature's path."""
    signature = f"{path}.sig"
    if os.path.lexists(signature):
        os.unlink(signature)  # of the file's former content
    _ssh_keygen(["-Y", "sign", "-n", NAMESPACE, "-f", os.path.expanduser(key), path], f"{key}: could not sign")
    os.chmod(signature, 0o600)
    return signature


def check_signature(path: str) -> str | None:
    """Which key signed a file, as ssh-keygen names it; None if it has no signature. An invalid signature is an error."""
    if not os.path.exists(f"{path}.sig"):
        return None
    with open(path, "rb") as file:
        words = ["-Y", "check-novalidate", "-n", NAMESPACE, "-s", f"{path}.sig"]
        said = _ssh_keygen(words, f"{path}.sig is not a signature of {path}", file.fileno())
    return said.strip()


def _ssh_keygen(words: list[str], failure: str, stdin: int | None = None) -> str:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise NotFound("ssh-keygen is not installed; it makes and checks signatures (OpenSSH 8.1 or newer)")
    words = [program, *words]
    done = subprocess.run(words, stdin=stdin, capture_output=True, text=True, check=False)  # noqa: S603 - a list, no shell
    if done.returncode:
        raise UsageError(f"{failure}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def revision_in(path: str) -> str:
    """The revision that a report names."""
    try:
        if os.path.getsize(path) > _LARGEST:
            raise UsageError(f"{path} is too large for a report")
        with open(path, encoding="utf-8", errors="replace") as file:
            found = set(_REVISION.findall(file.read()))
    except OSError as error:
        raise SourceUnreadable(f"{path}: {error.strerror or error}") from None
    if not found:
        raise UsageError(
            f"{path} names no revision: it is not a report of `hansard audit`, or a CSV file without operations"
        )
    if len(found) > 1:
        raise UsageError(f"{path} names several revisions: {', '.join(sorted(found))}")
    return str(found.pop())

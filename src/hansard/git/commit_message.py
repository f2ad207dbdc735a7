"""Text for git from a session: a branch name from its title, a commit message from its work, a trailer and the hook that adds it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.changes.plan import ChangeSet, Write, content, read_file
from hansard.clients.tools import Ask, Shell
from hansard.errors import UsageError
from hansard.guard.redaction import redact
from hansard.model.placeholders import PLACEHOLDER

if TYPE_CHECKING:
    from hansard.git.repository import Repository
    from hansard.model.sessions import Session
    from hansard.thread.store import ThreadStore

TRAILER = "Hansard-Session"
_BRANCH = 50  # characters
_SUBJECT = 72
_WIDTH = 76
_MOST_FILES = 12
_MOST_TESTS = 6
_WORDS = re.compile(r"[a-z0-9]+")
_LONGEST_ID = 200
# Forbidden by git-check-ref-format(1).
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/]|(?:^|/)\.|\.(?:lock)?(?:/|$)|/$")
_SMALL = frozenset(
    "a an and at be by can could do for from give i in is it let make me of on or our please should so that the then there this to us we will with would you".split()
)
_TESTS = re.compile(
    r"\b(?:pytest|tox|nox|go test|cargo (?:test|nextest)|(?:npm|pnpm|yarn|bun)(?: run)? test|jest|vitest|mvn [\w:-]*test|gradle\w* [\w:-]*test|make (?:test|check)|ctest|rspec|phpunit|dotnet test)\b"
)


class SessionWords(Struct, frozen=True):
    """Texts for git about a session."""

    session_id: str
    branch: str
    message: str
    trailer: str


def branch_name(title: str, session_id: str, prefix: str = "") -> str:
    """A valid branch name from the significant words of a title, without secrets."""
    if _NO_REF.search(f"{prefix}x"):
        raise UsageError(f"invalid prefix {prefix!r}: git does not allow it in the name of a branch")
    plain = (
        unicodedata.normalize("NFKD", PLACEHOLDER.sub(" ", redact(title))).encode("ascii", "ignore").decode().lower()
    )
    words = _WORDS.findall(plain)
    telling = [word for word in words if word not in _SMALL] or words
    name = ""
    for word in telling:
        if name and len(name) + len(word) + 1 > _BRANCH:
            break
        name = f"{name}-{word}" if name else word[:_BRANCH]
    return prefix + (name or "-".join(["session", *_WORDS.findall(session_id[:8].lower())]))


def trailer(session_id: str) -> str:
    if not session_id.isprintable() or not 0 < len(session_id) <= _LONGEST_ID:
        raise UsageError(f"invalid session id {session_id[:_LONGEST_ID]!r}")
    return f"{TRAILER}: {session_id}"


def commit_message(
    session: Session, files: Sequence[tuple[str, int, int]], calls: Sequence[str], *, decisions: Sequence[str] = ()
) -> str:
    """A commit message for a session's work: its title, the files with their line counts, decisions, the tests that were run.

    `files` are paths with added and removed lines; `calls` are shell commands. Secrets are redacted.
    """
    subject = _subject(session)
    parts = [subject]
    if files:
        shown = [f"- {_clean(path)} (+{added} -{removed})" for path, added, removed in files[:_MOST_FILES]]
        if len(files) > _MOST_FILES:
            shown.append(f"- and {len(files) - _MOST_FILES} more")
        parts.append("\n".join(shown))
    if decisions:
        parts.append("Decisions:\n" + "\n".join(_item(text) for text in decisions))
    tests = commands_of_tests(calls)
    if tests:
        parts.append("Tests run:\n" + "\n".join(f"- {test}" for test in tests))
    parts.append(trailer(session.session_id))
    return "\n\n".join(parts) + "\n"


def commands_of_tests(commands: Sequence[str]) -> list[str]:
    """The commands that ran tests, each once, on one line."""
    found: dict[str, None] = {}
    for command in dict.fromkeys(commands):
        if len(found) < _MOST_TESTS and _TESTS.search(command[:4000]):
            found[_clean(command)[:100]] = None
    return list(found)


def _subject(session: Session) -> str:
    text = _clean(session.title or session.first_prompt or "Work of a session").rstrip(".")
    text = text[:1].upper() + text[1:]
    if len(text) <= _SUBJECT:
        return text
    return text[: _SUBJECT - 1].rsplit(" ", 1)[0] + "…"


def _clean(text: str) -> str:
    """A text on one line with secrets redacted: before anything is cut, since half a secret is not recognized."""
    printable = "".join(character if character.isprintable() else " " for character in redact(text))
    return " ".join(printable.split())


def _item(text: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(_clean(text)[:400], _WIDTH, initial_indent="- ", subsequent_indent="  "))


def relative_files(changes: Sequence[tuple[str, int, int]], folders: Sequence[str]) -> list[tuple[str, int, int]]:
    """Changed files in these folders by relative path, most changed first; others are omitted."""
    sums: dict[str, list[int]] = {}
    for path, added, removed in changes:
        slashed = path.replace("\\", "/")
        for folder in folders:
            start = folder.replace("\\", "/").rstrip("/") + "/"
            if slashed.startswith(start):
                known = sums.setdefault(os.path.normpath(slashed[len(start) :]).replace(os.sep, "/"), [0, 0])
                known[0] += added
                known[1] += removed
                break
    return sorted(((path, *counts) for path, counts in sums.items()), key=lambda item: (-item[1] - item[2], item[0]))  # type: ignore[misc]


def words_of(threads: ThreadStore, session: Session, prefix: str = "") -> SessionWords:
    """A branch name, a commit message and a trailer for a session."""
    changes = [
        (row[0], row[1], row[2])
        for row in threads.reader.rows(
            "SELECT path, added, removed FROM session_files WHERE session_id = ? AND changes > 0", (session.session_id,)
        )
    ]
    commands: list[str] = []
    decisions: list[str] = []
    thread = threads.read(session, subagents=False, pictures=False, long_lines=False)
    for entry in thread.conversation().entries if thread.has_log else ():
        call = entry.tool
        if call is None or call.is_error or thread.client.tool_kind(call.tool) not in ("shell", "ask"):
            continue
        given = thread.client.tool_use(call.tool, call.input, call.output or "").input
        if isinstance(given, Shell):
            commands.append(given.command)
        elif isinstance(given, Ask):
            decisions += [f"{question} {answer}" for question, answer in given.answers]
    return SessionWords(
        session.session_id,
        branch_name(session.title or session.first_prompt, session.session_id, prefix),
        commit_message(
            session, relative_files(changes, (session.cwd, session.project)), commands, decisions=decisions[:6]
        ),
        trailer(session.session_id),
    )


def new_words(session_id: str, prefix: str = "") -> SessionWords:
    """The same for a session about which nothing is known yet."""
    name = branch_name("", session_id, prefix)
    return SessionWords(
        session_id, name, f"Work of session {session_id[:8]}\n\n{trailer(session_id)}\n", trailer(session_id)
    )


PURPOSE = "git-hook"
_NAME = "prepare-commit-msg"
_BEGIN = b"# hansard: begin (`hansard git hook remove` takes this out)\n"
_SHELL = re.compile(rb"#![ \t]*/(?:\S*/)?(?:env[ \t]+(?:\S*/)?)?(?:ba|da|k|z)?sh(?:[ \t][^\n]*)?\n")
# Without a message ($2) git opens an editor, and a person writes it.
_TRAILER = f"""if [ -n "${{CLAUDE_CODE_SESSION_ID-}}" ] && [ -n "${{2-}}" ]; then
    case "$CLAUDE_CODE_SESSION_ID" in
        *[!0-9A-Za-z-]*) ;;
        *) git interpret-trailers --in-place --if-exists addIfDifferent --trailer "{TRAILER}: $CLAUDE_CODE_SESSION_ID" "$1" || : ;;
    esac
fi
exit 0
"""
SCRIPT = (
    b"#!/bin/sh\n"
    + _BEGIN
    + f"# Names the Claude Code session in the commits that it makes, as the trailer {TRAILER}.\n{_TRAILER}".encode()
)
# An existing hook runs first, as a separate program: it may end with exec or exit, and many find their files by $0.
# Every line is marked, so that removal leaves all other lines of a hook that was edited since.
_BLOCK = _BEGIN + b"".join(
    line.encode() + b"  # hansard\n"
    for line in f"""if [ -z "${{HANSARD_HOOK-}}" ]; then
HANSARD_HOOK=1 "$0" "$@" || exit $?
{_TRAILER}fi
unset HANSARD_HOOK""".split("\n")
)


def plan_hook(repository: Repository) -> ChangeSet:
    """Plan the hook's installation; an existing shell script gets a block at its beginning, and runs first."""
    folder, bases = _folder(repository)
    if not bases:
        raise UsageError(
            f"core.hooksPath is {folder}, which is not in this repository: it is not changed, because others may use it too"
        )
    path = os.path.join(folder, _NAME)
    facts = {"repository": os.path.realpath(repository.common_folder())}
    existing = read_file(path)
    merge = "" if existing is None else "lines"
    step = Write(path, content(_script(path, existing)), merge=merge, mode=0o755)
    return ChangeSet(PURPOSE, f"{_NAME} hook of {repository.root}", (bases[0],), (step,), facts)


def is_installed(repository: Repository) -> bool:
    """Whether the hook that git runs contains our part: tools such as husky rewrite their hooks."""
    try:
        return _BEGIN in (read_file(os.path.join(_folder(repository)[0], _NAME)) or b"")
    except UsageError:
        return False


def _script(path: str, existing: bytes | None) -> bytes:
    if existing is None:
        return SCRIPT
    first = _SHELL.match(existing)
    if first is None:
        raise UsageError(
            f"{path} is not a shell script, so it is not changed; let it add the trailer that `hansard git trailer` prints"
        )
    if not os.access(path, os.X_OK):
        raise UsageError(f"{path} is not executable, so git does not run it; it is not changed")
    return existing[: first.end()] + _BLOCK + existing[first.end() :]


def _folder(repository: Repository) -> tuple[str, list[str]]:
    folder = os.path.realpath(repository.hooks_folder())
    bases = (repository.common_folder(), os.path.realpath(repository.root))
    return folder, [base for base in bases if _is_in(folder, base)]


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)

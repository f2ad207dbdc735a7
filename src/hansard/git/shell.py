"""What a shell command wrote to files, as far as its own text tells: here-documents and echoes; and which commits it made."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_LONGEST = 1 << 20  # characters of a command that are looked at
_MOST_NAMES = 64
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_][A-Za-z0-9_]{0,60})\1")
_TARGET = re.compile(r">>?[ \t]*(\"[^\"\n]{1,1000}\"|'[^'\n]{1,1000}'|[^\s;&|<>()'\"]{1,1000})")
_TEE = re.compile(r"\btee[ \t]+(?:-a[ \t]+)?(\"[^\"\n]{1,1000}\"|'[^'\n]{1,1000}'|[^\s;&|<>()'\"]{1,1000})")
_ECHO = re.compile(r"^[ \t]*echo[ \t]+(?:-e[ \t]+)?(?:'([^'\n]{1,2000})'|\"([^\"\n$`\\]{1,2000})\")[ \t]*>>?")
_CD = re.compile(r"^[ \t]*cd[ \t]+(\"[^\"\n]{1,1000}\"|'[^'\n]{1,1000}'|[^\s;&|<>()'\"]{1,1000})[ \t]*(?:&&|;|$)")
_NAME = re.compile(r"[\w@+./-]{1,300}")
_CHANGES = re.compile(
    r"\bsed\b[^|;&\n]{0,300}\s(?:-i|--in-place)|\bperl\b[^|;&\n]{0,100}\s-\w{0,4}i|\btee\b|\bpatch\b|\bgit (?:apply|mv|checkout|restore|stash)\b"
    r"|\b(?:mv|cp)\b|write_text|writeFile|\bopen\(|\b(?:prettier|black|isort|ruff|gofmt|rustfmt|eslint|biome|clang-format|dprint)\b|>[ \t]*[\w./~-]"
)
_COMMITS = re.compile(r"\bgit\b[^\n;&|]{0,300}?\s(?:commit|merge|cherry-pick|revert|rebase|am|pull)\b")
_MADE = re.compile(r"^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] ([^\n]{0,300})", re.MULTILINE)


class ShellWrite(NamedTuple):
    """Lines that a command put into a file."""

    path: str
    lines: list[str]


class ShellCommand(NamedTuple):
    """What a command tells of itself."""

    writes: list[ShellWrite]
    names: list[str]  # words that may be files which it changed
    commits: bool  # it runs `git commit` or the like


def read_command(command: str, cwd: str) -> ShellCommand:
    """What a command writes, and which files it may change beside that."""
    command = command[:_LONGEST]
    writes: list[ShellWrite] = []
    rest: list[str] = []
    lines = command.split("\n")
    folder = cwd
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        rest.append(line)
        if (moved := _CD.match(line)) is not None:
            folder = _join(folder, _bare(moved[1]))
        target = _TEE.search(line) or _TARGET.search(line)
        echoed = _ECHO.match(line)
        if echoed is not None and target is not None:
            writes.append(ShellWrite(_join(folder, _bare(target[1])), [echoed[1] or echoed[2] or ""]))
        for found in _HEREDOC.finditer(line):
            end = number
            while end < len(lines) and lines[end].strip() != found[2]:
                end += 1
            body = lines[number:end]
            number = min(end + 1, len(lines))
            if target is not None and body:
                writes.append(ShellWrite(_join(folder, _bare(target[1])), body))
            else:
                rest += body  # a script: what it names it may change
    said = "\n".join(rest)
    names: list[str] = []
    if _CHANGES.search(said) is not None:
        known = (name[0] for name in _NAME.finditer(said) if "." in name[0].strip(".") or "/" in name[0])
        names = list(dict.fromkeys(known))[:_MOST_NAMES]
    return ShellCommand(writes, names, _COMMITS.search(said) is not None)


def made_commits(output: str) -> list[tuple[str, str]]:
    """The hashes and subjects that `git commit` told."""
    return [(found[1], found[2]) for found in _MADE.finditer(output[:_LONGEST])]


def _bare(word: str) -> str:
    return word[1:-1] if word[:1] in ("'", '"') else word


def _join(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder or "/", path)).replace(os.sep, "/")

"""What a shell command reveals: the lines it writes, the files it may change, what it replaces, the commits it makes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from hansard.shell.commands import Command, join, read_commands
from hansard.shell.runners import RUNNERS

_LONGEST_OUTPUT = 1 << 20  # characters of an output that are examined
_MOST_NAMES = 64
_ECHO = re.compile(r"echo[ \t]+(?:-e[ \t]+)?(?:'([^'\n]{1,2000})'|\"([^\"\n$`\\]{1,2000})\")[ \t]*>>?")
_NAME = re.compile(r"[\w@+./-]{1,300}")
_EDITS = re.compile(
    r"\bsed\b[^|;&\n]{0,300}\s(?:-i|--in-place)|\bperl\b[^|;&\n]{0,100}\s-\w{0,4}i|\bpatch\b|\bgit apply\b|write_text|writeFile|\bopen\("
)
_COMMITS = re.compile(r"\bgit\b[^\n;&|]{0,300}?\s(?:commit|merge|cherry-pick|revert|rebase|am|pull)\b")
_MADE = re.compile(r"^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] ([^\n]{0,300})", re.MULTILINE)
_FLAGS = re.compile(r"[gIimp0-9]{0,6}[ \t]*(?:[;}]|$)")
_MARKS = frozenset("/|#,@!:~%")
_REFERENCE = re.compile(r"\\([1-9])|\\.|&")
_LONGEST_SCRIPT = 20_000  # characters of a command that replaces text
_MOST_SCRIPTS = 20
_MOST_REPEATS = 1  # in a pattern: more take too long on a line that was made for it


class ShellWrite(NamedTuple):
    """Lines that a command put into a file."""

    path: str
    lines: list[str]


class Substitution(Struct, frozen=True, array_like=True):
    """A text that `sed` or `perl` replaced in a file, as a regular expression of Python."""

    path: str  # empty: in files that the command does not name
    pattern: str
    replacement: str


class ShellCommand(NamedTuple):
    """What a command line reveals."""

    writes: list[ShellWrite]
    outputs: list[str]  # files that got the output of a program
    edited: list[str]  # files named by scripts that edit files
    script: str  # the text of these scripts
    commits: bool  # it runs `git commit` or the like
    substitutions: list[Substitution]
    worktrees: list[str]


def read_command(text: str, cwd: str) -> ShellCommand:
    """What a command line writes, and which other files it may change."""
    writes: list[ShellWrite] = []
    outputs: list[str] = []
    scripts: list[str] = []
    edited: list[str] = []
    substitutions: list[Substitution] = []
    worktrees: list[str] = []
    commits = False
    for command in read_commands(text, cwd or None).found:
        if command.host or command.is_contained:
            continue
        lines = _copied(command, text)
        targets = [path for path in _paths(command.folder, _targets(command)) if path != "/dev/null"]
        if lines is None:
            outputs += targets
        else:
            writes += [ShellWrite(path, lines) for path in targets]
        words = [command.name, *command.args]
        said = " ".join(words) + (f"\n{command.stdin}" if lines is None and command.stdin else "")
        commits = commits or _COMMITS.search(said) is not None
        if _EDITS.search(said) is not None:
            scripts.append(said)
            names = (name[0] for name in _NAME.finditer(said))
            edited += _paths(command.folder, (name for name in names if "." in name.strip(".") or "/" in name))
        if command.name not in RUNNERS:  # what these run follows as a command of its own
            substitutions += _replaced(words, command.folder)
        worktrees += _worktree(command)
    known = {item.path for item in writes}
    return ShellCommand(
        writes,
        [path for path in dict.fromkeys(outputs) if path not in known][:_MOST_NAMES],
        list(dict.fromkeys(edited))[:_MOST_NAMES],
        "\n".join(dict.fromkeys(scripts))[:_LONGEST_SCRIPT],
        commits,
        substitutions,
        worktrees,
    )


def _paths(folder: str | None, names: Iterable[str]) -> list[str]:
    """Names as paths, without those whose folder is unknown."""
    return [path for name in names if (path := join(folder, name)) is not None]


def _targets(command: Command) -> list[str]:
    """The files that get the output of a command."""
    redirected = [name for name in command.writes if not name.startswith((">(", "&"))]
    return redirected + (command.operands if command.name == "tee" else [])


def _copied(command: Command, text: str) -> list[str] | None:
    """The lines that a command copies from the command line to its output; None if it makes others."""
    if command.name == "echo":
        echoed = _ECHO.match(text, command.start, command.end)
        return None if echoed is None else [echoed[1] or echoed[2]]
    source = command
    if command.name == "tee" and not command.stdin and command.feeds:
        source = command.feeds[-1]
    if (
        not source.stdin
        or source.name not in ("cat", "tee")
        or (source.name == "cat" and source.args not in ((), ("-",)))
    ):
        return None
    return source.stdin.split("\n")


def _worktree(command: Command) -> list[str]:
    """The folder that `git worktree add` makes."""
    folder, words = command.folder, list(command.args)
    if command.name == "git" and words[:1] == ["-C"] and len(words) > 1:
        folder, words = join(folder, words[1]), words[2:]
    if command.name != "git" or words[:2] != ["worktree", "add"]:
        return []
    words = words[2:]
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in ("-b", "-B", "--reason") else 1 :]
    return _paths(folder, words[:1])


def _replaced(command: list[str], folder: str | None) -> Iterator[Substitution]:
    """What `sed` or `perl` replaces in files."""
    names = [number for number, word in enumerate(command) if os.path.basename(word) in ("sed", "perl")]
    if not names:
        return
    program, words = os.path.basename(command[names[0]]), command[names[0] + 1 :]
    options = [word for word in words if word.startswith("-") and len(word) > 1]
    if not any(re.match(r"--in-place|-[a-zA-Z]*i", option) for option in options):
        return
    is_extended = program == "perl" or any(re.match(r"--regexp-extended|-[a-zA-Z]*[Er]", option) for option in options)
    scripts = {word: found for word in words if not word.startswith("-") and (found := list(_parts(word)))}
    files = [word for word in words if word and not word.startswith("-") and word not in scripts]
    is_named = files and not any(set(name) & set("*?[{$`(") for name in files)
    paths = _paths(folder, files) if is_named else [""]
    for old, new, mark in [part for found in scripts.values() for part in found][:_MOST_SCRIPTS]:
        pattern = _pattern(old, is_extended=is_extended)
        if pattern is not None:
            for path in paths:
                yield Substitution(path, pattern, _template(new, mark))


def _parts(script: str) -> Iterator[tuple[str, str, str]]:
    """What each `s/old/new/` of a script replaces, by what, and the character between them; addresses are passed over."""
    place = 0
    while (place := script.find("s", place)) >= 0:
        mark = script[place + 1 : place + 2]
        old = _until(script, place + 2, mark) if mark in _MARKS and mark else None
        new = _until(script, old + 1, mark) if old is not None else None
        if old is None or new is None or old == place + 2 or _FLAGS.match(script, new + 1) is None:
            if mark in _MARKS and mark:
                return
            place += 1
            continue
        yield script[place + 2 : old], script[old + 1 : new], mark
        place = new + 1


def _until(text: str, start: int, mark: str) -> int | None:
    """Where a mark is that no backslash precedes."""
    number = start
    while number < len(text):
        if text[number] == mark:
            return number
        number += 2 if text[number] == "\\" else 1
    return None


def _pattern(text: str, *, is_extended: bool) -> str | None:
    """A regular expression of `sed` in Python's syntax; None for one that is not simple enough to be tried on every line."""
    out: list[str] = []
    repeats = 0
    number = 0
    while number < len(text):
        sign = text[number]
        number += 1
        is_escaped = sign == "\\" and number < len(text)
        if is_escaped:
            sign = text[number]
            number += 1
        if is_escaped and sign in "<>b":
            out.append(r"\b")
        elif is_escaped and sign in "wsdWSD":
            out.append("\\" + sign)
        elif sign in "()|+?{}" and is_escaped != is_extended:
            if sign not in "()+?":
                return None
            repeats += sign in "+?"
            out.append(sign)
        elif sign == "*" and not is_escaped:
            repeats += 1
            out.append(sign)
        elif sign == "[" and not is_escaped:
            end = text.find("]", number + 1 + text.startswith("^", number))
            if end < 0:
                return None
            out.append("[" + text[number:end].replace("\\", r"\\").replace("[", r"\[") + "]")
            number = end + 1
        elif sign in "^$." and not is_escaped:
            out.append(sign)
        else:
            out.append(re.escape(sign))
    made = "".join(out)
    if repeats > _MOST_REPEATS or re.search(r"\)[*+?]", made):
        return None
    try:
        re.compile(made)
    except re.error:
        return None
    return made


def _template(text: str, mark: str) -> str:
    """What a match is replaced by, in the syntax of `re.sub`."""
    text = text.replace("\\" + mark, mark)
    return _REFERENCE.sub(
        lambda found: (
            r"\g<0>" if found[0] == "&" else rf"\g<{found[1]}>" if found[1] else found[0][1:].replace("\\", r"\\")
        ),
        text,
    )


def made_commits(output: str) -> list[tuple[str, str]]:
    """The hashes and subjects that `git commit` printed."""
    return [(found[1], found[2]) for found in _MADE.finditer(output[:_LONGEST_OUTPUT])]

"""What a shell command reveals: the lines it writes, the files it may change, what it replaces, the commits it makes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

_LONGEST_COMMAND = 1 << 20  # characters of a command that are examined
_MOST_NAMES = 64
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_][A-Za-z0-9_]{0,60})\1")
_TARGET = re.compile(r">>?[ \t]*(\"[^\"\n]{1,1000}\"|'[^'\n]{1,1000}'|[^\s;&|<>()'\"]{1,1000})")
_TEE = re.compile(r"\btee[ \t]+(?:-a[ \t]+)?(\"[^\"\n]{1,1000}\"|'[^'\n]{1,1000}'|[^\s;&|<>()'\"]{1,1000})")
_ECHO = re.compile(r"^[ \t]*echo[ \t]+(?:-e[ \t]+)?(?:'([^'\n]{1,2000})'|\"([^\"\n$`\\]{1,2000})\")[ \t]*>>?")
_CD = re.compile(r"^[ \t]*cd[ \t]+(\"[^\"\n]{1,1000}\"|'[^'\n]{1,1000}'|[^\s;&|<>()'\"]{1,1000})[ \t]*(?:&&|;|$)")
_NAME = re.compile(r"[\w@+./-]{1,300}")
_EDITS = re.compile(
    r"\bsed\b[^|;&\n]{0,300}\s(?:-i|--in-place)|\bperl\b[^|;&\n]{0,100}\s-\w{0,4}i|\bpatch\b|\bgit apply\b|write_text|writeFile|\bopen\("
)
_PART = re.compile(r"(?:'[^']*+'|\"(?:\\.|[^\"\\])*+\"|\\.|[^;|\n&]|&(?!&))++", re.DOTALL)
_COMMITS = re.compile(r"\bgit\b[^\n;&|]{0,300}?\s(?:commit|merge|cherry-pick|revert|rebase|am|pull)\b")
_MADE = re.compile(r"^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] ([^\n]{0,300})", re.MULTILINE)


_WORKTREE = re.compile(
    r"\bgit\b[^\n;&|]{0,200}?\sworktree[ \t]+add(?:[ \t]+(?:-b|-B|--reason)[ \t]+\S{1,200}|[ \t]+-\S{1,200}){0,6}"
    r"[ \t]+(\"[^\"\n]{1,1000}\"|'[^'\n]{1,1000}'|[^\s;&|<>()'\"-][^\s;&|<>()'\"]{0,1000})"
)
_REPLACES = re.compile(r"\b(?:sed|perl)\b")
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


def read_command(command: str, cwd: str) -> ShellCommand:
    """What a command writes, and which other files it may change."""
    command = command[:_LONGEST_COMMAND]
    writes: list[ShellWrite] = []
    rest: list[str] = []
    parts: list[str] = []
    plain: list[str] = []
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
        bodies: list[str] = []
        for found in _HEREDOC.finditer(line):
            end = number
            while end < len(lines) and lines[end].strip() != found[2]:
                end += 1
            body = lines[number:end]
            number = min(end + 1, len(lines))
            if target is not None and body:
                writes.append(ShellWrite(_join(folder, _bare(target[1])), body))
            else:
                bodies += body  # a script: it may change what it names
        if bodies:
            parts.append("\n".join([line, *bodies]))
        else:
            plain.append(line)
        rest += bodies
    parts += _PART.findall("\n".join(plain))
    scripts = [part for part in parts if _EDITS.search(part) is not None]
    known = {item.path for item in writes}
    outputs = [
        path
        for part in parts
        for found in (*_TEE.finditer(part), *_TARGET.finditer(part))
        if (path := _join(folder, _bare(found[1]))) != "/dev/null" and path not in known
    ]
    script = "\n".join(scripts)
    edited = [_join(folder, name[0]) for name in _NAME.finditer(script) if "." in name[0].strip(".") or "/" in name[0]]
    said = "\n".join(rest)
    return ShellCommand(
        writes,
        list(dict.fromkeys(outputs))[:_MOST_NAMES],
        list(dict.fromkeys(edited))[:_MOST_NAMES],
        script[:_LONGEST_SCRIPT],
        _COMMITS.search(said) is not None,
        list(_substitutions(said, folder)) if edited and _REPLACES.search(said) is not None else [],
        [_join(folder, _bare(found[1])) for found in _WORKTREE.finditer(said)],
    )


def _substitutions(said: str, folder: str) -> Iterator[Substitution]:
    """What the commands of a line replace in files."""
    words = shlex.shlex(said[:_LONGEST_SCRIPT], posix=True, punctuation_chars=";&|\n")
    words.whitespace, words.whitespace_split, words.commenters = " \t", True, ""
    command: list[str] = []
    try:
        for word in [*words, ";"]:
            if not word or word.strip(";&|\n"):
                command.append(word)
                continue
            yield from _replaced(command, folder)
            command = []
    except ValueError:  # quotes that do not end
        return


def _replaced(command: list[str], folder: str) -> Iterator[Substitution]:
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
    for old, new, mark in [part for found in scripts.values() for part in found][:_MOST_SCRIPTS]:
        pattern = _pattern(old, is_extended=is_extended)
        if pattern is not None:
            for name in files if is_named else [""]:
                yield Substitution(_join(folder, name) if name else "", pattern, _template(new, mark))


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
    return [(found[1], found[2]) for found in _MADE.finditer(output[:_LONGEST_COMMAND])]


def _bare(word: str) -> str:
    return word[1:-1] if word[:1] in ("'", '"') else word


def _join(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder or "/", path)).replace(os.sep, "/")

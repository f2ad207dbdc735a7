"""The commands that a command line runs, one by one, also those inside of `sudo`, `bash -c`, `ssh`, `xargs`, `docker exec` and others."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hansard.shell.parser import parse
from hansard.shell.runners import RUNNERS, SHELLS, Run
from hansard.shell.syntax import Group, Pipeline, Redirect, Simple

_DEEPEST = 6  # command lines inside of command lines
_MOST_COMMANDS = 5_000
_MOST_SAID = 4_096
_MOST_EXPANDED = 4_096  # characters of a word after its variables
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_VERBS = (
    "Get|Set|Remove|New|Add|Copy|Move|Start|Stop|Invoke|Test|Write|Select|Where|ForEach|Out|Import|Export|Clear|Expand|Compress|ConvertTo"
    "|ConvertFrom|Join|Split|Resolve|Rename|Measure|Restart|Enable|Disable|Register|Unregister|Update|Install|Uninstall"
)
_CMDLET = re.compile(rf"(?:^\s*|[;|(]\s*)(?:(?:{_VERBS})-[A-Z][A-Za-z]+|iwr|irm|iex)\b|^\s*\$[A-Za-z_]+ ?=")
TEMP_FOLDER = "/tmp/…"  # noqa: S108 - the value of `$(mktemp -d)`


class Command(Struct, frozen=True):
    """A command as it runs."""

    name: str
    """The program: the last part of its path, in lower case."""
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    reads: tuple[str, ...] = ()  # files its input comes from
    writes: tuple[str, ...] = ()  # files its output goes to
    stdin: str = ""  # the text of its here-document
    feeds: tuple[Command, ...] = ()  # what is before it in its pipeline
    inner: tuple[Command, ...] = ()  # what the substitutions in its words run
    via: tuple[str, ...] = ()  # sudo, ssh, docker, xargs, ...: what runs it
    host: str = ""  # where it runs, if not here
    is_contained: bool = False  # it runs in a container
    has_more_args: bool = False  # others come from its input
    folder: str | None = None  # the directory it runs in; None: unknown
    start: int = 0  # its place in the outermost command line
    end: int = 0

    def has(self, *options: str) -> bool:
        """Whether one of these options is given; short ones (`-f`) also among several (`-rf`)."""
        for arg in self.args:
            if arg == "--":
                return False
            if arg in options or (arg.startswith("--") and arg.split("=", 1)[0] in options):
                return True
            is_short = arg[:1] == "-" and arg[1:2] not in ("-", "") and arg[1:].isalpha()
            if is_short and any(len(option) == 2 and option[1] in arg[1:] for option in options):
                return True
        return False

    def value(self, *options: str) -> str:
        """The value of one of these options, as the next word or after `=`."""
        for number, arg in enumerate(self.args):
            if arg in options:
                return self.args[number + 1] if number + 1 < len(self.args) else ""
            name, sign, text = arg.partition("=")
            if sign and name in options:
                return text
            if len(arg) > 2 and arg[0] == "-" and arg[1] != "-":
                if arg[:2] in options:
                    return arg[2:]
                if arg[1:].isalpha() and f"-{arg[-1]}" in options and number + 1 < len(self.args):
                    return self.args[number + 1]
        return ""

    @property
    def operands(self) -> list[str]:
        """The arguments that are not options."""
        found = []
        is_over = False
        for arg in self.args:
            if arg == "--" and not is_over:
                is_over = True
            elif is_over or arg[:1] != "-" or arg == "-":
                found.append(arg)
        return found

    @property
    def said(self) -> str:
        """The arguments as one text, as far as rules read it."""
        return " ".join(self.args)[:_MOST_SAID]

    def variable(self, name: str) -> str:
        """The value that a variable is given for this command."""
        return next((value for known, value in reversed(self.env) if known == name), "")


class Commands(NamedTuple):
    """The commands of a command line, and whether all of it was understood."""

    found: list[Command]
    is_complete: bool


def read_commands(text: str, folder: str | None = None) -> Commands:
    """The commands of a command line, in their order."""
    walk = _Walk()
    walk.text(text, _Context(folder, {}), None)
    return Commands(walk.found, walk.is_complete)


class _Context(Struct):
    """The state in which commands run."""

    folder: str | None
    variables: dict[str, str]
    via: tuple[str, ...] = ()
    host: str = ""
    is_contained: bool = False
    has_more_args: bool = False
    env: tuple[tuple[str, str], ...] = ()
    feeds: tuple[Command, ...] = ()
    depth: int = 0

    def copy(self) -> _Context:
        return replace(self, variables=dict(self.variables))


class _Walk:
    def __init__(self) -> None:
        self.found: list[Command] = []
        self.is_complete = True
        self._written: dict[str, str] = {}  # scripts that the command line itself wrote

    def text(self, text: str, context: _Context, span: tuple[int, int] | None) -> list[Command]:
        """Read a command line; `span` is the place of the command that it is an argument of."""
        if context.depth > _DEEPEST:
            self.is_complete = False
            return []
        script = parse(text, is_powershell=_CMDLET.search(text[:4_000]) is not None)
        self.is_complete &= script.is_complete
        return self.pipelines(script.pipelines, context, span)

    def pipelines(
        self, pipelines: Iterable[Pipeline], context: _Context, span: tuple[int, int] | None
    ) -> list[Command]:
        made: list[Command] = []
        for pipeline in pipelines:
            former = context.feeds
            for stage in pipeline.stages:  # each is a process of its own if there are several
                found = self.stage(stage, context.copy() if len(pipeline.stages) > 1 else context, span)
                made += found
                context.feeds = (*context.feeds, *found)
            context.feeds = former
        return made

    def stage(self, stage: Simple | Group, context: _Context, span: tuple[int, int] | None) -> list[Command]:
        if len(self.found) > _MOST_COMMANDS:
            self.is_complete = False
            return []
        if isinstance(stage, Simple):
            return self.simple(stage, context, span)
        inside = context.copy() if stage.is_subshell else context
        made = self.pipelines(stage.pipelines, inside, span)
        reads, writes, _, inner = self.redirects(stage.redirects, context, span)
        if writes or reads:
            made.append(self.add(Command("", (), reads=reads, writes=writes, inner=inner), context, span or (0, 0)))
        return made

    def add(self, command: Command, context: _Context, span: tuple[int, int]) -> Command:
        command = replace(
            command,
            env=(*context.env, *command.env),
            feeds=context.feeds,
            via=context.via,
            host=context.host,
            is_contained=context.is_contained,
            has_more_args=context.has_more_args,
            folder=context.folder,
            start=span[0],
            end=span[1],
        )
        self.found.append(command)
        return command

    def simple(self, simple: Simple, context: _Context, span: tuple[int, int] | None) -> list[Command]:
        place = span or (simple.start, simple.end)
        inner: tuple[Command, ...] = ()
        for word in (*simple.words, *(word for _, word in simple.env)):
            if word.inner:
                inside = context.copy()
                inside.feeds = ()
                inner += tuple(self.pipelines(word.inner, inside, place))
        reads, writes, stdin, more = self.redirects(simple.redirects, context, place)
        env = tuple((name, _expand(word.text, context)) for name, word in simple.env)
        if not simple.words:
            for name, value in env:
                context.variables[name] = _assigned(value)
            if writes:
                return [self.add(Command("", (), reads=reads, writes=writes, inner=inner + more), context, place)]
            return list(inner + more)
        words = [_expand(word.text, context) for word in simple.words]
        made = Command("", (), env, reads, writes, stdin, inner=inner + more)
        return self.run(words, made, context, place)

    def redirects(
        self, redirects: Sequence[Redirect], context: _Context, span: tuple[int, int] | None
    ) -> tuple[tuple[str, ...], tuple[str, ...], str, tuple[Command, ...]]:
        reads: list[str] = []
        writes: list[str] = []
        stdin: list[str] = []
        inner: list[Command] = []
        for redirect in redirects:
            if redirect.inner:
                inside = context.copy()
                inside.feeds = ()
                inner += self.pipelines(redirect.inner, inside, span)
            if redirect.sign in ("<<", "<<-"):
                stdin.append(redirect.text)
            elif redirect.sign == "<<<":
                stdin.append(redirect.target)
            elif redirect.sign in ("<", "<>"):
                reads.append(_expand(redirect.target, context))
            elif redirect.sign != "<&":
                writes.append(_expand(redirect.target, context))
        return tuple(reads), tuple(writes), "\n".join(stdin), tuple(inner)

    # -- what runs other commands

    def run(self, words: list[str], made: Command, context: _Context, span: tuple[int, int]) -> list[Command]:
        """Add a command, or what it runs if it runs another."""
        name = program(words[0])
        args = words[1:]
        runner = RUNNERS.get(name)
        if runner is not None and context.depth <= _DEEPEST:
            run = runner(name, args, made.stdin)
            if run is not None:
                return self.unwrap(run, name, args, made, context, span)
        if name in SHELLS and (made.stdin or "-s" in args) and not [arg for arg in args if arg[:1] != "-"]:
            return self.unwrap(Run(script=made.stdin), name, args, made, context, span)
        if name in ("cat", "tee") and made.stdin:
            for path in (*made.writes, *(args if name == "tee" else ())):
                self._written[join(context.folder, path) or path] = made.stdin
        started = args[0] if name in SHELLS and args else words[0]
        if self._written and (script := self._written.pop(join(context.folder, started) or started, "")):
            return self.unwrap(Run(script=script, keeps=True), name, args, made, context, span)
        if name in ("cd", "pushd", "set-location", "chdir"):
            target = next((arg for arg in args if arg[:1] != "-"), "~")
            context.folder = join(context.folder, target)
        elif name in ("export", "declare", "local", "readonly", "typeset"):
            for arg in args:
                key, sign, value = arg.partition("=")
                if sign:
                    context.variables[key] = _assigned(value)
        return [self.add(replace(made, name=name, args=tuple(args)), context, span)]

    def unwrap(
        self, run: Run, name: str, args: list[str], made: Command, context: _Context, span: tuple[int, int]
    ) -> list[Command]:
        inside = context.copy()
        inside.depth += 1
        inside.via = (*context.via, run.label or name)
        inside.env = (*context.env, *made.env, *run.env)
        inside.has_more_args = context.has_more_args or run.has_more_args
        if run.host:
            inside.host, inside.folder = run.host, None
        if run.is_contained:
            inside.is_contained, inside.folder = True, None
        if run.folder:
            inside.folder = join(context.folder, run.folder)
        found: list[Command] = []
        if run.keeps or not (run.words or run.script):
            found.append(self.add(replace(made, name=name, args=tuple(args)), context, span))
        if run.words:
            bare = replace(made, env=(), inner=made.inner if not found else ())
            found += self.run(run.words, bare, inside, span)
        if run.script:
            found += self.text(run.script, inside, span)
            if (made.writes or made.reads) and not run.keeps:
                rest = Command("", (), reads=made.reads, writes=made.writes)
                found.append(self.add(rest, context, span))
        return found


def program(word: str) -> str:
    """The name of a program: the last part of its path, in lower case, without `.exe`."""
    if "$" in word or "`" in word:
        return word
    return word.replace("\\", "/").rstrip("/").rpartition("/")[2].lower().removesuffix(".exe").removesuffix(".cmd")


def join(folder: str | None, path: str) -> str | None:
    """A path in a directory, None if it cannot be known."""
    path = path.replace("\\", "/") if re.match(r"[A-Za-z]:[\\/]|\\\\", path) or "\\" in path else path
    if "$" in path or "`" in path or path == "-":
        return None
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:/", path):
        return posixpath.normpath(path) if path != "~" else path
    if folder is None:
        return None
    return posixpath.normpath(posixpath.join(folder.replace("\\", "/"), path))


def _expand(text: str, context: _Context) -> str:
    """A word with the values of variables that the command line set itself, and of `$HOME` and `$PWD`."""
    if "$" not in text:
        return text

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name in context.variables:
            return context.variables[name]
        if name == "HOME":
            return "~"
        if name in ("PWD", "OLDPWD") and context.folder is not None:
            return context.folder if name == "PWD" else found[0]
        return "/tmp" if name == "TMPDIR" else found[0]  # noqa: S108 - what it is for

    return _VARIABLE.sub(value, text)[:_MOST_EXPANDED]


def _assigned(value: str) -> str:
    """The value of a variable after an assignment."""
    if value.startswith(("$(mktemp", "`mktemp")):
        return TEMP_FOLDER
    if value in ("$(pwd)", "`pwd`", "$(git rev-parse --show-toplevel)"):
        return "."
    return value

"""Rules for risky operations, and the risks that they find in a command line or another call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from hansard.audit.paths import Scene
from hansard.audit.rules import access, agents, deleting, gitting, remote
from hansard.audit.rules.table import BY_NAME, CATEGORIES, RULES, SEVERITIES, VERSION, Rule
from hansard.shell.commands import Command, Commands
from hansard.shell.operations import FileUse

__all__ = ["BY_NAME", "CATEGORIES", "RULES", "SEVERITIES", "VERSION", "Risk", "Rule", "judge_commands", "judge_file"]

_LONGEST_DETAIL = 200
_FORK_BOMB = re.compile(r"(?<![\w:.])([\w:.]{1,20}) *\(\) *\{ *\1 *\| *\1 *& *\} *;? *\1")
_FILTERS = frozenset({"grep", "egrep", "rg", "cut", "wc", "awk", "sed", "head", "tail"})


class Risk(Struct, frozen=True):
    """A rule that a call matches, and what made it match."""

    rule: str
    detail: str
    start: int = 0  # the part of the command line
    end: int = 0


Matcher = Callable[[Command, Scene], Iterator[tuple[str, str]]]
_BY_PROGRAM: dict[str, tuple[Matcher, ...]] = {}
for _table in (deleting.BY_PROGRAM, gitting.BY_PROGRAM, access.BY_PROGRAM, agents.BY_PROGRAM, remote.BY_PROGRAM):
    for _name, _matchers in _table.items():
        _BY_PROGRAM[_name] = (*_BY_PROGRAM.get(_name, ()), *_matchers)


def judge_commands(text: str, commands: Commands, scene: Scene) -> list[Risk]:
    """The risks in a command line, one for each rule and what it found."""
    found: dict[tuple[str, str], Risk] = {}

    def add(rule: str, detail: str, command: Command | None) -> None:
        detail = " ".join(detail.split())[:_LONGEST_DETAIL]
        place = (command.start, command.end) if command is not None else (0, len(text))
        found.setdefault((rule, detail), Risk(rule, detail, *place))

    if "|" in text and "&" in text and (bomb := _FORK_BOMB.search(text)) is not None:
        add("fork-bomb", bomb[0], None)
    for command in commands.found:
        for rule, detail in _judge(command, scene, commands.found):
            add(rule, detail, command)
    for command in _shown_environments(commands.found):
        add("print-environment", command.name, command)
    return _without_lesser(list(found.values()))


def _judge(command: Command, scene: Scene, every: Sequence[Command]) -> Iterator[tuple[str, str]]:
    yield from access.every(command, scene)
    if command.writes:
        yield from deleting.redirects(command, scene)
    for matcher in _BY_PROGRAM.get(command.name, ()):
        yield from matcher(command, scene)
    if command.name.startswith("mkfs"):
        yield from deleting.devices(command, scene)
    yield from remote.downloads(command, scene, every)
    if command.name in remote.RELEASING:
        yield from remote.releases(command, scene)
    if command.name in remote.TUNNELLING:
        yield from remote.tunnels(command, scene)
    yield from remote.production(command, scene)
    yield from remote.shells(command, scene)
    yield from remote.transport(command, scene)
    yield from remote.sends(command, scene)


def judge_file(verb: str, path: str, scene: Scene) -> list[Risk]:
    """The risks of a tool that reads or changes a file."""
    use = FileUse("read" if verb == "read" else "delete" if verb == "delete" else "write", path)
    return [Risk(rule, detail[:_LONGEST_DETAIL]) for rule, detail in access.judge_file(use, scene.folder, scene)]


def _shown_environments(commands: Sequence[Command]) -> Iterator[Command]:
    """Commands that print every variable, unless what follows picks some."""
    filtered = {id(fed) for command in commands if command.name in _FILTERS for fed in command.feeds}
    for command in commands:
        is_listing = (command.name in ("env", "printenv") and not command.operands) or (
            command.name in ("export", "declare") and command.args in ((), ("-p",), ("-x",))
        )
        if is_listing and id(command) not in filtered and not command.writes and not command.is_contained:
            yield command


_LESSER = {
    "write-outside": ("delete-outside", "delete-everything"),
    "delete-outside": ("erase-traces", "write-system"),
    "write-system": ("overwrite-device",),
    "remote-host": ("send-credentials",),
    "read-private": ("send-credentials",),
    "read-secrets": ("send-credentials",),
    "upload": ("send-credentials",),
}


def _without_lesser(risks: list[Risk]) -> list[Risk]:
    """Without risks that a greater one of the same command contains."""
    return [
        risk
        for risk in risks
        if not any(other.rule in _LESSER.get(risk.rule, ()) and other.start == risk.start for other in risks)
    ]

"""Agents that are started without limits, and settings that decide what agents may do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hansard.audit.paths import Scene
from hansard.clients.programs import PROGRAMS
from hansard.shell.commands import Command

Found = Iterator[tuple[str, str]]


def agents(command: Command, _scene: Scene) -> Found:
    """Command lines of coding agents."""
    # Prompts are arguments too, and may name an option: only words that are options by themselves count.
    options = " ".join(arg for number, arg in enumerate(command.args) if _is_option(command.args, number))
    if command.has("--help", "-h", "--version"):
        return
    program = PROGRAMS[command.name]
    if program.unchecked and (found := re.search(f"(?:^| ){program.unchecked}", options)) is not None:
        yield "start-agent-unchecked", f"{command.name} {found[0].strip()}"
    if program.configuring and re.search(program.configuring, command.said):
        yield "agent-settings", " ".join((command.name, *command.args[:4]))


def _is_option(args: tuple[str, ...], number: int) -> bool:
    return " " not in args[number] and (args[number][:1] == "-" or (number > 0 and args[number - 1][:1] == "-"))


BY_PROGRAM = dict.fromkeys(PROGRAMS, (agents,))

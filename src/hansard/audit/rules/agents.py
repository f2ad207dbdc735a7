"""Agents that are started without limits, and settings that decide what agents may do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hansard.audit.paths import Scene
from hansard.shell.commands import Command

Found = Iterator[tuple[str, str]]

_UNCHECKED = {
    "claude": r"(?:^| )(?:--dangerously-skip-permissions|--allow-dangerously-skip-permissions|--permission-mode[ =]bypassPermissions)\b",
    "codex": r"(?:^| )(?:--dangerously-bypass-approvals-and-sandbox|--yolo|(?:-s|--sandbox)[ =]danger-full-access)\b",
    "gemini": r"(?:^| )(?:--yolo|-y|--approval-mode[ =]yolo)\b",
    "qwen": r"(?:^| )(?:--yolo|-y|--approval-mode[ =]yolo)\b",
    "copilot": r"(?:^| )(?:--allow-all-tools|--allow-all|--yolo)\b",
    "cursor-agent": r"(?:^| )(?:-f|--force|--yolo)\b",
    "amp": r"(?:^| )--dangerously-allow-all\b",
    "droid": r"(?:^| )--skip-permissions-unsafe\b",
    "aider": r"(?:^| )--yes-always\b",
    "crush": r"(?:^| )(?:-y|--yolo)\b",
    "opencode": r"(?:^| )--dangerously-skip-permissions\b",
}
_SETTINGS = {
    "claude": r"^(?:mcp (?:add|add-json|remove|add-from-claude-desktop)|config (?:set|add|remove)|plugin (?:install|enable|marketplace add))\b",
    "codex": r"^mcp (?:add|remove)\b",
    "gemini": r"^(?:mcp (?:add|remove)|extensions (?:install|link))\b",
    "code": r"^--add-mcp\b",
    "droid": r"^mcp (?:add|remove)\b",
}


def agents(command: Command, _scene: Scene) -> Found:
    """Command lines of coding agents."""
    # Prompts are arguments too, and may name an option: only words that are options by themselves count.
    options = " ".join(arg for number, arg in enumerate(command.args) if _is_option(command.args, number))
    if command.has("--help", "-h", "--version"):
        return
    unchecked = _UNCHECKED.get(command.name)
    if unchecked is not None and (found := re.search(unchecked, options)) is not None:
        yield "start-agent-unchecked", f"{command.name} {found[0].strip()}"
    setting = _SETTINGS.get(command.name)
    if setting is not None and re.search(setting, command.said):
        yield "agent-settings", " ".join((command.name, *command.args[:4]))


def _is_option(args: tuple[str, ...], number: int) -> bool:
    return " " not in args[number] and (args[number][:1] == "-" or (number > 0 and args[number - 1][:1] == "-"))


BY_PROGRAM = dict.fromkeys({*_UNCHECKED, *_SETTINGS}, (agents,))

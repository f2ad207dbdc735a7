"""The clients' command lines and files as other programs meet them: options, settings, logins, histories, worktrees, ids of calls.

`hansard audit` judges by these also what a session of one client did with another, whether or not Hansard reads its histories.
"""

import re

from msgspec import Struct

UNIQUE_CALL_IDS = ("toolu_", "srvtoolu_")
"""How ids of calls begin that the API gave, whichever client asked it; gateways number the calls of each message from the start."""
WORKTREES = (".claude", "worktrees")
"""The folder of a project in which Claude Code makes worktrees."""
WORKTREES_PATTERN = r"[/\\]".join(map(re.escape, WORKTREES))


class Program(Struct, frozen=True):
    """What a client's program can be told, and which files are its own; the values are regular expressions."""

    unchecked: str = ""
    """Options that let it work without asking."""
    configuring: str = ""
    """Arguments that change its settings."""
    folder: str = ""
    """Its directory in the home directory."""
    login: str = ""
    """The end of the path of the file with its login."""
    settings: tuple[str, ...] = ()
    """The ends of the paths of files with its permissions, hooks and servers."""
    history: str = ""
    """What it keeps of its sessions, inside its directory."""


PROGRAMS = {
    "claude": Program(
        r"(?:--dangerously-skip-permissions|--allow-dangerously-skip-permissions|--permission-mode[ =]bypassPermissions)\b",
        r"^(?:mcp (?:add|add-json|remove|add-from-claude-desktop)|config (?:set|add|remove)|plugin (?:install|enable|marketplace add))\b",
        r"\.claude",
        r"\.claude/\.credentials\.json$",
        (
            *(r"\.claude/(?:settings(?:\.local)?|managed-settings)\.json$", r"\.claude\.json$"),
            *(r"\.mcp\.json$", r"\.claude/hooks/"),
        ),
        r"\.claude/(?:projects(?!/[^/]+/memory(?:/|$))|history\.jsonl|file-history|todos|shell-snapshots)",
    ),
    "codex": Program(
        r"(?:--dangerously-bypass-approvals-and-sandbox|--yolo|(?:-s|--sandbox)[ =]danger-full-access)\b",
        r"^mcp (?:add|remove)\b",
        r"\.codex",
        r"\.codex/auth\.json$",
        (r"\.codex/(?:config\.toml|rules/)",),
        r"\.codex/(?:sessions|archived_sessions|history\.jsonl)",
    ),
    "gemini": Program(
        r"(?:--yolo|-y|--approval-mode[ =]yolo)\b",
        r"^(?:mcp (?:add|remove)|extensions (?:install|link))\b",
        r"\.gemini",
        r"\.gemini/oauth_creds\.json$",
        (r"\.gemini/settings\.json$",),
        r"\.gemini/tmp",
    ),
    "qwen": Program(
        r"(?:--yolo|-y|--approval-mode[ =]yolo)\b", folder=r"\.qwen", settings=(r"\.qwen/settings\.json$",)
    ),
    "copilot": Program(
        r"(?:--allow-all-tools|--allow-all|--yolo)\b", settings=(r"\.copilot/(?:config|mcp-config)\.json$",)
    ),
    "cursor-agent": Program(
        r"(?:-f|--force|--yolo)\b", folder=r"\.cursor", settings=(r"\.cursor/(?:mcp|cli-config|permissions)\.json$",)
    ),
    "code": Program(configuring=r"^--add-mcp\b"),
    "amp": Program(r"--dangerously-allow-all\b", settings=(r"\.config/amp/settings\.json$",)),
    "droid": Program(
        r"--skip-permissions-unsafe\b", r"^mcp (?:add|remove)\b", settings=(r"\.factory/settings\.json$",)
    ),
    "aider": Program(r"--yes-always\b"),
    "crush": Program(r"(?:-y|--yolo)\b", settings=(r"\.config/crush/crush\.json$",)),
    "goose": Program(settings=(r"\.config/goose/config\.yaml$",)),
    "opencode": Program(
        r"--dangerously-skip-permissions\b",
        settings=(r"\.config/opencode/opencode\.jsonc?$", r"opencode\.jsonc?$"),
    ),
}
"""By the name of the program."""

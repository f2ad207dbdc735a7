"""What clients and their tools are called; what each client calls its tools is known in its folder of `clients` only."""

from __future__ import annotations

from typing import Literal

ToolKind = Literal[
    "shell",  # runs a command
    "shell_output",  # reads from a running command, or ends it
    "read",  # gives the content of a file
    "write",  # replaces a file
    "edit",  # changes parts of a file
    "search",  # looks for files, or for text in them
    "fetch",  # gets a page of the web
    "web_search",
    "tool_search",  # looks for further tools
    "spawn",  # starts a subagent
    "plan",  # hands a plan over
    "plan_mode",  # begins to plan
    "todo",  # writes or reads a list of things to do
    "task_create",  # adds one thing to such a list; the result repeats what was given
    "task_update",  # changes one; the same
    "ask",  # asks the user
    "mcp",  # a tool of an MCP server, whatever it does
    "other",
]

CLAUDE_CODE = "claude-code"
"""The client whose sessions need no mention of it."""
MCP = "mcp__"


def mcp_parts(tool: str) -> tuple[str, str] | None:
    """Server and tool of `mcp__SERVER__TOOL`, which is what the tool of an MCP server is called in every row and value."""
    if not tool.startswith(MCP) or tool.count("__") < 2:
        return None
    _, server, name = tool.split("__", 2)
    return server, name

"""Names of clients and kinds of tools; each client's own tool names are known only in its folder of `clients`."""

from __future__ import annotations

from typing import Literal

ToolKind = Literal[
    "shell",  # runs a command
    "shell_output",  # reads from a running command, or stops it
    "read",  # returns the content of a file
    "write",  # replaces a file
    "edit",  # changes parts of a file
    "search",  # looks for files, or for text in them
    "fetch",  # gets a web page
    "web_search",
    "tool_search",  # searches for more tools
    "spawn",  # starts a subagent
    "plan",  # submits a plan
    "plan_mode",  # enters plan mode
    "todo",  # writes or reads a todo list
    "task_create",  # adds one entry to such a list; the result repeats the input
    "task_update",  # changes one; likewise
    "ask",  # asks the user
    "mcp",  # a tool of an MCP server, regardless of what it does
    "other",
]

CLAUDE_CODE = "claude-code"
"""The client that is not mentioned for its sessions."""
MCP = "mcp__"


def mcp_parts(tool: str) -> tuple[str, str] | None:
    """Server and tool of `mcp__SERVER__TOOL`, the name of an MCP server's tool in every row and value."""
    if not tool.startswith(MCP) or tool.count("__") < 2:
        return None
    _, server, name = tool.split("__", 2)
    return server, name


OWN_SERVER = "hansard"


def is_own(tool: str) -> bool:
    """Whether a tool is one of Hansard's MCP server, added by hand (`hansard`) or by the plugin (`plugin_hansard_history`)."""
    parts = mcp_parts(tool)
    return parts is not None and OWN_SERVER in parts[0].lower().replace("-", "_").split("_")

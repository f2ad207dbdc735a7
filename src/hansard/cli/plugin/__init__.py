"""The Claude Code plugin: hooks, an MCP server, a skill and slash commands, written for this very installation."""

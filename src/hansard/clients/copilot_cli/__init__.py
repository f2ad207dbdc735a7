"""GitHub Copilot CLI: one log of events per session in `~/.copilot/session-state`."""

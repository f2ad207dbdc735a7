"""Hooks of the client: what is new is kept and indexed behind its back, by at most one process for any number of hooks.

The client waits for a hook, so `run`, `requests` and `log` import next to nothing; only `worker` and `briefing` open the store. A
hook that failed could block a prompt or a tool: whatever goes wrong is written to a log, and the exit code is 0.
"""

"""Hooks of the client: what is new is stored and indexed in the background, by one process for any number of hooks.

The client waits for a hook, so `run` imports next to nothing; only `worker` and `briefing` open the store. A failing hook could block
a prompt or a tool, so errors are written to a log and the exit code is always 0.
"""

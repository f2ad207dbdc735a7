"""The client's status line: what is being spent, from a snapshot that a refresh in the background writes.

The client runs this many times a minute, in every session at once, and waits for it. Starting Python takes most of that time
and imports most of the rest, so `run`, `line` and `snapshot` do without click, SQLite, the engine, `typing`, `re`, `json` and
`dataclasses`; only `refresh` opens the store. Nothing that goes wrong here may cost the user the line: what cannot be read is
taken from what was last known, and said to be that.
"""

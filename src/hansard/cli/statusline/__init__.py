"""The client's status line: what is being spent, from what the store knows, and a refresh left behind.

The client runs this many times a minute, in every session at once, and waits for it. Starting Python takes most of that time
and imports most of the rest, so `door`, `known` and `words` do without click, the engine, `typing`, `re`, `json` and
`dataclasses`, and the store itself is opened only when it has changed. Nothing that goes wrong here may cost the user the
line: what cannot be read is taken from what was last known, and said to be that.
"""

"""Goose: its database, the older files of one session each, and what their records mean."""

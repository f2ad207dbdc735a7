"""Telling the client that a project is elsewhere: what has to change in its config directory, and nothing more."""

"""Cursor: its databases, the transcripts of its agents, and what their records mean."""

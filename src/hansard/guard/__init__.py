"""Redact secrets, and quote text for agents so that it stays data. Knows only text, not its origin."""

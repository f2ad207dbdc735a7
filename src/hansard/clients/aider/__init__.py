"""Aider: conversations that are imported."""

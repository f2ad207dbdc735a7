"""Amp: conversations that are imported."""

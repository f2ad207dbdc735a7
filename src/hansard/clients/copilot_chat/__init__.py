"""Copilot Chat in VS Code: a document or a log of changes per session, in the storage of each workspace."""

"""Gemini CLI: one document or one log per session in `~/.gemini/tmp/<project>/chats`."""

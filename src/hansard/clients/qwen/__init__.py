"""Qwen Code: one log per session in `~/.qwen/projects/<project>/chats`, with the parts and tools of Gemini CLI."""

"""OpenAI Codex: the CLI, its IDE extension and its app, which all write the same rollouts."""

"""The server for agents (Model Context Protocol); text from transcripts passes `guard`, and answers fit a token budget."""

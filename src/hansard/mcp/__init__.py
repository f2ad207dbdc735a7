"""The server for agents: the Model Context Protocol over the engine. Everything from transcripts leaves through `guard`, within a budget of tokens."""

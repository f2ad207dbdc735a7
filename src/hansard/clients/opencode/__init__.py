"""OpenCode: its database, the older folder of JSON files, and what their records mean."""

"""Where transcripts come from: file systems, layouts and names. No JSON, no databases of Hansard's own, no environment."""

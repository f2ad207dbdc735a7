"""Where transcripts come from: file systems, layouts and names; no JSON lines, no databases, no environment."""

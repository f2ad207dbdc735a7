"""Claude.ai: conversations of a data export."""

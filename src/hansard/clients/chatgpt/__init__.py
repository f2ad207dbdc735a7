"""ChatGPT: conversations of a data export."""

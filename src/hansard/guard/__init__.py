"""What may leave the store: redacts secrets, and quotes text for agents so that it stays data. Knows only text, not its origin."""

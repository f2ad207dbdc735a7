"""What may leave the store: secrets are redacted, and text for agents is quoted so that it stays data. Knows text, and nothing of where it comes from."""

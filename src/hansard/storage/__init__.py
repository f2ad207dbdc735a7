"""What the files of the data directory have in common: how SQLite is opened, when the last sync was complete."""

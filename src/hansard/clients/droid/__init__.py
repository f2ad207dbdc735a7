"""droid: conversations that are imported."""

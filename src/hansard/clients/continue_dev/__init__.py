"""Continue: conversations that are imported."""

"""Zed: the database of its agent's threads, and what their messages mean."""

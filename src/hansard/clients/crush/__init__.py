"""Crush: the database of each project, and what its rows mean."""

"""The terminal app: screens of Textual over the engine, imported only by the command that shows one.

Text from transcripts enters a screen as `Content` of clean text, never as markup.
"""

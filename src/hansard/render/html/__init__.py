"""Sessions as HTML: one self-contained page for each (`page`), and its parts.

Markdown goes through markdown-it-py and then nh3; everything else is escaped text in markup of our own. Nothing here writes
an inline style or an event handler: the pages forbid them to themselves.
"""

from hansard.render.html.document import page

__all__ = ["page"]

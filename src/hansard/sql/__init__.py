"""The public views: tables with promised names and types over the index, for programs and other engines.

Front ends import the names below from here, and nothing from its modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.quick_imports import lazy_names

if TYPE_CHECKING:
    from hansard.sql.questions import QUESTIONS as QUESTIONS
    from hansard.sql.questions import fill_in as fill_in
    from hansard.sql.questions import find_question as find_question
    from hansard.sql.table import choose as choose
    from hansard.sql.texts import FUNCTIONS as FUNCTIONS
    from hansard.sql.texts import KEYWORDS as KEYWORDS
    from hansard.sql.views import VIEWS as VIEWS

__getattr__ = lazy_names(
    __name__, questions="QUESTIONS fill_in find_question", table="choose", texts="FUNCTIONS KEYWORDS", views="VIEWS"
)

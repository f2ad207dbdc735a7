"""Regular expressions that are compiled when they are first used: compiling all of them takes a tenth of a command's time."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """Stands for a pattern, and takes over its methods one by one, so that each call after the first goes straight to it."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_compile(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern to be used by its methods as one of `re.compile`, made when the first of them is called."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))

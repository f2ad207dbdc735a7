"""Loading the native module; without other imports, because `hansard --version` asks for it."""

import os

TYPE_CHECKING = False  # `typing` takes longer to import than Python to start
if TYPE_CHECKING:
    from collections.abc import Callable


def load_native() -> "Callable[[str], bytes | None] | None":
    """`_searchable` in C, if it was built and is not switched off."""
    if os.environ.get("HANSARD_PURE_PYTHON", "") not in ("", "0"):
        return None
    try:
        from hansard.index._searchable import prepare
    except ImportError:
        return None
    return prepare

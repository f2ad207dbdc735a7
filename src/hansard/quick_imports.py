"""Importing click and msgspec without what they import and neither a command nor a helper process needs.

Both are small, but with `inspect`, `typing_extensions`, `platform`, `gettext` and `textwrap` behind them they take half as long again.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType


class _Deferred(ModuleType):
    """Stands for a module of the standard library, which is imported when something else of it is asked for."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)  # what Python's import looks at
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def _stand_in(name: str, *functions: Callable[..., object]) -> ModuleType:
    module = _Deferred(name)
    for function in functions:
        setattr(module, function.__name__, function)
    return module


def cleandoc(doc: str) -> str:
    """What `inspect.cleandoc` gives: click asks for it with every option's help, which is one line."""
    if "\n" not in doc:
        return doc.expandtabs().lstrip()
    import inspect

    return inspect.cleandoc(doc)


def gettext(message: str) -> str:
    """Click's messages as they are: it brings no translations, and neither do we."""
    return message


def ngettext(singular: str, plural: str, n: int) -> str:
    """The same where a number decides."""
    return singular if n == 1 else plural


def system() -> str:
    """What `platform.system` gives on the systems where `uuid` asks for it."""
    return os.uname().sysname


def import_quickly(*names: str) -> None:
    """Import some of them; whoever imports what was left out later gets the real thing."""
    stand_ins: dict[str, ModuleType | None] = {
        "gettext": _stand_in("gettext", gettext, ngettext),
        "inspect": _stand_in("inspect", cleandoc),
        "platform": _stand_in("platform", system),
        "textwrap": _stand_in("textwrap"),
        "typing_extensions": None,  # cannot be imported, so msgspec takes what `typing` has
    }
    placed = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(placed)  # type: ignore[arg-type]  # None is Python's own mark for "not to be had"
    try:
        for name in names:
            import_module(name)
    finally:
        for name, module in placed.items():
            if name in sys.modules and sys.modules[name] is module:
                del sys.modules[name]

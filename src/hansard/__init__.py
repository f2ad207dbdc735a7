"""The verbatim, indexed, permanent record of your coding-agent sessions.

Only names are here, and they load what they stand for on first use: `import hansard` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than Python to start
if TYPE_CHECKING:
    from hansard.engine import Hansard, open  # noqa: A004 - `hansard.open()` is the library's entry point
    from hansard.lake.store import Lake
    from hansard.team.store import Team

__all__ = ["Hansard", "Lake", "Team", "__version__", "open"]

__version__ = "0.1.0"

_HOMES = {
    "Hansard": "hansard.engine",
    "Lake": "hansard.lake.store",
    "Team": "hansard.team.store",
    "open": "hansard.engine",
}


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})

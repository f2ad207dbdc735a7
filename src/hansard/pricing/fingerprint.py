"""Which price data is in use, told without reading any: every sync asks."""

import contextlib
import os

FILE_NAME = "prices.json"


def installed() -> str:
    """A fingerprint of the installed price data, without importing it."""
    from importlib.util import find_spec

    spec = find_spec("genai_prices")
    if spec is None or not spec.submodule_search_locations:
        return "none"
    place = spec.submodule_search_locations[0]
    with contextlib.suppress(OSError):
        # The same in every environment with this version, so that two of them can share a store.
        versions = [name for name in os.listdir(os.path.dirname(place)) if name.startswith("genai_prices-")]
        return f"{','.join(sorted(versions))} {os.path.getsize(os.path.join(place, 'data.py'))}"
    return "none"


def fingerprint(home: str) -> str:
    """What tells whether the prices in use are still the same, without reading them."""
    kept = "none"
    with contextlib.suppress(OSError):
        known = os.stat(os.path.join(home, FILE_NAME))
        kept = f"{known.st_size}-{known.st_mtime_ns}"
    return f"{installed()} {kept}"

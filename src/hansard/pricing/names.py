"""Which model of the price data a name in a transcript means: the same name, or the same name with a date; never one like it."""

from __future__ import annotations

import re

# Gateways and clouds write who sells the model before its name, and which revision of the deployment behind it.
_SELLER = re.compile(r"^(?:[a-z0-9_.-]++/)*+(?:(?:us|eu|apac|global|jp|au|ca|sa|me|af|us-gov)\.)?(?:anthropic\.)?")
_REVISION = re.compile(r"(?:-v\d+(?::\d+)?)$")
_WINDOW = re.compile(r"\[[^\[\]]*\]$")
_DATE = re.compile(r"(?:[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})|[-@]latest|@default)$")


def spellings(name: str) -> list[str]:
    """A model's name as the price data may have it, the most exact first."""
    full = name.strip().lower()
    bare = _REVISION.sub("", _WINDOW.sub("", _SELLER.sub("", full)))
    return list(dict.fromkeys(spelling for spelling in (full, bare, _DATE.sub("", bare)) if spelling))


def seller(name: str) -> str:
    """Who is named before a slash, empty where nobody is."""
    return name.strip().lower().rpartition("/")[0].rpartition("/")[2]

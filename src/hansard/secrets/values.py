"""A secret in every form in which text has it, so that it is found where no rule would recognise it."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

SHORTEST = 8
"""Characters; a shorter password may be a word elsewhere."""
_DEPTH = 3  # JSON in a tool's result in a transcript
_SHORTEST_CORE = 12  # characters of Base64 that no neighbour changes


class Value(NamedTuple):
    """A secret that is looked for literally."""

    rule: str
    secret_id: str
    text: str

    def pattern(self) -> re.Pattern[bytes]:
        """Its forms in UTF-8; the group `encoded` has those that are digits of an encoding."""
        plain, encoded = (_any(forms(self.text)) for forms in (plain_forms, _encoded_forms))
        return re.compile(f"{plain}|(?P<encoded>{encoded})".encode("utf-8", "surrogateescape"))

    def line_pattern(self) -> str:
        """Those of its forms that are in one line, as `grep` takes them."""
        return _any(form for form in plain_forms(self.text) | _encoded_forms(self.text) if not set(form) & set("\r\n"))


def _any(forms: Iterable[str]) -> str:
    return "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form)))


def _encoded_forms(text: str) -> set[str]:
    data = text.encode("utf-8", "surrogateescape")
    return {data.hex(), data.hex().upper(), *_base64_cores(data)}


def plain_forms(text: str) -> set[str]:
    """A text as it is, in an address, in HTML, and in JSON, also in JSON that is in JSON."""
    forms = {text, quote(text, safe="", errors="surrogateescape"), html.escape(text)}
    written = {text}
    for _ in range(_DEPTH):
        written = {json.dumps(form, ensure_ascii=is_ascii)[1:-1] for form in written for is_ascii in (True, False)}
        forms |= written
    return forms


def _base64_cores(data: bytes) -> set[str]:
    """The digits that every text has in Base64 which contains these bytes: those that depend on no other byte."""
    found = set()
    for shift in range(3):
        digits = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
        core = digits[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]
        if len(core) >= _SHORTEST_CORE:
            found |= {core, core.replace("+", "-").replace("/", "_")}
    return found

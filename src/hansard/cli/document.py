"""Answers as JSON: valid for every reader, whatever the transcripts hold."""

from __future__ import annotations

import json
import math
from typing import Any

from hansard.model import plain


def document(value: Any) -> bytes:
    """A value of the model, or a dict of such, as one line of JSON in UTF-8."""
    value = plain(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        value = _finite(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a character is fine in JSON, as an escape
        return json.dumps(value, allow_nan=False).encode() + b"\n"


def _finite(value: Any) -> Any:
    """Numbers too large for a float as text, since JSON has no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value

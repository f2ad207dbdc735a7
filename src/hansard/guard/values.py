"""Where a value that is known by the words before it ends.

A value in quotes goes to the closing quote of the same kind. Within a string of JSON, or of JSON in JSON, quotes have backslashes before them:
their number says which quote closes the value. A value without quotes goes to the end of its word, setting or line. The text of a value has its
escapes undone, so that it is the same secret however deep it is written.
"""

from __future__ import annotations

import re
from typing import NamedTuple

QUOTE = r"\\{0,7}+[\"'`]"
OPENED = rf"(?:({QUOTE})(?=\S)|(?=[^\s\"'`]\S{{3}}))"
"""The end of a pattern before a value: its opening quote, or its beginning if it has none."""
QUOTED = rf"({QUOTE})(?=\S)"
"""The same for values that are always in quotes."""

_MOST = 512  # characters of a value as it is written


class Value(NamedTuple):
    """A value: its place, and its text without escapes."""

    start: int
    end: int
    text: str


# A run of backslashes with the sign after it that may end a value.
_STOP = re.compile(r"(?<!\\)(?:(\\*+)([\"'`\r\n])|(\\++)[nrt])")
_AFTER_QUOTE = re.compile(r"\\*+(?:[\s,;:.)\]}|&<>+\"'`]|[nrt])|\Z")
_BREAK = re.compile(r"\\[nrt]")
_BEFORE_SIGN = re.compile(r"(?<!\\)\\++(?=[\"'`/])")
_BACKSLASHES = re.compile(r"\\{2,}+")
_WORD = re.compile(r"(?:[^\s\"'`\\]|\\++(?![nrtu\"'`\s]))++")
_LINE = re.compile(r"(?:[^\s\\]|\\++(?![nrt]))++")
_ANY_QUOTE = re.compile(r"(?<!\\)(\\*+)([\"'])")
# Before the name of a setting: the start of a line, with what may be there; or a quote around the whole setting.
_HEAD = re.compile(
    r"(?:(?P<line>(?:^|(?<!\\)(?P<escaped>\\++)[nrt]|\u2192|^\s{0,6}\d{1,6}[:\t])[ \t]{0,20}+(?:[-+>] ?)?(?:(?:export|set|ENV|ARG)[ \t]|\$env:)?)"
    r"|(?<!\\)(?P<quote>\\{0,7}+[\"'`])|(?P<connection>=[^;=\s()]{1,64}; ?(?!\w+\.)))[\w.-]{0,64}\Z",
    re.MULTILINE,
)
_STATEMENT = r";(?=(?:const|let|var|if|for|return|this|function|export|echo|else|throw|break|case|while|try)\b)"
_NEXT_SETTING = re.compile(
    r"[;,&][\w.% -]{1,40}=|[;,&]\"?[\w.-]{1,40}\"?:|</[A-Za-z]|<(?:br|p|a|b|i|td|tr|li|ul|em|div|pre|span|code|strong)\b"
    rf"|(?:&&|\|\|)(?=[a-z./$])|#(?=\w+=)|{_STATEMENT}"
)
_NEXT_OF_CONNECTION = re.compile(rf";[A-Za-z ]{{2,30}}=|{_STATEMENT}")
_SEPARATORS = ",;"
_TRAILING = ",;|&>)]}"  # brackets only if they were opened before the value
_PAIRS = {")": "(", "]": "[", "}": "{"}


def quoted(text: str, start: int, quote: str) -> Value | None:
    """The value that begins after an opening quote, to the closing one; None if the line ends before it."""
    mark, depth = quote[-1], len(quote) - 1
    has_break = False
    for stop in _STOP.finditer(text, start, min(len(text), start + _MOST)):
        slashes, sign, before_break = stop.groups()
        if before_break is not None:
            if depth and len(before_break) <= depth:
                return None  # a line break in the text that has the quotes
            has_break = True
        elif sign in "\r\n":
            return None
        elif sign == mark:
            if len(slashes) < depth:
                return None  # it closes a string around this one
            if _closes(text, stop, mark, depth, len(slashes)):
                return _value(text, start, stop.end() - 1 - depth, has_break=has_break)
    return None


def _closes(text: str, stop: re.Match[str], mark: str, depth: int, slashes: int) -> bool:
    if mark == '"':  # as many backslashes as before the opening quote, behind escaped ones
        return (slashes - depth) // (depth + 1) % 2 == 0
    # JSON does not escape other quotes, so the number says little.
    return slashes == 0 or (slashes % 2 == 0 and _AFTER_QUOTE.match(text, stop.end()) is not None)


def _value(text: str, start: int, end: int, *, has_break: bool = False) -> Value | None:
    while has_break and end - start > 1 and text[end - 1] in "nrt" and text[end - 2] == "\\":
        end -= 1 + len(text[start : end - 1]) - len(text[start : end - 1].rstrip("\\"))
    written = text[start:end]
    if has_break and _BREAK.search(written) and (" " in written or len(written) > 64 or _BREAK.match(written)):
        return None  # a text of several lines
    return Value(start, end, shown) if (shown := plain(written)) else None


def plain(written: str) -> str:
    """A value without escapes, however many times it was escaped."""
    return _BACKSLASHES.sub(r"\\", _BEFORE_SIGN.sub("", written)) if "\\" in written else written


def word(text: str, start: int) -> Value | None:
    """A value up to a blank, a quote or the end of the line, without the punctuation after it."""
    found = _WORD.match(text, start, min(len(text), start + _MOST))
    return None if found is None else _value(text, start, start + len(_without_trailing(found[0])))


def line(text: str, start: int) -> Value | None:
    """A value up to a blank or the end of the line."""
    found = _LINE.match(text, start, min(len(text), start + _MOST))
    end = start if found is None else _before_quote(text, start, found.end(), 1)
    return _value(text, start, end)


def setting(text: str, name: int, start: int) -> tuple[Value, bool] | None:
    """The value of a setting without quotes, whose name is at a place, and whether its syntax says where it ends.

    Those of a line go to its end, those of a connection string to the next setting.
    """
    head = _HEAD.search(text, max(0, name - 120), name)
    kind = None if head is None else head.lastgroup
    is_line = head is not None and head["line"] is not None and text[start - 1] == "="
    found = (_LINE if is_line else _WORD).match(text, start, min(len(text), start + _MOST))
    if found is None:
        return None
    end = found.end()
    if head is not None and head["quote"] is not None and (whole := quoted(text, start, head["quote"])) is not None:
        end = min(end, whole.end)
    if head is not None and is_line:
        end = _before_quote(text, start, end, len(head["escaped"] or ""))
    next_one = _NEXT_OF_CONNECTION.search(text, start, end)
    is_connection = kind == "connection" or (next_one is not None and next_one[0][-1] == "=")
    following = next_one if is_line or is_connection else _NEXT_SETTING.search(text, start, end)
    if following is not None:
        end = following.start()
    if not is_connection or next_one is None:
        end = start + len(_without_trailing(text[start:end], _SEPARATORS if is_line or is_connection else _TRAILING))
    value = _value(text, start, end)
    return None if value is None else (value, is_line or is_connection)


def _before_quote(text: str, start: int, end: int, breaks: int) -> int:
    """Where the string around a line ends; the number of backslashes in its line breaks tells its quotes from those of the value."""
    for found in _ANY_QUOTE.finditer(text, start, end):
        if breaks and found[2] == '"' and len(found[1]) < breaks:
            return found.start()
    return end


def _without_trailing(written: str, signs: str = _TRAILING) -> str:
    """A value without the punctuation after it: separators, and brackets and quotes that were opened before it."""
    while written:
        last = written[-1]
        is_quote = last in "\"'"
        if is_quote:
            is_left_over = written.count(last) % 2 == 1
        else:
            is_left_over = last in signs and (last not in _PAIRS or written.count(last) > written.count(_PAIRS[last]))
        if not is_left_over:
            break
        written = written[:-1].rstrip("\\") if is_quote else written[:-1]
    return written

"""The values of rules that know a secret by the words before it: passwords, keys, arguments of commands, elements of markup.

Each takes the match of a rule's pattern, which ends where the value begins, behind its opening quote if it has one.
"""

from __future__ import annotations

import html
import re

from hansard.guard.plausible import (
    before_signs,
    has_both,
    has_signs,
    is_code,
    is_interpolated,
    is_random,
    is_whole_key,
    is_whole_password,
    may_be_secret,
)
from hansard.guard.values import QUOTE, Value, line, plain, quoted, setting, word

_KEY = re.compile(r"(?i)(?:base64:)?[a-z0-9_\-./+=~]{16,}+[(\[{]?")
_ANYTHING = re.compile(r"[^\s\"'`\\,;&()\[\]{}<>$|]{4,256}+")
_ELSEWHERE = re.compile(r"(?i)\A(?:passwort|kennwort|contrase|mot de|senha|[^a-z(\\\"'])")
_OPTION_NAME = re.compile(rf"\w+\s(?:{QUOTE})?\Z")
_OPTION = re.compile(r"(?:\A|[\s\"'`(\[]|\\[nrt])--?(?:[a-zA-Z][\w-]{0,30}-)?\Z")
_ELEMENT = re.compile(r"([^<>\r\n]{1,256}+)(</|>)")
_LINE_END = re.compile(r"(?=\\*+[\"'`\s]|\\++[nrt]|\Z)")
_ECHO = re.compile(rf"(?:echo|printf)\s(?:-[a-zA-Z]\s)?(?:({QUOTE}))?+(?=\S)")
_PIPE = re.compile(r"\\*+[\"'`]?\s{0,3}\|")
_LINE = 300  # characters of a command before the one that reads its output
_KEEPS_ITS_FORM = re.compile(
    r"[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|sha\d+-.*"
)


def keeps_its_form(value: str) -> bool:
    """Whether a value is a hash or an id, which say nothing."""
    return _KEEPS_ITS_FORM.fullmatch(value) is not None


def _quote(match: re.Match[str]) -> str | None:
    return match[match.lastindex] if match.lastindex else None


def _has_blank(value: Value) -> bool:
    return any(map(str.isspace, value.text))


def password(match: re.Match[str]) -> Value | None:
    """A password behind its name."""
    text, start, quote = match.string, match.end(), _quote(match)
    if _OPTION_NAME.match(match[0]) and _OPTION.search(text, max(0, match.start() - 40), match.start()) is None:
        return None
    is_elsewhere = _ELSEWHERE.match(match[0]) is not None
    if quote is not None:
        value = quoted(text, start, quote)
        if value is not None and (is_whole_password(value.text) or not _has_blank(value)):
            is_secret = is_whole_password(value.text) and (has_both(value.text) or not is_elsewhere)
            return value if is_secret else None
        is_whole = value is None
    elif (found := setting(text, match.start(), start)) is not None and has_signs(found[0].text):
        value, is_line = found
        if has_both(value.text) and is_whole_password(value.text) and (is_line or not is_code(value.text)):
            return value
        is_whole = True
    else:
        is_whole = True
    first = before_signs(text, start)
    if first is None or not (has_both(first[0]) or (is_whole and not is_elsewhere)):
        return None
    return Value(*first.span(), first[0])


def quoted_password(match: re.Match[str]) -> Value | None:
    """A password that is always in quotes, with digits and letters."""
    value = quoted(match.string, match.end(), _quote(match) or "")
    return value if value is not None and has_both(value.text) and is_whole_password(value.text) else None


def argument(match: re.Match[str]) -> Value | None:
    """A password among the words of a command."""
    text, start, quote = match.string, match.end(), _quote(match)
    value = None if quote is None else quoted(text, start, quote)
    if value is None:
        value = line(text, start) if match[0].startswith("ENV") else word(text, start)
    return value if value is not None and is_whole_password(value.text) else None


def netrc(match: re.Match[str]) -> Value | None:
    """A password of `.netrc`: any word."""
    value = word(match.string, match.end())
    return value if value is not None and len(value.text) >= 4 and not is_interpolated(value.text) else None


def key(match: re.Match[str]) -> Value | None:
    """A key behind its name: random, and longer than a password."""
    text, start, quote = match.string, match.end(), _quote(match)
    run = _KEY.match(text, start)
    is_key = run is not None and is_random(run[0])
    if quote is not None:
        whole = quoted(text, start, quote)
    else:
        found = setting(text, match.start(), start)
        whole = found[0] if found is not None and found[1] else None
    is_longer = whole is not None and (run is None or whole.end > run.end()) and not _has_blank(whole)
    if whole is not None and is_longer and (is_whole_key(whole.text) or (is_key and may_be_secret(whole.text))):
        return whole
    return Value(*run.span(), run[0]) if is_key and run is not None else None


def anything(match: re.Match[str]) -> Value | None:
    """Whatever has a digit behind a name that secrets have; for `strict`."""
    text, start, quote = match.string, match.end(), _quote(match)
    value = None if quote is None else quoted(text, start, quote)
    if value is None or len(value.text) < 4 or _has_blank(value):
        run = _ANYTHING.match(text, start)
        value = None if run is None else Value(*run.span(), run[0])
    is_secret = value is not None and any(map(str.isdigit, value.text)) and not keeps_its_form(value.text)
    return value if is_secret else None


def element(match: re.Match[str]) -> Value | None:
    """The text of an element that is named for a password."""
    start = match.end()
    found = _ELEMENT.match(match.string, start)
    if found is None or "\\n" in found[1] or (found[2] == ">" and not found[1].endswith("]]")):
        return None
    written = found[1].rstrip() if found[2] == "</" else found[1].removesuffix("]]")
    value = Value(start, start + len(written), html.unescape(plain(written)))
    return value if value.text and has_both(value.text) and is_whole_password(value.text) else None


def attribute(match: re.Match[str]) -> Value | None:
    """The value of an attribute beside one that says it is a password."""
    value = quoted_password(match)
    return None if value is None else value._replace(text=html.unescape(value.text))


def rest_of_line(match: re.Match[str]) -> Value | None:
    """A password at the end of its line."""
    value = line(match.string, match.end())
    if value is None or not has_both(value.text) or not is_whole_password(value.text):
        return None
    return value if _LINE_END.match(match.string, value.end) else None


def piped(match: re.Match[str]) -> Value | None:
    """A password that `echo` writes for the command of a match to read."""
    text = match.string
    for echo in _ECHO.finditer(text, max(0, match.start() - _LINE), match.start()):
        value = quoted(text, echo.end(), echo[1]) if echo[1] else word(text, echo.end())
        if value is not None and _PIPE.match(text, value.end) is not None and is_whole_password(value.text):
            return value
    return None

"""Find secrets in text by named rules, and redact them.

A rule is tried only where one of its words occurs, and its pattern is linear. Rules see the text as it is, then decoded: without
escapes and entities, with string literals joined, and with base64 and hexadecimal runs decoded. Rules for tokens, which have
a distinctive prefix, also see it with line breaks removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from hansard.guard.decoding import View, around_runs, decode_runs, find_runs, fold, join_lines, unescape

# The start of a token: not inside a word, but also after a line break written as an escape.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
# Inside a word, a prefix that words end in (task-, mask_test_) must be followed by digits and letters of both cases.
_MIXED = r"(?=[A-Za-z]{0,15}+\d)(?=[a-z0-9]{0,15}+[A-Z])(?=[A-Z0-9]{0,15}+[a-z])"
_QUOTE = r"\\?[\"'`]"


class Rule(NamedTuple):
    """One kind of secret: a pattern (group 1 or the whole match is the secret), and the lowercase words its matches begin with.

    Words have at least two characters.
    """

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool] | None = None
    is_token: bool = True  # its prefix is distinctive: also found when a line break splits it


class Secret(NamedTuple):
    """A secret that was found: the rule that matched, and where."""

    rule: str
    start: int
    end: int


_CALL = "([{"  # after a value: it is code that returns the secret, not the secret itself
_NOT_SECRET = re.compile(
    r"(?i)(?:none|null|nil|true|false|undefined|string|str|text|bytes|number|required|optional|example|changeme|your|my|xxx|test)"
    r"(?:[-_ ]?(?:password|passwd|pwd|secret|token|api[-_]?key|key|here|value|goes|x+))*+$"
)


def _is_password(value: str) -> bool:
    """Whether a value is a secret rather than a name, a call, a type or a placeholder."""
    if value[-1] in _CALL or _NOT_SECRET.match(value) or len(set(value)) < 4:
        return False
    return not value.replace("_", "").replace(".", "").isalpha() or not (value.islower() or "." in value)


def _is_random(value: str) -> bool:
    """Whether a value looks like a key: digits and letters, many of them different, and not a call."""
    if value[-1] in _CALL:
        return False
    has_digit = any(character.isdigit() for character in value)
    return has_digit and any(character.isalpha() for character in value) and len(set(value)) > 7


RULES = (
    Rule(
        "private-key",
        ("-----begin ",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:[\s\\nr\"'+,]*+[A-Za-z0-9+/=]{16,}+)++)"
        ),
        is_token=False,
    ),
    Rule("anthropic-key", ("sk",), re.compile(r"sk-ant-[\w-]{16,}+", re.ASCII)),
    Rule(
        "openai-key",
        ("sk",),
        re.compile(
            rf"sk-(?:proj|svcacct|admin|or-v1)-[\w-]{{20,}}+|(?:{_START}sk-|sk-{_MIXED})[A-Za-z0-9]{{20,}}+", re.ASCII
        ),
    ),
    Rule(
        "github-token", ("gh", "github_pat_"), re.compile(r"gh[pousr]_[A-Za-z0-9]{30,}+|github_pat_\w{20,}+", re.ASCII)
    ),
    Rule(
        "gitlab-token",
        ("gl",),
        re.compile(r"gl(?:pat|ptt|dt|rt|cbt|agent|oas|soat|ft|imt|ffct)-[\w.-]{20,}+", re.ASCII),
    ),
    Rule("aws-access-key", ("akia", "asia", "abia", "acca"), re.compile(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}")),
    Rule(
        "google-key",
        ("aiza", "ya29.", "gocspx-"),
        re.compile(r"AIza[\w-]{35}|ya29\.[\w-]{20,}+|GOCSPX-[\w-]{20,}+", re.ASCII),
    ),
    Rule("slack-token", ("xox", "xapp-"), re.compile(r"xox[abceoprs]-[\w-]{10,}+|xapp-\d-[\w-]{20,}+", re.ASCII)),
    Rule(
        "webhook-url",
        ("hooks.slack.com/", "discord"),
        re.compile(
            r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/)([\w/-]{20,}+)",
            re.ASCII,
        ),
    ),
    Rule("telegram-token", (":aa",), re.compile(r"(?<=\d{8}):AA[\w-]{33,}+", re.ASCII)),
    Rule(
        "stripe-key",
        ("sk", "rk_", "pk_", "whsec_"),
        re.compile(
            rf"(?:{_START}(?:[rs]k_test|[rsp]k_live)_|(?:[rs]k_test|[rsp]k_live)_{_MIXED})[A-Za-z0-9]{{16,}}+|whsec_[A-Za-z0-9+/=]{{24,}}+"
        ),
    ),
    Rule("npm-token", ("npm_",), re.compile(r"npm_[A-Za-z0-9]{36}")),
    Rule("pypi-token", ("pypi-ag",), re.compile(r"pypi-Ag[\w-]{40,}+", re.ASCII)),
    Rule("huggingface-token", ("hf_",), re.compile(r"hf_[A-Za-z0-9]{30,}+")),
    Rule(
        "sendgrid-key",
        ("sg.",),
        re.compile(rf"(?:{_START}SG\.|SG\.{_MIXED})[\w-]{{16,40}}+\.[\w-]{{16,64}}+", re.ASCII),
    ),
    Rule("twilio-key", ("sk",), re.compile(r"SK[0-9a-f]{32}(?![0-9a-f])", re.ASCII)),
    Rule("docker-token", ("dckr_",), re.compile(r"dckr_(?:pat|oat)_[\w-]{20,}+", re.ASCII)),
    Rule("vault-token", ("hv",), re.compile(r"hv[sb]\.[\w-]{20,}+", re.ASCII)),
    Rule("digitalocean-token", ("do",), re.compile(r"do[oprt]_v1_[0-9a-f]{40,}+")),
    Rule("databricks-token", ("dapi",), re.compile(r"dapi[0-9a-f]{32}")),
    Rule(
        "azure-key",
        ("accountkey=", "sharedaccesskey="),
        re.compile(r"(?i)(?:account|sharedaccess)key=([a-z0-9+/=]{40,}+)"),
    ),
    Rule("age-key", ("age-secret-key-1",), re.compile(r"(?i)AGE-SECRET-KEY-1[A-Z0-9]{50,}+")),
    Rule(
        "service-token",
        ("gsk_", "xai-", "r8_", "sbp_", "shp", "lin_api_", "ntn_", "atatt3", "nrak-", "gl", "pplx-", "figd_"),
        re.compile(
            r"(?=[fglnprsx][a-z8]|AT|NR)(?:gsk_[A-Za-z0-9]{40,}+|xai-[A-Za-z0-9]{60,}+|r8_[A-Za-z0-9]{36,}+|sbp_[0-9a-f]{40}|shp(?:at|ca|pa|ss)_[0-9a-f]{32}"
            r"|lin_api_[A-Za-z0-9]{32,}+|ntn_[A-Za-z0-9]{40,}+|ATATT3[\w=-]{24,}+|NRAK-[A-Z0-9]{27}|glsa_\w{32,}+|pplx-[A-Za-z0-9]{40,}+|figd_[\w-]{36,}+)",
            re.ASCII,
        ),
    ),
    Rule(
        "jwt",
        ("eyj",),
        re.compile(rf"(?:{_START}eyJ[\w-]{{12,}}+|eyJ[\w-]{{12,512}}+)\.eyJ[\w-]{{8,}}+\.[\w-]*+", re.ASCII),
    ),
    Rule(
        "url-password",
        ("://",),
        re.compile(r"://[^\s/:@\"'<>\\]{0,128}+:([^\s/@\"'<>\\]{3,512}+)@"),
        lambda value: not value.startswith(("$", "{", "%", "[redacted")),
        is_token=False,
    ),
    Rule(
        "authorization-header",
        ("auth", "bearer"),
        re.compile(
            r"(?i)(?:authorization"
            + _QUOTE
            + r"?\s?[:=]\s?(?:"
            + _QUOTE
            + r")?(?:basic|bearer|token|digest)|bearer)\s([a-z0-9._~+/=-]{8,}+)"
        ),
        lambda value: value.endswith("=") or (len(value) >= 12 and _is_random(value)),
        is_token=False,
    ),
    Rule("netrc", ("login",), re.compile(r"login\s[^\s]{1,128}+\s{1,8}+password\s([^\s\[]{4,256}+)"), is_token=False),
    Rule(
        "password",
        ("pass", "pwd"),
        re.compile(
            r"(?i)(?:password|passwd|passphrase|pwd)(?:"
            + _QUOTE
            + r")?(?:\s{0,2}[:=]{1,2}>?\s{0,2}|(?<=--password)\s)(?:"
            + _QUOTE
            + r")?"
            r"([^\s\"'`\\,;&()\[\]{}<>$|]{6,}+[(\[{]?)"
        ),
        _is_password,
        is_token=False,
    ),
    Rule(
        "api-key",
        ("secret", "token", "credential", "api", "access", "auth", "signing"),
        re.compile(
            r"(?i)(?:secret|token|credential|(?:api|access|auth|secret|signing)[_-]?key)(?:" + _QUOTE + r")?"
            r"\s{0,2}[:=]{1,2}>?\s{0,2}(?:" + _QUOTE + r")?([a-z0-9_\-./+=~]{16,}+[(\[{]?)"
        ),
        _is_random,
        is_token=False,
    ),
)


def _by_first_letters(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Rules by the first two characters of their words."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        for letters in sorted({word[:2] for word in rule.words}):
            found.setdefault(letters, []).append(rule)
    return found


def _any_word(words: Iterable[str]) -> str:
    """A pattern for the first letter of any of these words; matches do not hide overlapping words."""
    rest: dict[str, list[str]] = {}
    for word in words:
        rest.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(letter)}(?={'|'.join(some)})" for letter, some in rest.items())


_OTHER_RULES = tuple(rule for rule in RULES if not rule.is_token)
_TOKEN_RULES = _by_first_letters(rule for rule in RULES if rule.is_token)
_TOKEN_WORDS = re.compile(_any_word(sorted({word for rule in RULES if rule.is_token for word in rule.words})))
_ORDER = {rule.name: place for place, rule in enumerate(RULES)}
_DEPTH = 3  # levels of nested encodings
_BEFORE_RUN = 24  # characters of a prefix outside the run: hooks.slack.com, SharedAccessKey=


def find_secrets(text: str) -> list[Secret]:
    """Every secret in a text, in order; where rules overlap, the first one in `RULES` names it."""
    return _without_overlaps(list(_find(text, _DEPTH)))


def _find(text: str, depth: int) -> Iterator[Secret]:
    layers = _Layers(text, depth)
    for rule in _OTHER_RULES:
        if places := layers.occurrences(rule):
            yield from layers.matches(rule, places)
    if not layers.runs:
        return
    for rule, places in layers.token_places().items():
        yield from layers.matches(rule, places)
    if depth and (decoded := decode_runs(layers.joined, layers.runs)) is not None:
        for rule_name, start, end in _find(decoded.text, depth - 1):
            yield Secret(rule_name, *layers.source(*decoded.span(start, end)))


class _Layers:
    """A text as it is, unescaped once or more, and then without line breaks.

    Words are searched in the last layer only: decoding and joining can complete a word but never remove one.
    """

    def __init__(self, text: str, depth: int) -> None:
        self._texts = [fold(text)]
        self._views: list[View] = []  # from each layer back to the previous one
        while len(self._views) < depth and (view := unescape(self._texts[-1])) is not None:
            self._views.append(view)
            self._texts.append(view.text)
        self._lines = join_lines(self._texts[-1])
        self.joined = self._texts[-1] if self._lines is None else self._lines.text
        self.runs = find_runs(self.joined)
        self._lowered = _lower(self.joined)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the joined text back to the original text."""
        if self._lines is not None:
            start, end = self._lines.span(start, end)
        return self._source(len(self._views), start, end)

    def _source(self, layer: int, start: int, end: int) -> tuple[int, int]:
        for view in reversed(self._views[:layer]):
            start, end = view.span(start, end)
        return start, end

    def occurrences(self, rule: Rule) -> list[int]:
        """Where any of a rule's words occurs in the joined text, in order."""
        places = []
        find = self._lowered.find
        for word in rule.words:
            place = find(word)
            while place >= 0:
                places.append(place)
                place = find(word, place + 1)
        return sorted(places) if places else places

    def token_places(self) -> dict[Rule, list[int]]:
        """Where token words occur in a run or right before it, in order."""
        view = around_runs(self._lowered, self.runs, _BEFORE_RUN)
        places: dict[Rule, list[int]] = {}
        for found in _TOKEN_WORDS.finditer(view.text):
            place = found.start()
            for rule in _TOKEN_RULES[view.text[place : place + 2]]:
                places.setdefault(rule, []).append(view.start(place))
        return places

    def matches(self, rule: Rule, places: list[int]) -> Iterator[Secret]:
        """Secrets that a rule finds at these places, in any layer."""
        done = [0] * len(self._texts)
        done_joined = 0
        group = 1 if rule.pattern.groups else 0
        for joined_place in places:
            place = joined_place if self._lines is None else self._lines.start(joined_place)
            if self._lines is not None and rule.is_token and joined_place >= done_joined:
                match = self._split_token(rule, self._lines, joined_place)
                if match is not None:
                    done_joined = match.end()
                    yield Secret(rule.name, *self.source(*match.span(group)))
            for layer in range(len(self._texts) - 1, -1, -1):
                text = self._texts[layer]
                match = rule.pattern.match(text, place) if place >= done[layer] else None
                if match is not None:
                    done[layer] = match.end()
                    start, end = match.span(group)
                    if rule.accepts is None or rule.accepts(text[start:end]):
                        yield Secret(rule.name, *self._source(layer, start, end))
                if layer:
                    place = self._views[layer - 1].start(place)

    def _split_token(self, rule: Rule, lines: View, place: int) -> re.Match[str] | None:
        """Match a token in the joined text, including later lines only as far as they look like part of it."""
        match = rule.pattern.match(self.joined, place)
        breaks = [] if match is None else lines.breaks(place, match.end())
        if match is None or not breaks:
            return match
        end = breaks[0]
        for start, stop in pairwise([*breaks, match.end()]):
            if not _continues_token(self.joined[start:stop], self.joined[stop : stop + 1]):
                break
            end = stop
        return rule.pattern.match(self.joined, place, end) if end > breaks[0] else None


def _continues_token(line: str, after: str) -> bool:
    """Whether the beginning of a line looks like the rest of a random token rather than a word or a variable name."""
    has_both_cases = not line.islower() and not line.isupper() and not line[1:].islower()
    has_digit = any(character.isdigit() for character in line)
    has_letter = any(character.isalpha() for character in line)
    return after not in ("=", ":", "(") and has_letter and (has_both_cases or has_digit)


def _lower(text: str) -> str:
    """Lowercase a text without changing its length."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)  # a few letters would become two


def _without_overlaps(found: list[Secret]) -> list[Secret]:
    if not found:
        return found
    merged: list[Secret] = []
    for one in sorted(found, key=lambda secret: (secret.start, secret.end)):
        last = merged[-1] if merged else None
        if last is None or one.start >= last.end:
            merged.append(one)
        else:
            name = min(last.rule, one.rule, key=_ORDER.__getitem__)
            merged[-1] = Secret(name, last.start, max(last.end, one.end))
    return merged


def redact(text: str, before: str = "", after: str = "") -> str:
    """Replace every secret with `[redacted: rule]`, including secrets that begin or end in the surrounding texts."""
    joined = f"{before}\n{text}\n{after}" if before or after else text
    low = len(before) + 1 if before or after else 0
    high = low + len(text)
    pieces, done = [], low
    for secret in find_secrets(joined):
        start, end = max(secret.start, low), min(secret.end, high)
        if start < end:
            pieces += [joined[done:start], f"[redacted: {secret.rule}]"]
            done = end
    return "".join([*pieces, joined[done:high]]) if pieces else text

"""Secrets in text, by named rules, and their redaction. A rule is tried only where one of its words stands, and its pattern is linear."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

# The start of a token: not inside a word, but also behind a line break that is written as an escape.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_QUOTE = r"\\?[\"'`]"


class Rule(NamedTuple):
    """One kind of secret: a pattern, whose group 1 or whole match it is, and the words, in lower case, that its matches begin with."""

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool] | None = None


class Secret(NamedTuple):
    """A secret that was found: the rule that told it, and where it stands."""

    rule: str
    start: int
    end: int


_CALL = "([{"  # behind a value: it is code that gives the secret, and not the secret
_NOT_SECRET = re.compile(
    r"(?i)(?:none|null|nil|true|false|undefined|string|str|text|bytes|number|required|optional|example|changeme|your|my|xxx|test)"
    r"(?:[-_ ]?(?:password|passwd|pwd|secret|token|api[-_]?key|key|here|value|goes|x+))*+$"
)


def _is_password(value: str) -> bool:
    """Whether a value is a secret and not a name, a call, a type or a placeholder."""
    if value[-1] in _CALL or _NOT_SECRET.match(value) or len(set(value)) < 4:
        return False
    return not value.replace("_", "").replace(".", "").isalpha() or not (value.islower() or "." in value)


def _is_random(value: str) -> bool:
    """Whether a value has what keys have: digits, letters, and many different ones; and is no call."""
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
    ),
    Rule("anthropic-key", ("sk-ant-",), re.compile(r"sk-ant-[\w-]{16,}+", re.ASCII)),
    Rule(
        "openai-key",
        ("sk-",),
        re.compile(_START + r"sk-(?:(?:proj|svcacct|admin|or-v1)-[\w-]{20,}+|[A-Za-z0-9]{20,}+)", re.ASCII),
    ),
    Rule(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"gh[pousr]_[A-Za-z0-9]{30,}+|github_pat_\w{20,}+", re.ASCII),
    ),
    Rule(
        "gitlab-token",
        ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glagent-", "gloas-", "glsoat-", "glft-", "glimt-", "glffct-"),
        re.compile(_START + r"gl(?:pat|ptt|dt|rt|cbt|agent|oas|soat|ft|imt|ffct)-[\w.-]{20,}+", re.ASCII),
    ),
    Rule(
        "aws-access-key",
        ("akia", "asia", "abia", "acca"),
        re.compile(_START + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ),
    Rule(
        "google-key",
        ("aiza", "ya29.", "gocspx-"),
        re.compile(r"AIza[\w-]{35}|ya29\.[\w-]{20,}+|GOCSPX-[\w-]{20,}+", re.ASCII),
    ),
    Rule(
        "slack-token",
        ("xox", "xapp-"),
        re.compile(_START + r"(?:xox[abceoprs]-[\w-]{10,}+|xapp-\d-[\w-]{20,}+)", re.ASCII),
    ),
    Rule(
        "webhook-url",
        ("hooks.slack.com/", "discord.com/api", "discordapp.com/api"),
        re.compile(
            r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/)([\w/-]{20,}+)",
            re.ASCII,
        ),
    ),
    Rule("telegram-token", (":aa",), re.compile(r"(?<=\d{8}):AA[\w-]{33}(?![\w-])", re.ASCII)),
    Rule(
        "stripe-key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "whsec_"),
        re.compile(_START + r"(?:(?:[rs]k_test|[rsp]k_live)_[A-Za-z0-9]{16,}+|whsec_[A-Za-z0-9+/=]{24,}+)"),
    ),
    Rule("npm-token", ("npm_",), re.compile(r"npm_[A-Za-z0-9]{36}")),
    Rule("pypi-token", ("pypi-ag",), re.compile(r"pypi-Ag[\w-]{40,}+", re.ASCII)),
    Rule("huggingface-token", ("hf_",), re.compile(_START + r"hf_[A-Za-z0-9]{30,}+")),
    Rule("sendgrid-key", ("sg.",), re.compile(_START + r"SG\.[\w-]{16,40}+\.[\w-]{16,64}+", re.ASCII)),
    Rule("twilio-key", ("sk",), re.compile(_START + r"SK[0-9a-f]{32}(?![\w-])", re.ASCII)),
    Rule("docker-token", ("dckr_",), re.compile(r"dckr_(?:pat|oat)_[\w-]{20,}+", re.ASCII)),
    Rule("vault-token", ("hvs.", "hvb."), re.compile(_START + r"hv[sb]\.[\w-]{20,}+", re.ASCII)),
    Rule("digitalocean-token", ("doo_v1_", "dop_v1_", "dor_v1_", "dot_v1_"), re.compile(r"do[oprt]_v1_[0-9a-f]{40,}+")),
    Rule("databricks-token", ("dapi",), re.compile(_START + r"dapi[0-9a-f]{32}")),
    Rule(
        "azure-key",
        ("accountkey=", "sharedaccesskey="),
        re.compile(r"(?i)(?:account|sharedaccess)key=([a-z0-9+/=]{40,}+)"),
    ),
    Rule("age-key", ("age-secret-key-1",), re.compile(r"(?i)AGE-SECRET-KEY-1[A-Z0-9]{50,}+")),
    Rule(
        "service-token",
        (
            "gsk_",
            "xai-",
            "r8_",
            "sbp_",
            "shp",
            "lin_api_",
            "ntn_",
            "atatt3",
            "nrak-",
            "glsa_",
            "pplx-",
            "figd_",
        ),
        re.compile(
            _START
            + r"(?:gsk_[A-Za-z0-9]{40,}+|xai-[A-Za-z0-9]{60,}+|r8_[A-Za-z0-9]{36,}+|sbp_[0-9a-f]{40}|shp(?:at|ca|pa|ss)_[0-9a-f]{32}"
            r"|lin_api_[A-Za-z0-9]{32,}+|ntn_[A-Za-z0-9]{40,}+|ATATT3[\w=-]{60,}+|NRAK-[A-Z0-9]{27}|glsa_\w{32,}+|pplx-[A-Za-z0-9]{40,}+|figd_[\w-]{36,}+)",
            re.ASCII,
        ),
    ),
    Rule("jwt", ("eyj",), re.compile(_START + r"eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]*+", re.ASCII)),
    Rule(
        "url-password",
        ("://",),
        re.compile(r"://[^\s/:@\"'<>\\]{0,128}+:([^\s/@\"'<>\\]{3,512}+)@"),
        lambda value: not value.startswith(("$", "{", "%", "[redacted")),
    ),
    Rule(
        "authorization-header",
        ("authorization", "bearer"),
        re.compile(
            r"(?i)(?:authorization"
            + _QUOTE
            + r"?\s?[:=]\s?(?:"
            + _QUOTE
            + r")?(?:basic|bearer|token|digest)|bearer)\s([a-z0-9._~+/=-]{8,}+)"
        ),
        lambda value: value.endswith("=") or (len(value) >= 12 and _is_random(value)),
    ),
    Rule("netrc", ("login",), re.compile(r"login\s[^\s]{1,128}+\s{1,8}+password\s([^\s\[]{4,256}+)")),
    Rule(
        "password",
        ("password", "passwd", "passphrase", "pwd"),
        re.compile(
            r"(?i)(?:password|passwd|passphrase|pwd)(?:"
            + _QUOTE
            + r")?(?:\s{0,2}[:=]{1,2}>?\s{0,2}|(?<=--password)\s)(?:"
            + _QUOTE
            + r")?"
            r"([^\s\"'`\\,;&()\[\]{}<>$|]{6,}+[(\[{]?)"
        ),
        _is_password,
    ),
    Rule(
        "api-key",
        ("secret", "token", "credential", "api", "access", "auth", "signing"),
        re.compile(
            r"(?i)(?:secret|token|credential|(?:api|access|auth|secret|signing)[_-]?key)(?:" + _QUOTE + r")?"
            r"\s{0,2}[:=]{1,2}>?\s{0,2}(?:" + _QUOTE + r")?([a-z0-9_\-./+=~]{16,}+[(\[{]?)"
        ),
        _is_random,
    ),
)


def find_secrets(text: str) -> list[Secret]:
    """Every secret in a text, in order; where rules overlap, the first of them in `RULES` says what it is."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters become two
        lowered = "".join(character.lower() if character.isascii() else character for character in text)
    found: list[Secret] = []
    for rule in RULES:
        done = 0
        for place in _places(lowered, rule.words):
            match = rule.pattern.match(text, place) if place >= done else None
            if match is not None:
                done = match.end()
                start, end = match.span(1 if rule.pattern.groups else 0)
                if rule.accepts is None or rule.accepts(text[start:end]):
                    found.append(Secret(rule.name, start, end))
    return _without_overlaps(found)


def _places(text: str, words: tuple[str, ...]) -> list[int]:
    """Where one of these words stands, in order."""
    places = []
    for word in words:
        place = text.find(word)
        while place >= 0:
            places.append(place)
            place = text.find(word, place + 1)
    return sorted(places)


def _without_overlaps(found: list[Secret]) -> list[Secret]:
    order = {rule.name: place for place, rule in enumerate(RULES)}
    merged: list[Secret] = []
    for one in sorted(found, key=lambda secret: (secret.start, secret.end)):
        last = merged[-1] if merged else None
        if last is None or one.start >= last.end:
            merged.append(one)
        else:
            name = min(last.rule, one.rule, key=order.__getitem__)
            merged[-1] = Secret(name, last.start, max(last.end, one.end))
    return merged


def redact(text: str) -> str:
    """The text with `[redacted: rule]` in the place of every secret."""
    secrets = find_secrets(text)
    if not secrets:
        return text
    pieces, done = [], 0
    for secret in secrets:
        pieces += [text[done : secret.start], f"[redacted: {secret.rule}]"]
        done = secret.end
    return "".join([*pieces, text[done:]])

"""The rules for secrets that are always there: what a kept rule set (`kept_rules`) does not find in transcripts, and the fallback without it.

A rule is tried only where one of its words occurs, and its pattern is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import log2
from typing import Literal, NamedTuple

Confidence = Literal["high", "medium", "low"]
"""high: has the form of one kind of secret; medium: known by the words before it; low: only looks random."""

# The start of a token: not inside a word, but also after a line break written as an escape.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
# Inside a word, a prefix that words end in (task-, mask_test_) must be followed by digits and letters of both cases.
_MIXED = r"(?=[A-Za-z]{0,15}+\d)(?=[a-z0-9]{0,15}+[A-Z])(?=[A-Z0-9]{0,15}+[a-z])"
_QUOTE = r"\\{0,7}+[\"'`]"
_CALL = "([{"  # after a value: it is code that returns the secret, not the secret itself


class Rule(NamedTuple):
    """One kind of secret: a pattern (group 1 or the whole match is the secret), and lowercase words that its matches contain.

    Words have at least two characters, and are up to `before` characters after the beginning of a match.
    """

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool] | None = None
    is_token: bool = True  # its prefix is distinctive: also found when a line break splits it
    before: int = 0
    confidence: Confidence = "high"


_NOT_SECRET = re.compile(
    r"(?i)(?:none|null|nil|true|false|undefined|string|str|text|bytes|number|required|optional|example|sample|changeme|dummy|fake|your|my|the|a|xxx|test)"
    r"(?:[-_ ]?(?:password|passwd|pass|pwd|secret|token|api[-_]?key|access[-_]?key|key|here|value|goes|x+))*+$"
)
_EXAMPLE = re.compile(
    r"(?i)example|placeholder|changeme|change[-_]me|your[-_]|[-_]here\b|redacted|dummy|x{5}|\*{3}|\.{3}|0{8}|1234567|abcdefg"
)


def is_example(value: str) -> bool:
    """Whether a value is a placeholder as documentation and tests write it."""
    return _EXAMPLE.search(value) is not None or len(set(value)) < 4


_USUAL_PASSWORDS = frozenset(
    "admin app changeit dev guest mysql pass passwd password postgres postgresql pw pwd redis root secret test user username".split()
)


_NAMES_ITSELF = re.compile(r"(?i)pass|pwd|secret|token|key|field|input|factor|column|label")
_SETTING = re.compile(r"(?i)[\w.-]+=(?:true|false|none|null|\d+)")
_WORDS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{4,}")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@+-]*/")  # PWD=/home/me/src
_CJK = "\u2e80"  # the first character of scripts whose documents put full-width punctuation after a word


def _is_password(value: str) -> bool:
    """Whether a value is a secret rather than a name, a call, a type, a setting or a placeholder."""
    if value[-1] in _CALL or _NOT_SECRET.match(value) or is_example(value) or _SETTING.fullmatch(value):
        return False
    if max(value) >= _CJK or _PATH.match(value) or value.strip("-").lower() in _USUAL_PASSWORDS:
        return False
    letters = value.replace("_", "").replace(".", "").replace("-", "")
    return not letters.isalpha() or not (value.islower() or "." in value or _NAMES_ITSELF.search(value)) or "-" in value


def _is_random(value: str) -> bool:
    """Whether a value looks like a key: digits and letters, many of them different, neither a call nor a name in words."""
    if value[-1] in _CALL or is_example(value):
        return False
    digits = sum(map(str.isdigit, value))
    return digits > 0 and any(map(str.isalpha, value)) and len(set(value)) > 7 and not _is_wordy(value, digits)


def _is_wordy(value: str, digits: int) -> bool:
    """Whether most of a value is words: e2e-test-secret, Uint8Array, env.AUTH0_SECRET."""
    letters = sum(map(str.isalnum, value))
    return digits * 12 <= letters and sum(map(len, _WORDS.findall(value))) >= 0.8 * letters


def _is_url_password(value: str) -> bool:
    return (
        not value.startswith(("$", "{", "%", "[", "<"))
        and value.lower() not in _USUAL_PASSWORDS
        and not _NOT_SECRET.match(value)
        and not is_example(value)
    )


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in map(value.count, set(value)))


RULES = (
    Rule(
        "private-key",  # not over the end of a string in JSON: the rest is in another text
        ("-----begin ",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-\"]|-(?!----)|\"(?!\s*+[}:]))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:[\s\\nr\"'+,]*+[A-Za-z0-9+/=]{16,}+)++)"
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
    Rule(
        "aws-access-key",
        ("akia", "asia", "abia", "acca"),
        re.compile(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
        lambda value: not is_example(value),
    ),
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
        lambda value: not is_example(value),
    ),
    Rule("telegram-token", (":aa",), re.compile(r"\d{8,10}:AA[\w-]{33,}+", re.ASCII), before=10),
    Rule(
        "discord-token",
        ("mt", "mz", "mj", "mty", "nd", "nt", "nz", "nj", "od", "ot"),
        re.compile(r"[MNO][A-Za-z\d]{23,27}\.[\w-]{6}\.[\w-]{27,40}+(?![\w-])", re.ASCII),
        _is_random,
    ),
    Rule(
        "stripe-key",
        ("sk", "rk_", "pk_", "whsec_"),
        re.compile(
            rf"(?:{_START}(?:[rs]k_test|[rsp]k_live)_|(?:[rs]k_test|[rsp]k_live)_{_MIXED})[A-Za-z0-9]{{16,}}+|whsec_[A-Za-z0-9+/=]{{24,}}+"
        ),
    ),
    Rule("npm-token", ("npm_",), re.compile(r"npm_[A-Za-z0-9]{36}")),
    Rule("pypi-token", ("pypi-ag",), re.compile(r"pypi-Ag[\w-]{40,}+", re.ASCII)),
    Rule("crates-token", ("cio",), re.compile(r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"), _is_random),
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
        is_token=True,
    ),
    Rule(
        "azure-client-secret",
        ("7q~", "8q~"),
        re.compile(r"[\w.-]{3}[78]Q~[\w~.-]{31,34}(?![\w~-])", re.ASCII),
        is_token=False,  # it may contain more than the characters of other tokens
        before=3,
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
            "gl",
            "pplx-",
            "figd_",
            "pscale_",
            "tskey-",
            "sqa_",
            "sqp_",
            "squ_",
            "sgamp_",
        ),
        re.compile(
            r"(?=[fglnprstx][a-z8]|AT|NR|sq)(?:gsk_[A-Za-z0-9]{40,}+|xai-[A-Za-z0-9]{60,}+|r8_[A-Za-z0-9]{36,}+|sbp_[0-9a-f]{40}|shp(?:at|ca|pa|ss)_[0-9a-f]{32}"
            r"|lin_api_[A-Za-z0-9]{32,}+|ntn_[A-Za-z0-9]{40,}+|ATATT3[\w=-]{24,}+|NRAK-[A-Z0-9]{27}|glsa_\w{32,}+|pplx-[A-Za-z0-9]{40,}+|figd_[\w-]{36,}+"
            r"|pscale_(?:tkn|oauth|pw)_[\w.=-]{32,}+|tskey-[a-z]{2,12}-[\w-]{20,}+|sq[apu]_[0-9a-f]{40}|sgamp_user_\w{20,}+)",
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
        re.compile(r"://[^\s/:@\"'<>\\]{0,128}+:([^\s/\"'<>\\]{3,256})@(?=[\w\[.:-])"),
        _is_url_password,
        is_token=False,
        confidence="medium",
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
        confidence="medium",
    ),
    Rule(
        "session-cookie",
        ("cookie",),
        re.compile(
            r"(?i)cookie(?:" + _QUOTE + r")?\s?:\s?(?:" + _QUOTE + r")?"
            r"(?:[\w.-]{1,64}+=[^;\s\"']{0,19}+;\s?){0,20}+[\w.-]{1,64}+=([\w%+/.=~-]{20,}+)"
        ),
        _is_random,
        is_token=False,
        confidence="medium",
    ),
    Rule(
        "netrc",
        ("login",),
        re.compile(r"login\s[^\s]{1,128}+\s{1,8}+password\s([^\s\[]{4,256}+)"),
        is_token=False,
        confidence="medium",
    ),
    Rule(
        "command-password",
        ("sshpass", "mysql", "docker login", "curl"),
        re.compile(
            r"(?:sshpass\s+-p\s?|docker login\b[^\n|;]{0,200}?\s(?:-p|--password)[ =]|mysql(?:dump|admin)?\b[^\n|;]{0,200}?\s-p"
            r"|curl\b[^\n|;]{0,300}?\s(?:-u|--user)[ =]['\"]?[^\s:'\"$]{1,64}:)(?:"
            + _QUOTE
            + r")?([^\s\"'`\\$]{6,128}+)"
        ),
        _is_password,
        is_token=False,
        confidence="medium",
    ),
    Rule(
        "sql-password",
        ("identified by", "password '"),
        re.compile(r"(?i)(?:identified by|password)\s'([^\s'\[]{6,128}+)'"),
        _is_password,
        is_token=False,
        confidence="medium",
    ),
    Rule(
        "password",
        ("pass", "pwd"),
        re.compile(
            r"(?i)(?:password|passwd|passphrase|pwd|(?<=_)pass)(?:"
            + _QUOTE
            + r")?(?:\s{0,2}[:=]{1,2}>?\s{0,2}|(?<=--password)\s)(?:"
            + _QUOTE
            + r")?"
            r"([^\s\"'`\\,;&()\[\]{}<>$|]{6,}+[(\[{]?)"
        ),
        _is_password,
        is_token=False,
        confidence="medium",
    ),
    Rule(
        "api-key",
        ("secret", "token", "credential", "api", "access", "auth", "signing", "encrypt", "private", "master", "_key"),
        re.compile(
            r"(?i)(?:secret|token|credential|(?:api|access|auth|secret|signing|encryption|private|master)[_-]?key|(?-i:(?<=[A-Z])_KEY))"
            r"(?:" + _QUOTE + r")?\s{0,2}[:=]{1,2}>?\s{0,2}(?:" + _QUOTE + r")?([a-z0-9_\-./+=~]{16,}+[(\[{]?)"
        ),
        _is_random,
        is_token=False,
        confidence="medium",
    ),
)
"""Every rule, the most specific first: where two overlap, the first one names the secret."""


_KEEPS_ITS_FORM = re.compile(
    r"[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|sha\d+-.*"
)
_STRICT_BITS = (
    3.8  # entropy per character: random letters and digits have about 4.3 in 24 characters, words and paths less
)


def is_unknown_key(value: str) -> bool:
    """Whether a run of characters can only be random: no hash, id, path or name."""
    if _KEEPS_ITS_FORM.fullmatch(value) or is_example(value):
        return False
    kinds = sum(any(map(test, value)) for test in (str.isdigit, str.islower, str.isupper))
    return kinds == 3 and entropy(value) > _STRICT_BITS


STRICT_RULES = (
    Rule(
        "named-value",
        ("key", "token", "secret", "pass", "pwd", "auth", "cred", "session", "cookie", "salt", "otp", "pin"),
        re.compile(
            r"(?i)(?:key|token|secret|pass(?:word|wd|phrase)?|pwd|auth|cred(?:ential)?s?|session|cookie|salt|otp|pin)(?:_?id)?"
            r"(?:" + _QUOTE + r")?\s{0,2}[:=]{1,2}>?\s{0,2}(?:" + _QUOTE + r")?([^\s\"'`\\,;&()\[\]{}<>$|]{4,256}+)"
        ),
        lambda value: any(map(str.isdigit, value)) and not _KEEPS_ITS_FORM.fullmatch(value),
        is_token=False,
        confidence="low",
    ),
)
"""Rules that redact with `strict` only: they hit much that is harmless."""

RANDOM_RUN = re.compile(r"(?<![A-Za-z0-9_+/=~-])[A-Za-z0-9_+/=~-]{20,512}+")
"""With `strict`, runs like this are redacted where `is_unknown_key`."""

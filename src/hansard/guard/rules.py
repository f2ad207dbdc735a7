"""The rules for secrets that are always there: what a kept rule set (`kept_rules`) does not find in transcripts, and the fallback without it.

A rule is tried only where one of its words occurs, and its pattern is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from hansard.guard import named_values
from hansard.guard.named_values import keeps_its_form
from hansard.guard.plausible import entropy, is_example, is_random, is_url_password
from hansard.guard.values import OPENED, QUOTE, QUOTED, Value

Confidence = Literal["high", "medium", "low"]
"""high: has the form of one kind of secret; medium: known by the words before it; low: only looks random."""

# The start of a token: not inside a word, but also after a line break written as an escape.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
# Inside a word, a prefix that words end in (task-, mask_test_) must be followed by digits and letters of both cases.
_MIXED = r"(?=[A-Za-z]{0,15}+\d)(?=[a-z0-9]{0,15}+[A-Z])(?=[A-Z0-9]{0,15}+[a-z])"


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
    value: Callable[[re.Match[str]], Value | None] | None = None
    """Finds the secret from a match; without it the match is the secret."""


_PASSWORD = r"password|passwd|passphrase|pwd"  # noqa: S105 - names, not values
_ELSEWHERE = (  # in German, Spanish, Portuguese, French, Chinese and Japanese
    "passwort|kennwort|contrase(?:\u00f1|n|\\\\{1,7}+u00f1)a|senha|mot de passe|\u5bc6[\u7801\u78bc]|\u53e3\u4ee4|\u30d1\u30b9\u30ef\u30fc\u30c9"
)
_IS = r"\s{0,2}(?:={1,2}|:{1,2}=?)>?\s{0,2}"
_BLANKS = r"(?:\s|\\{1,7}+[nrt]){0,20}+"
_SHORT = r"[^\n|;]{0,200}?"  # of a command


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
        is_random,
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
    Rule("crates-token", ("cio",), re.compile(r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"), is_random),
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
        re.compile(r"://[^\s/:@\"'<>\\]{0,128}+:([^\s/\"'\\]{3,256})@(?=[\w\[.:-])"),
        is_url_password,
        is_token=False,
        confidence="medium",
    ),
    Rule(
        "authorization-header",
        ("auth", "bearer"),
        re.compile(
            r"(?i)(?:authorization"
            + QUOTE
            + r"?\s?[:=]\s?(?:"
            + QUOTE
            + r")?(?:basic|bearer|token|digest)|bearer)\s([a-z0-9._~+/=-]{8,}+)"
        ),
        lambda value: value.endswith("=") or (len(value) >= 12 and is_random(value)),
        is_token=False,
        confidence="medium",
    ),
    Rule(
        "session-cookie",
        ("cookie",),
        re.compile(
            r"(?i)cookie(?:" + QUOTE + r")?\s?:\s?(?:" + QUOTE + r")?"
            r"(?:[\w.-]{1,64}+=[^;\s\"']{0,19}+;\s?){0,20}+[\w.-]{1,64}+=([\w%+/.=~-]{20,}+)"
        ),
        is_random,
        is_token=False,
        confidence="medium",
    ),
    Rule(
        "netrc",
        ("login",),
        re.compile(r"login\s[^\s\\]{1,128}+(?=[\s\\])" + _BLANKS + r"password\s" + OPENED),
        is_token=False,
        confidence="medium",
        value=named_values.netrc,
    ),
    Rule(
        "command-password",
        (
            "sshpass",
            "mysql",
            "docker login",
            "curl",
            "redis-cli",
            "smbclient",
            "net use",
            "convertto-securestring",
            "env ",
        ),
        re.compile(
            rf"(?:sshpass\s+-p\s?|docker login\b{_SHORT}\s(?:-p|--password)[ =]|mysql(?:dump|admin)?\b{_SHORT}\s-p|redis-cli\b{_SHORT}\s(?:-a|--pass)[ =]"
            rf"|(?i:net use)\s{_SHORT}/user:[^\s|;]{{1,64}}\s|(?i:convertto-securestring)\s{{1,3}}(?:-(?i:string)\s)?"
            rf"|ENV\s[A-Z0-9_]{{0,64}}(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD)\s){OPENED}"
            rf"|(?:curl\b[^\n|;]{{0,300}}?\s(?:-u|--user)[ =](?:({QUOTE}))?+[^\s:'\"$\\]{{1,64}}:|smbclient\b{_SHORT}\s(?:-U|--user)[ =]?(?:({QUOTE}))?+[^\s%'\"]{{1,64}}%)(?=\S[^\r\n]{{5}})"
        ),
        is_token=False,
        confidence="medium",
        value=named_values.argument,
    ),
    Rule(
        "piped-password",  # echo it | sudo -S
        ("sudo ", "--password-stdin"),
        re.compile(r"sudo\s(?:-\w+\s){0,3}-\w{0,4}S\b|--password-stdin"),
        is_token=False,
        confidence="medium",
        value=named_values.piped,
    ),
    Rule(
        "sql-password",
        ("identified by", "password '"),
        re.compile(r"(?i)(?:identified by|password)\s(')(?=\S)"),
        is_token=False,
        confidence="medium",
        value=named_values.argument,
    ),
    Rule(
        "pgpass",  # host:port:database:user:password
        (":543", ":6432:", ":*:"),
        re.compile(r"(?<![\w.*:-])[\w.*-]{1,64}+:(?:543\d|6432|\*):[\w*-]{1,64}+:[\w*.@-]{1,64}+:(?=\S{6})"),
        is_token=False,
        before=64,
        confidence="medium",
        value=named_values.rest_of_line,
    ),
    Rule(
        "password-element",  # <password>it</password>
        ("pass", "pwd"),
        re.compile(rf"(?i)(?:{_PASSWORD}|(?<=_)pass)[\w-]{{0,16}}+>\s{{0,2}}(?:<!\[CDATA\[)?(?=[^\s<])"),
        is_token=False,
        confidence="medium",
        value=named_values.element,
    ),
    Rule(
        "password-attribute",  # <add key="Password" value="it"/>, <input type="password" value="it">, {"password": {"value": "it"}}
        ("pass", "pwd"),
        re.compile(
            rf"(?i)(?:{_PASSWORD}|(?<=_)pass)(?:{QUOTE}\s{{1,4}}(?:(?!value=)[\w:.-]{{1,40}}+={QUOTE}[^\"'<>\\]{{0,80}}+{QUOTE}\s{{1,4}}){{0,5}}+value="
            rf"|(?:{QUOTE})?+(?:,|:\s?\{{)?{_BLANKS}(?:{QUOTE})?+value(?:{QUOTE})?+\s?:\s?){QUOTED}"
        ),
        is_token=False,
        confidence="medium",
        value=named_values.attribute,
    ),
    Rule(
        "password-argument",  # setPassword("it"), putenv("PASSWORD", "it"), auth=("user", "it")
        ("pass", "pwd", "auth"),
        re.compile(
            rf"(?:(?i:(?<=\.)|(?<=set)|(?<=with))[Pp]assword\(\s?|(?:PASSWORD|PASSWD|_PASS|_PWD){QUOTE}\s?,\s?"
            rf"|(?i:auth)\s?=?\s?\(\s?{QUOTE}[\w.@+-]{{1,64}}+{QUOTE}\s?,\s?){QUOTED}"
        ),
        is_token=False,
        confidence="medium",
        value=named_values.quoted_password,
    ),
    Rule(
        "password",
        (
            "pass",
            "pwd",
            "psk",
            "kennwort",
            "contrase",
            "senha",
            "mot de passe",
            "\u5bc6",
            "\u53e3\u4ee4",
            "\u30d1\u30b9\u30ef\u30fc\u30c9",
        ),
        re.compile(
            rf"(?i)(?:(?:{_PASSWORD}|(?<=_)pass|{_ELSEWHERE})(?:{QUOTE}\]?)?{_IS}|(?<=-)(?:password|passphrase)\s|{_START}psk\s?=\s?)"
            rf"(?:({QUOTE})(?=\S)|(?=[^\s\"'`]\S{{5}}))"
        ),
        is_token=False,
        confidence="medium",
        value=named_values.password,
    ),
    Rule(
        "api-key",
        ("secret", "token", "credential", "api", "access", "auth", "signing", "encrypt", "private", "master", "_key"),
        re.compile(
            r"(?i)(?:secret|token|credential|(?:api|access|auth|secret|signing|encryption|private|master)[_-]?key|(?-i:(?<=[A-Z])_KEY))"
            rf"(?:{QUOTE}\]?)?(?:{_IS}(?:({QUOTE})(?=\S{{16}})|(?=(?:base64:)?[a-z0-9_\-./+=~]{{16}}))|=(?=[^\s\"'`]\S{{15}}))"
            r"|(?<=aws_secret_)access_key\s(?=[a-z0-9/+]{40})"
        ),
        is_token=False,
        confidence="medium",
        value=named_values.key,
    ),
)
"""Every rule, the most specific first: where two overlap, the first one names the secret."""


_STRICT_BITS = (
    3.8  # entropy per character: random letters and digits have about 4.3 in 24 characters, words and paths less
)


def is_unknown_key(value: str) -> bool:
    """Whether a run of characters can only be random: no hash, id, path or name."""
    if keeps_its_form(value) or is_example(value):
        return False
    kinds = sum(any(map(test, value)) for test in (str.isdigit, str.islower, str.isupper))
    return kinds == 3 and entropy(value) > _STRICT_BITS


STRICT_RULES = (
    Rule(
        "named-value",
        ("key", "token", "secret", "pass", "pwd", "auth", "cred", "session", "cookie", "salt", "otp", "pin"),
        re.compile(
            r"(?i)(?:key|token|secret|pass(?:word|wd|phrase)?|pwd|auth|cred(?:ential)?s?|session|cookie|salt|otp|pin)(?:_?id)?"
            rf"(?:{QUOTE}\]?)?{_IS}{OPENED}"
        ),
        is_token=False,
        confidence="low",
        value=named_values.anything,
    ),
)
"""Rules that redact with `strict` only: they hit much that is harmless."""

RANDOM_RUN = re.compile(r"(?<![A-Za-z0-9_+/=~-])[A-Za-z0-9_+/=~-]{20,512}+")
"""With `strict`, runs like this are redacted where `is_unknown_key`."""

"""Whether a value behind a word such as `password` is a secret, rather than code, a variable, prose, a pattern or an example."""

from __future__ import annotations

import re
from math import log2

_SHORTEST, _SHORTEST_KEY = 6, 16
_LEFT = 4  # characters of a secret beside what is replaced in it
_KEY_BITS = 3.5
_KEY_SIGNS = re.compile(r"[$&!#%^*(){}\[\]<>|?\\]")
_CALL = "([{"  # after a value: it is code that returns the secret, not the secret itself
_CJK = "\u2e80"  # the first character of scripts whose documents put full-width punctuation after a word

_NOT_SECRET = re.compile(
    r"(?i)(?:none|null|nil|true|false|undefined|string|str|text|bytes|number|required|optional|example|sample|changeme|dummy|fake|your|my|the|a|xxx|test)"
    r"(?:[-_ ]?(?:password|passwd|pass|pwd|secret|token|api[-_]?key|access[-_]?key|key|here|value|goes|x+))*+$"
)
_EXAMPLE = re.compile(
    r"(?i)example|placeholder|changeme|change[-_]me|your[-_]|[-_]here\b|redacted|dummy|x{5}|\*{3}|\.{3}|0{8}|1234567|abcdefg"
)
_USUAL_PASSWORDS = frozenset(
    "admin app changeit dev guest mysql pass passwd password postgres postgresql pw pwd redis root secret test user username".split()
)
_NAMES_ITSELF = re.compile(r"(?i)pass|pwd|secret|token|key|field|input|factor|column|label")
_SETTING = re.compile(r"(?i)[a-z_.-]+=(?:true|false|none|null|\d+)")
_WORDS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{4,}")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@+-]*/")  # PWD=/home/me/src

_SPECIAL = re.compile(r"[\s\"'`\\,;&()\[\]{}<>$|]")
_UP_TO_SPECIAL = re.compile(r"[^\s\"'`\\,;&()\[\]{}<>$|]{6,}+[(\[{]?")
# What is replaced before the value is used: variables, commands, templates, formats, and placeholders of documents.
_VARIABLE = re.compile(r"\$(?:env:\w+|[A-Z_][A-Z0-9_]*|[A-Za-z_]+\d?)(?:(?:->|\.|::)[A-Za-z_]+|\[[^\]]*\])*+|\\\(\w+\)")
_INTERPOLATION = re.compile(
    r"\$?\{\{[^{}]*+\}\}|\{%[^%]*+%\}|[$#%@!]\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)?\}|\$\((?=[a-z<\"'$])[^()]*+(?:\([^()]*+\)[^()]*+)?\)"
    r"|\$(?:env:\w++|[A-Z_]{3,}+(?![a-z0-9])|[a-z_]{4,}+(?:[A-Z][a-z]{2,}+)*+\d?(?!\w))"
    r"|\{(?=[a-z_]{3}|[A-Z_]{3}|[a-z]\})[A-Za-z_]\w*+(?:[.\[][^{}]*+)?(?:![rsa])?(?::[^{}]*+)?\}|\{\d?\}"
    r"|%\(\w++\)[sd]|%[-+]?\d{0,3}[sdvqrx@](?![A-Za-z0-9])|%[A-Za-z_]++%|<(?:[%?$][^<>]*+|/?[A-Za-z][A-Za-z _./:-]*+\d?)>|\[[A-Za-z][A-Za-z _-]*+\]|`[^`]*+`"
    r"|&(?:lt|#x3[cC]|#60);[^<>&]*+(?:>|&gt;|&#x3[eE];|&#62;)?+"
)
_REFERENCE = re.compile(
    r"(?i)process\.env|os\.(?:environ|getenv)|(?:get)?env[:(.\[]|System\.|op://|vault:|arn:|ssm:|ref\+|file:|(?:https?|data|blob):|@Microsoft"
    r"|!(?:Ref|Sub|GetAtt)|ENC\(|\{cipher\}|sha(?:1|256|512)[-:]|urn:|projects/|gs://|s3://"
)
_NAME = r"[$@*&!]?(?:[A-Za-z_$]{1,2}\.)?(?=[A-Za-z_]*[A-Za-z]{3})[A-Za-z_]++(?:\d{1,2}[A-Za-z_]++)*+\d?"  # in code, of words
_CODE = re.compile(
    rf"null,|[^!=]*+[!=]=|(?:await |new |this|{_NAME})(?:(?:\??\.|->|::){_NAME}|\(\))*+(?:\?\.|!)?[(\[{{<|&;]"
)
_CALL_WHOLE = re.compile(rf"(?=\w*?[a-z]{{4}}){_NAME}(?:(?:\.|->|::){_NAME})*+(?:\(.*\)|\[.*\]|\{{.*\}}|<.*>)[;,]?\Z")
_PATTERN = re.compile(
    r"\[\^[^\]]{1,12}\][+*{]|\(\?[:=!<P]|[.\])][+*](?:[?)|$\]\"']|\Z)|\\[swdbSWDB][+*{\]]|\{\d,\d?\}|\[[a-z-]++[~|^$*]?=[\w\"'\\-]*+\]"
    r"|\[A-Z|\[a-z|\[0-9|\A[#.][a-z][\w-]*+(?: |\[[a-z-]++[=\]])|\A\$(?:\.\.?[a-z]{3}|\[)"
)
# Around a quote that closes a string instead of opening one: JSON and code.
_STRUCTURE = re.compile(
    r"[\"']\s?[,:}\]+]\s?[\"'{}\[\],]|\A[\s,:{}\[\]()]*+(?:true|false|null|[\d.]+)?+[\s,:{}\[\]()]*+\Z|\)\s?=>|\s=>\s"
    r"|\A[+,)\]}:;?&](?:[\s\\\"']|\w+[+.&]\Z)"
)
_PLAIN_WORD = re.compile(
    r"[(\"'\[*_]*+[A-Za-z]?(?:[A-Z]++|[a-z\u00c0-\u02af'\u2019/-]*+)[)\"'\],.:;!?*_\u2026]*+|[-\u2013\u2014&/+|=<>*\u2192]++|\d{1,2}[+.)]?"
)
_SIGNS = re.compile(r"[!@#%^*~?$]")


def is_example(value: str) -> bool:
    """Whether a value is a placeholder as documentation and tests write it."""
    return _EXAMPLE.search(value) is not None or len(set(value)) < 4


def is_password(value: str) -> bool:
    """Whether a word is a secret rather than a name, a call, a type, a setting or a placeholder."""
    if value[-1] in _CALL or _NOT_SECRET.match(value) or is_example(value) or _SETTING.fullmatch(value):
        return False
    if max(value) >= _CJK or _PATH.match(value) or value.strip("-").lower() in _USUAL_PASSWORDS:
        return False
    letters = value.replace("_", "").replace(".", "").replace("-", "")
    return not letters.isalpha() or not (value.islower() or "." in value or _NAMES_ITSELF.search(value)) or "-" in value


def is_random(value: str) -> bool:
    """Whether a value looks like a key: digits and letters, many of them different, neither a call nor a name in words."""
    return value[-1] not in _CALL and not is_example(value) and _has_random_letters(value)


def _has_random_letters(value: str) -> bool:
    digits = sum(map(str.isdigit, value))
    return digits > 0 and any(map(str.isalpha, value)) and len(set(value)) > 7 and not _is_wordy(value, digits)


def _is_wordy(value: str, digits: int) -> bool:
    """Whether most of a value is words: e2e-test-secret, Uint8Array, env.AUTH0_SECRET."""
    letters = sum(map(str.isalnum, value))
    return digits * 12 <= letters and sum(map(len, _WORDS.findall(value))) >= 0.8 * letters


def is_url_password(value: str) -> bool:
    """Whether the password in an address is one, rather than a variable or an example."""
    return (
        not is_interpolated(value)
        and value.lower() not in _USUAL_PASSWORDS
        and not _NOT_SECRET.match(value)
        and not is_example(value)
    )


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in map(value.count, set(value)))


def has_both(value: str) -> bool:
    """Whether a value has digits and letters."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def has_signs(value: str) -> bool:
    """Whether a value has signs that may also end it where it has no quotes."""
    return _SPECIAL.search(value) is not None


def before_signs(text: str, start: int) -> re.Match[str] | None:
    """The word that begins at a place, up to such a sign, if it may be a password."""
    found = _UP_TO_SPECIAL.match(text, start)
    return found if found is not None and is_password(found[0]) and not _REFERENCE.match(found[0]) else None


def is_whole_password(value: str) -> bool:
    """Whether a value of any characters, of which the end is known, is a secret."""
    if len(value) < _SHORTEST:
        return False
    if not has_signs(value):
        return is_password(value)
    if not may_be_secret(value) or (any(map(str.isspace, value)) and _is_prose(value)):
        return False
    if has_both(value):
        return True
    return value != value.lower() and value != value.upper() and _SIGNS.search(value) is not None and " " not in value


def is_whole_key(value: str) -> bool:
    """Whether a value of any characters looks like a key; its end is known, and it has a sign that words and paths have not."""
    if not may_be_secret(value) or any(map(str.isspace, value)) or "://" in value or not _has_random_letters(value):
        return False
    return len(value) >= _SHORTEST_KEY and _KEY_SIGNS.search(value) is not None and entropy(value) > _KEY_BITS


def is_code(value: str) -> bool:
    """Whether a value without quotes begins as a call, an index or a type does."""
    return value[-1] in _CALL or _CODE.match(value) is not None


def may_be_secret(value: str) -> bool:
    """Whether a value of any characters is neither code nor a variable, a reference, a pattern or an example."""
    if is_interpolated(value) or _REFERENCE.match(value) or _CALL_WHOLE.match(value):
        return False
    if _STRUCTURE.search(value) or _PATTERN.search(value) or _NOT_SECRET.match(value) or is_example(value):
        return False
    return max(value) < _CJK and not _PATH.match(value)


def is_interpolated(value: str) -> bool:
    """Whether too little of a value is left without what is replaced in it."""
    if "$" in value and _VARIABLE.fullmatch(value):
        return True
    rest = _INTERPOLATION.sub("", value)
    return rest != value and (len(rest) < _LEFT or not has_both(rest))


def _is_prose(value: str) -> bool:
    parts = value.split()
    return 2 * sum(len(part) for part in parts if _PLAIN_WORD.fullmatch(part)) >= sum(map(len, parts))

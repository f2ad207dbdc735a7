"""Secrets are found in every encoding that a decoder can undo cheaply, and ordinary text costs no more than a few passes."""

from __future__ import annotations

import base64
import binascii
import textwrap
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.guard import decoding
from hansard.guard.detection import Detector
from hansard.guard.rules import RULES
from hansard.model.placeholders import PLACEHOLDER
from tests.guard.test_redaction import HARMLESS, SECRETS, redact

Encode = Callable[[str], str]


def percent(text: str) -> str:
    return "".join(f"%{ord(character):02X}" for character in text)


def full_width(text: str) -> str:
    return "".join(chr(ord(character) + 0xFEE0) if "!" <= character <= "~" else character for character in text)


def wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(base64.b64encode(text.encode()).decode(), 40))


ENCODINGS: dict[str, Encode] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, url-safe": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of more": lambda text: base64.b64encode(f"one\ntwo {text} three".encode()).decode(),
    "base64 behind a letter": lambda text: "x" + base64.b64encode(text.encode()).decode(),
    "base64 in lines": wrapped,
    "base64 in base64": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal, capitals": lambda text: text.encode().hex().upper(),
    "hexadecimal behind 0x": lambda text: "0x" + text.encode().hex(),
    "hexadecimal in lines": lambda text: "\n".join(textwrap.wrap(text.encode().hex(), 60)),
    "percent": percent,
    "percent, signs only": lambda text: quote(text, safe=""),
    "percent, twice": lambda text: percent(percent(text)),
    "base64 in percent": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "entities": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "entities, hexadecimal": lambda text: "".join(f"&#x{ord(character):x};" for character in text),
    "entities, by name": lambda text: text.replace("&", "&amp;").replace("-", "&#45;").replace("_", "&lowbar;").replace(":", "&colon;"),
    "escapes": lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
    "escapes, bytes": lambda text: "".join(f"\\x{ord(character):02x}" for character in text),
    "escapes, octal": lambda text: "".join(f"\\{ord(character):03o}" for character in text),
    "escapes, of JSON in JSON": lambda text: "".join(f"\\\\u{ord(character):04x}" for character in text),
    "full width": full_width,
    "zero-width spaces": "\u200b".join,
    "zero-width spaces, escaped": "\\u200b".join,
    "zero-width spaces, of JSON in JSON": "\\\\uFEFF".join,
    "colours": "\x1b[01;31m\x1b[K".join,
    "colours, escaped": "\\u001b[1m".join,
    "colours, of JSON in JSON": "\\\\u001b[m\\\\u001b[K".join,
    "colours, of a program": "\\x1b[0;32m".join,
    "links of a terminal": "\x1b]8;;file:///src/a.py\x1b\\".join,
    "character sets of a terminal": "\x1b(B\x1b[m".join,
}  # fmt: skip
# What is encoded is the secret with its surroundings; the rules that need several lines or spaces have them encoded too.
ONE_LINE = [(rule, around.format(secret), secret) for rule, secret, around in SECRETS if "\n" not in secret]
TOKENS = {rule.name for rule in RULES if rule.is_token}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_rule_under_every_encoding(encoding: str) -> None:
    for rule, text, secret in ONE_LINE:
        encoded = ENCODINGS[encoding](text)
        shown = redact(f"before {encoded} after")
        assert PLACEHOLDER.search(shown), (rule, encoded)
        assert shown.startswith("before ")
        assert shown.endswith(" after")
        assert ENCODINGS[encoding](secret) not in shown, (rule, encoded)
        assert redact(shown) == shown


JOINTS = ['" + "', "' + '", '"\n    "', '" .\n "', "' \\\n '", "` + `", '\\" + \\"', '" & "', '" || "', '" f"']


@pytest.mark.parametrize("joint", JOINTS)
def test_a_secret_in_joined_literals_is_redacted(joint: str) -> None:
    for rule, text, secret in ONE_LINE:
        if rule not in TOKENS:
            continue
        place = text.index(secret)
        for cut in (2, len(secret) // 2):
            source = f'x = "{text[:place]}{secret[:cut]}{joint}{secret[cut:]}"'
            assert secret[cut : cut + 12] not in redact(source), (rule, source)


@pytest.mark.parametrize("between", ["\n", "\n    ", "\r\n", "\\\n", "\\n"])
def test_a_token_that_a_line_break_splits_is_redacted(between: str) -> None:
    for rule, text, secret in ONE_LINE:
        if rule not in TOKENS:
            continue
        place = text.index(secret)
        for cut in (1, 2, 5, len(secret) // 2):
            source = f"{text[:place]}{secret[:cut]}{between}{secret[cut:]}"
            shown = redact(source)
            assert PLACEHOLDER.search(shown), (rule, source)
            assert secret[cut:][:16] not in shown, (rule, source)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("KEY={}\nNEXT_2=value", "KEY={0}\nNEXT_2=value"),
        ("KEY={}\ndone", "KEY={0}\ndone"),
        ("KEY={}\n\nA1b2C3d4", "KEY={0}\n\nA1b2C3d4"),
        ("{}\nThe key above", "{0}\nThe key above"),
    ],
)
def test_the_line_behind_a_token_stays(source: str, shown: str) -> None:
    key = "sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ2rS4"
    assert redact(source.format(key)) == shown.format(redact(key))


@pytest.mark.parametrize("letters", ["x", "key", "Z9", "_", "-", "é"])
def test_a_letter_glued_to_a_token_does_not_hide_it(letters: str) -> None:
    for rule, text, secret in ONE_LINE:
        if rule in TOKENS and text.index(secret) == 0:
            shown = redact(f"a {letters}{text} b")
            assert PLACEHOLDER.search(shown), (rule, text)
            assert secret not in shown


@pytest.mark.parametrize("text", HARMLESS)
@pytest.mark.parametrize("encoding", ["base64", "hexadecimal", "percent", "entities", "full width"])
def test_harmless_text_stays_in_every_encoding(text: str, encoding: str) -> None:
    encoded = ENCODINGS[encoding](text)
    assert redact(encoded) == encoded


@pytest.mark.parametrize(
    "text",
    [
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "https://example.com/a%20b?next=%2Fpassword%2Freset&token=%7Btoken%7D",
        "x = 'a' + 'b'; don't \"quote\" \"twice\"",
        "src/hansard/query/search/candidates.py:120 HansardQuerySearchCandidates",
        "&lt;password&gt; &amp;nbsp; C:\\new\\table\\x41\\123",
        "----------------------------------------------------------------",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_only_the_encoded_secret_is_cut_out() -> None:
    token = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"
    shown = redact(token)
    assert redact(f"a%20{quote(token[:3])}%5F{token[4:]}%20b") == f"a%20{shown}%20b"
    assert redact(f"<{token.encode().hex()}>") == f"<{shown}>"
    assert redact(f'"{base64.b64encode(token.encode()).decode()}"') == f'"{shown}"'
    long = base64.b64encode(f"{'lorem ipsum ' * 20}{token}{' dolor sit' * 20}".encode()).decode()
    shown = redact(long)
    assert shown[:200] == long[:200]
    assert shown[-200:] == long[-200:]
    assert token not in base64.b64decode(PLACEHOLDER.sub("AAAA", shown), validate=False).decode("latin-1")


@pytest.mark.parametrize("written", ["\x1b", "\\u001b", "\\x1b"])
def test_a_coloured_token_is_cut_out_with_its_colours(written: str) -> None:
    token = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"
    for begin in (0, 3, 4, 12):  # where grep --color=always begins and ends its match
        for end in (4, 20, len(token)):
            if begin < end:
                start, stop = f"{written}[01;31m{written}[K", f"{written}[m{written}[K"
                source = f"a {token[:begin]}{start}{token[begin:end]}{stop}{token[end:]} b"
                (found,) = Detector(None).find(source)
                assert found.value == token
                assert source[found.start : found.end].startswith(token[: begin or 1])
                assert source[found.start : found.end].endswith(token[end:] or token[-1])


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=120))
def test_every_view_leads_back_to_its_source(text: str) -> None:
    for view in (decoding.unescape(text), decoding.join_lines(text), decoding.without_sequences(text)):
        if view is None or not view.text:
            continue
        spans = [view.span(place, place + 1) for place in range(len(view.text))]
        assert all(start < end for start, end in spans)
        assert spans == sorted(spans)
        assert all(
            end - start > 1 or text[start:end] == character
            for (start, end), character in zip(spans, view.text, strict=True)
        )


@given(st.binary(min_size=16, max_size=80), st.integers(0, 3))
def test_a_decoded_stretch_leads_back_to_its_characters(data: bytes, shift: int) -> None:
    text = "A" * shift + base64.b64encode(data).decode()
    view = decoding.decode_runs(text, decoding.find_runs(text))
    if view is None:
        return
    for place, character in enumerate(view.text):
        start, end = view.span(place, place + 1)
        if character not in " \0" and shift == 0 and start % 4 == 0 and end - start == 4 and end <= len(text):
            assert character.encode() in binascii.a2b_base64(text[start:end])


class _Counted:
    """A pattern that counts the characters it is given."""

    def __init__(self, pattern: object) -> None:
        self.pattern, self.count = pattern, 0

    def __getattr__(self, name: str) -> object:
        method = getattr(self.pattern, name)

        def run(text: str, *rest: object) -> object:
            self.count += len(text) if name != "match" else 0
            return method(text, *rest)

        return run


def test_work_is_linear_in_hostile_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    units = [
        "%73",
        "%2573",
        "&#115;",
        "\\u0073",
        '"+"',
        "'a' ",
        "sk-\n",
        "sk-ant-",
        "eyJ",
        "QUJD",
        "7371",
        "token%3D",
        "a\n",
        "://",
        "SK1\nb2",
        "\x1b[1m",
        "\x1b]8;",
        "\\u001b]",
        "\\\\\\u001b[",
    ]
    patterns = ["_TERMINAL", "_INLINE", "_BREAK", "_LOOKS_BASE64", "_LOOKS_HEX", "_PRINTABLE", "_HEX"]
    for unit in units:
        counts = []
        for times in (200, 400):
            counted = {name: _Counted(getattr(decoding, name)) for name in patterns}
            with monkeypatch.context() as patch:
                for name, pattern in counted.items():
                    patch.setattr(decoding, name, pattern)
                Detector(None).find(unit * times, strict=True)  # without the prefilter
            counts.append(sum(pattern.count for pattern in counted.values()))
        assert counts[1] <= 2.1 * counts[0] + 100, unit

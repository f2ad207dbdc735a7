"""Planted secrets of some ninety kinds are found as they are written, in JSON and encoded; harmless text is left alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from hansard.guard.detection import Detector, detector
from hansard.guard.kept_rules import KeptRules, kept_version
from hansard.guard.prefilter import make_prefilter
from tests.guard.planted_secrets import KINDS, Planted, plant
from tests.guard.test_redaction import HARMLESS

PLANTED = list(plant(11, each=2))
PUBLIC = frozenset({"slack-webhook", "discord-webhook"})

WRITTEN: dict[str, Callable[[Planted], str]] = {
    "by itself": lambda planted: planted.line,
    "between lines": lambda planted: f"I ran it and got:\n{planted.line}\nand then all was fine.\n",
    "in a transcript": lambda planted: json.dumps({"content": [{"type": "text", "text": f"$ cat\n{planted.line}\nPORT=80"}]}),
    "in JSON in a transcript": lambda planted: json.dumps({"input": json.dumps({"text": f"see\n{planted.line}\nend"})}),
    "in base64": lambda planted: f"data: {base64.b64encode(planted.line.encode()).decode()}",
    "in base64 between words": lambda planted: f"before\n{base64.b64encode(planted.line.encode()).decode()}\nafter",
    "percent-encoded": lambda planted: f"https://x.example/?q={quote(planted.line, safe='')}",
}  # fmt: skip
# Kinds that our own rules do not know; without the extra they are found only behind words such as "token".
NEED_THE_KEPT_RULES = frozenset(
    "rubygems clojars postman sentry-org heroku pulumi doppler fly-io vercel cloudflare-origin-ca grafana-cloud square 1password terraform cloudflare mailgun".split()
)


def covers(find: Detector, text: str, planted: Planted) -> bool:
    """Whether a planted secret is found, with nothing of it left over but the lines around a key."""
    core = planted.value.split("-----")[2].strip() if planted.value.startswith("-----") else planted.value
    plain = "".join(core.split())
    return any(
        plain in "".join(secret.value.replace("\\n", "").replace("%0A", "").split()).replace("\\", "")
        for secret in find.find(text)
    )


def test_there_are_hundreds_of_secrets_of_many_kinds() -> None:
    assert len(KINDS) >= 60
    assert len(PLANTED) >= 300
    assert len({planted.value for planted in PLANTED}) == len(PLANTED)


@pytest.mark.skipif(kept_version() is None, reason="the extra `secrets` is not installed")
@pytest.mark.parametrize("written", WRITTEN)
def test_every_planted_secret_is_found(written: str) -> None:
    missed = [planted.line for planted in PLANTED if not covers(detector(), WRITTEN[written](planted), planted)]
    assert missed == []


@pytest.mark.parametrize("written", ["by itself", "in a transcript", "in base64"])
def test_our_own_rules_find_all_kinds_but_a_few(written: str) -> None:
    find = Detector(None)
    missed = {planted.kind for planted in PLANTED if not covers(find, WRITTEN[written](planted), planted)}
    assert missed <= NEED_THE_KEPT_RULES


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_has_no_secret_for_the_kept_rules_either(text: str) -> None:
    assert detector().find(text) == []


@pytest.mark.skipif(make_prefilter() is None, reason="google-re2 is not installed")
@pytest.mark.parametrize("written", WRITTEN)
def test_the_prefilter_hides_nothing(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    filtered = Detector(None)
    monkeypatch.setattr("hansard.guard.detection.make_prefilter", lambda: None)
    thorough = Detector(None)
    for planted in PLANTED[::3]:
        text = WRITTEN[written](planted)
        assert filtered.find(text) == thorough.find(text)


def test_a_token_within_an_encrypted_message_is_there_by_chance() -> None:
    message = "gAAAAABpQ2rS4tU6vW8xY0zAaB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"
    token = "hf" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"
    assert detector().find(f'"{message}{token}"') == []
    assert [secret.rule for secret in detector().find(f'"x {token}"')] != []


def test_offsets_are_those_of_characters() -> None:
    planted = next(planted for planted in PLANTED if planted.kind == "rubygems")
    text = f"ключ 雨 🌊: {planted.value}, да"
    assert [(text[secret.start : secret.end]) for secret in detector().find(text)] == (
        [planted.value] if kept_version() else []
    )


def test_without_the_extra_there_are_no_kept_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    from hansard.guard import kept_rules

    monkeypatch.setitem(__import__("sys").modules, "kingfisher_sdk", None)
    load: Callable[[], KeptRules | None] = kept_rules.load_kept_rules.__wrapped__
    assert load() is None

"""With redaction, what is cut out of a text has no half of a secret either: excerpts, lines of grep, parts of lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

import hansard
from hansard.cli.app import hansard as command
from hansard.guard.detection import Detector
from hansard.guard.redaction import Redactor
from hansard.model.gate import PREVIEW, cut
from hansard.query.search.excerpts import Marker
from hansard.query.search.plan import Term
from tests.guard.planted_secrets import plant
from tests.guard.test_gate import ASKED, spread
from tests.mcp.writing import Log
from tests.secrets.test_redacted import Runs
from tests.web.serving import Site, site

LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcdCe"
KEYS = [planted.value for seed in range(300, 315) for planted in plant(seed) if planted.value.startswith("-----")][:15]
WORD, OTHER_WORD = "zebrafish", "quokka"
SESSION = "dddd0001-0000-4000-8000-000000000001"


def token(number: int) -> str:
    """One of many tokens that have nothing in common."""
    turned = LETTERS[number % 36 :] + LETTERS[: number % 36]
    return "ghp" + "_" + f"{number:03}" + turned[number % 3 : number % 3 + 33][::-1]


NEAR = [token(number) for number in range(140)]
BROKEN = [token(number) for number in range(200, 240)]
RUNS = Runs([*NEAR, *BROKEN, *KEYS])


class Cuts(NamedTuple):
    home: Path
    root: Path


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> Cuts:
    """Tokens at each distance before and after a word that is searched for, keys around one, tokens that a line break splits."""
    place = tmp_path_factory.mktemp("cuts")
    log = Log(SESSION, cwd="/src/tide")
    for number in range(70):
        filler = ("so it went on " * 20)[: number * 4]
        log.prompt(f"{'and then ' * 90}{NEAR[number]} {filler} {WORD} {filler} {NEAR[70 + number]}{' and then' * 90}")
    for number, key in enumerate(KEYS):
        log.reply(f"{'x ' * 5 * number}{WORD} {'y ' * 5 * number}\n{key}\n{'z ' * 5 * number}{WORD} {'more ' * 90}")
    for number, value in enumerate(BROKEN):
        for between in ("\n", "\\\n    "):
            parted = between.join((value[:20], value[20:]))
            filler = "so it went on " * (number % 20)
            log.call("Bash", {"command": f"echo {OTHER_WORD} {filler}{parted}"}, f"{parted} {filler}{OTHER_WORD}")
    log.write(place / "claude")
    with hansard.open(place / "store", [place / "claude"]) as h:
        h.sync()
    return Cuts(place / "store", place / "claude")


@pytest.fixture(scope="module")
def running(cuts: Cuts) -> Iterator[Site]:
    with site(cuts.home, cuts.root, redact="on") as made:
        yield made


def run(cuts: Cuts, *words: str) -> str:
    done = CliRunner().invoke(
        command, [*words, "--redact", "on", "--home", str(cuts.home), "--root", str(cuts.root), "--no-sync"]
    )
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("word", [WORD, OTHER_WORD])
@pytest.mark.parametrize("more", [[], ["-C", "2"]])
def test_no_excerpt_of_a_search_has_half_a_secret(cuts: Cuts, word: str, more: list[str]) -> None:
    found = json.loads(run(cuts, "search", word, "--limit", "500", "--json", *more))
    assert len(found["hits"]) > 40
    assert RUNS.of(json.dumps(found)) == set()
    assert RUNS.of(run(cuts, "search", word, "--limit", "500", *more)) == set()


@pytest.mark.parametrize("word", [WORD, OTHER_WORD])
@pytest.mark.parametrize("more", [[], ["-o"], ["-C", "1"], ["--json"], ["--json", "-o"]])
def test_no_line_of_grep_has_half_a_secret(cuts: Cuts, word: str, more: list[str]) -> None:
    shown = run(cuts, "grep", word, "--limit", "500", *more)
    assert word in shown
    assert RUNS.of(shown) == set()


@pytest.mark.parametrize("pattern", ["gh.[_]......", "[A-Za-z0-9]{9}Yx8", "BEGIN.{30}"])
def test_a_match_within_a_secret_is_its_placeholder(cuts: Cuts, pattern: str) -> None:
    for more in ([], ["-o"], ["--json"]):
        assert RUNS.of(run(cuts, "grep", pattern, "--limit", "500", *more)) == set()


@pytest.mark.parametrize("word", [WORD, OTHER_WORD, f"{WORD} wombat axolotl"])
def test_no_page_of_a_search_has_half_a_secret(running: Site, word: str) -> None:
    with running.client() as client:
        for address in (
            f"/search/results?q={word}",
            f"/search?q={word}",
            f"/search/palette?q={word}",
            f"/api/search?q={word}&limit=100",
            f"/api/search?q={word}&limit=100&sort=newest&context=3",
            f"/sessions/{SESSION}/find?q={word}&bare=1",
            f"/sessions/{SESSION}/matches?q={word}",
        ):
            answer = client.get(address)
            assert answer.status_code == 200, address
            assert RUNS.of(answer.text) == set(), address


def test_hits_are_marked_in_redacted_excerpts(cuts: Cuts) -> None:
    with hansard.open(cuts.home, [cuts.root], redact=True) as h:
        page = h.search(WORD, limit=100)
    with hansard.open(cuts.home, [cuts.root]) as h:
        plain = h.search(WORD, limit=100)
    assert [(hit.offset, hit.block) for hit in page.hits] == [(hit.offset, hit.block) for hit in plain.hits]
    assert page.total == plain.total
    assert any("[github-" in hit.snippet for hit in page.hits)
    for hit in page.hits:
        assert next(hit.snippet[start:end] for start, end in hit.highlights) == WORD


@pytest.fixture(scope="module")
def previews(tmp_path_factory: pytest.TempPathFactory) -> Cuts:
    """Sessions whose first prompt, call and title have a token where lists cut them."""
    place = tmp_path_factory.mktemp("previews")
    for number in range(40):
        log = Log(f"dddd{number + 10:04}-0000-4000-8000-000000000001", cwd="/src/tide")
        text = f"{('and so ' * 90)[: PREVIEW - number]} {NEAR[number]} and more words follow"
        log.prompt(text)
        log.call("Bash", {"command": text, "description": text}, text)
        log.lines.append({"type": "summary", "summary": text, "leafUuid": log.lines[-1]["uuid"]})
        log.write(place / "claude")
    with hansard.open(place / "store", [place / "claude"]) as h:
        h.sync()
    return Cuts(place / "store", place / "claude")


@pytest.mark.parametrize("name", ["sessions", "calls", "prompts", "session_groups", "suggestions", "activity", "usage"])
def test_no_text_that_lists_cut_has_half_a_token(previews: Cuts, name: str) -> None:
    with hansard.open(previews.home, [previews.root], redact=True) as h:
        ids = [session.session_id for session in h.sessions(limit=None).sessions]
        assert len(ids) == 40
        assert RUNS.of(spread(ASKED[name](h, ids[0]))) == set()
        for session in ids[:: 1 if name == "sessions" else 40]:
            assert RUNS.of(spread(h.read(session).outline(1, 1))) == set()


def test_words_at_the_end_of_a_cut_text_stay() -> None:
    for word in (
        "/src/task-runner-2/main.py",
        "do_something_v2",
        "sk-learn-contrib",
        "https://x.example/a-b-c",
        "Skipped",
    ):
        text = f"{'and so ' * 90}"[: PREVIEW - len(word) - 1] + " " + word
        assert len(text) == PREVIEW
        assert REDACTOR(text) == text
        assert REDACTOR.many([text, "next"]) == [text, "next"]


REDACTOR = Redactor(Detector(None), b"key")


def test_a_secret_is_replaced_once_in_the_parts_that_it_is_cut_into() -> None:
    value = token(7)
    text = f"so {value} and {value}."
    for first in range(len(text)):
        for second in range(first, len(text), 7):
            parts = cut(text, [0, first, second, len(text)], REDACTOR)
            assert "".join(parts) == REDACTOR(text)
            assert cut(text, [first, second], REDACTOR)[0] in REDACTOR(text)


def test_a_hit_within_a_secret_shows_its_placeholder() -> None:
    value = token(9)
    marker = Marker([Term("ghp", (("ghp",),), (), False)])
    excerpt = marker.excerpt(f"{'so it went on ' * 30}the key {value} works", width=30, redact=REDACTOR)
    assert RUNS.of(excerpt.text) == set()
    assert [excerpt.text[start:end] for start, end in excerpt.spans] == [REDACTOR(value)]

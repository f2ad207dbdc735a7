"""Names that the client makes, and names that no database takes."""

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hansard.clients.claude_code.layout import agent_of, encode_project, project_dir_of, session_of
from hansard.sources.names import escape, printable, unescape

SID = "0b2d0a2e-8f3c-4b2c-9b5e-1234567890ab"
AGENT = "a1b2c3d4e5f60718"


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/u/my.app_v2 x", "-home-u-my-app-v2-x"),
        ("C:\\Users\\U\\app", "C--Users-U-app"),
        ("/tmp/é", "-tmp--"),
        ("/tmp/\N{ROCKET}x", "-tmp---x"),
        ("/" + "x" * 199, "-" + "x" * 199),
        ("/" + "x" * 200, "-" + "x" * 199 + "-d0i18x"),
        ("/" + "\N{ROCKET}" * 100, "-" * 200 + "-69ac7v"),
    ],
)
def test_a_working_directory_has_the_clients_name(cwd: str, name: str) -> None:
    assert encode_project(cwd) == name


def client_rule(cwd: str) -> str:
    """The rule over UTF-16 units, one by one, as the client's language sees a string."""
    raw = cwd.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(raw[i : i + 2], "big") for i in range(0, len(raw), 2)]
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if len(name) <= 200:
        return name
    number = 0
    for unit in units:
        number = (number * 31 + unit + 2**31) % 2**32 - 2**31
    number, digits = abs(number), ""
    while number or not digits:
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36] + digits
        number //= 36
    return name[:200] + "-" + digits


@given(st.text(st.characters(categories=None), max_size=30), st.integers(0, 30))
def test_any_working_directory_follows_the_rule(text: str, times: int) -> None:
    assert encode_project("/" + text * times) == client_rule("/" + text * times)


@given(st.text(st.characters(categories=None)))
@example("\\udcff")
@example("\\\\\udcff\\")
def test_any_name_is_stored_as_valid_text_and_comes_back(name: str) -> None:
    kept = escape(name)
    kept.encode()
    assert unescape(kept) == name


@given(st.binary(max_size=20))
def test_any_posix_name_comes_back_as_the_same_bytes(name: bytes) -> None:
    given_by_python = name.decode("utf-8", "surrogateescape")
    assert unescape(escape(given_by_python)).encode("utf-8", "surrogateescape") == name


def test_plain_names_are_kept_as_they_are() -> None:
    assert escape("-home-é-\N{ROCKET}") == "-home-é-\N{ROCKET}"


def test_a_path_for_people_is_valid_text() -> None:
    assert printable(os.fsdecode(b"/a/\xff\xc3\xa9\\")) == "/a/\\udcffé\\"


@pytest.mark.parametrize(
    ("path", "project", "session", "agent"),
    [
        (f"projects/-a/{SID}.jsonl", "-a", SID, None),
        ("projects/-a/saved.jsonl", "-a", "saved", None),
        ("projects/saved.jsonl", None, "saved", None),
        (f"projects/-a/agent-{AGENT}.jsonl", "-a", None, AGENT),
        (f"projects/-a/{SID}/subagents/agent-{AGENT}.jsonl", "-a", SID, AGENT),
        (f"projects/-a/{SID}/subagents/agent-{AGENT}.meta.json", "-a", SID, AGENT),
        (f"projects/-a/{SID}/subagents/agent-acompact-1.jsonl", "-a", SID, "acompact-1"),
        (f"projects/-a/{SID}/subagents/workflows/run/agent-{AGENT}.jsonl", "-a", SID, AGENT),
        (f"projects/-a/{SID}/subagents/workflows/run/journal.jsonl", "-a", SID, None),
        (f"projects/-a/{SID}/tool-results/agent-x.jsonl", "-a", SID, None),
        ("projects/-a/odd name/tool-results/x.txt", "-a", "odd name", None),
        (f"projects/-a/{SID}/custom-title.json", "-a", SID, None),
        ("projects/-a/memory/MEMORY.md", "-a", None, None),
        ("projects/-a/memory/workflows/x.md", "-a", None, None),
        ("projects/-a/notes/x.md", "-a", None, None),
        ("projects/-a/sessions-index.json", "-a", None, None),
        (f"todos/{SID}-agent-{SID}.json", None, SID, None),
        (f"todos/{SID}-agent-{AGENT}.json", None, SID, AGENT),
        ("todos/other.json", None, None, None),
        (f"tasks/{SID}/1.json", None, SID, None),
        ("tasks/team/1.json", None, None, None),
        ("history.jsonl", None, None, None),
        ("plans/agent-x.jsonl", None, None, None),
        ("", None, None, None),
    ],
)
def test_paths_name_their_project_session_and_agent(
    path: str, project: str | None, session: str | None, agent: str | None
) -> None:
    assert (project_dir_of(path), session_of(path), agent_of(path)) == (project, session, agent)

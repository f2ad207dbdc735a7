"""Conversations that are imported: real exports, and what `hansard import` does with them."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hansard
from hansard.cli.app import hansard as command
from hansard.clients import IMPORTED, client_of
from hansard.clients.imported import ImportedClient, file_name
from hansard.errors import SourceUnreadable
from hansard.sync import importing
from hansard.sync.importing import import_file
from tests.clients.aider import history as aider
from tests.clients.chatgpt import history as chatgpt
from tests.clients.claude_ai import history as claude_ai
from tests.clients.folding import count, expectations, fold_bytes, spent
from tests.clients.histories import HISTORIES


def imported(name: str) -> ImportedClient:
    client = client_of(name)
    assert isinstance(client, ImportedClient)
    return client


def test_real_conversations_of_chatgpt_count_as_expected(corpus: Path) -> None:
    client = imported("chatgpt")
    files = 0
    for row, path in expectations(corpus, "chatgpt"):
        conversations = nodes = on_path = prompts = replies = 0
        for _, content in client.parts(path.name, path.read_bytes()):
            fold = fold_bytes(client, content)
            conversations += 1
            given = json.loads(content)
            nodes += sum(bool(node["message"]) for node in given["mapping"].values())
            found = {record[5]: record for record in fold.rows.records}
            at = given.get("current_node")
            while at:
                node = given["mapping"][at]
                on_path += bool(node["message"])
                if at in found:
                    assert found[at][6] == node["parent"]
                    prompts += found[at][4] == "prompt"
                    replies += found[at][4] == "reply"
                at = node["parent"]
            assert fold.state.issues == 0, path
        assert conversations == row["conversations"], path
        assert (nodes, on_path) == (row["messages_all_nodes"], row["messages_on_current_path"]), path
        assert (prompts, replies) == (row.get("prompts", 0), row.get("replies", 0)), path
        files += 1
    assert files == 5


def test_real_conversations_of_claude_ai_count_as_expected(corpus: Path) -> None:
    client = imported("claude-ai")
    files = 0
    for row, path in expectations(corpus, "claude-ai"):
        folds = [fold_bytes(client, content) for _, content in client.parts(path.name, path.read_bytes())]
        assert len(folds) == row["conversations"], path
        kinds: dict[str, int] = {}
        for fold in folds:
            assert fold.state.issues == 0, path
            for name, number in fold.state.kinds.items():
                kinds[name] = kinds.get(name, 0) + number
        assert (kinds["user"], kinds["assistant"]) == (row["human"], row["assistant"]), path
        assert sum(count(fold, "thinking") for fold in folds) == row["blocks"].get("thinking", 0), path
        files += 1
    assert files == 4


def test_real_runs_of_aider_count_as_expected(corpus: Path) -> None:
    client = imported("aider")
    files = 0
    for row, path in expectations(corpus, "aider"):
        folds = [fold_bytes(client, content) for _, content in client.parts(path.name, path.read_bytes())]
        assert len(folds) == row["runs"], path
        # The script counts what is asked with /code as a command, though a person asks it.
        asked = sum(row[3].startswith("/code ") for fold in folds for row in fold.rows.prompts)
        assert sum(fold.state.prompts for fold in folds) == row["prompts"] + asked, path
        assert sum(fold.state.commands for fold in folds) == row["commands"] - asked, path
        given, output, read, write = (
            sum(column) for column in zip(*(spent(fold.rows.usage) for fold in folds), strict=True)
        )
        assert (given + read + write, output) == (row["sent"], row["recv"]), path
        assert sum(fold.state.issues for fold in folds) == 0, path
        files += 1
    assert files == 3


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("amp", ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")),
        ("continue", ("promptTokens", "completionTokens", "cachedTokens", "cacheWriteTokens")),
        ("droid", ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")),
    ],
)
def test_real_sessions_count_as_expected(corpus: Path, name: str, tokens: tuple[str, ...]) -> None:
    client = imported(name)
    files = 0
    for row, path in expectations(corpus, name):
        folds = [fold_bytes(client, content) for _, content in client.parts(path.name, path.read_bytes())]
        settings = path.with_suffix(".settings.json")
        if settings.exists():
            folds += [fold_bytes(client, content) for _, content in client.parts(settings.name, settings.read_bytes())]
        stated = {**row["tokens"], **row["tokens"].get("promptTokensDetails", {})}
        found = tuple(sum(column) for column in zip(*(spent(fold.rows.usage) for fold in folds), strict=True))
        assert found == tuple(stated[one] for one in tokens), path
        assert sum(fold.state.prompts for fold in folds) == row["prompts"], path
        assert sum(fold.state.tool_calls for fold in folds) == row["calls"], path
        assert sum(count(fold, "tool_result") for fold in folds) == row["results"], path
        assert sum(fold.state.issues for fold in folds) == 0, path
        files += 1
    assert files


def test_an_edited_prompt_of_chatgpt_is_a_branch(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with hansard.open(home) as h:
        given = tmp_path / "conversations.json"
        given.write_text(json.dumps([chatgpt.conversation()]))
        h.import_file(given)
    with hansard.open(home) as h:
        h.sync()
        session = h.session(chatgpt.CONVERSATION)
        assert (session.client, session.title, session.prompts) == ("chatgpt", "Tide tables", 3)
        forks = h.read(chatgpt.CONVERSATION).conversation().forks
        assert len(forks) == 1


@pytest.mark.parametrize("form", ["zip", "folder", "list", "wrapped", "lines"])
def test_every_form_of_an_export(tmp_path: Path, form: str) -> None:
    found: list[dict[str, Any]] = [claude_ai.conversation(), {**claude_ai.conversation(), "uuid": "other"}]
    given = tmp_path / "given" / "conversations.json"
    given.parent.mkdir()
    if form == "lines":
        given.write_text("".join(json.dumps(one) + "\n" for one in found))
    else:
        given.write_text(json.dumps({"conversations": found} if form == "wrapped" else found, indent=2))
    if form == "zip":
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            archive.write(given, "conversations.json")
            archive.writestr("users.json", "[]")
        given = tmp_path / "export.zip"
    runner = CliRunner()
    common = ["--home", str(tmp_path / "home"), "--json"]
    done = runner.invoke(command, ["import", str(given.parent if form == "folder" else given), *common])
    assert done.exit_code == 0, done.output
    (report,) = json.loads(done.stdout)["imports"]
    assert (report["client"], report["conversations"], report["written"]) == ("claude-ai", 2, 2)
    again = runner.invoke(command, ["import", str(given), "--client", "claude-ai", *common])
    assert json.loads(again.stdout)["imports"][0]["written"] == 0
    done = runner.invoke(command, ["sessions", "client:claude-ai", *common])
    assert {one["session_id"] for one in json.loads(done.stdout)["sessions"]} == {claude_ai.CONVERSATION, "other"}


def test_what_is_not_an_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"some": "thing"}')
    for given in (["a.json"], ["a.json", "--client", "codex"], ["missing.json"]):
        done = CliRunner().invoke(
            command, ["import", str(tmp_path / given[0]), *given[1:], "--home", str(tmp_path / "home")]
        )
        assert done.exit_code in (2, 9), done.output
    assert not (tmp_path / "home/imports").exists()


def test_names_of_files() -> None:
    assert file_name("6811e0d2-0001") == "6811e0d2-0001"
    assert re.fullmatch(r"_\.\._etc_passwd-[0-9a-f]{24}", file_name("../../etc/passwd"))
    assert len(file_name("x" * 500)) <= 100
    alike = ["..", ".", "", "a b", "a_b", "a  b", "a_b ", "a_b  ", ".a_b"]
    assert len({file_name(name) for name in alike}) == len(alike)


def test_every_imported_client_recognizes_its_own_files(tmp_path: Path) -> None:
    for name in IMPORTED:
        root = tmp_path / name
        root.mkdir()
        HISTORIES[name].write(root)
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.name != "workspace.json":
                content = path.read_bytes()
                given = path.name.replace(".settings.jsonl", ".settings.json")
                parts = {other: list(imported(other).parts(given, content)) for other in IMPORTED}
                assert [other for other, found in parts.items() if found] == [name]


# -- nothing is lost


def export(place: Path, *conversations: dict[str, Any]) -> str:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(conversations))
    return str(place)


def state(name: str, title: str, updated: float = 1) -> dict[str, Any]:
    return chatgpt.conversation() | {"id": name, "conversation_id": name, "title": title, "update_time": updated}


def kept(home: Path, folder: str) -> list[str]:
    """The titles of the files in a folder of the import."""
    found = (home / f"imports/chatgpt/chatgpt-{folder}").glob("*.json")
    return sorted(json.loads(path.read_bytes())["title"] for path in found)


def test_ids_that_are_alike_are_other_conversations(tmp_path: Path) -> None:
    names = ["a b", "a_b", "A_b", "x", "X"]
    home = tmp_path / "home"
    for order in (names, names[::-1]):
        given = export(tmp_path / "x.json", *(state(name, f"title {name}") for name in order))
        import_file(str(home), given)
        assert kept(home, "conversations") == sorted(f"title {name}" for name in names)
        files = os.listdir(home / "imports/chatgpt/chatgpt-conversations")
        assert len({name.lower() for name in files}) == len(names)  # also where case is not distinguished
        assert kept(home, "earlier") == []


@pytest.mark.parametrize("folders", [("1", "2"), ("2", "1")])
@pytest.mark.parametrize("is_synced", [False, True])
def test_of_two_states_the_newer_is_read_and_both_are_kept(
    tmp_path: Path, folders: tuple[str, str], *, is_synced: bool
) -> None:
    home = tmp_path / "home"
    old = export(tmp_path / "given" / folders[0] / "conversations.json", state("x", "a long old title", 1))
    new = export(tmp_path / "given" / folders[1] / "conversations.json", state("x", "new", 2))
    if is_synced:
        for given in sorted((old, new)):
            import_file(str(home), given)
            with hansard.open(home) as h:
                h.sync()
    else:
        (report,) = import_file(str(home), str(tmp_path / "given"))
        assert (report.conversations, report.written) == (2, 2)
    assert (kept(home, "conversations"), kept(home, "earlier")) == (["new"], ["a long old title"])
    (again,) = import_file(str(home), str(tmp_path / "given"))
    assert (again.conversations, again.written) == (2, 0)
    with hansard.open(home) as h:
        report_of_sync = h.sync()
        assert report_of_sync.problems == 0
        assert [session.title for session in h.sessions().sessions] == ["new"]


def test_states_without_an_order_settle(tmp_path: Path) -> None:
    home = tmp_path / "home"
    given = export(tmp_path / "x.json", state("x", "one"), state("x", "two"))
    assert [import_file(str(home), given)[0].written for _ in range(3)] == [2, 0, 0]
    assert (kept(home, "conversations"), kept(home, "earlier")) == (["two"], ["one"])


def test_without_times_the_longer_state_is_the_newer(tmp_path: Path) -> None:
    client = imported("continue")
    assert client.is_newer(b"{  }", b"{}")
    assert not client.is_newer(b"{}", b"{  }")
    assert imported("claude-ai").is_newer(b'{"updated_at":"2026-01-02"}', b'{"updated_at":"2026-01-01","name":"x"}')
    log = tmp_path / "x.jsonl"
    for text in ("", '{"type":"message"}\n', ""):
        log.write_text('{"type":"session_start","id":"s 1"}\n' + text)
        import_file(str(tmp_path / "home"), str(log))
    (only,) = (tmp_path / "home/imports/droid/droid-conversations").iterdir()
    assert only.read_text().count("\n") == 2
    assert not (tmp_path / "home/imports/droid/droid-earlier").exists()  # the log begins with what it was before


@pytest.mark.parametrize("given", ["folder", "renamed.jsonl", "renamed.settings.json", "zip"])
def test_settings_of_droid_belong_to_their_log_whatever_its_name(tmp_path: Path, given: str) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    lines: list[dict[str, Any]] = [
        {"type": "session_start", "id": "s 1", "title": "Tides"},
        {"type": "message", "id": "m1", "message": {"role": "user", "content": "When?"}},
    ]
    (folder / "renamed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    usage = {"model": "m", "tokenUsage": {"inputTokens": 10, "outputTokens": 2}}
    (folder / "renamed.settings.json").write_text(json.dumps(usage, indent=2))
    if given == "zip":
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
    place = {"folder": folder, "zip": tmp_path / "export.zip"}.get(given, folder / given)
    with hansard.open(tmp_path / "home") as h:
        h.import_file(place)
    with hansard.open(tmp_path / "home") as h:
        h.sync()
        assert h.usage(by="total").totals.input_tokens == 10
        sessions = {session.session_id: session.input_tokens for session in h.sessions(limit=None).sessions}
    if given in ("folder", "renamed.jsonl"):
        assert list(sessions.values()) == [10]


# -- files that are not read


def test_pictures_of_an_archive_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "_MAX_FILES", 2)
    monkeypatch.setattr(importing, "_MAX_FILE", 10_000)
    given = tmp_path / "x.zip"
    with zipfile.ZipFile(given, "w") as archive:
        for number in range(5):
            archive.writestr(f"{number}.png", b"")
        archive.writestr("0.json", b" " * 10_001)
        for number in range(1, 4):
            archive.writestr(f"{number}.json", json.dumps([state(f"x{number}", str(number))]))
    (report,) = import_file(str(tmp_path / "home"), str(given))
    assert (report.conversations, report.skipped) == (2, 2)
    with zipfile.ZipFile(given) as archive:
        archive.extractall(tmp_path / "folder")
    (report,) = import_file(str(tmp_path / "home"), str(tmp_path / "folder"))
    assert (report.conversations, report.written, report.skipped) == (2, 0, 2)
    done = CliRunner().invoke(command, ["import", str(given), "--home", str(tmp_path / "home")])
    assert "2 files skipped" in done.stderr


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_an_error(tmp_path: Path, method: int) -> None:
    given = tmp_path / "x.zip"
    with zipfile.ZipFile(given, "w", method) as archive:
        archive.writestr("x.json", json.dumps([state(str(number), "t" * number) for number in range(50)]))
    content = bytearray(given.read_bytes())
    for place in range(60, 200):
        content[place] ^= 0x5A
    given.write_bytes(content)
    with pytest.raises(SourceUnreadable, match=re.escape("x.zip: ")):
        import_file(str(tmp_path / "home"), str(given))


@pytest.mark.skipif(os.name == "nt", reason="pipes and links")
def test_what_is_not_a_regular_file_is_skipped(tmp_path: Path) -> None:
    export(tmp_path / "given/c.json", state("x", "x"))
    (tmp_path / "given/a.json").symlink_to("/nonexistent")
    os.mkfifo(tmp_path / "given/b.json")
    (report,) = import_file(str(tmp_path / "home"), str(tmp_path / "given"))
    assert (report.conversations, report.skipped) == (1, 2)
    with pytest.raises(SourceUnreadable, match="not a regular file"):
        import_file(str(tmp_path / "home"), str(tmp_path / "given/b.json"))


@pytest.mark.parametrize(("name", "model"), [("droid", "gpt-5-mini"), ("continue", "gpt-5")])
def test_the_model_that_settings_or_logs_name(name: str, model: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    HISTORIES[name].write(root)
    if name == "continue":
        (path,) = root.rglob("*.json")
        given = json.loads(path.read_bytes())
        given.pop("chatModelTitle", None)
        answer = next(entry for entry in given["history"] if entry["message"]["role"] == "assistant")
        answer["promptLogs"] = [{"modelTitle": model, "prompt": "", "completion": ""}]
        path.write_text(json.dumps(given))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        assert h.session(HISTORIES[name].session).models == (model,)


def test_aider_says_where_and_when_in_the_files_beside_its_chat(tmp_path: Path) -> None:
    project = tmp_path / "harbour"
    project.mkdir()
    chat = project / ".aider.chat.history.md"
    chat.write_text(
        aider.CHAT
        + "# aider chat started at 2026-03-02 10:00:00\n\n> Git working dir: /srv/dyke\n\n#### Later?  \n\nNo.\n"
    )
    typed = "\n# 2026-03-01 09:00:07.250000\n+When is high water in Emden?\n+And low water?\n"
    asked = "\n# 2026-03-01 09:05:00.000000\n+/tokens\n\n# 2026-03-01 09:06:00.500000\n+/ask Which port?\n"
    twice = "\n# 2026-03-02 10:00:01.000000\n+Later?\n\n# 2026-03-02 10:00:01.000070\n+Later?\n"
    (project / ".aider.input.history").write_text(f"\n# 2026-02-01 00:00:00.000000\n+/exit\n{typed}{asked}{twice}")
    home = tmp_path / "home"
    (report,) = import_file(str(home), str(chat))
    assert (report.client, report.conversations, report.written) == ("aider", 2, 2)
    assert import_file(str(home), str(chat))[0].written == 0
    with hansard.open(home, [str(home / "imports" / "aider")]) as h:
        h.sync()
        assert not h.doctor().issues
        second, first = h.sessions(limit=None).sessions
        assert (first.cwd, second.cwd) == (str(project), "/srv/dyke")
        said = [
            (entry.at, entry.kind)
            for entry in h.read(first.session_id).entries()
            if entry.kind in ("prompt", "command")
        ]
        assert [(f"{at:%H:%M:%S.%f}", kind) for at, kind in said if at is not None] == [
            ("09:00:07.250000", "prompt"),
            ("09:05:00.000000", "command"),
            ("09:06:00.500000", "prompt"),
        ]
        assert [entry.at.second for entry in h.read(second.session_id).entries() if entry.at is not None] == [1, 1]
    first_file, _ = sorted((home / "imports" / "aider" / "aider-conversations").iterdir())
    assert first_file.read_text() == f"{typed}{asked}\n{aider.CHAT}".lstrip("\n")


def test_a_copy_of_a_chat_says_nothing_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "chat.md").write_text(aider.CHAT)
    (tmp_path / ".aider.input.history").write_text("\n# 2026-03-01 09:00:07.250000\n+/tokens\n")
    import_file(str(tmp_path / "home"), str(tmp_path / "chat.md"))
    (kept,) = (tmp_path / "home" / "imports" / "aider").rglob("*.md")
    assert kept.read_text() == aider.CHAT
    assert not [*(tmp_path / "home").rglob("*.txt")]

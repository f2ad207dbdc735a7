"""Codex and OpenCode beside other tools: what each tool counts was seen by running it on the same histories."""

from __future__ import annotations

import json
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.errors import UsageError
from tests.clients.codex import history as codex
from tests.clients.codex.history import Rollout
from tests.clients.opencode import history as opencode

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.model.reconcile import ClientPart, Counted, PeerCheck, Reconciliation

Figures = tuple[int | None, int, int, int, int]
READ, CACHED, WROTE = 1000, 400, 50


def reconciled(home: Path, *roots: Path, peer: Any = None) -> Reconciliation:
    with hansard.open(home / "store", list(roots)) as h:
        h.sync()
        found = h.reconcile(peer=None if peer is None else json.dumps(peer).encode())
        whole = h.usage(by="total").totals
    parts = [found.ours, *(part.ours for part in found.clients), *(other.ours for other in found.not_compared)]
    assert sum(part.messages or 0 for part in parts) == whole.api_messages
    assert sum(part.tokens for part in parts) == whole.tokens
    for part in found.clients:
        for way in part.ways:
            assert [step.cause for step in way.steps if step.cause == "read_otherwise"] == []
            added = sum((step.amount for step in way.steps), way.compared)
            assert (figures(added), added.cost_usd) == (figures(way.total), way.total.cost_usd), way.name
    return found


def part_of(found: Reconciliation, client: str) -> ClientPart:
    return next(part for part in found.clients if part.client == client)


def figures(counted: Counted) -> Figures:
    return (
        counted.messages,
        counted.input_tokens,
        counted.output_tokens,
        counted.cache_read_tokens,
        counted.cache_write_tokens,
    )


def totals(part: ClientPart) -> dict[str, Figures]:
    return {way.name: figures(way.total) for way in part.ways}


def causes(part: ClientPart, name: str) -> dict[str, int | None]:
    (way,) = (way for way in part.ways if way.name == name)
    return {step.cause: step.amount.messages for step in way.steps}


def thread(id_: str = codex.THREAD, seconds: float = 0) -> Rollout:
    made = Rollout(id_, seconds)
    made.meta()
    made.turn("When is high tide?", 1)
    made.say("At noon.")
    made.spend(READ, CACHED, WROTE)
    return made


def copied(parent: Rollout, *, is_agent: bool = False) -> Rollout:
    """A fork, or a subagent with the context of its parent: the first record is its own, the others are copies."""
    fork = Rollout(codex.FORK, 600)
    spawned = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": parent.thread}}}} if is_agent else {}
    fork.meta(forked_from_id=parent.thread, **spawned)
    fork.totals = list(parent.totals)
    stamp = fork.lines[0]["timestamp"]
    fork.lines += [{**line, "timestamp": stamp} for line in parent.lines]
    fork.turn("And in Borkum?", 4)
    fork.say("Earlier.")
    fork.spend(300, 100, 30)
    return fork


def repeated(root: Path) -> None:
    made = thread()
    made.event("token_count", info=made.lines[-1]["payload"]["info"])
    made.say("Or later.")
    made.spend(2000, 1000, 70, times=2)
    made.write(root)


def forked(root: Path, *, has_parent: bool = True, is_agent: bool = False) -> None:
    parent = thread()
    if has_parent:
        parent.write(root)
    copied(parent, is_agent=is_agent).write(root)


def recorded(root: Path) -> None:
    made = thread()
    names = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
    for number in range(2):
        made.say("More.")
        usage = dict(zip(names, (READ + number, CACHED, 40, WROTE), strict=True))
        made.add("token_usage_record", {"thread_id": codex.THREAD, "response_id": f"r{number}", "usage": usage})
        made.spend(READ + number, CACHED, WROTE)
    made.write(root)


def twice(root: Path) -> None:
    thread().write(root)
    thread().write(root, "archived_sessions")


def silent(root: Path) -> None:
    """Several answers after one message of the model, and one right after a prompt."""
    made = thread()
    made.spend(READ + 100, CACHED, WROTE)
    made.turn("And now?", 2)
    made.spend(READ + 200, CACHED, WROTE)
    made.write(root)


ONE: Figures = (1, 600, 50, 400, 0)
CODEX: dict[str, tuple[Callable[[Path], None], dict[str, Figures]]] = {
    "repeated with a rate limit": (
        repeated,
        {
            "lines": (4, 3200, 240, 2800, 0),
            "ccusage": (2, 1600, 120, 1400, 0),
            "agentsview": (2, 1600, 120, 1400, 0),
            "tokscale": (4, 3200, 240, 2800, 0),
        },
    ),
    "a fork": (
        forked,
        {
            "lines": (3, 1400, 130, 900, 0),
            "ccusage": (2, 800, 80, 500, 0),
            "agentsview": (2, 800, 80, 500, 0),
            "tokscale": (3, 1400, 130, 900, 0),
        },
    ),
    "a subagent with the context of a thread that is missing": (
        lambda root: forked(root, has_parent=False, is_agent=True),
        {
            "lines": (2, 800, 80, 500, 0),
            "ccusage": (1, 200, 30, 100, 0),
            "agentsview": (2, 800, 80, 500, 0),
            "tokscale": (2, 800, 80, 500, 0),
        },
    ),
    "active and archived": (
        twice,
        {"lines": (2, 1200, 100, 800, 0), "ccusage": ONE, "agentsview": ONE, "tokscale": (2, 1200, 100, 800, 0)},
    ),
    "answers without a message before them": (
        silent,
        {
            "lines": (3, 2100, 150, 1200, 0),
            "ccusage": (3, 2100, 150, 1200, 0),
            "agentsview": ONE,
            "tokscale": (3, 2100, 150, 1200, 0),
        },
    ),
}


@pytest.mark.parametrize("name", CODEX)
def test_codex_as_other_tools_count_it(tmp_path: Path, name: str) -> None:
    write, expected = CODEX[name]
    write(tmp_path / ".codex")
    part = part_of(reconciled(tmp_path, tmp_path / ".codex"), "codex")
    assert totals(part) == expected


def test_each_difference_has_its_cause(tmp_path: Path) -> None:
    codex.write(tmp_path / ".codex")
    part = part_of(reconciled(tmp_path, tmp_path / ".codex"), "codex")
    assert causes(part, "lines") == {"inherited": 4, "repeated": 6, "otherwise": 1}
    assert causes(part, "ccusage") == {"cache_class": 0}
    assert causes(part, "tokscale") == {"inherited": 4, "repeated": 6, "cache_class": 0}
    assert part.transcripts == 5
    assert "rate limits" in next(step.about for step in part.ways[0].steps if step.cause == "repeated")


def test_usage_records_and_token_counts_are_the_same_answers(tmp_path: Path) -> None:
    """Cache writes are only in the records: tools that read the counts take them for input."""
    recorded(tmp_path / ".codex")
    part = part_of(reconciled(tmp_path, tmp_path / ".codex"), "codex")
    assert figures(part.ours) == (3, 1721, 150, 1200, 80)
    assert causes(part, "lines") == {"otherwise": 2}
    assert totals(part)["ccusage"] == (3, 1801, 150, 1200, 0)


def test_what_is_gone_only_we_still_count(tmp_path: Path) -> None:
    thread().write(tmp_path / ".codex")
    thread(codex.FORK, 600).write(tmp_path / ".codex")
    with hansard.open(tmp_path / "store", [tmp_path / ".codex"]) as h:
        h.sync()
    next((tmp_path / ".codex").rglob(f"*{codex.FORK}*")).unlink()
    part = part_of(reconciled(tmp_path, tmp_path / ".codex"), "codex")
    assert figures(part.ours) == (2, 1200, 100, 800, 0)
    for name in ("lines", "ccusage", "agentsview", "tokscale"):
        assert causes(part, name) == {"gone": -1}


# -- OpenCode


def test_opencode_as_other_tools_count_it(tmp_path: Path) -> None:
    """A database with a fork, and an older folder that has one of its sessions too."""
    root = tmp_path / "opencode"
    root.mkdir()
    with closing(opencode.Database(root / "opencode.db")) as database:
        opencode.fill(database)
        database.session(opencode.OLDER, "Older")
        used = opencode.answer(opencode.BEGAN - 4000, input=7, output=8)
        step = {"type": "step-finish", "cost": 0.25, "tokens": used["tokens"]}
        database.message(opencode.OLDER, opencode.BEGAN - 4000, used, step, id_="msg_b")
    opencode.write_tree(root)
    part = part_of(reconciled(tmp_path, root), "opencode")
    assert figures(part.ours) == (4, 48, 75, 1600, 400)
    assert part.ours.cost_usd == Decimal(1)
    assert totals(part) == {
        "lines": (6, 65, 108, 2400, 600),
        "ccusage": (5, 58, 90, 2000, 500),
        "agentsview": (5, 58, 90, 2000, 500),
        "tokscale": (5, 58, 90, 2000, 500),
    }
    ways = {way.name: way for way in part.ways}
    assert causes(part, "lines") == {"copied": 1, "steps": 1}
    assert causes(part, "ccusage") == {"copied": 1, "reasoning": 0}
    assert ways["ccusage"].total.cost_usd == Decimal("1.25")
    assert ways["agentsview"].total.cost_usd == Decimal("0.003999")
    assert [step.cause for step in ways["tokscale"].steps] == ["copied", "reasoning", "recorded_cost"]


def test_opencode_totals_of_a_session_are_no_usage_of_their_own(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    root.mkdir()
    with closing(opencode.Database(root / "opencode.db")) as database:
        opencode.fill(database)
        database.db.execute("UPDATE session SET tokens_input = 40 WHERE id = ?", (opencode.SESSION,))
    part = part_of(reconciled(tmp_path, root), "opencode")
    assert causes(part, "lines") == {"copied": 1, "session": 1}


def test_a_message_that_the_client_deleted_is_gone(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    root.mkdir()
    with closing(opencode.Database(root / "opencode.db")) as database:
        opencode.fill(database)
        with hansard.open(tmp_path / "store", [root]) as h:
            h.sync()
        moment = opencode.BEGAN + 6000
        database.db.execute("DELETE FROM message WHERE id = ?", (opencode.message_id(moment),))
        database.db.execute("DELETE FROM part WHERE message_id = ?", (opencode.message_id(moment),))
    part = part_of(reconciled(tmp_path, root), "opencode")
    assert figures(part.ours)[:2] == (3, 41)
    assert causes(part, "ccusage") == {"gone": -1, "copied": 1, "reasoning": 0}


# -- what is not compared


def test_other_clients_are_named(tmp_path: Path) -> None:
    from tests.clients.gemini import history as gemini

    thread().write(tmp_path / ".codex")
    (tmp_path / ".gemini").mkdir()
    gemini.write(tmp_path / ".gemini")
    gemini.log(
        tmp_path / ".gemini/tmp/ebb/chats/session-2026-03-02T09-00-8ae01953.jsonl",
        gemini.session("8ae01953-a017-49cb-84cc-000000000003"),
        gemini.message("user", "u1", [{"text": "When is low water?"}]),
        gemini.message("gemini", "g1", "Its usage is not recorded."),
    )
    found = reconciled(tmp_path, tmp_path / ".codex", tmp_path / ".gemini")
    assert [part.client for part in found.clients] == ["codex"]
    (other,) = found.not_compared
    assert other.client == "gemini"
    assert other.ours.messages
    with hansard.open(tmp_path / "store", []) as h:
        sessions = [one for one in h.sessions(debris=True).sessions if one.client == "gemini"]
    assert len(sessions) == 3
    assert other.sessions == sum(one.api_messages > 0 for one in sessions) == 2
    assert found.ours.messages == 0


# -- the outputs of other tools


def cc_codex(*, cost: float = 0.00235) -> dict[str, Any]:
    """What `ccusage codex daily --json` writes."""
    cache = {"inputTokens": 600, "cacheReadTokens": 400}
    counts = {**cache, "outputTokens": 50, "reasoningOutputTokens": 20, "totalTokens": 1050}
    row = {"date": "2026-03-01", **counts, "costUSD": cost, "models": {"gpt-5.4": {**counts, "isFallback": False}}}
    return {"daily": [row], "totals": {**counts, "costUSD": cost}}


def peer_of(home: Path, peer: Any, *roots: Path) -> PeerCheck:
    found = reconciled(home, *roots, peer=peer).peer
    assert found is not None
    return found


def test_a_report_of_ccusage_about_codex(tmp_path: Path) -> None:
    thread().write(tmp_path / ".codex")
    peer = peer_of(tmp_path, cc_codex(), tmp_path / ".codex")
    assert (peer.tool, peer.clients, peer.simulated.title) == ("ccusage", ("codex",), "ccusage 20 (codex)")
    assert figures(peer.stated) == (None, 600, 50, 400, 0)
    assert not peer.unexplained
    assert peer.models == ()


def test_what_no_rule_explains_of_codex_is_named_by_model(tmp_path: Path) -> None:
    repeated(tmp_path / ".codex")
    peer = peer_of(tmp_path, cc_codex(), tmp_path / ".codex")
    assert figures(peer.unexplained) == (None, -1000, -70, -1000, 0)
    assert [item.model for item in peer.models] == ["gpt-5.4"]


def test_a_report_about_a_client_that_is_not_in_the_store(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    root.mkdir()
    opencode.write(root)
    with pytest.raises(UsageError, match="of which there are no sessions"):
        reconciled(tmp_path, root, peer=cc_codex())


def test_a_report_without_a_client_is_about_the_one_with_its_models(tmp_path: Path) -> None:
    """`ccusage opencode` writes the shape of `ccusage claude`."""
    root = tmp_path / "opencode"
    root.mkdir()
    opencode.write(root)
    thread().write(tmp_path / ".codex")
    sums = {
        "inputTokens": 58,
        "outputTokens": 90,
        "cacheReadTokens": 2000,
        "cacheCreationTokens": 500,
        "totalTokens": 2648,
    }
    row = {"date": "2026-05-28", "modelBreakdowns": [{**sums, "modelName": "claude-sonnet-4-5", "cost": 1.25}]}
    peer = peer_of(tmp_path, {"monthly": [row], "totals": {**sums, "totalCost": 1.25}}, root, tmp_path / ".codex")
    assert peer.clients == ("opencode",)
    assert not peer.unexplained
    assert peer.notes[0] == "taken for a report on opencode, because of the models in it"


def test_a_report_about_several_clients(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    root.mkdir()
    opencode.write(root)
    thread().write(tmp_path / ".codex")
    entries = [
        {"source": "codex", "model": "gpt-5.4", "input": 600, "output": 50, "cacheRead": 400, "cacheWrite": 0, "cost": 0.00235},
        {"source": "opencode", "model": "claude-sonnet-4-5", "input": 58, "output": 90, "cacheRead": 2000, "cacheWrite": 500, "cost": 0.004149},
        {"source": "droid", "model": "other", "input": 5, "output": 5, "cacheRead": 5, "cacheWrite": 5, "cost": 5},
    ]  # fmt: skip
    peer = peer_of(tmp_path, {"entries": entries, "totalCost": 5.006499}, root, tmp_path / ".codex")
    assert peer.clients == ("codex", "opencode")
    assert not peer.unexplained
    assert {step.about.partition(":")[0] for step in peer.simulated.steps} == {"opencode"}
    assert peer.notes == ("left out, because they are other agents: droid",)


# -- real histories


def test_real_histories_as_the_real_tools_count_them(corpus: Path, tmp_path: Path) -> None:
    """Seen with ccusage 20.0.24, agentsview 0.46.1 and tokscale 1.4.3 on the same folder, merged into one."""
    roots = [path for path in sorted((corpus / "agents/agents/codex").iterdir()) if (path / "sessions").is_dir()]
    if not roots:
        pytest.skip("no histories of Codex")
    roots += [path for path in (corpus / "agents/agents/codex").iterdir() if (path / "archived_sessions").is_dir()]
    part = part_of(reconciled(tmp_path, *dict.fromkeys(roots)), "codex")
    assert figures(part.ours) == (825, 9215384, 482664, 47018032, 0)
    assert totals(part) == {
        "lines": (1119, 14010327, 578094, 62299740, 0),
        # It leaves out one fork of 110, 51 and 900 tokens.
        "ccusage": (825, 9215384, 482664, 47018032, 0),
        "agentsview": (902, 9703848, 527012, 56066864, 0),
        "tokscale": (1108, 14008847, 577506, 62289840, 0),
    }

"""Two believable months of a developer's sessions, written as the clients of that time would have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hansard.demo.dice import Dice, millis, stamp
from hansard.demo.eras import ERAS, Agents, Era
from hansard.demo.files import CONFIG, Desk, Typed, place, write_desks, write_typed
from hansard.demo.page import Json, SideFile, dump_pretty, encode_cwd
from hansard.demo.scribe import Scribe
from hansard.demo.stories_more import PROJECTS
from hansard.demo.telling import question, tell
from hansard.demo.tools import bash, grep
from hansard.demo.twists import TWISTS, Twist

if TYPE_CHECKING:
    from hansard.demo.stories import Project


SHARES = (0.14, 0.32, 0.50, 0.70, 1.0)  # until which part of the span each era's client was in use
FORGOTTEN = (
    "set up a repository for the tide project",
    "why is the sky on the chart upside down",
    "explain lifetimes to me, slowly",
    "/init",
    "!ls -la",
    "make a list of all harbours north of 56°",
    "その関数の名前を変えてください",
)
NIGHTLY = "Summarise yesterday's commits in three lines for the stand-up."


def write_history(config_dir: str | Path, *, seed: int = 7, days: int = 60, now: datetime | None = None) -> None:
    """Write about sixty sessions of six projects that end at `now`; the same seed and time give the same bytes."""
    end = (now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
    dice = Dice(seed)
    sessions: list[Scribe] = []
    told = [(project, episode) for episode in range(6) for project in PROJECTS]
    leaves: dict[str, list[tuple[str, str]]] = {}  # titles that the next new file of a project begins with
    twists = dict(TWISTS)
    for number, (project, episode) in enumerate(told):
        part = (number + 1) / len(told)
        era = next(era for era, share in zip(ERAS, SHARES, strict=True) if part <= share)
        start = _start(dice, end, days, part, last=len(told) - 1 - number)
        live = number == len(told) - 1
        # A session that goes on for hours would reach beyond `now`: the newest ones stay simple.
        due = twists[era.version][:2] if number < len(told) - 3 else ()
        twists[era.version] = twists[era.version][2:] or TWISTS[era.version]
        sessions += _session(dice, era, project, episode, number, start, leaves, due, live=live)
        if number % 3 == 1:
            later = start + timedelta(hours=7) if due else start - timedelta(hours=2)
            sessions.append(_small_session(dice, era, project, later, leaves))
    sessions += _worktrees(dice, end)
    desks = [scribe.desk for scribe in sessions]
    desks.append(_house(dice, sessions, end))
    write_desks(config_dir, desks)
    _write_forgotten(Path(config_dir), dice, end, days)


def _start(dice: Dice, end: datetime, days: int, part: float, last: int) -> datetime:
    if last < 3:
        return end - timedelta(minutes=(50, 190, 400)[last])
    back = max(1.0, days * (1 - part))
    day = (end - timedelta(days=back)).replace(hour=8, minute=0, second=0)
    moment = day + timedelta(minutes=dice.randrange(0, 640), milliseconds=dice.randrange(60_000))
    return min(moment, end - timedelta(hours=12))


def _session(
    dice: Dice,
    era: Era,
    project: Project,
    episode: int,
    number: int,
    start: datetime,
    leaves: dict[str, list[tuple[str, str]]],
    twists: tuple[Twist, ...],
    *,
    live: bool,
) -> list[Scribe]:
    story = project.episodes[episode]
    branch = "main" if dice.random() < 0.5 else f"fix/{project.nouns[episode]}"
    model = era.models[0] if dice.random() < 0.7 else era.models[1]
    scribe = Scribe(
        era.version, cwd=project.folder, at=start, dice=dice, model=model, branch=branch, hooks=number % 4 == 2
    )
    _old_titles(scribe, project, leaves)
    scribe.warmup()
    if era.attachments and number % 5 == 3:
        scribe.title(story.title.lower().replace(" ", "-"))
    elif era.attachments:
        scribe.ai_title = story.title
    tell(scribe, project, story, picture="attached" in story.ask or "Here is how" in story.ask)
    if live:
        scribe.prompt("One more thing: does that also hold for an empty list?")
        scribe.unanswered(bash(project.test, ""), "I will try it.")
        scribe.running(48_213)
        return [scribe]
    written = [scribe]
    for twist in twists:
        written += twist(scribe, project)
    scribe.close()
    if era.agents in {Agents.INLINE, Agents.BESIDE} and scribe.page.tip:
        leaves.setdefault(project.name, []).append((story.title, scribe.page.tip))
    return written


def _old_titles(scribe: Scribe, project: Project, leaves: dict[str, list[tuple[str, str]]]) -> None:
    """Begin a new file with the titles of earlier sessions, as clients up to 2.0 did."""
    if scribe.era.agents in {Agents.INLINE, Agents.BESIDE}:
        for title, leaf in leaves.pop(project.name, []):
            scribe.summary(title, leaf)


def _small_session(
    dice: Dice, era: Era, project: Project, start: datetime, leaves: dict[str, list[tuple[str, str]]]
) -> Scribe:
    interactive = dice.random() < 0.5
    model = era.small_model if dice.random() < 0.5 else era.models[1]
    scribe = Scribe(era.version, cwd=project.folder, at=start, dice=dice, model=model, interactive=interactive)
    _old_titles(scribe, project, leaves)
    if interactive:
        question(scribe, project)
    else:
        scribe.prompt(NIGHTLY)
        commits = "\n".join(f"{dice.hex(7)} {episode.title}" for episode in dice.sample(project.episodes, 3))
        scribe.tool(bash("git log --oneline --since=yesterday", commits))
        scribe.reply("\n".join(f"- {line[8:]}" for line in commits.split("\n")))
    scribe.close()
    return scribe


def _worktrees(dice: Dice, end: datetime) -> list[Scribe]:
    written = []
    for name, project, days in (
        ("gauge-cache", PROJECTS[0], 3),
        ("no-panic", PROJECTS[1], 2),
        ("night-mode", PROJECTS[2], 17),
    ):
        era = ERAS[4] if days < 10 else ERAS[3]
        cwd = f"{project.folder}/.claude/worktrees/{name}"
        start = end - timedelta(days=days, hours=3)
        scribe = Scribe(era.version, cwd=cwd, at=start, dice=dice, branch=f"worktree-{name}")
        scribe.worktree(project.folder, name, dice.hex(40))
        scribe.ai_title = f"Try {name.replace('-', ' ')} in a worktree"
        scribe.prompt(f"Try the {name.replace('-', ' ')} idea here, away from main.")
        scribe.tools(
            bash("git status", f"On branch worktree-{name}"), grep(project.nouns[0], [(project.files[0], 4, "…")])
        )
        scribe.reply("It works and nothing else notices. I would merge it.")
        scribe.pull_request(40 + days, f"mira/{project.name}")
        scribe.close()
        written.append(scribe)
    return written


def _house(dice: Dice, sessions: list[Scribe], end: datetime) -> Desk:
    """Write what belongs to no single session: settings, memory, the old index of sessions."""
    desk = Desk()
    # The client clears away what is older: a demonstration of two months needs more than its thirty days.
    settings = {
        "cleanupPeriodDays": 90,
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "make check"}]}]},
    }
    desk.files["settings.json"] = SideFile(dump_pretty(settings) + b"\n", 0o644, end - timedelta(days=80))
    for project in PROJECTS[:3]:
        text = f"# {project.name}\n\n- {project.about}\n- Tests: `{project.test}`\n- Prefer small commits.\n"
        path = f"projects/{encode_cwd(project.folder)}/memory/MEMORY.md"
        desk.files[path] = SideFile(text.encode(), 0o644, end - timedelta(days=dice.randrange(1, 9)))
    for project in PROJECTS:
        old = [one for one in sessions if one.page.cwd.startswith(project.folder) and one.era.progress]
        if len(old) > 1:
            # Written at the next start, so that the newest session is always missing.
            entries = [_index_entry(one) for one in old[:-1]]
            index = {"version": 1, "entries": entries, "originalPath": project.folder}
            path = f"projects/{old[0].page.project}/sessions-index.json"
            desk.files[path] = SideFile(dump_pretty(index), 0o600, old[-1].started)
    return desk


def _index_entry(scribe: Scribe) -> Json:
    spoken = [record for record in scribe.page.records if record.get("type") in {"user", "assistant"}]
    return {
        "sessionId": scribe.session_id,
        "fullPath": f"{CONFIG}/{scribe.path}",
        "fileMtime": millis(scribe.page.last),
        "firstPrompt": str(spoken[0]["message"]["content"])[:200],
        "messageCount": len(spoken),
        "created": stamp(scribe.started),
        "modified": stamp(scribe.page.last),
        "gitBranch": scribe.page.branch,
        "projectPath": scribe.page.cwd,
        "isSidechain": False,
    }


def _write_forgotten(root: Path, dice: Dice, end: datetime, days: int) -> None:
    """Put prompts before the others whose sessions the client has deleted long ago."""
    history = root / "history.jsonl"
    kept, mtime = history.read_bytes(), history.stat().st_mtime
    history.unlink()
    start = end - timedelta(days=days + 60)
    typed = [
        Typed(start + timedelta(days=4 * number), text, PROJECTS[number % 6].folder, dice.uuid())
        for number, text in enumerate(FORGOTTEN)
    ]
    write_typed(root, typed)
    place(root, "history.jsonl", history.read_bytes() + kept, 0o600, datetime.fromtimestamp(mtime, UTC))

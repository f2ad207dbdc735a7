"""Two believable months of a developer's sessions, written as the clients of that time would have.

The tests, the benchmarks and `tools/make_demo.py` use it; `session_writer` below it builds the single sessions that tests need.
It knows how transcripts are written and imports nothing of Hansard, so that reader and writer cannot agree on a mistake.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tests.demo_history.client import ERAS, Agents, Dice, Era, load, millis, stamp
from tests.demo_history.content import listing, projects, source_file, suite_report
from tests.demo_history.files import (
    CONFIG,
    Json,
    SessionFiles,
    SideFile,
    Typed,
    dump_pretty,
    encode_cwd,
    place,
    write_sessions,
    write_typed,
)
from tests.demo_history.session_writer import SessionWriter
from tests.demo_history.tools import (
    Call,
    bash,
    edit,
    glob,
    grep,
    png,
    read,
    task_create,
    task_update,
    todo_write,
    write,
)
from tests.demo_history.twists import TWISTS, Twist

if TYPE_CHECKING:
    from tests.demo_history.content import Episode, Project


SHARES = (0.14, 0.32, 0.50, 0.70, 1.0)  # until which part of the span each era's client was in use
NIGHTLY = "Summarise yesterday's commits in three lines for the stand-up."
STEPS = ("Find the cause", "Write a test that shows it", "Fix it", "Run everything")


class Calendar:
    """Every time from which sessions and files are dated; all of it follows from the end of the history."""

    def __init__(self, end: datetime) -> None:
        self.end = end

    def before_end(self, back: timedelta) -> datetime:
        """Give the time this long before the end."""
        return self.end - back

    def on_day(self, back: timedelta, into_day: timedelta) -> datetime:
        """Give a time of day on the day this long before the end, at least twelve hours before the end."""
        day = (self.end - back).replace(hour=0, minute=0, second=0, microsecond=0)
        return min(day + into_day, self.end - timedelta(hours=12))


def write_history(
    config_dir: str | Path,
    *,
    seed: int = 7,
    days: int = 60,
    now: datetime | None = None,
    calendar: Calendar | None = None,
) -> None:
    """Write about sixty sessions of six projects that end at `now`; the same seed and time give the same bytes."""
    calendar = calendar or Calendar((now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0))
    dice = Dice(seed)
    sessions: list[SessionWriter] = []
    told = [(project, episode) for episode in range(6) for project in projects()]
    leaves: dict[str, list[tuple[str, str]]] = {}  # titles that the next new file of a project begins with
    twists = dict(TWISTS)
    for number, (project, episode) in enumerate(told):
        part = (number + 1) / len(told)
        era = next(era for era, share in zip(ERAS, SHARES, strict=True) if part <= share)
        start = _start(dice, calendar, days, part, last=len(told) - 1 - number)
        live = number == len(told) - 1
        # A session that goes on for hours would reach beyond `now`: the newest ones stay simple.
        due = twists[era.version][:2] if number < len(told) - 3 else ()
        twists[era.version] = twists[era.version][2:] or TWISTS[era.version]
        sessions += _session(dice, era, project, episode, number, start, leaves, due, live=live)
        if number % 3 == 1:
            later = start + timedelta(hours=7) if due else start - timedelta(hours=2)
            sessions.append(_small_session(dice, era, project, later, leaves))
    sessions += _worktrees(dice, calendar)
    write_sessions(config_dir, [*(writer.session_files for writer in sessions), _house(dice, sessions, calendar)])
    _write_forgotten(Path(config_dir), dice, calendar, days)


def _start(dice: Dice, calendar: Calendar, days: int, part: float, last: int) -> datetime:
    if last < 3:
        return calendar.before_end(timedelta(minutes=(50, 190, 400)[last]))
    back = timedelta(days=max(1.0, days * (1 - part)))
    worked = timedelta(hours=8, minutes=dice.randrange(0, 640), milliseconds=dice.randrange(60_000))
    return calendar.on_day(back, worked)


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
) -> list[SessionWriter]:
    story = project.episodes[episode]
    branch = "main" if dice.random() < 0.5 else f"fix/{project.nouns[episode]}"
    model = era.models[0] if dice.random() < 0.7 else era.models[1]
    writer = SessionWriter(
        era.version, cwd=project.folder, at=start, dice=dice, model=model, branch=branch, hooks=number % 4 == 2
    )
    _old_titles(writer, project, leaves)
    writer.warmup()
    if era.attachments and number % 5 == 3:
        writer.title(story.title.lower().replace(" ", "-"))
    elif era.attachments:
        writer.ai_title = story.title
    tell(writer, project, story, picture="attached" in story.ask or "Here is how" in story.ask)
    if live:
        writer.prompt("One more thing: does that also hold for an empty list?")
        writer.unanswered(bash(project.test, ""), "I will try it.")
        writer.running(48_213)
        return [writer]
    written = [writer]
    for twist in twists:
        written += twist(writer, project) or ()
    writer.close()
    if era.agents in {Agents.INLINE, Agents.BESIDE} and writer.page.tip:
        leaves.setdefault(project.name, []).append((story.title, writer.page.tip))
    return written


def _old_titles(writer: SessionWriter, project: Project, leaves: dict[str, list[tuple[str, str]]]) -> None:
    """Begin a new file with the titles of earlier sessions, as clients up to 2.0 did."""
    if writer.era.agents in {Agents.INLINE, Agents.BESIDE}:
        for title, leaf in leaves.pop(project.name, []):
            writer.summary(title, leaf)


def _small_session(
    dice: Dice, era: Era, project: Project, start: datetime, leaves: dict[str, list[tuple[str, str]]]
) -> SessionWriter:
    interactive = dice.random() < 0.5
    model = era.small_model if dice.random() < 0.5 else era.models[1]
    writer = SessionWriter(era.version, cwd=project.folder, at=start, dice=dice, model=model, interactive=interactive)
    _old_titles(writer, project, leaves)
    if interactive:
        question(writer, project)
    else:
        writer.prompt(NIGHTLY)
        commits = "\n".join(f"{dice.hex(7)} {episode.title}" for episode in dice.sample(project.episodes, 3))
        writer.tool(bash("git log --oneline --since=yesterday", commits))
        writer.reply("\n".join(f"- {line[8:]}" for line in commits.split("\n")))
    writer.close()
    return writer


def _worktrees(dice: Dice, calendar: Calendar) -> list[SessionWriter]:
    written = []
    for name, project, days in (
        ("gauge-cache", projects()[0], 3),
        ("no-panic", projects()[1], 2),
        ("night-mode", projects()[2], 17),
    ):
        era = ERAS[4] if days < 10 else ERAS[3]
        cwd = f"{project.folder}/.claude/worktrees/{name}"
        start = calendar.before_end(timedelta(days=days, hours=3))
        writer = SessionWriter(era.version, cwd=cwd, at=start, dice=dice, branch=f"worktree-{name}")
        writer.worktree(project.folder, name, dice.hex(40))
        writer.ai_title = f"Try {name.replace('-', ' ')} in a worktree"
        writer.prompt(f"Try the {name.replace('-', ' ')} idea here, away from main.")
        writer.tools(
            bash("git status", f"On branch worktree-{name}"), grep(project.nouns[0], [(project.files[0], 4, "…")])
        )
        writer.reply("It works and nothing else notices. I would merge it.")
        writer.pull_request(40 + days, f"mira/{project.name}")
        writer.close()
        written.append(writer)
    return written


def _house(dice: Dice, sessions: list[SessionWriter], calendar: Calendar) -> SessionFiles:
    """Write what belongs to no single session: settings, memory, the old index of sessions."""
    session_files = SessionFiles()
    # The client clears away what is older: a demonstration of two months needs more than its thirty days.
    settings = {
        "cleanupPeriodDays": 90,
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "make check"}]}]},
    }
    changed = calendar.before_end(timedelta(days=80))
    session_files.files["settings.json"] = SideFile(dump_pretty(settings) + b"\n", 0o644, changed)
    for project in projects()[:3]:
        text = f"# {project.name}\n\n- {project.about}\n- Tests: `{project.test}`\n- Prefer small commits.\n"
        path = f"projects/{encode_cwd(project.folder)}/memory/MEMORY.md"
        changed = calendar.before_end(timedelta(days=dice.randrange(1, 9)))
        session_files.files[path] = SideFile(text.encode(), 0o644, changed)
    for project in projects():
        old = [one for one in sessions if one.page.cwd.startswith(project.folder) and one.era.progress]
        if len(old) > 1:
            # Written at the next start, so that the newest session is always missing.
            entries = [_index_entry(one) for one in old[:-1]]
            index = {"version": 1, "entries": entries, "originalPath": project.folder}
            path = f"projects/{old[0].page.project}/sessions-index.json"
            session_files.files[path] = SideFile(dump_pretty(index), 0o600, old[-1].started)
    return session_files


def _index_entry(writer: SessionWriter) -> Json:
    spoken = [record for record in writer.page.records if record.get("type") in {"user", "assistant"}]
    return {
        "sessionId": writer.session_id,
        "fullPath": f"{CONFIG}/{writer.path}",
        "fileMtime": millis(writer.page.last),
        "firstPrompt": str(spoken[0]["message"]["content"])[:200],
        "messageCount": len(spoken),
        "created": stamp(writer.started),
        "modified": stamp(writer.page.last),
        "gitBranch": writer.page.branch,
        "projectPath": writer.page.cwd,
        "isSidechain": False,
    }


def _write_forgotten(root: Path, dice: Dice, calendar: Calendar, days: int) -> None:
    """Put prompts before the others whose sessions the client has deleted long ago."""
    history = root / "history.jsonl"
    kept, mtime = history.read_bytes(), history.stat().st_mtime
    history.unlink()
    start = calendar.before_end(timedelta(days=days + 60))
    typed = [
        Typed(start + timedelta(days=4 * number), text, projects()[number % 6].folder, dice.uuid())
        for number, text in enumerate(load("stories.toml")["forgotten"])
    ]
    write_typed(root, typed)
    place(root, "history.jsonl", history.read_bytes() + kept, 0o600, datetime.fromtimestamp(mtime, UTC))


def commit(writer: SessionWriter, project: Project, title: str) -> Call:
    """Give the call that commits the work."""
    short = writer.page.dice.hex(7)
    changed = writer.page.dice.randrange(3, 60)
    printed = f"[{writer.page.branch} {short}] {title}\n 2 files changed, {changed} insertions(+), 2 deletions(-)"
    return bash(f'git commit -am "{title}"', printed, why=f"Commit to {project.name}", seconds=0.6)


def look_around(writer: SessionWriter, project: Project, episode: Episode, text: str, thinking: str | None) -> None:
    """Search for the place and list what is there."""
    path = episode.file
    hits = [(path, 20 + 17 * number, line) for number, line in enumerate(episode.old.split("\n")[:3])]
    calls = [grep(episode.pattern, hits), glob(f"**/*{path[path.rfind('.') :]}", list(project.files))]
    writer.tools(*calls, text=text, thinking=thinking)


def tell(writer: SessionWriter, project: Project, episode: Episode, *, picture: bool = False) -> str:
    """Write a whole episode and give the uuid of its prompt."""
    dice = writer.page.dice
    folder = writer.page.cwd
    before = source_file(project.language, project.nouns, dice, holding=episode.old, parts=dice.randrange(7, 16))
    asked = writer.prompt(episode.ask, image=png(40, 90, 200) if picture else None)
    # Newer models keep their thoughts to themselves: the block is there, its text is empty.
    thinking = "" if writer.era.attachments and dice.random() < 0.7 else episode.think
    look_around(writer, project, episode, episode.look, thinking)
    others = dice.sample(project.files, 2)
    reads = [
        read(f"{folder}/{name}", source_file(project.language, project.nouns, dice, parts=dice.randrange(5, 13)))
        for name in others
        if name != episode.file
    ]
    writer.tools(read(f"{folder}/{episode.file}", before), *reads)
    listed = dice.random() < 0.4
    if listed:
        _list_steps(writer, done=0)
    if episode.failed:
        report = suite_report(project.language, dice, project.nouns, episode.failed)
        writer.tool(
            bash(project.test, report, exit_code=1, seconds=7), "First a test that shows it.", thinking=thinking or None
        )
    writer.tool(edit(f"{folder}/{episode.file}", before, episode.old, episode.new), "That is the place.")
    if dice.random() < 0.5:
        name = f"{folder}/tests/{dice.choice(project.nouns)}_{dice.hex(3)}.txt"
        writer.tool(write(name, source_file(project.language, project.nouns, dice, parts=3)))
    report = suite_report(project.language, dice, project.nouns)
    writer.tool(bash(project.test, report, seconds=dice.uniform(2.5, 9)), "Now everything.")
    if listed:
        _list_steps(writer, done=len(STEPS))
    writer.reply(episode.done)
    if episode.more:
        writer.prompt(episode.more[0])
        writer.reply(episode.more[1], thinking=thinking or None)
    if dice.random() < 0.6:
        question, answer = dice.choice(load("stories.toml")["follow_ups"])
        writer.prompt(question)
        writer.tool(commit(writer, project, episode.title))
        writer.reply(answer.format(short=dice.hex(7), title=episode.title))
    return asked


def _list_steps(writer: SessionWriter, done: int) -> None:
    if writer.era.todo_files:
        now = [(step, "completed" if number < done else "pending") for number, step in enumerate(STEPS)]
        writer.tool(todo_write(now, [(step, "pending") for step in STEPS] if done else ()))
    elif not done:
        for number, step in enumerate(STEPS, len(writer.session_files.tasks) + 1):
            writer.tool(task_create(number, step, f"{step}."))
    else:
        open_tasks = [number for number, task in writer.session_files.tasks.items() if task["status"] == "pending"]
        writer.tools(*(task_update(int(number), "pending", "completed") for number in open_tasks))


def question(writer: SessionWriter, project: Project) -> None:
    """Write a short session: a look at the folder and an answer."""
    dice = writer.page.dice
    writer.prompt(f"What does {project.name} do, in one sentence? I have to explain it at dinner.")
    writer.tool(bash("ls -l", listing(dice, project.files)))
    writer.tool(read(f"{writer.page.cwd}/README.md", f"# {project.name}\n\n{project.about}\n"))
    writer.reply(f"**{project.name}**: {project.about} It is written in {project.language.title()}.")

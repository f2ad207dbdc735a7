"""How an episode becomes the lines of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.demo.sources import listing, source_file, suite_report
from hansard.demo.talk_tools import task_create, task_update, todo_write
from hansard.demo.tools import Call, bash, edit, glob, grep, png, read, write

if TYPE_CHECKING:
    from hansard.demo.scribe import Scribe
    from hansard.demo.stories import Episode, Project

STEPS = ("Find the cause", "Write a test that shows it", "Fix it", "Run everything")
MORE_QUESTIONS = (
    ("Could you commit that with a message in one line?", "Committed as `{short}`: {title}."),
    (
        "Is there anything similar elsewhere?",
        "I searched for the same pattern: two more places, both harmless because they never see outside data. I left them alone.",
    ),
    ("Thanks! Please note it in the changelog.", "Added under *Unreleased*: {title}."),
    (
        "How confident are you?",
        "Quite: the new test fails without the change and passes with it, and nothing else moved. What I could not test is production data.",
    ),
)


def commit(scribe: Scribe, project: Project, title: str) -> Call:
    """Give the call that commits the work."""
    short = scribe.page.dice.hex(7)
    changed = scribe.page.dice.randrange(3, 60)
    printed = f"[{scribe.page.branch} {short}] {title}\n 2 files changed, {changed} insertions(+), 2 deletions(-)"
    return bash(f'git commit -am "{title}"', printed, why=f"Commit to {project.name}", seconds=0.6)


def look_around(scribe: Scribe, project: Project, episode: Episode, text: str, thinking: str | None) -> None:
    """Search for the place and list what is there."""
    path = episode.file
    hits = [(path, 20 + 17 * number, line) for number, line in enumerate(episode.old.split("\n")[:3])]
    calls = [grep(episode.pattern, hits), glob(f"**/*{path[path.rfind('.') :]}", list(project.files))]
    scribe.tools(*calls, text=text, thinking=thinking)


def tell(scribe: Scribe, project: Project, episode: Episode, *, picture: bool = False) -> str:
    """Write a whole episode and give the uuid of its prompt."""
    dice = scribe.page.dice
    folder = scribe.page.cwd
    before = source_file(project.language, project.nouns, dice, holding=episode.old, parts=dice.randrange(7, 16))
    asked = scribe.prompt(episode.ask, image=png(40, 90, 200) if picture else None)
    # Newer models keep their thoughts to themselves: the block is there, its text is empty.
    thinking = "" if scribe.era.attachments and dice.random() < 0.7 else episode.think
    look_around(scribe, project, episode, episode.look, thinking)
    others = dice.sample(project.files, 2)
    reads = [
        read(f"{folder}/{name}", source_file(project.language, project.nouns, dice, parts=dice.randrange(5, 13)))
        for name in others
        if name != episode.file
    ]
    scribe.tools(read(f"{folder}/{episode.file}", before), *reads)
    listed = dice.random() < 0.4
    if listed:
        _list_steps(scribe, done=0)
    if episode.failed:
        report = suite_report(project.language, dice, project.nouns, episode.failed)
        scribe.tool(
            bash(project.test, report, exit_code=1, seconds=7), "First a test that shows it.", thinking=thinking or None
        )
    scribe.tool(edit(f"{folder}/{episode.file}", before, episode.old, episode.new), "That is the place.")
    if dice.random() < 0.5:
        name = f"{folder}/tests/{dice.choice(project.nouns)}_{dice.hex(3)}.txt"
        scribe.tool(write(name, source_file(project.language, project.nouns, dice, parts=3)))
    report = suite_report(project.language, dice, project.nouns)
    scribe.tool(bash(project.test, report, seconds=dice.uniform(2.5, 9)), "Now everything.")
    if listed:
        _list_steps(scribe, done=len(STEPS))
    scribe.reply(episode.done)
    if episode.more:
        scribe.prompt(episode.more[0])
        scribe.reply(episode.more[1], thinking=thinking or None)
    if dice.random() < 0.6:
        question, answer = dice.choice(MORE_QUESTIONS)
        scribe.prompt(question)
        scribe.tool(commit(scribe, project, episode.title))
        scribe.reply(answer.format(short=dice.hex(7), title=episode.title))
    return asked


def _list_steps(scribe: Scribe, done: int) -> None:
    if scribe.era.todo_files:
        now = [(step, "completed" if number < done else "pending") for number, step in enumerate(STEPS)]
        scribe.tool(todo_write(now, [(step, "pending") for step in STEPS] if done else ()))
    elif not done:
        for number, step in enumerate(STEPS, len(scribe.desk.tasks) + 1):
            scribe.tool(task_create(number, step, f"{step}."))
    else:
        open_tasks = [number for number, task in scribe.desk.tasks.items() if task["status"] == "pending"]
        scribe.tools(*(task_update(int(number), "pending", "completed") for number in open_tasks))


def question(scribe: Scribe, project: Project) -> None:
    """Write a short session: a look at the folder and an answer."""
    dice = scribe.page.dice
    scribe.prompt(f"What does {project.name} do, in one sentence? I have to explain it at dinner.")
    scribe.tool(bash("ls -l", listing(dice, project.files)))
    scribe.tool(read(f"{scribe.page.cwd}/README.md", f"# {project.name}\n\n{project.about}\n"))
    scribe.reply(f"**{project.name}**: {project.about} It is written in {project.language.title()}.")

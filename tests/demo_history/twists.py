"""What happens in real sessions besides the work: each twist goes on with a session and may give further ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.demo_history.content import log_lines, source_file
from tests.demo_history.subagents import SubagentTask
from tests.demo_history.tools import (
    ask,
    bash,
    edit,
    failing,
    grep,
    mcp,
    mcp_picture,
    multi_edit,
    notebook_edit,
    png,
    read,
    read_image,
    rejected,
    task_list,
    tool_search,
    web_fetch,
    web_search,
    write,
)

if TYPE_CHECKING:
    from tests.demo_history.content import Project
    from tests.demo_history.session_writer import SessionWriter

Twist = Callable[["SessionWriter", "Project"], "list[SessionWriter] | None"]
SUMMARY = (
    "1. The user asked for a fix and a test; both are done and pass.\n2. Open: the change has not been reviewed.\n"
    "3. Files touched: the module in question and its test.\n4. Next: write the release note."
)


def helpers(writer: SessionWriter, project: Project) -> None:
    """Two agents look into the same question side by side."""
    first, second = project.nouns[:2]
    writer.prompt(f"Where do we handle the {first}, and where the {second}? Have two agents look, I am in a hurry.")
    work = (
        SubagentTask(
            f"Find {first} code", f"Find every place in {project.name} that handles a {first}.", kind="Explore"
        ),
        SubagentTask(f"Find {second} code", f"Find every place in {project.name} that handles a {second}."),
    )
    with writer.agents(*work, text="I will send two agents.") as (one, two):
        one.tool(grep(first, [(project.files[0], 12, f"use {first}"), (project.files[1], 40, f"new {first}")]))
        text = source_file(project.language, project.nouns, writer.page.dice, parts=6)
        one.tool(
            read(f"{writer.page.cwd}/{project.files[0]}", text), thinking="The first hit looks like the definition."
        )
        one.reply(f"The {first} lives in `{project.files[0]}` and is created in `{project.files[1]}`.")
        two.tool(bash(f"grep -rn {second} . | head", f"./{project.files[1]}:7: {second}", seconds=0.3))
        two.reply(f"The {second} is only touched in `{project.files[1]}`, line 7.")
    writer.reply(f"- **{first}**: `{project.files[0]}`, `{project.files[1]}`\n- **{second}**: `{project.files[1]}`")


def resumed(writer: SessionWriter, project: Project) -> None:
    """The session is taken up again after lunch, from a sub-folder."""
    writer.resume(hours=3.5, cwd=f"{writer.page.cwd}/{project.files[0].split('/', maxsplit=1)[0]}")
    writer.prompt("Back from lunch. Where were we?")
    writer.reply("The fix is in and the tests pass. What is left is the release note, one sentence.")


def compacted(writer: SessionWriter, project: Project) -> None:
    """The user compacts by hand, later the context is full by itself."""
    writer.compact(SUMMARY, args="keep the file names")
    writer.prompt("Please write the release note.")
    writer.reply(f"*{project.name}*: wrong values are no longer shown. Thanks to everybody who reported them.")
    writer.prompt("And read the whole log of last night, all of it.")
    writer.tool(bash("cat log/last-night.log", log_lines(writer.page.dice, project.nouns, 260), seconds=3))
    writer.compact(SUMMARY + "\n5. The log of last night shows nothing new.", auto=True)
    writer.reply("I read all of it: 260 lines, eight errors, every one of them the timeout we know.")


def forked(writer: SessionWriter, project: Project) -> list[SessionWriter]:
    """The same conversation is taken up under a new id to try another way."""
    other = writer.fork(hours=1.5)
    other.prompt(f"Let us try it without touching {project.files[1]} this time.")
    other.tool(bash("git stash", "Saved working directory and index state", seconds=0.3))
    other.reply("It works too, but it needs twice as many lines. I would keep the first way.")
    other.close()
    return [other]


def branched(writer: SessionWriter, project: Project) -> list[SessionWriter]:
    """A /branch, where lines carry the place they came from."""
    other = writer.branch(f"{project.name}-idea")
    other.prompt("On this branch: what would a version without state look like?")
    other.reply("Smaller by a third. The cache would go, and with it the only lock.")
    other.close()
    writer.wait(minutes=8)
    writer.prompt("And here we stay with the old way. Good.")
    writer.reply("Agreed. Nothing to do here.")
    return [other]


def cleared(writer: SessionWriter, project: Project) -> list[SessionWriter]:
    """A /clear: a new file for the same sitting."""
    other = writer.clear()
    other.prompt(f"New topic: which Unicode versions does {project.name} care about?")
    other.tool(web_search("unicode grapheme cluster changes", LINKS, "The rules for clusters changed in version 15.1."))
    other.reply("Only grapheme clusters concern us, and those changed in 15.1 for Indic scripts.")
    other.close()
    return [other]


def interrupted(writer: SessionWriter, project: Project) -> None:
    """An answer is stopped, a tool refused, a prompt queued."""
    writer.prompt("Tell me about the history of this module.")
    writer.interrupted("The module goes back to a weekend on which it rained without a pause, and")
    writer.prompt("Shorter, please. One line.")
    dangerous = bash("rm -rf build", "")
    writer.tool(rejected(dangerous), "I would clean up first.")
    writer.prompt("No deleting. Just count the lines.")
    writer.tool(
        bash("wc -l $(git ls-files)", f"  4812 {project.files[0]}\n  9120 total", seconds=4), queued="Also the tests!"
    )
    writer.reply("9,120 lines, of which 3,300 are tests, since you ask.")


def failing_api(writer: SessionWriter, project: Project) -> None:
    """The API is overloaded, then answers."""
    writer.prompt(f"Is there a benchmark for {project.name}?")
    writer.api_error(529, "overloaded_error", "Overloaded", retries=3)
    writer.prompt("Try again.")
    writer.tool(failing(read(f"{writer.page.cwd}/bench.txt", ""), "File does not exist."))
    writer.reply("There is none yet.")


def rewound(writer: SessionWriter, project: Project) -> None:
    """A prompt is taken back and asked differently."""
    asked = writer.prompt("Rename everything to British spelling.")
    writer.tool(grep("color", [(project.files[0], 3, "color: string")], files_only=True))
    writer.reply("That would change 214 names, 60 of them public.")
    writer.rewind(asked)
    writer.prompt("Use British spelling in the documentation only.")
    writer.reply("Done: 12 words in 4 files. *Colour* it is.")


def killed(writer: SessionWriter, project: Project) -> None:
    """The laptop runs out of power in the middle of a call."""
    writer.prompt("Run the long load test.")
    writer.killed(bash(f"make load PROJECT={project.name}", ""), "This will take a while.")
    writer.resume(hours=2, clean=False)
    writer.prompt("The battery died. Did it finish?")
    writer.reply("I cannot tell: its result was never written down. I would run it again, plugged in.")


def outside(writer: SessionWriter, project: Project) -> None:
    """Commands of the user: slash, shell, a long paste."""
    writer.bang("git status --short", f" M {project.files[0]}")
    writer.command("/cost", "", "Total cost: $0.41")
    log = log_lines(writer.page.dice, project.nouns, 60)
    writer.prompt("Do you see a pattern in this?", paste=log)
    writer.reply("Every error follows a warning of the same id within a second, so it is one fault told twice.")
    writer.command("/review", "HEAD~1", body="Review the named commit and report what is wrong with it, worst first.")
    writer.reply("Nothing is wrong. One name could be shorter.")


def pictures(writer: SessionWriter, project: Project) -> None:
    """Screenshots: one pasted, one read, one from an MCP server."""
    writer.prompt("This button looks off. Can you see it?", image=png(220, 40, 60))
    writer.tool(
        read_image(f"{writer.page.cwd}/docs/button.png", png(60, 160, 90)),
        "Let me compare it with the one in the docs.",
    )
    shot = mcp_picture("browser", "screenshot", {"selector": "button.primary"}, png(220, 44, 60), "a red button")
    writer.tool(shot)
    writer.reply(f"Yes: in {project.name} it is red, in the documentation green. The documentation is right.")


def web(writer: SessionWriter, project: Project) -> None:
    """Searches, pages and an MCP server."""
    writer.prompt("Which licence do our dependencies have? Look it up where you must.")
    writer.tool(web_search(f"{project.language} licence checker", LINKS, "Two tools are in wide use."))
    page = web_fetch(
        "https://example.org/licences", "Which are compatible?", "MIT, BSD and Apache-2.0 are; the last with a note."
    )
    issues = mcp(
        "tracker",
        "find_issues",
        {"query": "licence"},
        '{"issues":[{"id":118,"title":"Licence table"}]}',
        structured={"count": 1},
    )
    writer.tools(page, issues, order=[1, 0])
    writer.reply("All are MIT, BSD or Apache-2.0. Issue 118 asks for a table; I can make one from this.")


def many_edits(writer: SessionWriter, project: Project) -> None:
    """Several edits at once, as 1.0 made them, and a notebook."""
    name = f"{writer.page.cwd}/{project.files[1]}"
    text = source_file(project.language, project.nouns, writer.page.dice, holding="first old line\n\nsecond old line")
    writer.prompt("Rename both of the old lines, please.")
    pairs = [("first old line", "first new line"), ("second old line", "second new line")]
    if writer.era.snapshots:
        writer.tools(*(edit(name, text, old, new) for old, new in pairs))
    else:
        writer.tool(multi_edit(name, text, pairs))
    writer.tool(notebook_edit(f"{writer.page.cwd}/notes/tour.ipynb", "c1", "print(1)", "print('ahoy')"))
    writer.reply("Both are renamed, and the notebook says *ahoy*.")


def overflow(writer: SessionWriter, project: Project) -> None:
    """A command prints more than a line may hold."""
    writer.prompt("What does the log of the whole week look like?")
    writer.tool(bash("journalctl -u service --since -7d", log_lines(writer.page.dice, project.nouns, 700), seconds=5))
    writer.reply("Calm: one error in about thirty lines, and all of them between two and three at night.")


def planned(writer: SessionWriter, project: Project) -> None:
    """A plan, a question back, an approval."""
    writer.prompt(f"Plan how we split {project.files[0]} into two modules.")
    choice = ask(
        "Keep the old import path?", "Imports", (("Yes", "A thin file that forwards"), ("No", "Callers change")), "Yes"
    )
    writer.tool(choice)
    writer.plan(f"# Split {project.files[0]}\n\n1. Move the reading half\n2. Forward the old names\n3. Run the tests\n")
    writer.tool(
        write(
            f"{writer.page.cwd}/src/reading.txt",
            source_file(project.language, project.nouns, writer.page.dice, parts=3),
        )
    )
    writer.reply("Split. The old path forwards, so nothing outside has to change.")


def background(writer: SessionWriter, project: Project) -> None:
    """Agents that report later, one of which sends another."""
    writer.prompt(f"Check the documentation of {project.name} for dead links in the background while we talk.")
    with writer.agent("Check links", "Check every link in docs/ and report the dead ones.", background=True) as outer:
        with outer.agent("Check anchors", "Check the anchors inside docs/guide.md.", kind="Explore") as inner:
            inner.tool(grep("](#", [("docs/guide.md", 14, "[x](#start)")]))
            inner.reply("All anchors exist.")
        outer.tool(bash("lychee docs/", "412 links, 2 errors", seconds=14))
        outer.reply("Two dead links: docs/guide.md:88 and docs/faq.md:12. Anchors are fine.")
    writer.reply("It is running. Meanwhile: what is next?")
    writer.notify(outer)
    writer.tool(
        task_list(
            [(int(number), task["subject"], task["status"]) for number, task in writer.session_files.tasks.items()]
        )
    )
    writer.reply("The links are checked: two of 412 are dead, both to pages that moved. Shall I fix them?")
    writer.pull_request(71, f"mira/{writer.page.project.rsplit('-', maxsplit=1)[-1]}")


def echo(writer: SessionWriter, project: Project) -> None:
    """An agent that shares the conversation so far instead of a copy, and one whose notice comes in mid-turn."""
    writer.prompt("Have somebody who knows all this draft the announcement.")
    last = writer.page.tip
    with writer.agent("Draft announcement", "Draft it in three sentences.", background=True) as helper:
        reference = {"type": "fork-context-ref", "agentId": helper.page.agent_id, "parentSessionId": writer.session_id}
        helper.page.records.insert(0, {**reference, "parentLastUuid": last, "contextLength": len(writer.page.records)})
        helper.reply(f"{project.name} is calmer now. Wrong values are gone. Thank you for your patience.")
    writer.tool(tool_search("select:SendMessage", ["SendMessage"]), "Meanwhile I look for a way to send it.")
    writer.notify(helper, mid_turn=True)
    writer.reply(
        "> Wrong values are gone. Thank you for your patience.\n\nThree sentences, as you wished; the first was vain."
    )


LINKS = (("A guide to licences", "https://example.org/guide"), ("Checker manual", "https://example.com/manual"))
TWISTS: dict[str, tuple[Twist, ...]] = {
    "1.0.128": (helpers, many_edits, compacted, resumed, forked, failing_api),
    "2.0.76": (helpers, interrupted, web, resumed, pictures, forked, overflow),
    "2.1.20": (helpers, overflow, rewound, web, killed, outside, compacted, interrupted, many_edits),
    "2.1.112": (helpers, interrupted, branched, planned, compacted, web, overflow, outside, rewound),
    # Taken in pairs, one pair a session: what ends the sitting stands second.
    "2.1.325": (
        *(background, overflow),
        *(rewound, planned),
        *(branched, echo),
        *(forked, cleared),
        *(killed, pictures),
        *(web, failing_api),
        *(helpers, compacted),
        *(interrupted, outside),
    ),
}

"""`hansard git`, `blame` and `commits`: sessions and their repositories."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.context import SLOW_SECONDS, Command, Context, note, reads
from hansard.cli.request_options import note_rest, takes
from hansard.errors import NotFound, UsageError
from hansard.model.blame import LINES, line_range
from hansard.model.store_requests import CommitsRequest
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.changes.journal import Journal, Undone


_WORDS = ("branch", "message", "trailer")
_STEPS = ("install", "remove", "status")
_LONGEST = 1 << 20  # bytes of a hook's input
_ID = re.compile(r"[0-9A-Za-z_-]{1,200}")


@click.command(cls=Command)
@click.argument("action", type=click.Choice([*_WORDS, "notes", "hook"]))
@click.argument("target", required=False, metavar="[SESSION|COMMIT|install|remove|status]")
@click.option("--prefix", default="", metavar="TEXT", help="With branch: put this before the name, such as feature/.")
@click.option("--write", is_flag=True, help="With notes: add the note to the commit; otherwise it is only shown.")
@click.option("--yes", "-y", is_flag=True, help="With hook: make the changes; otherwise they are only shown.")
@click.option(
    "--repository",
    metavar="DIR",
    help="With notes and hook: a folder in the repository; default: the current directory.",
)
@reads
def git(
    cli: Context, action: str, target: str | None, prefix: str, write: bool, yes: bool, repository: str | None
) -> None:
    """Write a branch name, a commit message or a trailer for a session, and optional marks for git.

    `branch`, `message` and `trailer` take a SESSION, or - to read the JSON that the client gives its hooks from stdin; with
    --json all three are written. `notes COMMIT` shows which lines sessions wrote in the format of git-ai, and --write adds
    it to refs/notes/ai. `hook install` adds a prepare-commit-msg hook that puts the trailer Hansard-Session into commits
    that a session makes; a hook that is there already is kept and run first, and `hook remove` puts everything back.

    Examples:
      hansard git message @last | git commit -F -
      git switch -c "$(hansard git branch @last)"
      hansard git trailer @last
      hansard git branch - --json < hook-input.json
      hansard git notes HEAD --write
      hansard git hook install --yes
    """
    folder = repository or os.getcwd()
    if action == "hook":
        _hook(cli, target or "status", folder, yes=yes)
    elif action == "notes":
        with cli.reading(outgoing=True) as h:
            text = h.git_note(target or "HEAD", folder, write=write)
        cli.answer({"note": text, "written": write}, lambda: text.rstrip("\n").split("\n"))
    else:
        _words(cli, action, target or "@last", prefix)


def _words(cli: Context, action: str, target: str, prefix: str) -> None:
    session = _from_hook() if target == "-" else target
    with cli.reading(outgoing=True) as h:
        try:
            found = h.git_words(session, prefix=prefix)
        except NotFound:
            if target != "-":
                raise
            # A session that has just begun is not on disk yet; a hook needs an answer all the same.
            from hansard.git.commit_message import new_words

            found = new_words(session, prefix)
    cli.answer(found, lambda: getattr(found, action).rstrip("\n").split("\n"))


def _from_hook() -> str:
    """The session id in the input of a hook."""
    import json

    try:
        given = json.loads(sys.stdin.buffer.read(_LONGEST))
    except (ValueError, RecursionError):
        given = None
    session = given.get("session_id") if isinstance(given, dict) else None
    if not isinstance(session, str) or not session:
        raise UsageError("stdin has no JSON with a session_id, as the client gives it to hooks")
    if not _ID.fullmatch(session):
        raise UsageError(f"invalid session_id {session[:200]!r} in the JSON from stdin")
    return session


def _hook(cli: Context, step: str, folder: str, *, yes: bool) -> None:
    if step not in _STEPS:
        raise UsageError(f"invalid step {step!r}; choose one of {', '.join(_STEPS)}")
    from hansard.changes.journal import journals, list_journals
    from hansard.changes.plan import preview
    from hansard.git.commit_message import PURPOSE, is_installed, plan_hook
    from hansard.git.repository import Repository

    home = os.path.realpath(cli.settings().home)
    found = Repository.find(folder)
    here = found.common_folder()

    def mine(known: list[Journal]) -> list[Journal]:
        return [journal for journal in known if journal.facts.get("repository") == here]

    installed = mine(list_journals(home, PURPOSE))
    works = bool(installed) and is_installed(found)
    if step == "status":
        status = {"repository": found.root, "installed": works}
        cli.answer(status, lambda: [f"The hook is {'installed' if works else 'not installed'} in {found.root}."])
        return
    if step == "remove" and not installed:
        raise NotFound(f"the hook is not installed in {found.root}")
    if step == "install" and works:
        note("hansard: the hook is already installed")
        return
    changes = plan_hook(found) if step == "install" else None
    if not yes:
        former = [f"restore {item.path}" for journal in installed for item in journal.steps]
        cli.preview(former if changes is None else preview(changes))
        return
    with journals(home) as open_journals:
        undone: list[Undone] = []
        if changes is not None:
            open_journals.apply(changes)
        else:
            undone = [open_journals.undo(journal) for journal in reversed(mine(open_journals.find(PURPOSE)))]
    left = [path for item in undone for path in (*item.left, *item.merged, *item.failed)]
    for item in undone:
        for line in item.notes("the hook's own part"):
            note(line)
    if cli.as_json:
        cli.emit({"applied": True, "action": step, "left": left})
    elif changes is not None:
        cli.say(["Installed; `hansard git hook remove --yes` undoes it."])
    else:
        cli.say(["Removed." if left else "Removed; every file is as it was before."])


@click.command(cls=Command)
@click.argument("target", metavar="FILE[:LINES]|COMMIT")
@click.option("--lines", "-L", metavar="N[-M]", help="Only this line or range of lines; the same as FILE:N-M.")
@click.option(
    "--rev", metavar="COMMIT", help="The file as it was in this commit, branch or tag; default: the working tree."
)
@click.option(
    "--repository", metavar="DIR", help="With COMMIT: a folder in its repository; default: the current directory."
)
@reads
def blame(cli: Context, target: str, lines: str | None, rev: str | None, repository: str | None) -> None:
    """Show which session wrote each line of a file, or each line that a commit added.

    For every line: the commit, the session and its turn, and the confidence. Below: the prompt, the model, the cost and
    the edit's position in the transcript. Blame compares recorded edits with git's history: it needs no hook and
    survives rebase, squash and rename.

    Examples:
      hansard blame src/tide/parser.py
      hansard blame src/tide/parser.py:40-60
      hansard blame src/tide/parser.py --rev v1.2
      hansard blame HEAD~3
      hansard blame src/tide/parser.py --json
    """
    from hansard.render.terminal.blame import draw_blame, draw_commit

    path, span = _target(target, lines)
    with cli.reading() as h:
        if os.path.isfile(path) or (rev is not None and not os.path.isdir(path)):
            report = h.blame(path, span, rev)
            cli.answer(report, lambda: draw_blame(report, cli.width(), cli.paint()))
            return
        if span is not None or rev is not None:
            raise UsageError(f"no such file: {path}")
        if os.path.isdir(path):
            raise UsageError(f"{path} is a directory; blame takes a file or a commit")
        try:
            found = h.blame_commit(target, repository or os.getcwd())
        except NotFound as error:
            raise NotFound(f"no file {target!r}; {error}") from None
    cli.answer(found, lambda: draw_commit(found, cli.width(), cli.paint()))
    if not found.files:
        note("hansard: the commit adds no lines")


def _target(target: str, lines: str | None) -> tuple[str, tuple[int, int] | None]:
    """The file or commit, and the range of lines."""
    path = target
    if not os.path.exists(target):
        head, colon, tail = target.rpartition(":")
        if colon and LINES.fullmatch(tail):
            if lines is not None:
                raise UsageError("give lines once, as FILE:LINES or with --lines")
            path, lines = head, tail
    return path, None if lines is None else line_range(lines)


@click.command(cls=Command)
@click.argument("session", required=False)
@takes(CommitsRequest, "repository limit")
@reads
def commits(cli: Context, request: CommitsRequest) -> None:
    """List the commits that sessions made or contributed to, newest first, with their cost; with SESSION, its commits.

    LINES is how many of the lines that a commit adds were written by recorded edits. A star marks a session that ran
    `git commit` itself. A message counts for the commit that the next edit of its turn went into.

    Examples:
      hansard commits
      hansard commits @last
      hansard commits 3f2a91c0 --repository ~/src/tidewater
      hansard commits --json
    """
    from hansard.cli.output.progress import CountBar
    from hansard.render.terminal.blame import commit_table

    if request.session is None and request.repository is None:
        request = replace(request, repository=os.getcwd())
    with cli.reading() as h, CountBar("Reading commits", after=SLOW_SECONDS) as bar:
        found = h.commits(replace(request, progress=bar))
        if not found.repositories and request.repository is None:  # we may be in a clone
            clone = h.commits(replace(request, repository=os.getcwd(), progress=bar))
            found = clone if clone.commits else found
    if cli.as_json:
        cli.emit(found)
    else:
        if found.commits:
            cli.say(commit_table(found.commits, cli.width(), cli.paint()))
            note_rest(cli, found.commits, found.total, "commits")
        for address in found.pull_requests:
            cli.say([f"pull request  {one_line(address)}"])
    if not found.repositories:
        note(
            f"hansard: {', '.join(map(one_line, found.missing)) or 'the project'} is not a git repository on this machine"
        )
    if not found.commits:
        if found.repositories:
            note("hansard: no commit matches")
        raise click.exceptions.Exit(1)

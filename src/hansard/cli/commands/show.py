"""`hansard show`, once or following a session that goes on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from hansard.cli.arguments import choose_session
from hansard.cli.context import Command, Context, note, program, reads, warn
from hansard.cli.output.pager import write
from hansard.cli.request_options import takes
from hansard.errors import NotFound, UsageError
from hansard.lazy_regex import lazy_compile
from hansard.model.requests import about
from hansard.render.format import full, many
from hansard.render.terminal.drawing import Drawing
from hansard.render.terminal.page import head
from hansard.render.text import one_line, short_id

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.display import Item, Turn
    from hansard.model.sessions import Session
    from hansard.model.threads import Entry
    from hansard.render.depth import Depth
    from hansard.render.terminal.page import Sheet
    from hansard.thread.thread import Selection, Thread


_AROUND = 5
_TURNS = lazy_compile(r"([1-9][0-9]{0,8})(?:(-)([1-9][0-9]{0,8})?)?")


class ShowRequest(Struct, frozen=True, kw_only=True):
    """What to show of a session, and how."""

    session: str | None = None
    depth: Annotated[
        str,
        about(
            "How much to show: prompts, replies too, a line per tool call too, or everything.",
            choices=("prompts", "replies", "tools", "all"),
        ),
    ] = "tools"
    turn: Annotated[str | None, about("Only this turn or range; 7- means 7 to the last.", metavar="N[-M]")] = None
    last: Annotated[int | None, about("Only the last N turns.", ge=1)] = None
    agent: Annotated[
        str | None,
        about("Show a subagent's thread instead, by its number, words of its description, or its id.", metavar="NAME"),
    ] = None
    branch: Annotated[int | None, about("Only this branch; 0 is the one the session continued on.", ge=0)] = None
    follow: Annotated[bool, about("Start at the last turn and keep printing what is added, until Ctrl-C.")] = False
    markdown: Annotated[bool, about("Write Markdown.")] = False
    html: Annotated[bool, about("Write a self-contained web page.")] = False
    thinking: Annotated[bool, about("Include the model's thinking.")] = False
    tools: Annotated[
        str | None, about("How much of tool calls to show, at any depth.", choices=("full", "brief", "none"))
    ] = None
    at: Annotated[
        int | None,
        about(
            "Only what is around this byte offset in the transcript, as printed by `hansard search`.",
            ge=0,
            metavar="OFFSET",
        ),
    ] = None
    around: Annotated[int | None, about("With --at: entries to show before and after it. [default: 5]", ge=0)] = None
    generation: Annotated[int | None, about("Another generation of a rewritten file; 1 is the first.", ge=1)] = None
    transcript: Annotated[
        str | None, about("Another transcript of the session, by its path or the end of it.", metavar="PATH")
    ] = None


@click.command(cls=Command)
@click.argument("session", required=False)
@takes(ShowRequest, "depth turn last agent branch follow markdown html thinking tools at around generation transcript")
@reads
def show(cli: Context, request: ShowRequest) -> None:
    """Read a session: who said what and when, with the tool calls and their results.

    SESSION is the beginning of a session's id, words of its title, @last, or @2 for the one before it. Long text goes
    through $PAGER when stdout is a terminal. --json is always complete; it ignores --depth, --thinking and --tools.

    Examples:
      hansard show @last
      hansard show @last --last 3 --depth all
      hansard show 3f2a91c0 --turn 4-6
      hansard show @last --follow
      hansard show "tide tables" --markdown > tides.md
      hansard show @last --agent a497 --json
      hansard show 3f2a91c0 --at 20480 --around 10
    """
    _refuse(cli, request)
    first, final = _turns(request.turn)
    from hansard.render.depth import DEPTHS

    session = choose_session(cli, request.session, default="@last")
    wanted = DEPTHS[request.depth]
    wanted = wanted._replace(thinking=wanted.thinking or request.thinking, tools=request.tools or wanted.tools)
    if request.follow:
        follow_session(cli, session, request.agent, wanted, newest=request.last or 1)
        return
    with cli.reading() as h:
        found = h.session(session)
        if request.transcript is not None:
            h.read_transcript(found.session_id, request.transcript)
            found = h.session(found.session_id)
        else:
            _choose_generation(h, found, request.generation)
            _name_others(h, found)
        is_text = request.at is None and not cli.as_json
        subagents = is_text and (request.html or wanted.agents)
        thread = h.read(found, request.agent, pictures=request.html, subagents=subagents)
        chosen = partial(thread.select, first=first, last=final, newest=request.last or 0)
        if request.at is not None:
            _show_place(cli, thread, request, wanted)
        elif request.html:
            _write_html(thread)
        elif cli.as_json:
            is_part = request.turn is not None or request.last is not None
            low, high = _bounds(chosen()) if is_part else (0, None)
            _write_json(thread, low, high, request.branch)
        elif request.markdown:
            from hansard.render.markdown import lines

            say(lines(thread, depth=wanted, part=chosen(branch=request.branch)))
        else:
            from hansard.render.terminal.page import draw

            _put(cli, draw(chosen(branch=request.branch), sheet(cli, found, wanted)))


def _refuse(cli: Context, request: ShowRequest) -> None:
    """Options that do not go together."""
    formats = {"--json": cli.as_json, "--markdown": request.markdown, "--html": request.html}
    answers = [name for name, given in formats.items() if given]
    turns = "--turn" if request.turn is not None else "--last" if request.last is not None else ""
    if len(answers) > 1:
        raise UsageError(f"{' and '.join(answers)} cannot be used together")
    if request.turn is not None and request.last is not None:
        raise UsageError("--turn and --last cannot be used together")
    if request.at is None and request.around is not None:
        raise UsageError("--around needs --at")
    if request.at is not None and (request.markdown or request.html):
        raise UsageError(f"--at cannot be used with {answers[0]}")
    if request.at is not None and turns:
        raise UsageError(f"--at cannot be used with {turns}")
    if request.html and (request.agent is not None or request.branch is not None or turns):
        raise UsageError("--html writes the whole session and cannot be used with --agent, --branch, --turn or --last")
    if request.generation is not None and request.transcript is not None:
        raise UsageError("--generation and --transcript cannot be used together")
    others = (request.at, request.turn, request.branch, request.generation, request.transcript)
    if request.follow and (answers or any(value is not None for value in others)):
        raise UsageError("--follow can only be combined with --last, --agent and the options for depth")


def _choose_generation(h: Hansard, about: Session, generation: int | None) -> None:
    """List the other generations of a rewritten file, and read the requested one."""
    mains = [item for item in h.transcripts(about.session_id) if item.kind in ("main", "log")]
    shown = next((item for item in mains if item.generation == generation or (item.current and not generation)), None)
    if generation is not None:
        h.read_generation(about.session_id, generation)
    others = [
        item for item in mains if shown is not None and item.path == shown.path and item.generation != shown.generation
    ]
    if shown is not None and others:
        listed = ", ".join(f"--generation {item.generation} ({many(item.records, 'record')})" for item in others)
        warn(
            f"the file was rewritten: this is generation {shown.generation} of it ({many(shown.records, 'record')}); {listed} shows the other{'s' * (len(others) > 1)}"
        )


def _name_others(h: Hansard, about: Session) -> None:
    """Name the session's other transcripts, as of copies that were both resumed, if they have messages of their own."""
    for log, messages in h.other_transcripts(about.session_id):
        if messages:
            warn(
                f"the session has another transcript with {many(messages, 'message')} that {'is' if messages == 1 else 'are'} not in this one: "
                f"--transcript {one_line(f'{log.root}/{log.path}')} shows it"
            )


def _turns(text: str | None) -> tuple[int, int | None]:
    """The numbers of the first turn and of the last."""
    if text is None:
        return 1, None
    found = _TURNS.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is not a turn: use 3, 3-5 or 3-, or --last N")
    first = int(found[1])
    final = int(found[3]) if found[3] else None if found[2] else first
    if final is not None and final < first:
        raise UsageError(f"{text!r} ends before it begins: write {final}-{first}")
    return first, final


def sheet(cli: Context, about: Session, depth: Depth) -> Sheet:
    """How to draw a session in the terminal."""
    from shlex import quote

    from hansard.render.terminal.page import Sheet

    command = f"{program()} show {quote(short_id(about.session_id))}"
    return Sheet(cli.width(), cli.paint().enabled, depth, command)


def _bounds(part: Selection) -> tuple[int, int | None]:
    starts = [start.offset for start in part.thread.starts]
    return starts[part.earlier] if starts else 0, starts[-part.later] if part.later else None


def _write_json(thread: Thread, start: int, end: int | None, branch: int | None) -> None:
    from hansard.render.document import conversation

    entries = thread.entries(start, end)
    if branch is not None:
        thread.check_branch(branch)
        entries = (entry for entry in entries if entry.branch == branch)
    stream = sys.stdout.buffer
    for piece in conversation(thread, entries):
        stream.write(piece)
    stream.flush()


def _write_html(thread: Thread) -> None:
    from datetime import datetime

    from hansard.render.html import page

    stream = sys.stdout.buffer
    for piece in page(thread, zone=datetime.now().astimezone().tzinfo):  # type: ignore[arg-type]
        stream.write(piece.encode("utf-8", "replace"))
    stream.flush()


def _show_place(cli: Context, thread: Thread, request: ShowRequest, depth: Depth) -> None:
    """The entries around a place, on its own branch."""
    about, branch = thread.session, request.branch
    around = _AROUND if request.around is None else request.around
    place = thread.locate(request.at or 0)
    first = place.conversation.entries[place.here.start]
    if branch is not None and branch != first.branch:
        raise NotFound(f"that place is on branch {first.branch}, not on branch {branch}")

    def is_shown(number: int, entry: Entry) -> bool:
        return entry.branch == first.branch and (number in place.here or cli.as_json or depth.shows(entry.kind))

    shown = [number for number, entry in enumerate(place.conversation.entries) if is_shown(number, entry)]
    start = shown.index(place.here.start)
    stop = shown.index(place.here.stop - 1) + 1
    low, high = max(0, start - around), min(len(shown), stop + around)
    entries = tuple(place.conversation.entries[number] for number in shown[low:high])
    here = range(start - low, stop - low)
    if cli.as_json:
        from hansard.model.serialize import plain

        conversation = replace(place.conversation, entries=entries)
        where = {
            "offset": place.offset,
            "exact": place.exact,
            "entries": [*here],
            "earlier": low,
            "later": len(shown) - high,
        }
        cli.emit({"session": about, **plain(conversation), "at": where})
        return
    from hansard.render.terminal import page

    found = f"here, {full(first.at)}" if place.exact else f"nearest to byte {place.offset:,}, which is not shown"
    drawn = page.Excerpt(tuple(place.thread.items(entries)), here, found, low, len(shown) - high)
    lines = page.draw_place(place.thread, drawn, sheet(cli, about, depth))
    _put(cli, lines, find="▶")


# -- output


def say(lines: Iterator[str]) -> None:
    write(lines, paged=False, color=True)


def _put(cli: Context, lines: Iterator[str], find: str | None = None) -> None:
    write(lines, paged=not cli.no_pager, color=cli.paint().enabled, find=find)


def follow_session(cli: Context, name: str, agent: str | None, depth: Depth, *, newest: int) -> None:
    """Write the last turns, then what is added, until Ctrl-C."""
    from hansard import background_sync

    # Ctrl-C is the normal way to end it.
    with contextlib.suppress(KeyboardInterrupt), cli.reading() as h:
        printer = FollowPrinter(cli, h, h.session(name), agent, depth._replace(agents=False), newest)
        say(printer.news(h))
        revision, trouble = h.revision(), None
        syncing = not cli.no_sync and bool(h.roots)
        with contextlib.closing(background_sync.follow(cli.engine, syncing=syncing)) as states:
            for state in states:
                if state.revision != revision:
                    h.close()  # an index may have been rebuilt in another file
                    revision = state.revision
                    say(printer.news(h))
                if state.trouble != trouble:
                    trouble = state.trouble
                    warn(f"not up to date: {trouble}" if trouble else "up to date again")
    note("stopped")


class FollowPrinter:
    """Remembers what has been printed of a session, and prints what is new."""

    def __init__(
        self, cli: Context, h: Hansard, session: Session, agent: str | None, depth: Depth, newest: int
    ) -> None:
        self.session = session
        self.newest = newest
        thread = h.read(session, agent, pictures=False, subagents=False)
        self.agent = thread.agent
        page = sheet(cli, session, depth)
        self.board = page.board()
        self.drawing = Drawing(self.board, depth, page.command, thread.speaker, agent=self.agent)
        self.transcript = -1
        self.turn = 0  # the number of the last one
        self.offset = 0  # where it begins
        self.items: dict[str, bool] = {}  # of it, and whether each waits for a result
        self.last = ""  # the one written last

    def news(self, h: Hansard) -> Iterator[str]:
        """The lines of what is new."""
        agent = self.agent.agent_id if self.agent is not None else None
        thread = h.read(self.session, agent, pictures=False, subagents=False)
        if thread.transcript != self.transcript:  # the first time, or the file was replaced
            if self.transcript < 0:
                yield from head(self.session, self.agent, self.board)
            self.transcript = thread.transcript
            starts = thread.starts
            first = max(0, len(starts) - self.newest)
            self.turn, self.offset = first, starts[first].offset if starts else 0
            self.items = {}
            turns = thread.turns(self.offset, first + 1)
        else:
            turns = thread.turns(self.offset, max(self.turn, 1))
        before: Turn | None = None
        for turn in turns:
            yield from self._turn(turn, before)
            before = turn

    def _turn(self, turn: Turn, before: Turn | None) -> Iterator[str]:
        if turn.number > self.turn:
            if before is not None:
                yield from self.drawing.closing(before)
            self.turn, self.offset, self.items = turn.number, turn.items[0].offset, {}
            yield ""
            yield self.drawing.header(turn, finished=False)
            self.drawing.forget()
        for item in turn.items:
            waits = item.facts.outcome == "no result"
            known = self.items.get(item.anchor)
            if known is None and not item.branch:
                yield from self.drawing.item(_running(item) if waits else item)
            elif known and not waits:
                yield from self.drawing.answer(item, again=self.last != item.anchor)
            else:
                continue
            self.items[item.anchor] = waits
            self.last = item.anchor


def _running(item: Item) -> Item:
    return replace(item, facts=replace(item.facts, outcome="running"))

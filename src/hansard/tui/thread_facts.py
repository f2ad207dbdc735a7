"""What the reader shows beside a thread's text: head, outline, branches; where words are in it; texts to copy; raw lines."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hansard.model.display import Code
from hansard.render.format import cost, model_name, session_cost, short, size, title_of
from hansard.render.text import clean, fit, one_line, pad, width, wrap

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.display import Item, Turn
    from hansard.model.sessions import Session
    from hansard.model.threads import Agent
    from hansard.thread.branches import BranchChoice
    from hansard.tui.thread_lines import ThreadKey

_LEVELS = "▁▂▃▄▅▆▇█"
_LONGEST_RAW = 256 << 10  # bytes of a line that are shown
_MOST_MATCHES = 5_000


class OutlineRow(NamedTuple):
    """A turn in the outline."""

    number: int
    offset: int
    text: str
    failed: bool
    cost: str


class Facts(NamedTuple):
    """What the reader shows beside a thread's text."""

    session: Session
    agent: Agent | None
    agents: tuple[Agent, ...]
    path: str
    turns: int
    outline: Sequence[OutlineRow]
    branches: Sequence[BranchChoice]
    contexts: Sequence[int]  # tokens that each request sent


def read_facts(h: Hansard, key: ThreadKey) -> Facts:
    """Read everything but the text."""
    thread = key.open(h)
    agents = tuple(agent for agent in thread.agents if not agent.warmup)
    if not thread.has_log:
        return Facts(thread.session, thread.agent, agents, "", 0, (), (), ())
    starts = thread.starts
    timeline = thread.timeline() if thread.has_timeline() else None
    rows = []
    for turn in thread.outline(1, len(starts)):
        if thread.shown_branch(turn.branch, turn.offset) != 0:
            continue
        used = timeline.turns[turn.number - 1] if timeline is not None else None
        figure = (
            cost(used.cost_usd, lower_bound=used.is_lower_bound, unpriced=False) if used and used.api_messages else ""
        )
        rows.append(OutlineRow(turn.number, turn.offset, one_line(turn.text) or "(no prompt)", turn.failed, figure))
    contexts = [request.prompt + request.output for request in timeline.requests] if timeline is not None else []
    choices = thread.choices() if thread.forks else []
    return Facts(thread.session, thread.agent, agents, thread.path, len(starts), rows, choices, contexts)


def sparkline(values: Sequence[int], columns: int) -> str:
    """Downsample values to bars; each shows the largest of its bucket."""
    if not values:
        return ""
    count = min(columns, len(values))
    most = max(*values, 1)
    bars = [
        max(values[len(values) * n // count : max(len(values) * (n + 1) // count, len(values) * n // count + 1)])
        for n in range(count)
    ]
    return "".join(_LEVELS[min(len(_LEVELS) - 1, value * len(_LEVELS) // (most + 1))] for value in bars)


def find_lines(h: Hansard, key: ThreadKey, needle: str) -> list[int]:
    """Offsets of the items whose lines contain a text, in order; a result counts for its call."""
    thread = key.open(h)
    written = json.dumps(needle, ensure_ascii=False)[1:-1]
    lines = h.grep(
        written,
        fixed=True,
        ignore_case=needle == needle.lower(),
        sessions=[key.session_id],
        limit=_MOST_MATCHES,
        around=0,
    )
    own = thread.path
    offsets = {line.offset for line in lines if line.file.path == own and line.start is not None}
    return sorted({thread.call_of(offset) for offset in offsets})


def raw_lines(h: Hansard, key: ThreadKey, offset: int) -> tuple[str, Callable[[int], list[str]]]:
    """The verbatim line at an offset, with a title; indented if it is JSON."""
    thread = key.open(h)
    line = thread.raw_line(offset)
    data = b"".join(thread.raw(line, _LONGEST_RAW))
    text = data.decode("utf-8", "replace")
    if len(data) == line.length:
        with contextlib.suppress(ValueError):
            text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    cut = "" if len(data) == line.length else f", the first {size(len(data))} of them"
    title = f"{thread.path} at byte {line.offset:,}, {line.length:,} bytes{cut}"
    return title, lambda columns: wrap(clean(text), columns)


def head_lines(session: Session, facts: Facts | None, turn: Turn | None, notes: Sequence[str], room: int) -> list[str]:
    """The title, and below it figures of the session and the current turn; `notes` are the project and, behind the models, the rest."""
    title = one_line(title_of(session)[:400])
    if facts is not None and facts.agent is not None:
        title = f"{one_line(facts.agent.description) or facts.agent.agent_id} · subagent of: {title}"
    total = f"/{facts.turns:,}" if facts is not None else ""
    spent = ""
    if turn is not None and turn.api_messages:
        spent = cost(turn.cost_usd, lower_bound=turn.is_lower_bound, unpriced=False) + " this turn"
    project, *others = notes
    figures = [
        project,
        f"turn {turn.number:,}{total}" if turn is not None else "",
        spent,
        f"{session_cost(session)} in all" if session_cost(session) else "",
        ", ".join(model_name(model) for model in session.models[:2]),
        *others,
    ]
    line = one_line("  ·  ".join(filter(None, figures)))
    if facts is not None and facts.contexts:
        chart = f"  context {sparkline(facts.contexts, 24)} {short(facts.contexts[-1])}"
        if width(line) + width(chart) <= room:
            line = pad(line, room - width(chart)) + chart
    return [fit("◆ " * session.pinned + title, room), fit(line, room)]


# -- texts to copy


def message_text(item: Item) -> str:
    """What was said, or what a tool was given."""
    parts = item.parts or item.results
    return "\n\n".join(part.text for part in parts if hasattr(part, "text"))


def code_blocks(item: Item) -> list[str]:
    """The code of a message: blocks of its Markdown, and what tools were given and gave back."""
    found: list[str] = []
    for part in (*item.parts, *item.results):
        if isinstance(part, Code):
            found.append(part.text)
        elif part.part == "prose":
            found += _fenced(getattr(part, "text", "")[:200_000])
    return found


def _fenced(text: str) -> list[str]:
    """Text between the fences of Markdown."""
    found: list[str] = []
    fence, inside = "", ""
    for line in text.splitlines(keepends=True):
        mark = line.strip()[:3]
        if not fence and mark in ("```", "~~~"):
            fence, inside = mark, ""
        elif fence and mark == fence:
            found.append(inside)
            fence = ""
        elif fence:
            inside += line
    return found

"""A session as Markdown that reads well on GitHub and in Obsidian: front matter, a heading for each turn, tool calls as short lines."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from hansard.model.display import Checklist, Code, Console, Diff, Facts, Part, Picture, Plain, Prose
from hansard.model.gate import replaced
from hansard.model.serialize import plain
from hansard.render.depth import DEPTHS, TYPED, Depth, not_shown, repeats_subject
from hansard.render.format import (
    agent_counts,
    call_facts,
    changed_lines,
    dollars,
    many,
    redaction_words,
    session_cost,
    session_counts,
    short,
    turn_facts,
)
from hansard.render.markdown_text import code_span, escape, fenced, nested, prose, quoted
from hansard.render.text import clean, fit, one_line

if TYPE_CHECKING:
    from hansard.model import display
    from hansard.model.display import Item, Turn
    from hansard.model.sessions import Session
    from hansard.thread.thread import Selection, Thread

_BRIEF_LINES = 20
_OPEN_LINES = 12  # a result of more lines is folded, where all of it is shown
_SUBJECT = 120
_HEADING = 60
_TITLE = 150
_LANGUAGE = re.compile(r"[a-z0-9+#-]{1,30}")
# What YAML allows only as an escape, and tags, which a reader that does not know front matter must not find in it.
_NOT_IN_FRONT = re.compile("[<\ufeff\ufffe\uffff]")
_BOXES = {"completed": "[x]", "chosen": "[x]", "deleted": "[x]"}
_LABELS = {"note": "Note", "notification": "Notification", "teammate": "Teammate", "output": "Output"}
_DEEPEST = 6  # quotations inside each other

FindPicture = Callable[[Picture], str | None]


def lines(
    thread: Thread,
    *,
    depth: str | Depth = "all",
    picture: FindPicture | None = None,
    zone: tzinfo | None = None,
    part: Selection | None = None,
) -> Iterator[str]:
    """The lines of the document, some of them several lines in one.

    `picture` puts a picture somewhere and gives its address, or None; `part` is drawn instead of the whole session.
    """
    drawing = _Drawing(DEPTHS[depth] if isinstance(depth, str) else depth, picture, zone, thread.speaker)
    yield from drawing.front(thread.session)
    yield from drawing.selection(part) if part is not None else _whole(drawing, thread)
    if count := len(replaced(thread.redact)):
        yield f"\n*{redaction_words(count)}*"


def _whole(drawing: _Drawing, thread: Thread) -> Iterator[str]:
    if thread.has_log:
        for turn in thread.turns():
            yield from drawing.turn(turn)
        yield from drawing.rest(thread.not_shown)
    else:
        yield "\n*Only subagents of this session remain.*"
    if drawing.depth.agents:
        for other in thread.others():
            yield f"\n## {drawing.agent_words(other.agent)}"
            for turn in other.turns():
                yield from drawing.turn(turn, "###")
            yield from drawing.rest(other.not_shown)


class _Drawing:
    def __init__(
        self, depth: Depth, picture: FindPicture | None, zone: tzinfo | None, speaker: str, levels: int = 0
    ) -> None:
        self.depth = depth
        self.speaker = speaker
        self.picture = picture
        self.zone = zone
        self.levels = levels  # of quotation
        self.hidden: Counter[str] = Counter()
        self.branch = 0

    # -- the page

    def front(self, session: Session) -> Iterator[str]:
        title = fit(one_line(session.title[:1000]), _TITLE) or "(untitled)"
        values = {
            "id": one_line(session.session_id),
            "title": title,
            "project": one_line(session.project),
            "branch": one_line(session.branch),
            "started": session.started_at,
            "ended": session.ended_at,
            "models": [one_line(model) for model in session.models],
            "tokens": session.tokens,
            "cost_usd": session.cost_usd,
            "tags": [one_line(tag) for tag in session.tags],
            "pinned": session.pinned,
        }
        yield "---"
        for name, value in values.items():
            if isinstance(value, datetime):
                yield f"{name}: {value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
            elif name == "cost_usd":
                yield f"{name}: {'null' if value is None else plain(value)}"
            else:
                yield f"{name}: {_NOT_IN_FRONT.sub(_escaped, json.dumps(value, ensure_ascii=False))}"
        yield "---"
        yield f"\n# {escape(title)}\n"
        facts = [*session_counts(session), *changed_lines(session)]
        if session.started_at is not None:
            facts.insert(0, self._time(session.started_at))
        if spent := session_cost(session):
            facts.append(spent)
        yield f"{code_span(one_line(session.project)) or 'no project'}, {', '.join(facts)}"
        for note in session.notes:
            # GitHub and Obsidian show it as a box.
            yield f"\n> [!NOTE]\n{quoted(clean(note))}"

    def selection(self, part: Selection) -> Iterator[str]:
        from hansard.thread.thread import on_branch

        if part.thread.agent is not None:
            yield f"\n{self.agent_words(part.thread.agent)}"
        if part.earlier:
            yield f"\n*{many(part.earlier, 'earlier turn')} not shown*"
        for turn in part.turns:
            chosen = turn if part.branch is None else on_branch(turn, part.branch)
            if chosen.items:
                yield from self.turn(chosen)
        if part.later:
            yield f"\n*{many(part.later, 'later turn')} not shown*"
        yield from self.rest(part.thread.not_shown)

    def rest(self, records: dict[str, int]) -> Iterator[str]:
        counts = not_shown(self.hidden, records)
        self.hidden.clear()
        if counts:
            yield f"\n---\n\n*Not shown: {escape(counts)}.*"

    # -- turns and items

    def turn(self, turn: Turn, mark: str = "##") -> Iterator[str]:
        facts = [self._time(turn.started_at)] if turn.started_at is not None else []
        if turn.api_messages:
            facts.append(dollars(turn.cost_usd))
        tail = f" ({', '.join(facts)})" if facts else ""
        yield self._put(f"\n{mark} {turn.number}. {escape(_heading(turn))}{tail}\n")
        if measures := _measures(turn):
            yield self._put(f"*{', '.join(measures)}*")
        for item in turn.items:
            yield from self.item(item)

    def item(self, item: Item) -> Iterator[str]:
        if not self.depth.shows(item.kind):
            self.hidden[item.kind] += 1
            return
        if item.branch != self.branch:
            self.branch = item.branch
            words = f"Branch {item.branch}, which was replaced:" if item.branch else "How it continued:"
            yield self._put(f"\n*{words}*")
        text = "\n".join(part.text for part in item.parts if isinstance(part, (Plain, Prose, Code, Console)))
        text = clean(text).strip("\n")
        if item.kind == "tool":
            yield from self._tool(item)
            return
        if item.kind == "reply":
            yield self._prose(text)
        elif item.kind == "prompt":
            if item.queued:
                yield self._put(f"\n*Queued while {self.speaker} was working*")
            yield self._put(f"\n{quoted(text)}" if text else "")
        elif item.kind in ("command", "bash"):
            yield self._put(f"\n{code_span(one_line(text))}")
        elif item.kind == "compaction":
            yield self._put(f"\n---\n\n*{escape(one_line(text))}*")
        elif item.kind == "error":
            yield self._put(f"\n**Error:** {escape(one_line(text))}")
        elif item.kind == "interruption":
            yield self._put(f"\n*{escape(one_line(text))}*")
        elif item.kind in ("thinking", "summary"):
            label = "Thinking" if item.kind == "thinking" else "Summary of what came before"
            yield from self._folded(label, self._prose(self._brief(text)))
        else:
            label = _LABELS.get(item.kind, one_line(item.kind).capitalize())
            yield self._put(f"\n*{escape(label)}*\n\n{fenced(self._brief(text))}")
        for part in item.parts:
            if isinstance(part, Picture):
                yield self._put(f"\n{self._image(part)}")

    def _tool(self, item: Item) -> Iterator[str]:
        words = call_facts(item.facts)
        facts = f" ({', '.join(words)})" if words else ""
        subject = code_span(fit(one_line(item.subject), _SUBJECT))
        yield self._put(f"\n**{escape(one_line(item.title))}**{' ' + subject if subject else ''}{facts}")
        full = self.depth.is_full
        is_told = item.thread is not None and bool(item.thread.turns)  # it begins with the instructions
        for part in item.parts:
            if (full or isinstance(part, Checklist) or item.facts.kind == "plan") and not (
                repeats_subject(part, item) or (is_told and isinstance(part, Plain))
            ):
                yield from self._part(part)
        for part in item.results:
            yield from self._part(part, result=True)
        if item.thread is not None:
            yield from self._agent(item.thread)

    def _agent(self, thread: display.DisplayThread) -> Iterator[str]:
        if not thread.turns:
            yield self._put(f"\n{self.agent_words(thread.agent)}")
            return
        inner = _Drawing(self.depth, self.picture, self.zone, self.speaker, min(self.levels + 1, _DEEPEST))
        yield self._put("")
        yield inner._put(self.agent_words(thread.agent))
        for turn in thread.turns:
            if len(thread.turns) > 1:
                yield inner._put(f"\n**{turn.number}.** *{', '.join(_measures(turn))}*")
            for item in turn.items:
                yield from inner.item(item)
        counts = not_shown(inner.hidden, thread.not_shown)
        if counts:
            yield inner._put(f"\n*Not shown: {escape(counts)}.*")

    def agent_words(self, agent: object) -> str:
        from hansard.model.threads import Agent

        if not isinstance(agent, Agent):
            return "**Subagent**"
        about = ": ".join(filter(None, (one_line(agent.agent_type), one_line(agent.description))))
        counts = ", ".join(agent_counts(agent))
        return f"**Subagent** {escape(about)} ({code_span(one_line(agent.agent_id))}, {counts})"

    # -- parts

    def _part(self, part: Part, *, result: bool = False) -> Iterator[str]:
        match part:
            case Picture():
                yield self._put(f"\n{self._image(part)}")
            case Facts():
                pairs = [f"{escape(one_line(name))} {code_span(one_line(value))}" for name, value in part.pairs]
                yield self._put("\n" + ", ".join(pairs))
            case Plain() if not result and len(part.text) < _SUBJECT and "\n" not in part.text:
                yield self._put(f"\n*{escape(one_line(part.text))}*")
            case Checklist():
                yield self._put("\n" + "\n".join(_todo(state, text) for state, text in part.items))
            case Prose() if not result:
                yield self._prose(clean(part.text).strip("\n"))
            case Diff():
                yield from self._block(part.text, "diff", "changes", result=result)
            case Code():
                yield from self._block(part.text, part.language, "content", result=result)
            case Plain() | Console() | Prose():
                yield from self._block(part.text, "", "result" if result else "text", result=result)

    def _block(self, text: str, language: str, label: str, *, result: bool) -> Iterator[str]:
        text = clean(text).strip("\n")
        if not text:
            return
        language = language if _LANGUAGE.fullmatch(language) else ""
        count = text.count("\n") + 1
        block = self._put(fenced(self._brief(text), language))
        if self.depth.is_full and result and count > _OPEN_LINES:
            yield from self._folded(f"{label}, {many(count, 'line')}", block)
        else:
            yield self._put("")
            yield block

    def _folded(self, label: str, block: str) -> Iterator[str]:
        yield self._put(f"\n<details>\n<summary>{html.escape(one_line(label))}</summary>\n")
        yield block
        yield self._put("\n</details>")

    def _prose(self, text: str) -> str:
        return self._put("") + "\n" + prose(text, self.levels) if text else self._put("")

    def _image(self, part: Picture) -> str:
        address = self.picture(part) if self.picture is not None and part.data else None
        kind = one_line(part.media_type) or "image or document"
        if address is None:
            return f"*[{escape(kind)}]*"
        address = re.sub(
            r"[^A-Za-z0-9_./~-]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), address
        )
        return f"{'!' if kind.startswith('image/') else ''}[{escape(kind)}]({address})"

    def _brief(self, text: str) -> str:
        rows = text.split("\n")
        if self.depth.is_full or len(rows) <= _BRIEF_LINES:
            return text
        return "\n".join([*rows[:_BRIEF_LINES], f"… {many(len(rows) - _BRIEF_LINES, 'more line')}"])

    def _put(self, text: str) -> str:
        return nested(text, self.levels)

    def _time(self, moment: datetime) -> str:
        try:
            here = moment.astimezone(self.zone)
        except (OverflowError, OSError, ValueError):
            here = moment
        return f"{here.year:04}-{here:%m-%d %H:%M}"


def _escaped(sign: re.Match[str]) -> str:
    return f"\\u{ord(sign[0]):04x}"


def _heading(turn: Turn) -> str:
    for item in turn.items:
        if item.kind in TYPED:
            words = next(
                (part.text for part in item.parts if isinstance(part, (Plain, Code)) and part.text.strip()), ""
            )
            return fit(one_line(words[:1000]), _HEADING) or "(no text)"
    return "(before the first prompt)" if turn.number == 1 else "(no prompt)"


def _measures(turn: Turn) -> list[str]:
    facts, given = turn_facts(turn)
    if turn.api_messages:
        facts += [many(turn.api_messages, "message"), f"{short(given)} tokens in, {short(turn.tokens.output)} out"]
    return facts


def _todo(state: str, text: str) -> str:
    words = escape(one_line(text))
    if state == "in_progress":
        words = f"**{words}** (in progress)"
    elif state == "deleted":
        words = f"~~{words}~~"
    return f"- {_BOXES.get(state, '[ ]')} {words}"

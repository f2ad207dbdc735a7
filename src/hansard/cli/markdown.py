"""A conversation as Markdown that stays what it is: text of a transcript can neither leave its place nor become HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hansard.cli.calls import call_name, input_text, key_argument, output_text
from hansard.cli.reading import not_shown, notice
from hansard.cli.terminal import clean, fit, one_line
from hansard.cli.words import full as full_time
from hansard.cli.words import many, span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from hansard.model import Conversation, Entry, Session, ToolCall

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_ODD_FENCE = re.compile(r"^[^`~\n]+(```|~~~)", re.MULTILINE)
_RUNS = re.compile(r"`+")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_BRIEF_LINES = 20
_LIMIT = 120


def markdown_lines(session: Session, conversation: Conversation, *, thinking: bool, tools: str) -> Iterator[str]:
    """The lines of the document."""
    hidden: Counter[str] = Counter()
    yield from _head(session, conversation)
    speaker = ""
    for entry in conversation.entries:
        if (entry.kind == "thinking" and not thinking) or (entry.kind == "tool" and tools == "none"):
            hidden["thinking" if entry.kind == "thinking" else "tool calls"] += 1
            continue
        who = _speaker(entry, conversation)
        if who and (who != speaker or entry.kind == "prompt"):
            where = f" (branch {entry.branch})" if entry.branch else ""
            yield f"\n## {who}{where}"
            yield f"\n*{full_time(entry.at)}{', queued' if entry.queued else ''}*"
        speaker = who or speaker
        yield ""
        yield from _entry(entry, session, tools)
    counts = not_shown(conversation, hidden)
    if counts:
        yield f"\n---\n\nNot shown: {escape(counts)}."


def _head(session: Session, conversation: Conversation) -> Iterator[str]:
    agent = next((item for item in conversation.agents if item.agent_id == conversation.agent_id), None)
    title = one_line(session.title[:400]) or "(untitled)"
    yield f"# {escape(one_line(agent.description) or 'Subagent' if agent is not None else title)}"
    yield ""
    facts = {
        "Session": session.session_id,
        "Subagent": conversation.agent_id or "",
        "Project": session.project,
        "Branch": session.branch,
        "Time": span(session.started_at, session.ended_at),
        "Models": ", ".join(session.models),
        "Client": session.version,
    }
    for name, value in facts.items():
        if value:
            yield f"- {name}: {escape(one_line(value))}"
    yield f"- {many(session.prompts, 'prompt')}, {many(session.messages, 'message')}, {many(session.tool_calls, 'tool call')}"


def _speaker(entry: Entry, conversation: Conversation) -> str:
    if entry.kind in ("prompt", "command", "bash"):
        return "Task" if conversation.agent_id else "You"
    if entry.kind in ("reply", "thinking", "tool"):
        return "Agent" if conversation.agent_id else "Claude"
    return ""


def _entry(entry: Entry, session: Session, tools: str) -> Iterator[str]:
    text = clean(entry.text).strip("\n")
    if entry.kind == "tool" and entry.tool is not None:
        yield from _tool(entry.tool, session, tools)
    elif entry.kind == "reply":
        yield contained(text)
    elif entry.kind == "prompt":
        yield quoted(text)
    elif entry.kind == "thinking":
        yield f"*Thinking*\n\n{quoted(text)}"
    elif entry.kind in ("command", "bash"):
        yield code_span(one_line(text))
    elif entry.kind == "compaction":
        yield f"---\n\n*{escape(one_line(text))}*"
    elif entry.kind == "error":
        yield f"**Error:** {escape(one_line(text))}"
    elif entry.kind == "interruption":
        yield f"*{escape(one_line(text))}*"
    else:
        yield f"*{escape(entry.kind.capitalize())}*\n\n{fenced(_brief(notice(text), tools))}"
    if entry.images:
        yield f"\n*[{many(entry.images, 'image or document', 'images or documents')}]*"


def _tool(call: ToolCall, session: Session, tools: str) -> Iterator[str]:
    argument = fit(key_argument(call, session.cwd), _LIMIT)
    facts = [f"+{call.added} -{call.removed}"] if call.change is not None else []
    facts += ["failed"] if call.is_error else []
    facts += ["no result"] if call.output is None else []
    tail = f" ({', '.join(facts)})" if facts else ""
    yield f"**{escape(call_name(call))}**{' ' + code_span(argument) if argument else ''}{tail}"
    if tools == "full" and (given := input_text(call)):
        yield f"\n{fenced(given)}"
    if call.patch is not None:
        yield f"\n{fenced(_brief(clean(call.patch), tools), 'diff')}"
    output = output_text(call)
    if output and (call.patch is None or call.is_error or tools == "full"):
        yield f"\n{fenced(_brief(output, tools))}"
    if call.has_image:
        yield "\n*[image]*"
    if call.agent_id is not None:
        yield f"\n*Subagent {escape(one_line(call.agent_id))}*"


def _brief(text: str, tools: str) -> str:
    lines = text.split("\n")
    if tools == "full" or len(lines) <= _BRIEF_LINES:
        return text
    return "\n".join([*lines[:_BRIEF_LINES], f"… {many(len(lines) - _BRIEF_LINES, 'more line')}"])


def escape(text: str) -> str:
    """One line of text that means nothing to Markdown."""
    return _SPECIAL.sub(r"\\\1", text).replace("&", "&amp;")


def _longest_run(text: str) -> int:
    return max(map(len, _RUNS.findall(text)), default=0)


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code_span(text: str) -> str:
    """Inline code, whatever backticks it has."""
    if not text:
        return ""
    ticks = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def quoted(text: str) -> str:
    """Markdown in a quotation: nothing in it reaches beyond its end, and its HTML is text."""
    for attempt in (text, _without_tags(text)):
        if not _has_html(marked := _quotation(attempt)):
            return marked
    return _quotation(_TAG.sub("&lt;", text))


def contained(text: str) -> str:
    """Markdown whose HTML is text and whose code blocks end with it; what cannot be closed with certainty is quoted."""
    if _has_html(text):
        escaped = _without_tags(text)
        text = escaped if not _has_html(escaped) else _TAG.sub("&lt;", text)
    if _ends(text):
        return text
    fence = "`" * max(3, _longest_run(text) + 1)
    closed = next((text + end for end in ("\n" + fence, "\n~~~~~~") if _ends(text + end)), None)
    return closed if closed is not None else _quotation(text)


def _quotation(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


_parser: MarkdownIt | None = None


def _tokens(text: str) -> list[Token] | None:
    """How a page with this text will be read; None where the parser gives up, as it does on some hostile text."""
    global _parser  # noqa: PLW0603 - made once, and only for Markdown, since it takes a while to import
    if _parser is None:
        from markdown_it import MarkdownIt

        _parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    try:
        return _parser.parse(text)
    except (IndexError, RecursionError, ValueError):
        return None


def _has_html(text: str) -> bool:
    if not _TAG.search(text):
        return False
    tokens = _tokens(text)
    if tokens is None:
        return True
    every = (inner for token in tokens for inner in (token, *(token.children or ())))
    return any(token.type in ("html_block", "html_inline") for token in every)


def _ends(text: str) -> bool:
    """Whether what is written after a text is outside of it: only an open code block can reach that far."""
    if "```" not in text and "~~~" not in text:
        return True
    tokens = _tokens(f"{text}\n\n## After\n")
    return tokens is not None and len(tokens) > 2 and tokens[-3].type == "heading_open" and tokens[-3].level == 0


def _without_tags(text: str) -> str:
    """Text with its tags escaped, but for code that is certain to be code.

    Fences count at the beginning of a line, in a text without any that is indented, quoted or in a list, since those may
    end early. In a text with such, every tag is escaped, also inside code.
    """
    trusted = not _ODD_FENCE.search(text)
    fence = ""
    clean_so_far = True  # whether every backtick of this paragraph has found its partner
    lines = []
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            stripped = line.strip(" ")
            if len(line) - len(line.lstrip(" ")) < 4 and set(stripped) == {fence[0]} and len(stripped) >= len(fence):
                fence = ""
            lines.append(line if trusted else _TAG.sub("&lt;", line))
            continue
        if mark:
            fence = mark[1]
            lines.append(_TAG.sub("&lt;", line))
            continue
        if not line.strip():
            clean_so_far = True
            lines.append(line)
            continue
        escaped, balanced = _escape_line(line, trust=trusted and clean_so_far and "|" not in line)
        clean_so_far = clean_so_far and balanced
        lines.append(escaped)
    return "\n".join(lines)


def _escape_line(line: str, *, trust: bool) -> tuple[str, bool]:
    """A line with its tags escaped outside inline code, and whether every run of backticks in it was paired."""
    parts: list[str] = []
    place, balanced = 0, True
    while (opening := _RUNS.search(line, place)) is not None:
        before = line[place : opening.start()]
        parts.append(_TAG.sub("&lt;", before))
        if (
            len(before) - len(before.rstrip("\\"))
        ) % 2:  # the first backtick is escaped: what the others do is uncertain
            balanced = trust = False
        closing = next((run for run in _RUNS.finditer(line, opening.end()) if len(run[0]) == len(opening[0])), None)
        if closing is None or not balanced:
            balanced = False
            parts.append(opening[0])
            place = opening.end()
            continue
        code = line[opening.start() : closing.end()]
        parts.append(code if trust else _TAG.sub("&lt;", code))
        place = closing.end()
    parts.append(_TAG.sub("&lt;", line[place:]))
    return "".join(parts), balanced

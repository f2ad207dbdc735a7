"""Claude Code as a client: the functions of this folder behind one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hansard.clients import CLAUDE_CODE
from hansard.clients.claude_code.layout import LAYOUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hansard.clients.lines import Lines
    from hansard.clients.protocol import (
        EntryReader,
        Fold,
        ListedSession,
        PathInfo,
        Running,
        SeenMessage,
        SideContent,
        TextFold,
    )
    from hansard.clients.state import State
    from hansard.clients.texts import RecordTexts
    from hansard.clients.tools import ToolUse
    from hansard.clients.usage import Answer
    from hansard.model.permissions import PermissionFact
    from hansard.model.tools import ToolKind
    from hansard.sources.roots import Root


class ClaudeCode:
    """Claude Code; modules are imported when they are needed, since every command begins here."""

    name = CLAUDE_CODE
    speaker = "Claude"
    layout = LAYOUT
    permission_facts: frozenset[PermissionFact] = frozenset({"modes", "approvals", "denials"})
    cleans_by_records = False
    is_usage_first = False
    calls_have_messages = True
    sessions_own_files = True
    trace_lines: Literal["", "session", "all"] = (
        "all"  # older versions wrote those of subagents into the session's file
    )

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """CLAUDE_CONFIG_DIR, else the usual places that exist; and what the desktop app keeps."""
        from hansard.clients.claude_code.roots import default_root_paths, desktop_folders

        return default_root_paths(environ, home) + desktop_folders(environ, home)

    def open_root(self, path: str) -> Root:
        """A config directory or a projects directory as a root, or a UsageError that says why it is neither."""
        from hansard.clients.claude_code.roots import open_root

        return open_root(path)

    def cleanup_days(self, root: Root) -> int:
        """The setting `cleanupPeriodDays`, or what it is by default."""
        from hansard.clients.claude_code.roots import cleanup_period_days

        return cleanup_period_days(root)

    def running(self, root: Root) -> list[Running]:
        """The processes that left a note in sessions/."""
        from hansard.clients.claude_code.roots import running

        return running(root)

    def tells_running(self, root: Root) -> bool:
        """Versions before 2.1 leave no notes."""
        from hansard.clients.claude_code.roots import has_notes

        return has_notes(root)

    def path_info(self, path: str) -> PathInfo:
        from hansard.clients.claude_code.layout import path_info

        return path_info(path)

    def mentioned_results(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The files in tool-results/ that a part of a transcript points to."""
        from hansard.clients.claude_code.layout import TOOL_RESULT

        return TOOL_RESULT.findall(data)

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:
        from hansard.clients.claude_code.side_files import read_side_file

        return read_side_file(kind, path, data)

    def session_list(self, data: bytes) -> Iterable[ListedSession]:
        """The sessions that a sessions-index.json lists."""
        from hansard.clients.claude_code.side_files import session_list

        return session_list(data)

    def pasted(self, line: bytes) -> dict[str, Any]:
        """What a line of history.jsonl says of pastes."""
        from hansard.clients.claude_code.side_files import pasted

        return pasted(line)

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        from hansard.clients.lines import Lines

        return Lines(pieces, start)

    def fold(
        self, base: int, kind: str, sort_path: str, session_id: str, agent_id: str, state: State, seen: SeenMessage
    ) -> Fold:
        """The fold of a transcript, or of the prompt history."""
        if kind == "history":
            from hansard.clients.claude_code.history import HistoryFold

            return HistoryFold(base, state)
        from hansard.clients.claude_code.fold import Fold

        return Fold(
            base,
            path=sort_path,
            session_id=session_id,
            agent_id=agent_id,
            is_agent=kind in ("agent", "journal"),
            state=state,
            seen_message=seen,
        )

    def text_fold(self, kind: str, kept: bytes) -> TextFold:
        """The fold of a transcript's texts, or of the prompt history's."""
        if kind == "history":
            from hansard.clients.claude_code.history import HistoryTexts

            return HistoryTexts()
        from hansard.clients.claude_code.texts import TextFold

        return TextFold(kept, is_agent=kind == "agent")

    def texts(self, line: bytes, offset: int, *, is_aside: bool) -> list[RecordTexts]:
        from hansard.clients.claude_code.texts import line_texts

        return line_texts(line, offset, is_aside=is_aside)

    def entry_reader(self, *, is_agent: bool) -> EntryReader:
        from hansard.clients.claude_code.entries import EntryReader

        return EntryReader(is_agent=is_agent)

    def pictures(self, line: bytes, tool_use_id: str | None) -> Iterable[tuple[str, str]]:
        """The images and documents of a line, or of one result in it."""
        from hansard.clients.claude_code.entries import pictures

        return pictures(line, tool_use_id)

    def answer(self, line: bytes) -> Answer | None:
        """The answer that a line has or repeats."""
        from hansard.clients.claude_code.usage import read_answer

        return read_answer(line)

    def tool_kind(self, tool: str) -> ToolKind:
        from hansard.clients.claude_code.tools import tool_kind

        return tool_kind(tool)

    def tool_names(self, kind: ToolKind) -> Sequence[str]:
        from hansard.clients.claude_code.tools import tool_names

        return tool_names(kind)

    def tool_use(self, tool: str, given: Any, output: str) -> ToolUse:
        from hansard.clients.claude_code.tools import tool_use

        return tool_use(tool, given, output)

    def mentioned_plans(self, data: bytes) -> set[str]:
        """The files in plans/ that a part of a transcript points to."""
        from hansard.clients.claude_code.layout import PLAN

        return {f"plans/{name.decode('ascii')}" for name in PLAN.findall(data)}

    def mentioned_pastes(self, line: bytes) -> set[str]:
        """The files in paste-cache/ that a line of history.jsonl points to."""
        from hansard.clients.claude_code.side_files import pasted

        found = (paste.get("contentHash") for paste in pasted(line).values() if isinstance(paste, dict))
        return {f"paste-cache/{name}{end}" for name in found if isinstance(name, str) for end in ("", ".txt")}

    def line_names(self, line: bytes) -> tuple[list[str], str]:
        """Its sessionId, that of the session it was copied from, and its uuid."""
        from hansard.clients.claude_code.lines import line_names

        return line_names(line)

    def line_content(self, line: bytes) -> tuple[str, bytes]:
        """Of a title, a queued prompt or the like: its leafUuid, and its JSON without the names of sessions."""
        from hansard.clients.claude_code.lines import line_content

        return line_content(line)

    def blank_line(self, line: bytes) -> bytes:
        """A line without what it says."""
        from hansard.clients.claude_code.lines import blank_line

        return blank_line(line)

    def usable_line(self, line: bytes, changed: bytes) -> bytes:
        """A line whose thoughts and pictures are plain text if they were changed."""
        from hansard.clients.claude_code.lines import usable_line

        return usable_line(line, changed)

    def listed_sessions(self, data: bytes) -> Iterable[tuple[str, int, int]]:
        from hansard.clients.claude_code.side_files import listed_sessions

        return listed_sessions(data)

    def own_agent(self, agent_id: str) -> str:
        """The client suggests the next prompt in subagents that nobody started."""
        return "prompt suggestion" if agent_id.startswith("aprompt_suggestion-") else ""

    def notice(self, text: str) -> str:
        from hansard.clients.claude_code.tools import notice

        return notice(text)

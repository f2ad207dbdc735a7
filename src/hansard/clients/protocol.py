"""What Hansard asks a client: where its histories are, and what their files and records mean."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from hansard.files import is_alive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hansard.clients.entries import Readable, Skipped
    from hansard.clients.lines import Issue, Lines
    from hansard.clients.rows import Rows
    from hansard.clients.state import IssueRows, State
    from hansard.clients.texts import RecordTexts
    from hansard.clients.tools import ToolUse
    from hansard.clients.usage import Answer
    from hansard.model.permissions import PermissionFact
    from hansard.model.sessions import SessionCopy
    from hansard.model.tools import ToolKind
    from hansard.sources.roots import Layout, Root


NEVER_DELETED = 36_500
"""Days: "never", in what a calendar can still count."""


class Running(Struct, frozen=True):
    """A process of a client, as it says itself: it may have ended."""

    pid: int | None
    session_id: str | None

    def is_alive(self) -> bool:
        """Whether it is still running; assumed so if that cannot be determined."""
        return self.pid is None or is_alive(self.pid)


class PathInfo(Struct, frozen=True):
    """What the path of a file says; empty where it says nothing."""

    session_id: str = ""
    agent_id: str = ""
    project_dir: str = ""
    stem: str = ""  # the name of a transcript whose lines name its session; it names the session where they do not


class SideFacts(Struct, gc=False, omit_defaults=True):
    """What a file says about a session or a subagent; empty where it says nothing."""

    title: str = ""
    agent_type: str = ""
    description: str = ""
    parent_agent_id: str = ""
    tool_use_id: str = ""
    """The call that made the subagent."""


class SideContent(Struct, gc=False):
    """What the index takes from a file."""

    facts: SideFacts | None = None
    todos: list[tuple[str, str]] = []
    """(status, text) of each."""
    titles: dict[str, str] = {}
    """Of sessions, by their ids, where a file lists several."""
    folders: dict[str, str] = {}
    """Working directories of sessions, by `PathInfo.project_dir`, or by their ids where their paths have none."""


class ListedSession(Struct, gc=False):
    """What a client's own list says of a session."""

    session_id: str
    folder: str
    branch: str
    first_prompt: str
    title: str
    times: list[int]


SeenMessage = Callable[[str], int | None]
"""Which id a message of the transcript has whose rows were written before, by its key."""


class Taken(IntEnum):
    """What a line was."""

    ISSUES = 0
    RECORDS = 1
    INTACT = 2
    """A record and no more, as nearly every line is."""


class Fold(Protocol):
    """Turns the lines of one file into rows, in order; everything depends on the file's own bytes only."""

    rows: Rows
    issues: IssueRows
    messages: dict[str, int]
    """The ids of API messages by their keys; may be cleared once their rows are written."""
    seen_message: SeenMessage

    def take(self, line: bytes, offset: int) -> Taken:
        """Take the next line."""

    def take_rest(self, rest: bytes, offset: int) -> bool:
        """Take what follows the last line and is not finished yet; whether it gave anything."""

    def feed(self, item: Issue) -> None:
        """Take an issue that was found elsewhere."""


class LateTool(Struct, frozen=True):
    """A result whose tool was not known when it was read."""

    offset: int
    length: int
    number: int
    tool: str


class TextFold(Protocol):
    """Gives the texts of the lines of one file, in order."""

    late_tools: Sequence[LateTool]

    def take(self, line: bytes, offset: int) -> list[RecordTexts] | None:
        """The texts of the next line, None where it has no record."""

    def take_rest(self, rest: bytes, offset: int) -> list[RecordTexts]:
        """The texts of what follows the last line and is not finished yet."""

    def kept(self) -> bytes:
        """What the next fold of this file goes on from."""


class EntryReader(Protocol):
    """Reads lines for a reader."""

    @property
    def remembers(self) -> bool:
        """Whether `records` has to know the lines before those that it reads."""

    def remember(self, lines: Lines, kept: bytes) -> bytes:
        """What is to be known of some lines and of those before them, of which `kept` is what is known; none at the beginning."""

    def records(
        self, lines: Lines, sound: int, *, is_whole: bool, kept: bytes = b""
    ) -> Iterator[Readable | Skipped | Issue]:
        """The records of some lines; up to `sound` each line is known to be one whole record.

        With `is_whole` the lines go on to the end of the file; otherwise they may end inside of one. `kept` is what is known of
        the lines before them.
        """

    def line(self, line: bytes, offset: int) -> Iterable[Readable | Issue]:
        """The records of one line, and what of it cannot be read."""


class Said(Struct, frozen=True):
    """A message of a conversation that is continued in another client."""

    role: Literal["user", "assistant", "note"]  # a note is for the model, and nobody typed it
    text: str
    at: datetime


class SessionWriter(Protocol):
    """Writes new sessions of a client, which then resumes them; optional, see `writer_of`. Existing sessions are never touched."""

    variable: str
    """The environment variable that names the client's config directory."""
    usual: str
    """That directory in the home directory, if the variable is not set."""
    resume: tuple[str, ...]
    """The command that resumes a session, before its id."""

    def new_id(self) -> str:
        """An id for a new session."""

    def path(self, session_id: str, cwd: str) -> str:
        """Where the client looks for a session that was started in `cwd`: a path in its config directory."""

    def compose(self, session_id: str, cwd: str, title: str, said: Sequence[Said]) -> Iterable[bytes]:
        """The content of a file with this conversation."""


@runtime_checkable
class SessionCopier(SessionWriter, Protocol):
    """Also mends its client's own sessions, in copies."""

    def copy(
        self, read: Callable[[], Iterable[bytes]], session_id: str, new_id: str, *, slim: bool, join: bool
    ) -> tuple[SessionCopy, Callable[[], Iterable[bytes]]]:
        """Plan a mended copy of a session's file: how it differs, and its content.

        With `slim` old bulk becomes short notes; with `join` a later beginning continues what was before it.
        """


class Client(Protocol):
    """One client."""

    name: str
    """What the client is called in tables, queries and settings: lower case, words joined by hyphens."""
    speaker: str
    """What the model is called beside what it said."""
    layout: Layout
    """Which files of a root are kept."""
    permission_facts: frozenset[PermissionFact]
    """What its transcripts say about permissions; newer versions may say more than older ones."""
    cleans_by_records: bool
    """Whether it deletes by the time of a transcript's last record, not by the date of its file."""
    is_usage_first: bool
    """Whether a record that only states the usage of an answer comes before the answer, not after it."""
    calls_have_messages: bool
    """Whether it says which answer made each call; then a call without one is a repetition and does not count."""
    sessions_own_files: bool
    """Whether each file of a root is of one session or of none, as its path says, so that it can be freed or pushed with that session."""
    trace_lines: Literal["", "session", "all"]
    """Which of its lines the Hugging Face hub reads as they are: none, a session's own, or those of its subagents in the same file too."""

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """The directories of a user who named none, as far as they exist."""

    def open_root(self, path: str) -> Root | None:
        """A directory as a root, None where another client may have written it."""

    def cleanup_days(self, root: Root) -> int:
        """The age in days at which the client deletes a root's transcripts; `NEVER_DELETED` where it does not."""

    def running(self, root: Root) -> list[Running]:
        """The processes of the client that work in a root, some of which may have ended."""

    def tells_running(self, root: Root) -> bool:
        """Whether `running` has every process: its versions that work in a root say so."""

    def path_info(self, path: str) -> PathInfo:
        """What a path relative to the root says about the file."""

    def mentioned_results(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The files with tool results that a part of a transcript points to: the session's folder, and the file's name."""

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:
        """What a small file beside the transcripts says."""

    def session_list(self, data: bytes) -> Iterable[ListedSession]:
        """The sessions that a file of the kind `sessions_index` lists."""

    def pasted(self, line: bytes) -> dict[str, Any]:
        """What a line of the prompt history says of pasted texts, by their numbers."""

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """The records of a file whose bytes come in pieces, from an offset on at which a record begins."""

    def fold(
        self, base: int, kind: str, sort_path: str, session_id: str, agent_id: str, state: State, seen: SeenMessage
    ) -> Fold:
        """The fold of a file into rows; row ids are `base` plus an offset."""

    def text_fold(self, kind: str, kept: bytes) -> TextFold:
        """The fold of a file into texts, after what an earlier one kept."""

    def texts(self, line: bytes, offset: int, *, is_aside: bool) -> list[RecordTexts]:
        """The texts of a line by itself."""

    def entry_reader(self, *, is_agent: bool) -> EntryReader:
        """What reads a transcript for a reader; everything in a subagent's own file is the subagent's."""

    def pictures(self, line: bytes, tool_use_id: str | None) -> Iterable[tuple[str, str]]:
        """The images and documents of a line, or of one result in it: the media type, and the data in Base64."""

    def answer(self, line: bytes) -> Answer | None:
        """The model's answer in a line, or the one that it repeats; None if there is neither."""

    def tool_kind(self, tool: str) -> ToolKind:
        """What a tool is for."""

    def tool_names(self, kind: ToolKind) -> Sequence[str]:
        """The tools of a kind."""

    def tool_use(self, tool: str, given: Any, output: str) -> ToolUse:
        """What a call was given and gave, as it is shown."""

    def mentioned_plans(self, data: bytes) -> set[str]:
        """The files with plans that a part of a transcript points to, by their paths in the root."""

    def mentioned_pastes(self, line: bytes) -> set[str]:
        """The files with pasted texts that a line of the prompt history points to, by their paths in the root."""

    def line_names(self, line: bytes) -> tuple[list[str], str]:
        """The sessions that a line says it is of or was copied from, and the line's own id; nothing where it does not say."""

    def line_content(self, line: bytes) -> tuple[str, bytes]:
        """Of a line without an id: that of the line it is about, and what it says, which is the same in a copy of its session; empty if nothing."""

    def blank_line(self, line: bytes) -> bytes:
        """A line without what it says, and with all by which it has its place: as many bytes, with markers."""

    def usable_line(self, line: bytes, changed: bytes) -> bytes:
        """A line in which texts were replaced, changed so that the client can still go on with its session: as many bytes."""

    def listed_sessions(self, data: bytes) -> Iterable[tuple[str, int, int]]:
        """Where a file of the kind `sessions_index` says something of a session: its id, and from where to where."""

    def own_agent(self, agent_id: str) -> str:
        """What a subagent with this id does for the client itself, such as prompt suggestions; empty for any other."""

    def notice(self, text: str) -> str:
        """What a notification says to a reader."""

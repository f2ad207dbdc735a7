"""What is remembered of a transcript between two syncs: the fold's state, as small as its meaning allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import compress, decompress

import msgspec

from hansard.model.gate import PREVIEW

if TYPE_CHECKING:
    from collections.abc import Collection

    from hansard.clients.lines import Issue
    from hansard.clients.rows import IssueRow

# Of a real transcript none of these is ever reached; a damaged or hostile one must not make its state grow with it.
MAX_OPEN_CALLS = 1000
MAX_EARLY_RESULTS = 100
NAME_LENGTH = 200
PATH_LENGTH = 4096
_MAX_NAMES = 1000
_OTHERS = "(others)"
_MOST_RUNS = 8  # of issues that are open at a time: junk of several kinds may alternate
_DETAIL = 300  # characters of an issue
# The full text notes these as well, for lines whose text cannot be had, and the two are compared by place.
_APART = frozenset({"internal_error", "too_deep"})


class State(msgspec.Struct, gc=False, omit_defaults=True):
    """A pure function of a transcript's bytes up to a line border; any split of the bytes into syncs gives the same state."""

    lines: int = 0
    records: int = 0
    issues: int = 0
    kinds: dict[str, int] = {}
    drift: dict[str, tuple[int, int]] = {}  # "version\tkind\tfield" -> (how often, offset of the first)
    session_id: str = ""  # the first one stated in the file
    other_sessions: list[str] = []
    root_uuid: str = ""  # the first conversation record
    began: int | None = None  # time of the queue operation before it
    copied: int = 0  # bytes at the beginning that a fork copied from another session
    has_own: bool = False  # a user line that was not copied has been seen
    prompt_id: str = ""  # the promptId that all prompts have; empty when they differ
    first_ts: int | None = None
    last_ts: int | None = None
    cwd: str = ""  # the first one: it names the project
    branch: str = ""
    branches: list[str] = []
    version: str = ""  # the last one
    permission_mode: str = ""  # the last one, in the client's words
    versions: list[str] = []
    models: list[str] = []
    prompts: int = 0
    queued: int = 0
    commands: int = 0
    replies: int = 0
    messages: int = 0  # whose usage is stated
    answers: int = 0  # of a generic client's model: whatever it says until its calls have results
    is_answering: bool = False
    tool_calls: int = 0
    api_errors: int = 0
    compactions: int = 0
    hooks: int = 0
    images: int = 0
    custom_title: str = ""
    agent_name: str = ""
    ai_title: str = ""
    first_prompt: str = ""
    first_command: str = ""
    first_text: str = ""  # hash of the first user text: the only link of the oldest subagents to their call
    warmup: bool = False
    cleared: bool = False  # it began with /clear
    forked_from: str = ""
    continued_in: str = ""
    context_from: str = ""  # fork-context-ref: the parent session
    process_session: str = ""  # snake-case session_id when it differs: where the process started
    pull_requests: list[str] = []
    worktree_of: str = ""
    team: str = ""
    cost_state: str = ""
    open_calls: dict[str, OpenCall] = {}
    early_results: dict[str, Result] = {}
    open_answers: dict[str, OpenAnswer] = {}  # the last lines with ids that several answers may have, by their keys
    queue: list[str] = []
    issue_runs: list[IssueRun] = []  # equal issues of the last lines, which the next line may continue
    progress_threads: dict[str, str] = {}  # subagents in progress records: id -> uuid of the last line repeated
    asides: dict[str, str | None] = {}  # the last progress records: uuid -> the record that their chain hangs on
    agent_id: str = ""  # of a subagent's file, where its lines say so and its path does not
    agent_type: str = ""
    description: str = ""
    memory: Any = None  # of a generic client


class IssueRun(msgspec.Struct, gc=False, array_like=True):
    """Equal issues of consecutive lines."""

    offset: int  # of the first
    length: int  # up to the end of the last
    reason: str
    detail: str
    count: int


class Outcome(msgspec.Struct, gc=False, array_like=True):
    """What `toolUseResult` tells of a call's work, as far as any tool's is worth knowing."""

    agent_id: str | None
    persisted: str | None  # the file that holds the whole output
    path: str | None
    type: str | None
    has_patch: bool
    added: int
    removed: int
    content_lines: int | None


class Result(msgspec.Struct, gc=False, array_like=True):
    """A tool result; parallel calls may have theirs before them in the file (2.1.250, 2.1.310)."""

    id: int
    ts: int | None
    is_error: int
    outcome: Outcome | None
    mentioned: str | None  # the agent that its text names


class OpenCall(msgspec.Struct, gc=False, array_like=True):
    """A tool call whose result has not been seen yet."""

    id: int
    name: str
    ts: int | None
    path: str | None
    change: str | None
    added: int
    removed: int
    files: list[OpenCall] = []
    """The files that it changes, if these are several."""


class OpenAnswer(msgspec.Struct, gc=False, array_like=True):
    """The last line of an answer whose id may also be that of the next one."""

    key: str
    first_uuid: str  # of the first answer with the id
    uuid: str
    inputs: tuple[int, int, int]
    stop_reason: str
    prompts: int  # before the line


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(State).decode


def dump(state: State) -> bytes:
    """The state as it is stored beside the cursor."""
    return compress(_encode(state), 1)


def load(data: bytes) -> State:
    return _decode(decompress(data))


def note(names: list[str], name: str) -> None:
    name = name[:PATH_LENGTH]
    if name not in names and len(names) < _MAX_NAMES:
        names.append(name)


def countable(name: str, counts: Collection[str]) -> str:
    """The name to count a thing under: its own, or a common one when there are too many already."""
    name = name[:NAME_LENGTH]
    return name if name in counts or len(counts) < _MAX_NAMES else _OTHERS


def preview(text: str) -> str:
    """The beginning of a text on one line."""
    return " ".join(text[: 4 * PREVIEW].split())[:PREVIEW]


def digest(text: str) -> str:
    """A short hash of a text, to find the same one elsewhere."""
    from hashlib import blake2b  # brings OpenSSL, which a search or a page has no use for

    return blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class IssueRows:
    """Makes the rows of one transcript's issues, line by line.

    Equal issues of consecutive lines share a row, so that a file of junk costs neither rows nor time.
    """

    def __init__(self, base: int, state: State) -> None:
        self._base = base
        self._state = state
        self._line: list[IssueRow] = []  # issues of the current line, one for each place
        self._repeated: list[IssueRun] = []  # the runs that a line like the last one continues; none if it must be read

    def add(self, issue: Issue, rows: dict[int, IssueRow]) -> None:
        """Note an issue of the current line; a second one at the same place becomes part of the first one's detail."""
        row: IssueRow = (self._base + issue.offset, issue.length, issue.reason, issue.detail[:_DETAIL], 1)
        if self._line and self._line[-1][0] == row[0]:
            id_, length, reason, detail, _ = self._line.pop()
            more = f"{detail}; {issue.reason}: {issue.detail}".removeprefix("; ")
            row = (id_, max(length, issue.length), reason, more[:_DETAIL], 1)
        else:
            self._state.issues += 1
        self._line.append(row)
        rows[row[0]] = row

    def end_line(self, rows: dict[int, IssueRow], *, has_records: bool) -> None:
        """Join the issues of a line to equal ones of the lines before it; a line without issues ends all runs."""
        line, self._line = self._line, []
        if not line:
            self.end_runs()
            return
        joined = [self._join(row, rows) for row in line if row[2] not in _APART]
        is_simple = not has_records and len(line) == len(joined) == len({id(run) for run in joined})
        self._repeated = joined if is_simple else []

    def repeat_line(self, distance: int, rows: dict[int, IssueRow], times: int = 1) -> bool:
        """Note lines that are equal to the last one, each `distance` bytes after the one before; False if they must be read."""
        for run in self._repeated:
            run.length += distance * times
            run.count += times
            self._state.issues += times
            self._put(run, rows)
        return bool(self._repeated)

    def end_runs(self) -> None:
        """Let no later line join the lines so far."""
        self._repeated = []
        if self._state.issue_runs:
            self._state.issue_runs = []

    def _join(self, row: IssueRow, rows: dict[int, IssueRow]) -> IssueRun:
        id_, length, reason, detail, _ = row
        offset = id_ - self._base
        runs = self._state.issue_runs
        for run in runs:
            if run.reason == reason and run.detail == detail:
                del rows[id_]
                run.length = offset + length - run.offset
                run.count += 1
                self._put(run, rows)
                return run
        if len(runs) == _MOST_RUNS:
            runs.clear()
        runs.append(IssueRun(offset, length, reason, detail, 1))
        return runs[-1]

    def _put(self, run: IssueRun, rows: dict[int, IssueRow]) -> None:
        id_ = self._base + run.offset
        rows[id_] = (id_, run.length, run.reason, run.detail, run.count)

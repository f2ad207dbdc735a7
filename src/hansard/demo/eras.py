"""What sets the transcripts of one range of client versions apart from the next."""

from dataclasses import dataclass, replace
from enum import StrEnum


class Agents(StrEnum):
    """Where the lines of a subagent go."""

    INLINE = "inline"  # into the main file, isSidechain, without an agentId
    BESIDE = "beside"  # agent-<7 hex>.jsonl next to the sessions
    FOLDER = "folder"  # <session>/subagents/


class Regime(StrEnum):
    """Which usage the lines of one answer carry."""

    MIXED = "mixed"  # a slow stream keeps the opening figures, a fast one the final ones
    OPENING = "opening"  # always the figures the stream opened with, stop_reason null
    FINAL = "final"  # the final figures, on every line


class Spill(StrEnum):
    """What becomes of a tool output over 30,000 characters."""

    CUT = "cut"  # cut off, the rest is lost
    BY_CALL = "by_call"  # tool-results/toolu_<id>.txt, the whole output also in the twin
    BY_TASK = "by_task"  # tool-results/<9 characters>.txt


@dataclass(frozen=True, slots=True)
class Era:
    """The habits of a range of client versions, named after the version they were measured on."""

    version: str
    since: tuple[int, ...]
    models: tuple[str, ...]
    small_model: str
    agents: Agents
    agent_tool: str
    regime: Regime
    spill: Spill
    envelope_first: bool  # cwd, sessionId ... stand before the message, not after it
    own_parents: bool  # each tool result hangs on its own tool_use line
    snapshots: bool  # file-history-snapshot lines
    progress: bool  # progress lines
    attachments: bool  # attachment lines
    requests: bool  # api-request lines, cost-state, tools-used and the like
    arrows: bool  # Read numbers its lines with an arrow, not a tab
    todo_files: bool  # todos/, not tasks/
    transcript_mode: int
    folder_mode: int


_1_0_128 = Era(
    version="1.0.128",
    since=(0,),
    models=("claude-sonnet-4-20250514", "claude-opus-4-1-20250805"),
    small_model="claude-3-5-haiku-20241022",
    agents=Agents.INLINE,
    agent_tool="Task",
    regime=Regime.MIXED,
    spill=Spill.CUT,
    envelope_first=True,
    own_parents=False,
    snapshots=False,
    progress=False,
    attachments=False,
    requests=False,
    arrows=True,
    todo_files=True,
    transcript_mode=0o644,
    folder_mode=0o700,
)
# Each era is the one before it with what changed.
_2_0_76 = replace(
    _1_0_128,
    version="2.0.76",
    since=(2, 0, 28),
    models=("claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"),
    small_model="claude-haiku-4-5-20251001",
    agents=Agents.BESIDE,
    snapshots=True,
    transcript_mode=0o600,
)
_2_1_20 = replace(
    _2_0_76,
    version="2.1.20",
    since=(2, 1, 12),
    models=("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929"),
    agents=Agents.FOLDER,
    regime=Regime.OPENING,
    spill=Spill.BY_CALL,
    own_parents=True,
    progress=True,
)
_2_1_112 = replace(
    _2_1_20,
    version="2.1.112",
    since=(2, 1, 90),
    models=("claude-opus-4-7", "claude-sonnet-4-6"),
    agent_tool="Agent",
    regime=Regime.FINAL,
    spill=Spill.BY_TASK,
    envelope_first=False,
    progress=False,
    attachments=True,
    arrows=False,
    todo_files=False,
    folder_mode=0o755,
)
_2_1_325 = replace(
    _2_1_112,
    version="2.1.325",
    since=(2, 1, 248),
    models=("claude-opus-5-5", "claude-sonnet-5-5"),
    small_model="claude-haiku-5-5",
    requests=True,
)
ERAS = (_1_0_128, _2_0_76, _2_1_20, _2_1_112, _2_1_325)


def era_of(version: str) -> Era:
    """Give the era a client version belongs to: `era_of("2.1.39").version == "2.1.20"`."""
    numbers = tuple(int(part) for part in version.split("."))
    return [era for era in ERAS if era.since <= numbers][-1]

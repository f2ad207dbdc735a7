"""The line of a branch: what a session would have been, had it gone on with a prompt that was replaced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hansard.errors import NotFound

if TYPE_CHECKING:
    from hansard.thread.reader import ThreadReader


class Choice(NamedTuple):
    """A branch that can be chosen, and how it begins."""

    branch: int
    offset: int  # where it begins; of branch 0: where the first fork is
    text: str


@dataclass(frozen=True, slots=True)
class BranchLine:
    """A branch with all that it hangs on: for each branch of the line where it was left, None for the chosen one."""

    branch: int = 0
    left: dict[int, int | None] = field(default_factory=lambda: {0: None})

    def holds(self, branch: int, offset: int) -> bool:
        """Whether what stands at a place is on the line."""
        if branch not in self.left:
            return False
        end = self.left[branch]
        return end is None or offset < end


def find_line(thread: ThreadReader, branch: int) -> BranchLine:
    """The line of a branch; each fork on the way up is left where the session went on otherwise."""
    if not branch:
        return BranchLine()
    left: dict[int, int | None] = {branch: None}
    step = branch
    while step:
        fork = next((fork for fork in thread.branches.forks if step in fork.branches[1:]), None)
        if fork is None:
            raise NotFound(f"there is no branch {branch} here; this thread has {_count(thread)}")
        step = fork.branches[0]
        if step in left:
            break
        left[step] = _place(thread, fork.uuids[0])
    return BranchLine(branch, left)


def fork_places(thread: ThreadReader) -> dict[str, int]:
    """Where the branches of a thread begin, by the ids of their first records."""
    return {uuid: _place(thread, uuid) for fork in thread.branches.forks for uuid in fork.uuids}


def list_choices(thread: ThreadReader) -> list[Choice]:
    """All branches of a thread with their first words, the one that the session went on with first."""
    choices: list[Choice] = []
    for fork in thread.branches.forks:
        for branch, uuid in zip(fork.branches[1:], fork.uuids[1:], strict=True):
            offset = _place(thread, uuid)
            row = thread.reader.one("SELECT substr(text, 1, 200) FROM prompts WHERE id = ?", (thread.low + offset,))
            choices.append(Choice(branch, offset, row[0] if row is not None else ""))
    return [Choice(0, _place(thread, thread.branches.forks[0].uuids[0]), ""), *choices] if choices else []


def _place(thread: ThreadReader, uuid: str) -> int:
    row = thread.reader.one(
        "SELECT min(id) FROM records WHERE uuid = ? AND id BETWEEN ? AND ?", (uuid, *thread.all_ids)
    )
    return int(row[0]) - thread.low if row is not None and row[0] is not None else 0


def _count(thread: ThreadReader) -> str:
    numbers = sorted(branch for fork in thread.branches.forks for branch in fork.branches[1:])
    return f"branches 0 to {numbers[-1]}" if numbers else "none but its own line"

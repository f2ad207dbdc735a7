"""Issues as rows: equal issues of consecutive lines share one, so that a file of junk costs neither rows nor time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.clients.state import IssueRun

if TYPE_CHECKING:
    from hansard.clients.records import Issue
    from hansard.clients.rows import IssueRow
    from hansard.clients.state import State

_MOST_RUNS = 8  # open at a time: junk of several kinds may alternate
_DETAIL = 300  # characters
# The full text notes these as well, for lines whose text cannot be had, and the two are compared by place.
_APART = frozenset({"internal_error", "too_deep"})


class IssueRows:
    """Makes the rows of one transcript's issues, line by line."""

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
        """The run that an issue continues, or begins."""
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

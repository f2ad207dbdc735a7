"""Lists of the secrets that were found: what each is, where it is, and how many sessions have it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from hansard.errors import Ambiguous, NotFound
from hansard.guard.detection import rules_version
from hansard.guard.kept_rules import kept_version
from hansard.guard.redaction import fingerprint
from hansard.guard.remedies import how_to_replace, rule_title
from hansard.model.secrets import ACCEPTED, FALSE_ALARM, OPEN, Secret, SecretPage, SecretPlace, SecretReport
from hansard.model.time import from_milliseconds
from hansard.secrets.counts import count_unscanned, unscanned
from hansard.secrets.redactor import find_value, read_value
from hansard.secrets.store import FILE, LOG, NAMED, open_findings
from hansard.storage import OFFSET_BITS
from hansard.storage.cursors import read_cursor, write_cursor
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.model.store_requests import SecretsRequest
    from hansard.query.reader import Reader
    from hansard.record.files import SecretState
    from hansard.record.store import Record

_SHORTEST_ID = 4
_COLUMNS = "fingerprint, rule, confidence, source, ref, offset, start, length, is_encoded, is_bare, times"


class Finding(NamedTuple):
    """A row of the findings."""

    fingerprint: str
    rule: str
    confidence: str
    source: str
    ref: int
    offset: int
    start: int
    length: int
    is_encoded: bool
    is_bare: bool
    times: int

    @property
    def row_id(self) -> int:
        """The id of the line in the index."""
        return (self.ref << OFFSET_BITS) + self.offset


class _Owner(NamedTuple):
    """The owner of a log, file or remark."""

    session_id: str
    agent_id: str
    path: str
    kind: str
    is_former: bool
    at: int | None = None


class Findings:
    """The findings of a store, joined with what the index and the record know of their places."""

    def __init__(self, home: str, reader: Reader, record: Record) -> None:
        self._home, self._reader, self._record = home, reader, record
        self._db = open_findings(home)
        self._owners: dict[tuple[str, int], _Owner] = {}

    def close(self) -> None:
        if self._db is not None:
            self._db.close()

    def rows(self, fingerprint: str | None = None) -> list[Finding]:
        """All findings, or those of one secret, in the order of the record."""
        if self._db is None:
            return []
        where, values = ("WHERE fingerprint = ?", (fingerprint,)) if fingerprint else ("", ())
        sql = f"SELECT {_COLUMNS} FROM findings {where} ORDER BY source DESC, ref, offset"
        return [Finding(*row) for row in self._db.execute(sql, values)]

    def unscanned(self) -> int:
        """Bytes of the record not yet searched with the current rules."""
        if self._db is None or self.rules != rules_version():
            return unscanned(self._record, 0, 0)
        return count_unscanned(self._home, self._record)

    @property
    def rules(self) -> str:
        """The version of the rules that the findings were made with; empty before the first scan."""
        return (
            "" if self._db is None else str(self._db.execute("SELECT value FROM meta WHERE name = 'rules'").get or "")
        )

    def find(self, name: str) -> str:
        """The fingerprint that begins with these digits."""
        if self._db is None:
            raise NotFound("nothing was searched for secrets yet: run `hansard secrets scan` first")
        name = name.strip("[]").rpartition(":")[2].lower()
        if len(name) < _SHORTEST_ID or not set(name) <= set("0123456789abcdef"):
            raise NotFound(f"{name!r} is not the id of a secret: `hansard secrets` lists them")
        sql = "SELECT DISTINCT fingerprint FROM findings WHERE fingerprint >= ? AND fingerprint < ?"
        found = [row[0] for row in self._db.execute(sql, (name, f"{name}g"))]
        if not found:
            raise NotFound(f"no secret has an id that begins with {name}: `hansard secrets --state all` lists them")
        if len(found) > 1:
            raise Ambiguous(
                f"{len(found)} secrets have ids that begin with {name}; give more of it: {', '.join(found[:5])}"
            )
        return str(found[0])

    # -- what findings belong to

    def owner(self, finding: Finding) -> _Owner:
        key = (finding.source, finding.ref)
        if key not in self._owners:
            self._load({finding.ref}, finding.source)
        return self._owners[key]

    def owners(self, findings: Iterable[Finding]) -> None:
        """Look up what many findings belong to."""
        refs: dict[str, set[int]] = defaultdict(set)
        for finding in findings:
            refs[finding.source].add(finding.ref)
        for source, some in refs.items():
            self._load(some, source)

    def _load(self, refs: set[int], source: str) -> None:
        wanted = to_json(list(refs))
        for ref in refs:
            self._owners[source, ref] = _Owner("", "", "", source, is_former=True)
        if source == LOG:
            sql = (
                "SELECT t.id, t.session_id, t.agent_id, t.path, t.kind, t.current, t.last_ts FROM json_each(?) j"
                " CROSS JOIN transcripts t ON t.id = j.value"
            )
            rows = list(self._reader.rows(sql, (wanted,)))
        elif source == FILE:
            sql = (
                "SELECT f.id, f.session_id, f.agent_id, f.path, f.kind, f.current, f.mtime FROM json_each(?) j"
                " CROSS JOIN side_files f ON f.id = j.value"
            )
            rows = list(self._reader.rows(sql, (wanted,)))
        elif source == NAMED:
            rows = [(ref, "", "", path, NAMED, 1, None) for ref, path in self._record.file_names() if ref in refs]
        else:
            rows = [
                (remark.id, remark.session_id, "", "", remark.kind, 1, None)
                for remark in self._record.remarks()
                if remark.id in refs
            ]
        for ref, session_id, agent_id, path, kind, current, at in rows:
            self._owners[source, ref] = _Owner(session_id, agent_id, path, kind, not current, at)

    def times(self, findings: Iterable[Finding]) -> dict[int, int]:
        """When lines were written, in milliseconds, by their ids in the index."""
        ids = to_json([finding.row_id for finding in findings if finding.source == LOG])
        sql = "SELECT r.id, r.ts FROM json_each(?) j CROSS JOIN records r ON r.id = j.value WHERE r.ts IS NOT NULL"
        times = dict(self._reader.rows(sql, (ids,)))
        sql = "SELECT p.id, p.ts FROM json_each(?) j CROSS JOIN prompts p ON p.id = j.value WHERE p.ts IS NOT NULL"
        return dict(self._reader.rows(sql, (ids,))) | times

    # -- places

    def place(self, finding: Finding, times: Mapping[int, int], projects: Mapping[str, str]) -> SecretPlace:
        owner = self.owner(finding)
        kind, tool, file, uuid, session_id = owner.kind, "", "", "", owner.session_id
        at = owner.at
        if finding.source == LOG:
            kind, tool, file, uuid, history = self._line(finding)
            kind, session_id = kind or owner.kind, session_id or history
            at = times.get(finding.row_id, owner.at)
        return SecretPlace(
            session_id=session_id,
            agent_id=owner.agent_id,
            project=projects.get(session_id, ""),
            kind=kind,
            tool=tool,
            file=file,
            transcript=owner.path,
            offset=finding.offset if finding.source == LOG else finding.start,
            uuid=uuid,
            at=None if at is None else from_milliseconds(at),
            times=finding.times,
            is_encoded=bool(finding.is_encoded),
            is_former=owner.is_former,
        )

    def _line(self, finding: Finding) -> tuple[str, str, str, str, str]:
        """Describe a line: its kind, tool, file and uuid, and the session that a line of a prompt history names."""
        first = finding.row_id
        row = self._reader.one(
            "SELECT coalesce(role, sub, kind), coalesce(uuid, ''), length FROM records WHERE id = ?", (first,)
        )
        if row is None:
            history = self._reader.one("SELECT coalesce(session_id, '') FROM prompts WHERE id = ?", (first,))
            return ("prompt", "", "", "", history[0]) if history is not None else ("", "", "", "", "")
        kind, uuid, length = row
        last = first + length
        for column, name in (("result_id", "result"), ("id", "call")):
            sql = f"SELECT tool, coalesce(path, '') FROM tool_calls WHERE {column} BETWEEN ? AND ? LIMIT 1"
            if (call := self._reader.one(sql, (first, last))) is not None:
                return name, call[0], call[1], uuid, ""
        return kind, "", "", uuid, ""

    def projects(self, session_ids: Iterable[str]) -> dict[str, str]:
        """The project of each session."""
        sql = "SELECT s.session_id, s.project FROM json_each(?) j CROSS JOIN sessions s ON s.session_id = j.value"
        return dict(self._reader.rows(sql, (to_json(sorted(set(session_ids))),)))


def list_secrets(findings: Findings, record: Record, request: SecretsRequest, session_id: str | None) -> SecretPage:
    """A page of secrets: open ones first, then the certain ones, then the latest."""
    rows = findings.rows()
    findings.owners(rows)
    times = findings.times(rows)
    states = record.secret_states()
    by_secret: dict[str, list[Finding]] = defaultdict(list)
    for row in rows:
        by_secret[row.fingerprint].append(row)
    projects = findings.projects(findings.owner(row).session_id for row in rows)
    wanted = _wanted(findings, request, session_id, projects)
    listed = []
    for secret_id, places in by_secret.items():
        state = states.get(secret_id)
        if request.state not in ("all", state.state if state else OPEN) or not wanted(places):
            continue
        listed.append(_secret(findings, secret_id, places, times, state))
    listed.sort(key=_order)
    made_for = ["secrets", request.state, request.confidence, request.rule, session_id, request.project]
    start = 0
    if request.cursor is not None:
        (last,) = read_cursor(request.cursor, made_for, str)
        start = next((number for number, one in enumerate(listed, 1) if one.secret_id == last), len(listed))
    shown = listed[start:] if request.limit is None else listed[start : start + request.limit]
    has_more = start + len(shown) < len(listed)
    return SecretPage(
        secrets=tuple(
            replace(one, example=findings.place(_first(findings, by_secret[one.secret_id]), times, projects))
            for one in shown
        ),
        total=len(listed),
        by_kind=tuple(Counter(one.title for one in listed).most_common()),
        next_cursor=write_cursor(made_for, (shown[-1].secret_id,)) if has_more and shown else None,
        unscanned_bytes=findings.unscanned(),
        rules=findings.rules,
        has_kept_rules=kept_version() is not None,
    )


def reveal(findings: Findings, record: Record, secret_id: str) -> str:
    """A secret itself."""
    key = record.secret_key()
    for row in sorted(findings.rows(secret_id), key=lambda row: row.is_encoded):
        place = (row.source, row.ref, row.offset + row.start, row.length)
        if (value := read_value(record, key, secret_id, *place)) is not None:
            return value
        if row.source == LOG and (value := find_value(record, key, secret_id, row.ref, row.offset)) is not None:
            return value
    raise NotFound("this secret is no longer where it was found: `hansard secrets show` names the places")


def decided(record: Record, values: Iterable[str]) -> set[str]:
    """Those of some secrets that may stay, or are none."""
    key, states = record.secret_key(), record.secret_states()
    allowed = {secret_id for secret_id, state in states.items() if state.state in (ACCEPTED, FALSE_ALARM)}
    return {value for value in values if fingerprint(key, value) in allowed}


def _wanted(
    findings: Findings, request: SecretsRequest, session_id: str | None, projects: Mapping[str, str]
) -> Callable[[list[Finding]], bool]:
    def is_wanted(places: list[Finding]) -> bool:
        confidence, rule = _best(places)
        return (
            (request.confidence is None or confidence == request.confidence)
            and (request.rule is None or request.rule.lower() in rule)
            and (session_id is None or any(findings.owner(row).session_id == session_id for row in places))
            and (
                request.project is None
                or any(request.project in projects.get(findings.owner(row).session_id, "") for row in places)
            )
        )

    return is_wanted


def _best(places: Iterable[Finding]) -> tuple[str, str]:
    """The confidence and rule of the most certain finding."""
    return min((row.confidence, row.rule) for row in places)


def show_secret(findings: Findings, record: Record, secret_id: str) -> SecretReport:
    """One secret with every line and file of the record that holds it, and what to do about it."""
    rows = findings.rows(secret_id)
    findings.owners(rows)
    times = findings.times(rows)
    projects = findings.projects(findings.owner(row).session_id for row in rows)
    secret = _secret(findings, secret_id, rows, times, record.secret_states().get(secret_id))
    advice, page = how_to_replace(secret.rule)
    ordered = sorted(rows, key=lambda row: (findings.owner(row).is_former, row.source, row.ref, row.offset))
    return SecretReport(
        secret=replace(secret, example=findings.place(_first(findings, rows), times, projects)),
        advice=advice,
        page=page,
        places=tuple(findings.place(row, times, projects) for row in ordered),
    )


def _first(findings: Findings, places: list[Finding]) -> Finding:
    """The first place of a secret that still exists."""
    return min(
        places, key=lambda row: (findings.owner(row).is_former, row.is_encoded, row.source != LOG, row.ref, row.offset)
    )


def _secret(
    findings: Findings, secret_id: str, places: list[Finding], times: Mapping[int, int], state: SecretState | None
) -> Secret:
    confidence, rule = _best(places)
    dated = sorted(
        at
        for row in places
        if (at := times.get(row.row_id) if row.source == LOG else findings.owner(row).at) is not None
    )
    return Secret(
        secret_id=secret_id,
        rule=rule,
        title=rule_title(rule),
        confidence=confidence,
        state=OPEN if state is None else state.state,
        note="" if state is None else state.note,
        places=len(places),
        sessions=len({findings.owner(row).session_id for row in places} - {""}),
        first_at=from_milliseconds(dated[0]) if dated else None,
        last_at=from_milliseconds(dated[-1]) if dated else None,
    )


def _order(secret: Secret) -> tuple[bool, str, float, str]:
    last = secret.last_at.timestamp() if secret.last_at is not None else 0.0
    return secret.state != OPEN, secret.confidence, -last, secret.secret_id

"""`hansard usage`: for people, for programs and for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hansard.directories import config_path
from hansard.model.requests import DIMENSIONS
from hansard.render.format import cost, dollars
from hansard.render.terminal.tables import aligned
from hansard.render.text import width

from .conftest import OTHER, SESSION, Run, said, write_log

MODEL = "claude-opus-5-5"
STRANGE = "acme-\x1b[31mone\x1b]0;x\x07"
PRICES = f"""
[[prices]]
model = "{MODEL}"
input = 10
output = 50
"""
LATER = 1_777_723_200.0  # 2026-05-02T12:00:00Z


def configure(text: str) -> None:
    path = Path(config_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def answer(number: int, at: str, model: str = MODEL, session: str = SESSION, **more: Any) -> dict[str, Any]:
    """A line of an answer, with what it used."""
    cwd = "/src/tide" if session == SESSION else "/src/sail"
    line = said(number, "Done.", role="assistant", session=session, cwd=cwd)
    line["timestamp"] = at
    line["message"] |= {"model": model, **more}
    return line


@pytest.fixture
def spent(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dear answer, one that broke off late in the evening, and one of a model that nobody has a price for."""
    configure(PRICES)
    monkeypatch.setattr("time.time", lambda: LATER)
    dear = {
        "input_tokens": 1_000,
        "output_tokens": 2_000,
        "cache_read_input_tokens": 100_000,
        "cache_creation_input_tokens": 4_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 3_000, "ephemeral_1h_input_tokens": 1_000},
        "server_tool_use": {"web_search_requests": 2},
    }
    title = {"type": "ai-title", "aiTitle": '=1+"\x1b[31m2\x1b[0m', "sessionId": OTHER}
    write_log(
        root,
        SESSION,
        [
            said(1, "When is high tide?"),
            answer(2, "2026-05-01T10:00:00.000Z", usage=dear),
            answer(3, "2026-05-01T23:30:00.000Z", usage={"output_tokens": 10}, stop_reason=None),
        ],
    )
    write_log(
        root,
        OTHER,
        [
            said(1, "Wrap the sail", session=OTHER, cwd="/src/sail"),
            title,
            answer(2, "2026-05-02T08:00:00.000Z", STRANGE, OTHER, usage={"input_tokens": 1, "output_tokens": 7}),
        ],
        "-src-sail",
    )


def asked(run: Run, *args: str) -> Any:
    return json.loads(run("usage", *args, "--json").stdout)


@pytest.mark.usefixtures("spent")
def test_json_has_the_agreed_shape(run: Run) -> None:
    found = asked(run)
    assert set(found) == {"by", "timezone", "since", "until", "rows", "totals", "pricing", "unrecorded"}
    assert found["unrecorded"] is None
    first, second = found["rows"]
    figures = {
        "input_tokens": 1_000,
        "output_tokens": 2_010,
        "cache_read_tokens": 100_000,
        "cache_write_5m_tokens": 3_000,
        "cache_write_1h_tokens": 1_000,
        "web_searches": 2,
        "api_messages": 2,
        "lower_bound_messages": 1,
        "progress_only_messages": 0,
        "unpriced_messages": 0,
        "recorded_messages": 0,
        "understated_messages": 0,
        "cost_usd": "0.288",
        "cache_saved_usd": "0.9",
        "cache_extra_usd": "0.0175",
        "unpriced_models": [],
        "first_at": "2026-05-01T10:00:00.000Z",
        "last_at": "2026-05-01T23:30:00.000Z",
    }
    assert first == {"day": "2026-05-01", **figures}
    assert next(iter(first)) == "day"
    assert (second["cost_usd"], second["unpriced_models"], second["unpriced_messages"]) == (None, [STRANGE], 1)
    assert found["totals"]["cost_usd"] == "0.288"
    assert found["totals"]["output_tokens"] == 2_017
    assert found["pricing"]["source"] == "genai-prices"
    assert found["pricing"]["overrides"] == 1
    assert len(found["pricing"]["notes"]) >= 2


@pytest.mark.usefixtures("spent")
def test_flags_of_ccusage_are_accepted(run: Run) -> None:
    given = json.loads(run("daily", "-s", "20260502", "-u", "20260502", "--offline", "--json").stdout)
    assert [row["day"] for row in given["rows"]] == ["2026-05-02"]
    run("blocks", "-s", "20260501", "-O")


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("order", [(), ("--reverse",), ("--order", "desc"), ("--order", "desc", "--reverse")])
def test_a_limit_keeps_the_latest_times(run: Run, order: tuple[str, ...]) -> None:
    for by, latest in (("day", "2026-05-02"), ("hour", "2026-05-02T08:00Z"), ("day,model", "2026-05-02")):
        (row,) = asked(run, "--by", by, "-n", "1", *order)["rows"]
        assert row[by.partition(",")[0]] == latest
    costs = asked(run, "--sort", "cost", "-n", "1")["rows"]
    assert [row["day"] for row in costs] == ["2026-05-01"]


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            60,
            [
                "DAY         INPUT  OUTPUT  CACHE READ  TOKENS     COST",
                "2026-05-01   1.0k    2.0k        100k    107k  $0.29+",
                "2026-05-02      1       7           0       8        ?",
                "──────────────────────────────────────────────────────",
                "Total        1.0k    2.0k        100k    107k  $0.29+?",
            ],
        ),
        (
            80,
            [
                "DAY         MESSAGES  INPUT  OUTPUT  CACHE WRITE  CACHE READ  TOKENS     COST",
                "2026-05-01         2   1.0k    2.0k         4.0k        100k    107k  $0.29+",
                "2026-05-02         1      1       7            0           0       8        ?",
                "─────────────────────────────────────────────────────────────────────────────",
                "Total              3   1.0k    2.0k         4.0k        100k    107k  $0.29+?",
            ],
        ),
        (
            200,
            [
                "DAY         MESSAGES  INPUT  OUTPUT  CACHE WRITE  CACHE READ   TOKENS  SEARCHES  CACHE EXTRA  CACHE SAVED     COST",
                "2026-05-01         2  1,000   2,010        4,000     100,000  107,010         2        $0.02        $0.90  $0.29+",
                "2026-05-02         1      1       7            0           0        8         0            ?            ?        ?",
                "──────────────────────────────────────────────────────────────────────────────────────────────────────────────────",
                "Total              3  1,001   2,017        4,000     100,000  107,018         2        $0.02        $0.90  $0.29+?",
            ],
        ),
    ],
)
def test_the_table_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int, lines: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    table, _, notes = run("usage").stdout.partition("\n\n")
    assert table.splitlines() == lines
    assert notes.startswith("Prices: genai-prices ")
    assert ", 1 of your own + 1 of 3 messages have no final usage record" in " ".join(notes.split())
    assert "\n? 1 message of acme-one has no" in notes


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    several = ("day,model", "session,model,branch", "day,session,model,branch,tool", "project,subagent,agent")
    single = [name for name in DIMENSIONS if name != "group"] if columns == 40 else []  # no group is configured
    for number, by in enumerate((*several, *single)):
        text = run("usage", "--by", by, *(["--work", "--breakdown"] if number % 2 else [])).stdout
        assert max(map(width, text.splitlines())) <= columns
        assert "$0.29+?" in text or (columns == 40 and by.count(",") > 2)
        assert "\x1b" not in text


@pytest.mark.usefixtures("spent")
def test_several_dimensions(run: Run) -> None:
    rows = asked(run, "--by", "project,model")["rows"]
    assert [(row["project"], row["model"]) for row in rows] == [("/src/tide", MODEL), ("/src/sail", STRANGE)]
    (row, _) = asked(run, "--by", "session")["rows"]
    assert (row["session"], row["title"], row["project"]) == (SESSION, "When is high tide?", "/src/tide")
    text = run("usage", "--by", "session,model").stdout.splitlines()
    assert text[0].split()[:3] == ["SESSION", "TITLE", "MODEL"]
    assert text[1].split()[:5] == ["11111111", "When", "is", "high", "tide?"]
    assert text[2].startswith('22222222  =1+"2')


@pytest.mark.usefixtures("spent")
def test_a_zone_decides_what_is_a_day(run: Run) -> None:
    berlin = asked(run, "--timezone", "Europe/Berlin")
    assert [row["day"] for row in berlin["rows"]] == ["2026-05-01", "2026-05-02"]
    assert [row["api_messages"] for row in berlin["rows"]] == [1, 2]
    assert berlin["timezone"] == "Europe/Berlin"
    # Days that options name are those of the zone too, wherever it stands on the line.
    evening = asked(run, "--since", "2026-05-02", "--timezone", "Europe/Berlin")
    assert evening["totals"]["api_messages"] == 2
    assert evening["since"] == "2026-05-01T22:00:00.000Z"
    assert asked(run, "--until", "2026-05-01", "--timezone", "Europe/Berlin")["totals"]["api_messages"] == 1
    assert asked(run, "--since", "2026-05-02")["totals"]["api_messages"] == 1
    configure('timezone = "Asia/Tokyo"\n' + PRICES)
    assert asked(run)["timezone"] == "Asia/Tokyo"
    assert asked(run, "--timezone", "UTC")["timezone"] == "UTC"
    assert "- times in Asia/Tokyo\n" in run("usage").stdout


@pytest.mark.usefixtures("spent")
def test_filters(run: Run) -> None:
    assert asked(run, "--project", "sail")["totals"]["api_messages"] == 1
    assert asked(run, "--model", "opus")["totals"]["api_messages"] == 2
    assert asked(run, "-model:opus")["totals"]["api_messages"] == 1
    assert asked(run, "project:tide", "since:2026-05-01")["totals"]["api_messages"] == 2
    assert asked(run, "--mode", "recorded")["totals"]["cost_usd"] is None


@pytest.mark.usefixtures("spent")
def test_orders(run: Run) -> None:
    def days(*args: str) -> list[str]:
        return [row["day"] for row in asked(run, *args)["rows"]]

    assert days() == ["2026-05-01", "2026-05-02"]
    assert days("--order", "desc") == ["2026-05-02", "2026-05-01"]
    assert days("--sort", "cost") == ["2026-05-01", "2026-05-02"]
    assert days("--sort", "messages", "--order", "asc") == ["2026-05-02", "2026-05-01"]
    cut = run("usage", "--order", "desc", "--limit", "1")
    assert cut.stderr == "1 of 2 rows (the total covers all); --limit 0 shows all\n"
    assert [line.split()[0] for line in cut.stdout.splitlines()[:4]] == ["DAY", "2026-05-02", "─" * 77, "Total"]
    assert "107k" in cut.stdout.splitlines()[3]


@pytest.mark.usefixtures("spent")
def test_by_model_below_each_row(run: Run) -> None:
    text = run("usage", "--by", "month", "--breakdown").stdout.splitlines()
    assert [line.split()[0] for line in text[1:4]] == ["2026-05", "opus-5-5", "acme-one"]
    assert text[2].startswith("  opus-5-5")
    (row,) = asked(run, "--by", "month", "--breakdown")["rows"]
    assert [part["model"] for part in row["breakdown"]] == [MODEL, STRANGE]
    assert "breakdown" not in asked(run, "--by", "month")["rows"][0]


def test_what_tools_did(run_hard: Run) -> None:
    (row,) = json.loads(run_hard("usage", "--by", "month", "--work", "--json").stdout)["rows"]
    assert set(row["work"]) == {"calls", "errors", "duration_ms", "lines_added", "lines_removed"}
    header, first, *_ = run_hard("usage", "--by", "month", "--work").stdout.splitlines()
    assert {"CALLS", "ERRORS", "LINES"} <= set(header.split())
    assert f"+{row['work']['lines_added']} -{row['work']['lines_removed']}" in first


@pytest.mark.usefixtures("spent")
def test_csv(run: Run) -> None:
    raw = run("usage", "--by", "session", "--csv").stdout_bytes
    assert raw.count(b"\r\n") == 3
    rows = list(csv.DictReader(io.StringIO(raw.decode(), newline="")))
    assert [row["session"] for row in rows] == [SESSION, OTHER]
    assert rows[0]["cost_usd"] == "0.288"
    assert rows[0]["last_at"] == "2026-05-01T23:30:00.000Z"
    assert rows[1]["cost_usd"] == ""
    assert rows[1]["unpriced_models"] == "acme-one"
    assert rows[1]["title"] == "'=1+\"2"  # no formula, and nothing that a terminal obeys
    work = run("usage", "--csv", "--work", "--by", "tool").stdout.splitlines()
    assert work[0].endswith("calls,errors,duration_ms,lines_added,lines_removed")
    empty = run("usage", "--csv", "--match", "submarine", code=1).stdout_bytes
    assert empty.startswith(b"day,input_tokens,")
    assert empty.count(b"\r\n") == 1


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", "\uff1d1"])
def test_no_cell_is_a_formula(run: Run, root: Path, text: str) -> None:
    write_log(
        root,
        SESSION,
        [said(1, "Hi."), answer(2, "2026-05-01T10:00:00.000Z", usage={"output_tokens": 1}) | {"gitBranch": text}],
    )
    rows = csv.DictReader(io.StringIO(run("usage", "--by", "branch", "--csv", "project:tide").stdout, newline=""))
    assert [row["branch"][0] for row in rows] == ["'"]


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--by", "fortnight"], "cannot group usage by 'fortnight'; choose one of hour, day"),
        (["--by", "day,day"], "each dimension can be given only once"),
        (["--timezone", "Europe/Berln"], "did you mean Europe/Berlin?"),
        (["--since", "soon"], "invalid date 'soon'"),
        (["--json", "--csv"], "--json and --csv cannot be used together"),
        (["--csv", "--breakdown"], "cannot be used together: add model to --by"),
        (["--plot", "usage.pdf"], "ends in .png or .svg"),
        (["--chart", "bars", "--by", "tool"], "bars need a unit of time"),
        (["--check"], "no budget is set"),
        (["--mode", "guess"], "'guess' is not one of"),
        (["--sort", "name"], "'name' is not one of"),
        (["is:wet"], "invalid value 'wet' for is:"),
    ],
)
def test_what_makes_no_sense(run: Run, args: list[str], told: str) -> None:
    refused = run("usage", *args, code=2)
    assert told in refused.stderr
    assert refused.stdout == ""


@pytest.mark.usefixtures("spent")
def test_nothing_found(run: Run) -> None:
    nothing = run("usage", "--match", "submarine", code=1)
    assert (nothing.stdout, nothing.stderr) == ("", "hansard: no usage matches\n")
    typo = run("usage", "--breakdwn", code=2)
    assert "no such option '--breakdwn'. Did you mean '--breakdown'?" in typo.stderr
    empty = json.loads(run("usage", "--match", "submarine", "--json", code=1).stdout)
    assert empty["rows"] == []
    assert empty["totals"]["api_messages"] == 0


@pytest.mark.usefixtures("spent")
def test_colours_are_ours_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    painted = run("usage", "--by", "session,model", "--breakdown", "--color", "always").stdout
    assert set(re.findall("\x1b[^m]*m", painted)) <= {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[36m"}
    assert "\x1b" not in run("usage", "--by", "session,model").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("usage").stdout


# -- groups


@pytest.mark.usefixtures("spent")
def test_groups_of_the_configuration(run: Run) -> None:
    assert "no group is set: to set one, add for example [groups]" in run("usage", "--by", "group", code=2).stderr
    configure('[groups]\nsea = ["tide", "/src/sail"]\n')
    (row,) = asked(run, "--by", "group")["rows"]
    assert (row["group"], row["api_messages"]) == ("sea", 3)
    configure("[groups]\nsea = 1\n")
    assert "groups are lists of projects" in run("usage", code=2).stderr


# -- budgets


BUDGETS = """
[budgets]
day = 1
month = 0.3
[budgets.projects.tide]
month = 0.1
"""


@pytest.mark.usefixtures("spent")
def test_budgets_that_are_near_or_over_are_told(run: Run) -> None:
    configure(BUDGETS + PRICES)
    text = run("usage").stdout
    told = text.partition("BUDGET")[2].partition("\n\n")[0].splitlines()[1:]
    assert told == [
        "this month          ███████████░  $0.29+?  $0.30   96 %     $5.95  near",
        "this month in tide  ████████████  $0.29+   $0.10  288 %     $5.95  over",
    ]
    found = asked(run)["budgets"]
    assert [(item["period"], item["project"], item["state"]) for item in found] == [
        ("day", None, "ok"),
        ("month", None, "near"),
        ("month", "tide", "over"),
    ]
    assert found[2]["spent_usd"] == "0.288"
    assert (found[2]["until"], found[2]["forecast_usd"]) == ("2026-06-01T00:00:00.000Z", "5.95")
    assert found[0]["forecast_usd"] is None


@pytest.mark.usefixtures("spent")
def test_check_says_whether_a_budget_is_over(run: Run) -> None:
    configure(BUDGETS + PRICES)
    over = run("usage", "--check", code=1)
    assert [line.split()[-1] for line in over.stdout.splitlines()[1:]] == ["ok", "near", "over"]
    assert " ? " in over.stdout.splitlines()[1]  # what was used today has no price
    assert run("daily", "--check", code=1).stdout == over.stdout
    assert set(json.loads(run("usage", "--check", "--json", code=1).stdout)) == {"budgets"}
    configure("[budgets]\nmonth = 10\n" + PRICES)
    assert run("usage", "--check").stdout.splitlines()[1].split()[-1] == "ok"
    assert run("usage", "--check", "--csv", code=2).stdout == ""


# -- pictures


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("kind", ["bars", "calendar", "share"])
def test_a_picture_instead_of_the_table(run: Run, kind: str) -> None:
    shown = run("usage", "--chart", kind).stdout
    assert "$0.29" in shown
    assert "TOKENS" not in shown
    found = asked(run, "--chart", kind)
    assert found["by"] == {"bars": ["day", "model"], "calendar": ["day"], "share": ["model"]}[kind]


@pytest.mark.usefixtures("spent")
def test_a_picture_in_a_file(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "usage.svg"
    done = run("usage", "--plot", str(place))
    assert place.read_bytes().startswith(b"<?xml")
    assert (done.stdout, done.stderr) == ("", f"written to {place}\n")


# -- amounts


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "?"),
        ("0", "$0.00"),
        ("0.004", "<$0.01"),
        ("0.005", "<$0.01"),
        ("0.015", "$0.02"),
        ("1234.565", "$1,234.57"),
        ("-3.5", "-$3.50"),
    ],
)
def test_amounts_to_the_cent(amount: str | None, text: str) -> None:
    assert dollars(None if amount is None else Decimal(amount)) == text


def test_marks() -> None:
    def marked(amount: str | None, *, lower: bool = False, unpriced: bool = False) -> str:
        return cost(None if amount is None else Decimal(amount), lower_bound=lower, unpriced=unpriced)

    assert marked("1.2") == "$1.20"
    assert marked("1.2", lower=True) == "$1.20+"
    assert marked("1.2", lower=True, unpriced=True) == "$1.20+?"
    assert marked("0.001", lower=True) == "$0.00+"  # at least nothing; less than a cent would be wrong
    assert marked(None, unpriced=True) == "?"
    shown = [text.rjust(8) for text in aligned(["$1.20", "$1.20+", "$1.20+?", "?"])]
    assert shown == [" $1.20  ", " $1.20+ ", " $1.20+?", "       ?"]


@pytest.mark.usefixtures("spent")
def test_projects_have_the_marks_of_the_report(run: Run) -> None:
    listed = run("projects").stdout
    reported = run("usage", "--by", "project").stdout
    for name, amount in (("tide", "$0.29+"), ("sail", "?")):
        (line,) = (line for line in listed.splitlines() if name in line.split())
        (row,) = (line for line in reported.splitlines() if line.startswith(name))
        assert amount in line.split()
        assert amount in row.split()

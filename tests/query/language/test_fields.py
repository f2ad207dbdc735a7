"""What each field takes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from hansard.query.language import (
    FIELDS,
    After,
    And,
    Before,
    Branch,
    Changed,
    Cost,
    Date,
    Field,
    File,
    Folder,
    Has,
    InAgent,
    InSession,
    Is,
    Kind,
    Model,
    Node,
    Not,
    Note,
    On,
    Or,
    Phrase,
    Project,
    PullRequest,
    QueryError,
    Role,
    Since,
    Tag,
    Title,
    Tokens,
    Tool,
    Until,
    Version,
    Word,
    parse,
)
from tests.query.language.reading import NOW, at, read


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("project:webshop", Project("webshop")),
        ('project:"my app"', Project("my app")),
        ("folder:/home/me/webshop", Folder("/home/me/webshop")),
        ("pr:webshop/pull/42", PullRequest("webshop/pull/42")),
        ("branch:feature/x-1", Branch("feature/x-1")),
        ("model:opus", Model("opus")),
        ("file:src/app.py", File("src/app.py")),
        ("file:*.py", File("*.py")),
        ("changed:app.py", Changed("app.py")),
        ("file:app.py changed", Changed("app.py")),
        ("file:app.py changed today", And((Changed("app.py"), Word("today")))),
        ("changed file:app.py", And((Word("changed"), File("app.py")))),
        ('file:app.py "changed"', And((File("app.py"), Phrase("changed")))),
        ("FILE:App.PY", File("App.PY")),
        ("session:3f2a91", InSession("3f2a91")),
        ("agent:Explore", InAgent("Explore")),
        ('title:"flaky login"', Title("flaky login")),
        ("title:“flaky login”", Title("flaky login")),
        ('title:"flaky login', Title("flaky login")),
        ("version:2.1.104", Version("2.1.104")),
        ("tag:infra", Tag("infra")),
        ("tag:client/*", Tag("client/", prefix=True)),
        ('tag:"client/"*', Tag("client/", prefix=True)),
        ("tag:a, b", And((Tag("a"), Word("b")))),
        ('tag:"a, b*, c"*', Or((Tag("a"), Tag("b", prefix=True), Tag("c", prefix=True)))),
        ("-tag:a,b", Not(Or((Tag("a"), Tag("b"))))),
        ('note:"ask Mira"', Note("ask Mira")),
        ("tool:Bash", Tool("Bash")),
        ("tool:mcp__git*", Tool("mcp__git", prefix=True)),
        ('tool:"mcp__git"*', Tool("mcp__git", prefix=True)),
        ("kind:Prompt", Kind("prompt")),
        ("kind:prompt,reply", Or((Kind("prompt"), Kind("reply")))),
        ('kind:"prompt, reply,"', Or((Kind("prompt"), Kind("reply")))),
        ("kind:prompt,", Kind("prompt")),
        ("kind:prompt OR kind:reply OR a", Or((Kind("prompt"), Kind("reply"), Word("a")))),
        ("role:USER", Role("user")),
        ("role:user,tool", Or((Role("user"), Role("tool")))),
        ("is:error", Is("error")),
        ("has:diff", Has("diff")),
        ("(file:a.py)", File("a.py")),
        ("(file:f(x) a)", And((File("f(x)"), Word("a")))),
        ('file:"a b"c', And((File("a b"), Word("c")))),
        ("cost:>1", Cost(">", Decimal(1))),
        ("cost:<=0.50", Cost("<=", Decimal("0.5"))),
        ("cost:$2", Cost(">=", Decimal(2))),
        ("cost:<$.5", Cost("<", Decimal("0.5"))),
        ("cost:=0", Cost("=", Decimal(0))),
        ("tokens:>100k", Tokens(">", 100_000)),
        ("tokens:1.5M", Tokens(">=", 1_500_000)),
        ("tokens:<=2g", Tokens("<=", 2_000_000_000)),
        ("tokens:=7", Tokens("=", 7)),
    ],
)
def test_fields(text: str, meant: Node) -> None:
    assert read(text) == meant


@pytest.mark.parametrize("kind", Kind.values)
def test_every_kind_can_be_asked_for(kind: str) -> None:
    assert read(f"kind:{kind}") == Kind(kind)


def test_the_kinds_and_the_sides() -> None:
    assert list(Kind.values) == "prompt reply thinking call result title command error note reminder".split()
    assert list(Role.values) == "user assistant tool system".split()
    assert list(Is.values) == "error fork subagent pinned live gone freed".split()
    assert list(Has.values) == "image diff pin".split()


@pytest.mark.parametrize(
    "text",
    ["file:", "foo:bar", "error:foo", "xfile:a", "file::a", "file://a", 'file:""', "path/file:a", "x.file:a"],
)
def test_what_only_looks_like_a_field_is_text(text: str) -> None:
    assert read(text) == Word(text)


def test_a_field_without_a_value_is_text() -> None:
    assert read("file: foo") == And((Word("file:"), Word("foo")))
    assert read("(file:) foo") == And((Word("file:"), Word("foo")))
    assert read('"file:a"') == Phrase("file:a")


DAY = timedelta(days=1)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("before:2026-05-01", Before(at(MAY))),
        ("before:2026-05", Before(at(MAY))),
        ("before:2w", Before(at(NOW - timedelta(weeks=2)))),
        ("after:2026-05-01", After(at(MAY + DAY))),
        ("after:2026-04", After(at(MAY))),
        ("after:2025", After(at(datetime(2026, 1, 1, tzinfo=UTC)))),
        ("after:7d", After(at(NOW - timedelta(days=7)))),
        ("since:2026-05-01", Since(at(MAY))),
        ("since:2026-05-01T14:30", Since(at(MAY + timedelta(hours=14.5)))),
        ('since:"2026-05-01 14:30"', Since(at(MAY + timedelta(hours=14.5)))),
        ("since:7d", Since(at(NOW - timedelta(days=7)))),
        ("since:Today", Since(at(datetime(2026, 5, 10, tzinfo=UTC)))),
        ("on:2026-05-01", On(at(MAY), at(MAY + DAY))),
        ("on:2026-05", On(at(MAY), at(MAY + timedelta(days=31)))),
        ("on:yesterday", On(at(MAY + 8 * DAY), at(MAY + 9 * DAY))),
        ("on:2d", On(at(MAY + 7 * DAY), at(MAY + 8 * DAY))),
        ("until:2026-04-30", Until(at(MAY))),
        ("until:2w", Until(at(NOW - timedelta(weeks=2)))),
        ("date:2026-05", Date(at(MAY), at(datetime(2026, 6, 1, tzinfo=UTC)))),
        ("before:1960-01-01", Before(at(datetime(1960, 1, 1, tzinfo=UTC)))),
    ],
)
def test_times(text: str, meant: Node) -> None:
    assert read(text) == meant


def test_days_are_those_of_the_zone() -> None:
    east = timezone(timedelta(hours=9))
    assert parse("since:2026-05-01", now=NOW, zone=east) == Since(at(MAY - timedelta(hours=9)))


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        (
            "a kind:promt",
            7,
            "invalid value 'promt' for kind: (did you mean prompt?); use one of prompt, reply, thinking, call, result",
        ),
        ("kind:prompt,Foo,x", 12, "invalid value 'Foo' for kind:; use one of prompt"),
        ('kind:"prompt,  x"', 15, "invalid value 'x' for kind:; use one of prompt"),
        ("kind:,", 5, "invalid value ',' for kind:; use one of prompt"),
        ("role:me", 5, "invalid value 'me' for role:; use one of user, assistant, tool, system"),
        ("is:open", 3, "invalid value 'open' for is:; use one of error, fork, subagent"),
        ("-has:images", 5, "invalid value 'images' for has: (did you mean image?); use one of image, diff"),
        ("tool:*", 5, "tool: needs a name before the star, for example tool:mcp__*"),
        ("tag:*", 4, "tag: needs a prefix before the star, for example tag:client*"),
        ("tag:,", 4, "tag: needs a tag, for example tag:infra"),
        (
            "a since:soon",
            8,
            "invalid date 'soon'; use for example 2026-05-01, 20260501, 2026-W18, 2026-05, 2026, 2026-05-01T14:30, 24h",
        ),
        ('before:"the war"', 8, "invalid date 'the war'"),
        ("on:2026-05-01T10:00", 3, "on: takes a day, week, month or year, but '2026-05-01T10:00' is a point in time"),
        ("on:3h", 3, "on: takes a day, week, month or year, but '3h' is a point in time"),
        ("cost:much", 5, "'much' is not a cost; use for example cost:>1"),
        ("cost:-1", 5, "'-1' is not a cost"),
        ("cost:1k", 5, "'1k' is not a cost"),
        ("cost:>", 5, "'>' is not a cost"),
        ("cost:1e9", 5, "'1e9' is not a cost"),
        ("cost:\u0661", 5, "is not a cost"),
        ("cost:nan", 5, "'nan' is not a cost"),
        ("cost:" + "9" * 30, 5, "is not a cost"),
        ("tokens:>1.5", 7, "'>1.5' is not a number of tokens; use for example tokens:>100k"),
        ("tokens:$5", 7, "'$5' is not a number of tokens"),
        ("tokens:9999999999999g", 7, "is not a number of tokens"),
        ("tokens:lots", 7, "'lots' is not a number of tokens"),
    ],
)
def test_what_a_field_cannot_take(text: str, column: int, problem: str) -> None:
    with pytest.raises(QueryError) as failure:
        read(text)
    assert failure.value.column == column
    assert problem in failure.value.problem


def test_the_way_out_is_told() -> None:
    with pytest.raises(QueryError, match="or quote the whole term to search for it as text"):
        read("is:open")
    with pytest.raises(QueryError) as failure:
        read('is:"open"')
    assert "double quotes" not in failure.value.problem


@pytest.mark.parametrize("field", FIELDS.values())
def test_each_field_is_known_by_its_name(field: type[Field]) -> None:
    assert FIELDS[field.name] is field
    assert all(example.removeprefix("-").startswith(f"{field.name}:") for example in field.examples)

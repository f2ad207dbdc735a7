"""Queries on the command line: options stay options wherever they stand, and everything else is a word."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from hansard.cli.arguments import FreeTextCommand, QueryCommand
from tests.cli.conftest import SESSION, Run

WORDS = [
    "x",
    "-",
    "-n",
    "-rf",
    "-the",
    "-tool:Bash",
    "-h1",
    "--no-verify",
    "--limits",
    "-limit",
    "-Cat",
    "-C=3",
    "-C-3",
    "a=b",
]


@click.command(cls=FreeTextCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@click.option("--limit", type=int)
@click.option("-C", "--context", type=int)
@click.option("--count", is_flag=True)
def ask(query: tuple[str, ...], limit: int | None, context: int | None, count: bool) -> None:
    """Say what was understood."""
    click.echo(repr((query, limit, context, count)))


def understood(*args: str) -> str:
    result = CliRunner().invoke(ask, args)
    assert result.exit_code == 0, result.output
    return result.output.strip()


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_a_word_wherever_it_stands(word: str) -> None:
    assert understood(word) == repr(((word,), None, None, False))
    assert understood(word, "--count", "b") == repr(((word, "b"), None, None, True))
    assert understood("b", "-C", "3", word, "--limit=5") == repr((("b", word), 5, 3, False))


def test_options_stay_options_wherever_they_stand() -> None:
    assert understood("--limit", "5", "a", "-C3", "-b", "--count") == repr((("a", "-b"), 5, 3, True))
    assert understood("a", "--context=2") == repr((("a",), None, 2, False))


def test_behind_two_dashes_everything_is_a_word() -> None:
    assert understood("--count", "--", "--limit", "5", "-h", "--") == repr(
        (("--limit", "5", "-h", "--"), None, None, True)
    )


@pytest.mark.parametrize("args", [["-h"], ["a", "--help"], ["-the", "-h"]])
def test_help_is_help(args: list[str]) -> None:
    assert CliRunner().invoke(ask, args).output.startswith("Usage:")


@pytest.mark.parametrize("option", ["--limit", "-C"])
def test_an_option_without_its_value_says_so(option: str) -> None:
    result = CliRunner().invoke(ask, ["a", option])
    assert result.exit_code == 2
    assert "requires an argument" in result.stderr


def test_a_value_of_the_wrong_kind_says_so() -> None:
    assert CliRunner().invoke(ask, ["a", "-C", "b"]).exit_code == 2


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@click.option("-l", "--limit", type=int)
def report(query: tuple[str, ...], limit: int | None) -> None:
    """Say what was understood."""
    click.echo(repr((query, limit)))


@pytest.mark.parametrize("option", ["--daily", "--offline", "-n", "-foo", "--foo=1", "-x5", "--limits"])
def test_an_unknown_option_of_a_report_is_refused(option: str) -> None:
    result = CliRunner().invoke(report, ["a", option, "5"])
    assert result.exit_code == 2
    assert f"No such option '{option.partition('=')[0]}'" in result.stderr
    assert ("--limit" in result.stderr) is (option == "--limits")


def test_a_report_takes_fields_that_are_excluded() -> None:
    words = ("a", "-tool:Bash", '-"b c"', "-(is:error OR d)", "-n", "5")
    result = CliRunner().invoke(report, ["--limit=5", *words[:4], "--", *words[4:]])
    assert result.output.strip() == repr((words, 5))


@pytest.mark.parametrize(
    "words",
    [
        ("sessions", "-n", "9223372036854775807"),
        ("files", "-n", "99999999999999999999"),
        ("prompts", "--page", "99999999999999999999"),
        ("show", SESSION, "--at", "9223372036854775807"),
        ("explain", "-n", "99999999999999999999"),
        ("sql", "select 1", "--timeout", "1e400"),
        ("sql", "select 1", "--memory", "99999999999999999999"),
    ],
)
def test_a_number_that_is_too_large(run: Run, words: tuple[str, ...]) -> None:
    error = run(*words, code=2).stderr
    assert "is too large" in error or "is not in the range" in error


def test_the_largest_page_of_the_largest_size(run: Run) -> None:
    most = str(1 << 30)
    assert run("sessions", "-n", most, "--page", most, code=None).exit_code in (0, 1)

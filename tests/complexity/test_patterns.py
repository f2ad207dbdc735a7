"""No regular expression in the source takes more than linear time or memory, whatever text it is given; by counting, not by time."""

from __future__ import annotations

import re
from itertools import chain, islice
from re import _constants as code
from re import _parser as parser
from typing import TYPE_CHECKING, Any

import pytest

from hansard.audit import paths
from hansard.audit.rules import access, deleting, remote
from hansard.clients.programs import PROGRAMS
from hansard.query.search import excerpts
from tests.complexity.hostile import texts
from tests.complexity.patterns import Found, find_patterns
from tests.complexity.steps import Matcher, TooMuch

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMES = 24
LONGER = 16  # times as long: a repetition with an upper limit grows until it reaches that
GROWTH = 2.6  # for a text twice as long
FEW = 6  # steps for each character: nothing grows there
MOST = 200_000

# Patterns that are made of what only a caller knows: an example of each, or why there is none.
EXAMPLES: dict[tuple[str, str], str | re.Pattern[Any]] = {
    ("hansard.query.search.excerpts", "'|'.join(_patterns(spellings))"): re.compile(
        f"parse{excerpts._BETWEEN}{excerpts._SIGNS['sharp']}{excerpts._BETWEEN}100|parse", re.DOTALL
    ),
    ("hansard.cli.commands.prompts", "'|'.join(map(re.escape, sorted(texts, key=len, reverse=True)))"): re.compile(
        r"a\ word|other", re.IGNORECASE
    ),
    ("hansard.cli.hook.worker", 'b\'"%b"\\\\s*+:\\\\s*+("(?:[^"\\\\\\\\]|\\\\\\\\.)*+")\' % name.encode()'): re.compile(
        rb'"name"\s*+:\s*+("(?:[^"\\]|\\.)*+")'
    ),
    ("hansard.tui.thread_view", "re.escape(needle)"): re.compile("a needle, as it is", re.IGNORECASE),
    (
        "hansard.move",
        'b\'(?<!\\\\\\\\)"%s"\\\\s*:\\\\s*("(?:[^"\\\\\\\\]|\\\\\\\\.)*+")\' % key.encode()',
    ): re.compile(rb'(?<!\\)"cwd"\s*:\s*("(?:[^"\\]|\\.)*+")'),
    ("hansard.audit.paths", "pattern"): "tested in `test_rules_of_audits`",
    ("hansard.audit.rules.access", "pattern"): "tested in `test_rules_of_audits`",
    ("hansard.audit.rules.agents", "program.configuring"): "tested in `test_rules_of_audits`",
    ("hansard.audit.rules.agents", "f'(?:^| ){program.unchecked}'"): "tested in `test_rules_of_audits`",
    ("hansard.audit.rules.deleting", "pattern"): "tested in `test_rules_of_audits`",
    ("hansard.audit.rules.deleting", "_DELETERS[command.name]"): "tested in `test_rules_of_audits`",
    ("hansard.audit.rules.remote", "pattern"): "tested in `test_rules_of_audits`",
    ("hansard.cli.sql_prompt", "f'\\\\b{name}\\\\b'"): re.compile(r"\busage\b"),
    ("hansard.guard.redaction", "'|'.join((patterns[value] for value in ordered))"): re.compile(r"a\ value|another"),
    ("hansard.git.edits", "item.pattern"): "what `git.shell` let through, over lines of at most 1,000 characters",
    ("hansard.git.shell", "made"): "only compiled",
    ("hansard.grep.pattern", "ascii_boundaries(syntax.source)"): "the user's own; RE2 takes most of them",
    ("hansard.grep.pattern", "syntax.source.encode('latin-1')"): "the user's own; RE2 takes most of them",
    (
        "hansard.grep.pattern",
        "syntax.source.encode('utf-8' if syntax.is_text else 'latin-1', 'surrogateescape')",
    ): re.compile(rb"a literal, as it is"),
    ("hansard.grep.syntax", "wanted if isinstance(pattern, str) else wanted.encode('latin-1')"): "only compiled",
    ("hansard.lake.names", "pattern"): re.compile(r"(?<![A-Za-z0-9])[\W_]home[\W_]+ann(?![A-Za-z0-9])"),
    ("hansard.lazy_regex", "self._pattern"): "as its callers wrote it, where it is found",
    ("hansard.ledger.explain", "pattern"): "over what the user typed",
    ("hansard.pricing.book", "pattern"): "of the price data, only compiled",
    ("hansard.pricing.rates", "pattern"): "of the price data, over names of at most 200 characters",
    ("hansard.query.search.noted", "'(?<!\\\\w)' + '\\\\s+'.join(words)"): re.compile(r"(?<!\w)a\s+word"),
    (
        "hansard.secrets.values",
        "f'{plain}|(?P<encoded>{encoded})'.encode('utf-8', 'surrogateescape')",
    ): re.compile(rb"a\ secret|a%20secret|(?P<encoded>6120736563726574|YSBzZWNyZX)"),
    ("hansard.team.text_rows", "f\" {' '.join(tokens)}{('' if term.prefix else '(?= )')}\""): re.compile(
        r" p ?a ?r ?s ?e line(?= )"
    ),
    ("hansard.team.words", "f\"(?i){'[_-]?'.join(map(re.escape, word))}\""): re.compile(
        r"(?i)p[_-]?a[_-]?r[_-]?s[_-]?e"
    ),
    ("hansard.sources.roots", "pattern"): "over a variable of the environment",
}
# Not linear, but over texts of bounded length.
BOUNDED = {
    ("hansard.guard.detection", "'[A-Za-z0-9+/_-]{49,}[A-Za-z0-9+_-]\\\\Z'"): "over 60 characters",
    ("hansard.render.terminal.prose", "_INLINE"): "over lines of at most 2,000 characters with at most 200 marks",
}

PATTERNS = find_patterns()


def _name(found: Found) -> tuple[str, str]:
    return found.place.partition(":")[0], found.source


def test_every_pattern_is_found() -> None:
    assert len(PATTERNS) > 100
    assert {_name(found) for found in PATTERNS if found.pattern is None} == set(EXAMPLES)
    assert set(BOUNDED) <= {_name(found) for found in PATTERNS}


def _tested() -> Iterator[Any]:
    for found in PATTERNS:
        pattern = found.pattern or EXAMPLES.get(_name(found), "")
        if isinstance(pattern, re.Pattern) and _name(found) not in BOUNDED:
            yield pytest.param(pattern, found.at_start, id=found.place)


@pytest.mark.parametrize(("pattern", "at_start"), list(_tested()))
def test_steps_grow_with_the_text(pattern: re.Pattern[Any], at_start: bool) -> None:
    for number, (text, twice) in enumerate(zip(texts(pattern, TIMES), texts(pattern, TIMES, 2), strict=True)):
        if _growth(pattern, text, twice, at_start=at_start) > GROWTH:
            longer, longest = (next(islice(texts(pattern, TIMES, n), number, None)) for n in (LONGER, 2 * LONGER))
            growth = _growth(pattern, longer, longest, at_start=at_start)
            assert growth <= GROWTH, (
                f"{pattern.pattern!r} takes {growth:.1f} times the steps for twice as much of {text!r}"
            )


def _patterns_of_audits() -> list[str]:
    """Of tables, in which the rules for risky operations look patterns up."""
    listed = [pattern for table in (access._PRINTERS, remote._DEPLOYS, remote._PUBLISHES) for _, pattern in table]
    listed += [
        pattern for table in (remote._TUNNELS, remote._GLOBAL_INSTALLS, remote._URL_INSTALLS) for _, pattern in table
    ]
    listed += [pattern for table in (paths._PRIVATE, paths._SECRETS) for _, pattern in table]
    listed += [f"(?:^| ){program.unchecked}" for program in PROGRAMS.values() if program.unchecked]
    listed += [program.configuring for program in PROGRAMS.values() if program.configuring]
    listed += deleting._DELETERS.values()
    return list(dict.fromkeys([*listed, *chain.from_iterable(deleting._DESTROYERS.values())]))


@pytest.mark.parametrize("source", _patterns_of_audits())
def test_rules_of_audits(source: str) -> None:
    test_steps_grow_with_the_text(re.compile(source), at_start=False)


def _growth(pattern: re.Pattern[Any], text: Any, twice: Any, *, at_start: bool) -> float:
    steps = count(pattern, twice, at_start=at_start)
    return steps / count(pattern, text, at_start=at_start) if steps > FEW * len(twice) else 0.0


def count(pattern: re.Pattern[Any], text: Any, *, at_start: bool) -> int:
    """The steps of a search; also makes sure that they lead where `re` goes."""
    matcher = Matcher(pattern, text, MOST)
    try:
        if at_start:
            real = pattern.match(text)
            assert matcher.match() == (real and real.span())
        else:
            assert matcher.search() == [real.span() for real in pattern.finditer(text)]
    except TooMuch:
        pytest.fail(f"{pattern.pattern!r} takes more than {MOST} steps for {text!r}")
    return matcher.steps


@pytest.mark.parametrize(("pattern", "_at_start"), list(_tested()))
def test_no_way_back_is_kept_for_every_repetition(pattern: re.Pattern[Any], _at_start: bool) -> None:
    """Where a group is repeated, `re` keeps some hundred bytes for each time, unless the repetition is possessive."""
    assert not list(_kept(parser.parse(pattern.pattern, pattern.flags)))


def _kept(tree: Any) -> Iterator[Any]:
    for op, argument in tree:
        if op in (code.MAX_REPEAT, code.MIN_REPEAT):
            inner = list(argument[2])
            if argument[1] is code.MAXREPEAT and not (len(inner) == 1 and inner[0][0] in _ONE):
                yield inner
        for part in _inside(op, argument):
            yield from _kept(part)


_ONE = (code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN)


def _inside(op: Any, argument: Any) -> list[Any]:
    if op is code.BRANCH:
        return list(argument[1])
    if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
        return [argument[2]]
    if op is code.SUBPATTERN:
        return [argument[3]]
    if op in (code.ASSERT, code.ASSERT_NOT):
        return [argument[1]]
    return [argument] if op is code.ATOMIC_GROUP else []


# -- the counting itself


@pytest.mark.parametrize(
    "source",
    [
        r"<a>.*?</a>", r"\s+$", r"(?:a|b)*c", r"x*y", r"\r+\n|\r", r"(\w+)\s(\w+)\s=", r"a.*b.*c", r"\[[^\]]*\]", r"'\S+'.*;",
        r"(['\"])[^x]*\1x", r"^(a+)+$", r"(?:a*)*b", r"[ab]*[a]*c", r"(?<!x)a+(?!a)b", r"\d+[.)]x",
    ],
)  # fmt: skip
def test_what_is_not_linear_is_noticed(source: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_steps_grow_with_the_text(re.compile(source), at_start=False)


@pytest.mark.parametrize(
    "source",
    [
        r"<a>[^<]*+</a>",
        r"(?<!\s)\s++$",
        r"(?:a|b)c",
        r"\r++\n?",
        r"^(?:a++b)*+$",
        r"[a-c]+",
        r"(?<!a)(?>a+)b|a",
        r"(?i)É\b",
        r"(?m)^x*$",
    ],
)
def test_what_is_linear_is_let_pass(source: str) -> None:
    test_steps_grow_with_the_text(re.compile(source, re.DOTALL), at_start=False)
    test_steps_grow_with_the_text(re.compile(source.encode(), re.DOTALL), at_start=False)

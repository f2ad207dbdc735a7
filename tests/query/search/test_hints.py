"""What is said when nothing fits."""

from __future__ import annotations

import pytest

from hansard.engine import Hansard


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("xylophon", ["'xylophon' does not occur; did you mean xylophone?"]),
        ("xylofone", ["'xylofone' does not occur; did you mean xylophone?"]),
        ("qqqqqqqq", ["'qqqqqqqq' does not occur"]),
        ("qq", ["'qq' does not occur"]),
        ("xylophone committed", []),
        ("xylophone committed zzyzx", ["'zzyzx' does not occur"]),
        ('"no such phrase"', []),
        ("zzyzx*", []),
        ("is:error xylophone", ["without 'xylophone' there are {} matches"]),
        ("xylophone", []),
        ("tool:Bsh xylophone", ["no tool named 'Bsh'; did you mean Bash?"]),
        ("project:nowhere", ["no project named 'nowhere'"]),
    ],
)
def test_hints(demo: Hansard, query: str, expected: list[str]) -> None:
    page = demo.search(query)
    errors = demo.count("is:error")
    assert list(page.notes) == [line.format(f"{errors:,}") for line in expected]
    assert bool(page.hits) == (query == "xylophone")


def test_what_else_must_hold(demo: Hansard) -> None:
    everything = demo.count("parser")
    session = demo.search("xylophone").hits[0]
    assert session.timestamp is not None
    assert demo.count("xylophone OR zzyzx", project=session.project, since=session.timestamp) == 1
    assert demo.count("xylophone OR zzyzx", until=session.timestamp) == 0
    assert demo.count("", project=session.project) > 5
    assert demo.count("parser", since=session.timestamp) < everything

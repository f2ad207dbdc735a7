"""Patterns that are compiled when they are first used behave as those of `re`."""

from __future__ import annotations

import re

import pytest

from hansard.lazy_regex import lazy_compile


def test_a_lazy_pattern_does_what_a_compiled_one_does() -> None:
    lazy, plain = lazy_compile(r"(\w)\d", re.ASCII), re.compile(r"(\w)\d", re.ASCII)
    for text in ("a1b2", "é1", ""):
        for _ in range(2):  # by the pattern, then by the method it took over
            assert lazy.findall(text) == plain.findall(text)
            assert lazy.sub("-", text) == plain.sub("-", text)
            assert bool(lazy.match(text)) == bool(plain.match(text))
    assert (lazy.pattern, lazy.flags, lazy.groups) == (plain.pattern, plain.flags, plain.groups)


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = lazy_compile("(")
    with pytest.raises(re.error):
        broken.search("")

"""What tools were given and gave, without what the client put between."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.clients.claude_code.meaning import split_reminders

BEGIN, END = "<system-reminder>", "</system-reminder>"
_PATTERN = re.compile(rf"\n*{BEGIN}.*?{END}\s*", re.DOTALL)


@given(st.lists(st.sampled_from([BEGIN, END, "\n", "\n\n", " ", "\t", "\u2028", "x", "<", "é"])).map("".join))
def test_reminders_go_as_the_pattern_says(text: str) -> None:
    assert split_reminders(text)[0] == _PATTERN.sub("", text)


@pytest.mark.parametrize("text", [BEGIN * 300_000, "\n" * 1_000_000 + BEGIN, f"{BEGIN}{END}x\n" * 100_000])
def test_a_hostile_number_of_reminders_takes_linear_work(text: str) -> None:
    """By the pattern the first would take hours, and with it every other request of the web app."""
    assert split_reminders(text)[0].count("x") == text.count("x")

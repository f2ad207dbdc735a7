"""Which model a name means: the very one, whoever sells it; never one that is like it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.pricing.book import Book
from hansard.pricing.rates import find, seller, spellings

SAME = {
    "claude-sonnet-4-5": """
        claude-sonnet-4-5-20250929 claude-sonnet-4-5@20250929 claude-sonnet-4.5 claude-sonnet-4-5-latest
        anthropic/claude-sonnet-4-5 anthropic/claude-sonnet-4.5 openrouter/anthropic/claude-sonnet-4.5 CLAUDE-SONNET-4-5
        us.anthropic.claude-sonnet-4-5-20250929-v1:0 eu.anthropic.claude-sonnet-4-5-20250929-v1:0
        global.anthropic.claude-sonnet-4-5-20250929-v1:0 anthropic.claude-sonnet-4-5-20250929-v1 claude-sonnet-4-5[1m]
        bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0 vertex_ai/claude-sonnet-4-5@20250929
        claude-sonnet-4-5-20250929[1m] us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m] claude-sonnet-4-5@default
    """,
    "claude-opus-4-0": "claude-opus-4-20250514 claude-opus-4 claude-opus-4@20250514 us.anthropic.claude-opus-4-20250514-v1:0",
    "claude-opus-4-1": "claude-opus-4-1-20250805 anthropic/claude-opus-4.1 claude-opus-4-1[1m]",
    "claude-opus-4-5": "claude-opus-4-5-20251101 claude-opus-4.5 claude-opus-4-5@20251101",
    "claude-opus-5": "claude-opus-5-20260101 claude-opus-5@20260101 claude-opus-5-2026-01-01 claude-opus-5-latest",
    "claude-opus-5-5": "claude-opus-5-5 claude-opus-5-5-20261010 claude-opus-5.5",
    "claude-sonnet-4-0": "claude-sonnet-4-20250514 claude-sonnet-4@20250514 claude-sonnet-4-0 claude-4-sonnet-20250514",
    "claude-3-5-sonnet": "claude-3-5-sonnet-20241022 claude-3-5-sonnet-20240620 claude-3.5-sonnet claude-3-5-sonnet-latest",
    "claude-3-7-sonnet-latest": "claude-3-7-sonnet-20250219 claude-3-7-sonnet-latest claude-3.7-sonnet",
    "claude-3-5-haiku-latest": "claude-3-5-haiku-20241022 claude-3-5-haiku-latest us.anthropic.claude-3-5-haiku-20241022-v1:0",
    "claude-3-opus-latest": "claude-3-opus-20240229 claude-3-opus-latest",
}
NOT_LISTED = """
    claude-opus-4-6-turbo claude-sonnet-4-55 claude-sonnet-4-5-preview claude-opus-4-61 claude-opus-55 claude-opus-5-5-5
    claude-opus-4-5-2025 claude-opus-4-5-20251101-beta claude-opus claude claude-opus-5-6 claude-opus-4-5-v1-x my-claude-opus-4-5
    claude-opus-4-5/other opus claude-opus-4-5-thinking claude-sonnet-4-5-2025092 <synthetic> us.anthropic.
""".split()


@pytest.mark.parametrize(
    ("listed", "name"), [(listed, name) for listed, names in SAME.items() for name in names.split()]
)
def test_other_spellings_of_a_model(book: Book, listed: str, name: str) -> None:
    found = find(book, name)
    assert found is not None
    assert (found.provider, found.model) == ("anthropic", listed)


@pytest.mark.parametrize("name", [*NOT_LISTED, "", " ", "/", "[1m]", "@", "-v1:0", "a/b/c"])
def test_a_name_that_only_looks_like_a_model_is_none(book: Book, name: str) -> None:
    assert find(book, name) is None


def test_every_model_is_found_under_its_own_name(book: Book) -> None:
    for model in book.models:
        if model.provider == "anthropic":
            assert find(book, model.model) is model


def test_models_of_others_are_priced_by_their_makers(book: Book) -> None:
    for name, provider in {
        "gpt-4o": "openai",
        "openai/gpt-4o": "openai",
        "gpt-4o-2024-08-06": "openai",
        "gemini-2.5-pro": "google",
    }.items():
        found = find(book, name)
        assert found is not None, name
        assert found.provider == provider
    assert find(book, "gpt-4o-like") is None


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("claude-opusnt45.@/[]v:01_ "), max_size=30))
def test_any_text_has_spellings_that_end_in_it(name: str) -> None:
    found = spellings(name)
    assert (not found) == (not name.strip())
    assert all(spelling in name.lower() for spelling in found)
    assert len(set(found)) == len(found)
    assert all(spelling == spellings(spelling)[0] for spelling in found if spelling == spelling.strip())


def test_who_sells_it() -> None:
    assert seller("openrouter/anthropic/claude") == "anthropic"
    assert seller("groq/llama") == "groq"
    assert seller("claude") == ""


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["claude-opus-4-6", "claude-sonnet-4-5", "claude-opus-5", "claude-haiku-5-5", "claude-fable-5"]),
    st.text(st.sampled_from("0123456789-abtz."), min_size=1, max_size=8),
)
def test_whatever_stands_behind_a_name_makes_it_another(book: Book, name: str, behind: str) -> None:
    """Unless it is a date, a revision, or itself a listed model."""
    found = find(book, name + behind)
    if found is not None:
        asked = spellings(name + behind)
        assert found.model != name or len(asked) > 1 or asked[0] in found.names

"""The library's public names: this list only grows."""

from __future__ import annotations

from importlib.metadata import version

import pytest

import hansard

PUBLIC = ["Hansard", "Lake", "Team", "__version__", "open"]


def test_public_names_are_pinned() -> None:
    assert sorted(hansard.__all__) == PUBLIC


def test_every_public_name_is_there() -> None:
    for name in hansard.__all__:
        assert getattr(hansard, name) is not None


def test_public_names_are_listed_before_they_are_loaded() -> None:
    assert set(hansard.__all__) <= set(dir(hansard))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'hansard' has no attribute 'nothing'"):
        _ = hansard.nothing


def test_the_version_is_that_of_the_package() -> None:
    assert hansard.__version__ == version("hansard")

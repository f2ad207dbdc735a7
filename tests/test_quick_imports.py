"""Commands import click and msgspec without most of what those import, and nobody can tell."""

from __future__ import annotations

import gettext
import inspect
import os
import platform
import subprocess
import sys

import pytest

from hansard import quick_imports

_HELP = [["--help"], ["search", "--help"], ["usage", "--help"], ["show", "--help"], ["sync", "--no-such-option"]]


def _python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=os.environ
    )


@pytest.mark.parametrize(
    "doc", ["", " ", "One line.", "  indented\t and a tab", "Two\n    lines\n      and a third\n\n"]
)
def test_help_is_cleaned_as_inspect_does(doc: str) -> None:
    assert quick_imports.cleandoc(doc) == inspect.cleandoc(doc)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_messages_are_those_of_an_english_user(number: int) -> None:
    untranslated = gettext.NullTranslations()
    assert quick_imports.gettext("Aborted!") == untranslated.gettext("Aborted!")
    assert quick_imports.ngettext("one", "many", number) == untranslated.ngettext("one", "many", number)


@pytest.mark.skipif(os.name == "nt", reason="uuid asks for the system elsewhere only")
def test_the_system_has_its_name() -> None:
    assert quick_imports.system() == platform.system()


def test_later_imports_get_the_real_modules() -> None:
    code = """
import sys
from hansard.quick_imports import import_quickly
import_quickly("click", "msgspec")
late = {"gettext", "inspect", "platform", "textwrap", "typing_extensions"}
print(sorted(late & set(sys.modules)))
import gettext, inspect, platform, textwrap, uuid
print(all(module.__spec__ is not None for module in (gettext, inspect, platform, textwrap)))
import click.core, msgspec._json_schema
print(click.core.inspect.isfunction(print), msgspec._json_schema.textwrap.dedent("  a"))
print(uuid.UUID(int=1))
"""
    done = _python(code)
    assert done.stdout.splitlines() == ["[]", "True", "False a", "00000000-0000-0000-0000-000000000001"], done.stderr


def test_modules_that_are_there_stay_where_they_are() -> None:
    code = """
import inspect, sys, typing_extensions
from hansard.quick_imports import import_quickly
import_quickly("click", "msgspec")
import click.core
print(click.core.inspect is inspect, sys.modules["typing_extensions"] is typing_extensions)
"""
    assert _python(code).stdout.split() == ["True", "True"]


@pytest.mark.parametrize("arguments", _HELP)
def test_help_and_errors_are_the_same_to_the_letter(arguments: list[str]) -> None:
    quick = _python("from hansard.cli import main; main()", *arguments)
    plain = _python("from hansard.cli.app import hansard; hansard(prog_name='hansard')", *arguments)
    assert (quick.stdout, quick.stderr, quick.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    assert quick.stdout + quick.stderr


def test_the_description_of_the_api_is_the_same_to_the_letter() -> None:
    code = """
import sys
if sys.argv[1] == "quick":
    from hansard.quick_imports import import_quickly
    import_quickly("click", "msgspec")
import json
from hansard.web.api import ENDPOINTS
from hansard.web.api.openapi import described
print(json.dumps(described(ENDPOINTS, "hansard-1"), default=str))
"""
    quick, plain = _python(code, "quick"), _python(code, "plain")
    assert quick.stdout == plain.stdout != "", quick.stderr

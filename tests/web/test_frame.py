from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard.web.responses import PLACES

if TYPE_CHECKING:
    import httpx


@pytest.mark.parametrize("path", [path for path, _, _ in PLACES])
def test_every_place_of_the_navigation_answers(client: httpx.Client, path: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 200
    assert f'<a href="{path}" aria-current="page"' in answer.text
    assert answer.headers["content-security-policy"].startswith(
        "default-src 'none'; script-src 'self'; style-src 'self'"
    )

"""`hansard prices`: the list, what is missing in it, and the update from a server on this machine."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hansard import config
from hansard.directories import config_path
from hansard.render.text import width

from .conftest import OTHER, SESSION, Run, said, write_log

KEEL = "keel-3-20260101"
STRANGE = 'acme-"\x1b[31mone\x1b]0;x\x07'
ZERO_USAGE = {"input_tokens": 0, "output_tokens": 1_000_000}


def configure(text: str) -> None:
    path = Path(config_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


KEEL_PRICES = """
[[prices]]
model = "keel-3"
input = 3
output = 15

[[prices]]
model = "keel-3"
input = 2
output = 10
since = 2026-06-01

[[prices]]
model = "keel-3"
input = 6
output = 22.125
above = 200000
until = 2026-06-01

[[prices]]
model = "keel-3"
input = 30
output = 150
speed = "fast"
"""


@pytest.fixture
def listed(root: Path) -> None:
    """Answers of a model with prices of one's own, at two speeds and in two places, and of one without a price."""
    configure(KEEL_PRICES)
    usages = [{}, {"speed": "standard", "inference_geo": "global"}, {"speed": "fast"}, {"service_tier": "standard"}]
    lines = [said(1, "When is high tide?")]
    for number, usage in enumerate(usages, 2):
        line = said(number, "Noon.", role="assistant")
        line["message"] |= {"model": KEEL, "usage": {**ZERO_USAGE, **usage}}
        lines.append(line)
    write_log(root, SESSION, lines)
    line = said(2, "Wrapped.", role="assistant", session=OTHER, cwd="/src/sail")
    line["message"] |= {"model": STRANGE, "usage": ZERO_USAGE}
    write_log(root, OTHER, [said(1, "Wrap the sail.", session=OTHER, cwd="/src/sail"), line], "-src-sail")


@pytest.mark.usefixtures("listed")
def test_the_list(run: Run) -> None:
    text = run("prices").stdout
    table = text.partition("\n\n")[0].splitlines()
    assert [line.split() for line in table] == [
        "MODEL FOR FROM PROMPT INPUT OUTPUT READ WRITE 5M 1H".split(),
        "keel-3 to 200k 3.00 15.00 0.30 3.75 6.00".split(),
        "keel-3 over 200k 6.00 22.125 0.60 7.50 12.00".split(),
        "keel-3 2026-06-01 2.00 10.00 0.20 2.50 4.00".split(),
        "keel-3 fast 30.00 150.00 3.00 37.50 60.00".split(),
    ]
    assert "Prices: genai-prices " in text
    assert "4 of your own" in text
    assert "\n- keel-3: 5-minute cache writes at 1.25 times the input rate\n" in text


@pytest.mark.usefixtures("listed")
def test_every_tier_by_itself(run: Run) -> None:
    rows = run("prices", "keel", "--all").stdout.partition("\n\n")[0].splitlines()[1:]
    assert len(rows) == 10  # three kinds with three prices each, and a fast one
    assert len(json.loads(run("prices", "keel", "--json").stdout)["rates"]) == 10


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize("columns", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = [""]
    for args in ([], ["--all"], ["keel"]):
        lines = run("prices", *args).stdout.splitlines()
        # The path of the configuration file may have no place to break.
        assert max(width(line) for line in lines if config_path() not in line) <= columns
    assert ("UNTIL" in lines[0]) is (columns == 200)
    assert ("PRICED AS" in lines[0]) is (columns == 200)
    assert (KEEL in lines[1]) is (columns == 200)


@pytest.mark.usefixtures("listed")
def test_a_model_without_a_price_is_told_with_how_to_set_one(run: Run) -> None:
    text = run("prices", "acme").stdout
    assert 'Without a price: acme-"one' in text
    assert config_path() in text.replace("\n", "")
    assert "\x1b" not in text
    example = "\n".join(line.strip() for line in text.splitlines() if line.startswith("  "))
    (price,) = tomllib.loads(example)["prices"]
    assert price["model"] == 'acme-"one'
    configure(KEEL_PRICES)  # what it says can be read
    Path(config_path()).write_text(example, encoding="utf-8")
    assert config.load({}).prices[0].output == 15


@pytest.mark.usefixtures("listed")
def test_json(run: Run) -> None:
    found = json.loads(run("prices", "--json").stdout)
    assert set(found) == {"rates", "data"}
    assert set(found["data"]) == {"source", "version", "dated", "fetched_at", "overrides"}
    (unpriced,) = (rate for rate in found["rates"] if rate["model"] == STRANGE)
    assert (unpriced["priced_as"], unpriced["input"], unpriced["output"]) == (None, None, None)
    later = next(rate for rate in found["rates"] if rate["since"])
    assert (later["since"], later["until"], later["input"]) == ("2026-06-01T00:00:00.000Z", None, "2")


@pytest.mark.usefixtures("listed")
def test_nothing_found(run: Run) -> None:
    nothing = run("prices", "submarine", code=1)
    assert (nothing.stdout, nothing.stderr) == (
        "",
        "hansard: no model matches 'submarine'; `hansard prices` lists them\n",
    )
    assert json.loads(run("prices", "submarine", "--json", code=1).stdout)["rates"] == []


def test_a_history_without_answers(run: Run, root: Path) -> None:
    write_log(root, SESSION, [said(1, "Hello?")])
    write_log(root, OTHER, [said(1, "Anybody?", session=OTHER)], "-src-sail")
    assert run("prices", code=1).stderr == "hansard: no session has used a model yet\n"


# -- the update


class Server:
    """Serves price data, or whatever a test puts there, on this machine alone."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b"[]"
        self.asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                self.send_response(outer.status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(outer.body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature of the library
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/data.json"
        self.thread = threading.Thread(target=self.http.serve_forever)

    def offer(self, **prices: object) -> None:
        model = {"id": "keel-3", "match": {"starts_with": "keel-3"}, "prices": prices}
        provider = {
            "id": "keel",
            "name": "Keel",
            "api_pattern": r"https://keel\.example",
            "model_match": {"starts_with": "keel"},
            "models": [model],
        }
        self.body = json.dumps([provider]).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    found = Server()
    found.thread.start()
    try:
        yield found
    finally:
        found.http.shutdown()
        found.http.server_close()
        found.thread.join()


@pytest.fixture
def keel(root: Path) -> None:
    """A million tokens of an answer by a model that only the server knows."""
    line = said(2, "Noon.", role="assistant")
    line["message"] |= {"model": KEEL, "usage": ZERO_USAGE}
    write_log(root, SESSION, [said(1, "When is high tide?"), line])
    (root / "projects" / "-src-sail" / f"{OTHER}.jsonl").unlink()


@pytest.mark.usefixtures("keel")
def test_new_prices_and_what_they_change(run: Run, server: Server) -> None:
    assert json.loads(run("usage", "--json").stdout)["totals"]["cost_usd"] is None
    server.offer(input_mtok=3, output_mtok=15)
    told = run("prices", "update", "--from", server.url).stdout.splitlines()
    assert told[0].startswith("Fetched genai-prices ")
    assert told[1:] == [
        "1 change for the models of this history:",
        "  keel-3: no price becomes input 3.00, output 15.00",
        "Total: ? before, $15.00 now",
    ]
    assert json.loads(run("usage", "--json").stdout)["totals"]["cost_usd"] == "15"
    again = run("prices", "update", "--from", server.url).stdout.splitlines()
    assert again[1:] == ["Nothing changed for the models of this history.", "Total: $15.00 before, $15.00 now"]
    server.offer(input_mtok={"base": 3, "tiers": [{"start": 200_000, "price": 6}]}, output_mtok=20, cache_read_mtok=0.3)
    answer = json.loads(run("prices", "update", "--from", server.url, "--json").stdout)
    assert set(answer) == {"data", "rates", "changes", "cost_before_usd", "cost_after_usd", "unpriced_models"}
    assert (answer["cost_before_usd"], answer["cost_after_usd"], answer["rates"]) == ("15", "20", 2)
    assert {change["model"] for change in answer["changes"]} == {KEEL}
    assert answer["data"]["fetched_at"] is not None
    assert server.asked == 3
    listed = run("prices").stdout
    assert "fetched 20" in listed
    assert server.asked == 3  # nothing else goes to the network


@pytest.mark.usefixtures("keel")
def test_prices_of_ones_own_stay_in_force(run: Run, server: Server) -> None:
    configure('[[prices]]\nmodel = "keel-3"\ninput = 1\noutput = 2\n')
    server.offer(input_mtok=3, output_mtok=15)
    assert run("prices", "update", "--from", server.url).stdout.splitlines()[-1] == "Total: $2.00 before, $2.00 now"


@pytest.mark.usefixtures("keel")
@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b"[]"), (404, b""), (200, b"{}"), (200, b"not JSON"), (200, b"[]"), (200, b'[{"id": 1}]')],
)
def test_an_update_that_fails_changes_nothing(run: Run, server: Server, status: int, body: bytes) -> None:
    server.offer(input_mtok=3, output_mtok=15)
    run("prices", "update", "--from", server.url)
    server.status, server.body = status, body
    failed = run("prices", "update", "--from", server.url, code=3)
    assert failed.stdout == ""
    assert server.url in failed.stderr
    assert "The current prices stay in use" in failed.stderr
    assert json.loads(run("usage", "--json").stdout)["totals"]["cost_usd"] == "15"


@pytest.mark.usefixtures("keel")
def test_nobody_answers(run: Run, server: Server) -> None:
    server.http.server_close()
    assert "no prices could be fetched" in run("prices", "update", "--from", "http://127.0.0.1:9/x", code=3).stderr


@pytest.mark.usefixtures("keel")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--from", "http://127.0.0.1:9/"], "`hansard prices update`"),
        (["update", "--all"], "--all cannot be used with prices update"),
        (["update", "--no-sync"], "cannot be used with --no-sync"),
    ],
)
def test_what_makes_no_sense(run: Run, args: list[str], told: str) -> None:
    assert told in run("prices", *args, code=2).stderr

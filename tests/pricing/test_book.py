"""The price data in the store: embedded, kept, fetched, and what happens when it is damaged."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from zstandard import ZstdCompressor

from hansard.engine import Hansard
from hansard.pricing import book as room
from hansard.pricing import settle as prints
from hansard.pricing.book import Book, PricesUnavailable, fetch, load, read
from hansard.pricing.rates import RateKey, find, resolve
from hansard.pricing.settle import FILE_NAME, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

NEW = [
    {
        "id": "anthropic",
        "name": "Anthropic",
        "api_pattern": "https://api\\.anthropic\\.com",
        "model_match": {"contains": "claude"},
        "models": [
            {
                "id": "claude-new-1",
                "match": {"or": [{"equals": "claude-new-1"}, {"starts_with": "claude-new.1"}]},
                "prices": [
                    {"prices": {"input_mtok": 1, "output_mtok": 2.5}},
                    {
                        "constraint": {"start_date": "2026-02-01"},
                        "prices": {
                            "input_mtok": {"base": 3, "tiers": [{"start": 1000, "price": 0.1}]},
                            "output_mtok": 4,
                            "web_searches_kcount": 7,
                        },
                    },
                    {"constraint": {"start_date": "2999-02-01"}, "prices": {"input_mtok": 9, "output_mtok": 9}},
                ],
            }
        ],
    }
]


@contextmanager
def serving(body: bytes, code: int = 200) -> Iterator[str]:
    """A server on this machine that answers everything with the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *given: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/data.json"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_embedded_data_needs_no_network_and_is_kept(store: str) -> None:
    book = load(store)
    assert book.fetched_at is None
    assert book.version
    assert book.dated > "2026-01-01"
    assert len(book.models) > 100
    path = Path(store) / FILE_NAME
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(store).stat().st_mode) == 0o700
    before = path.stat().st_mtime_ns
    assert load(store) == book == read(store)
    assert path.stat().st_mtime_ns == before
    assert os.listdir(store) == [FILE_NAME]


def test_the_data_converted_ahead_is_that_of_the_pinned_package() -> None:
    from genai_prices.data import providers

    ahead = room.read_converted()
    assert ahead is not None
    assert ahead.package == prints.installed(), "genai-prices has another version: run tools/make_prices.py"
    converted = room._converted(providers, prints.installed(), None)
    assert msgspec.structs.replace(ahead, dated=converted.dated) == converted


def test_the_package_is_not_imported_where_its_data_was_converted_ahead(store: str) -> None:
    code = (
        f"import sys; from hansard.pricing.book import load; load({store!r}); sys.exit('genai_prices' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_data_converted_ahead_that_cannot_be_read_is_converted_now(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room._embedded.cache_clear()
    book = load(store)
    for damage in (None, b"", b"no zstd", ZstdCompressor().compress(b'{"format":1}')):
        path = tmp_path / "ahead"
        if damage is not None:
            path.write_bytes(damage)
        monkeypatch.setattr(room, "CONVERTED", str(path))
        assert room.read_converted() is None
        room._embedded.cache_clear()
        assert load(str(tmp_path / f"other-{damage!r}"[:12])) == book


def test_kept_data_is_read_without_the_package(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    book = load(store)

    def refuse(*_given: object) -> None:
        raise AssertionError("converted again")

    monkeypatch.setattr(room, "_converted", refuse)
    assert load(store) == book


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"format":1}', b'{"version":1,"dated":2}', b"0" * 100_000],
    ids=range(8),
)
def test_a_damaged_file_is_made_again(store: str, damage: bytes) -> None:
    book = load(store)
    path = Path(store) / FILE_NAME
    path.write_bytes(damage)
    assert read(store) is None
    assert load(store) == book
    assert read(store) == book


def test_half_a_file_and_another_format(store: str) -> None:
    book = load(store)
    path = Path(store) / FILE_NAME
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert read(store) is None
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(book, format=99)))
    assert read(store) is None
    assert load(store) == book


@pytest.mark.parametrize("wrong", [b'"base":"5 dollars"', b'"base":"-5"', b'"base":"nan"', b'"base":5', b'"base":""'])
def test_an_amount_that_is_none_is_damage(store: str, wrong: bytes) -> None:
    book = load(store)
    path = Path(store) / FILE_NAME
    path.write_bytes(path.read_bytes().replace(b'"base":"5"', wrong))
    assert read(store) is None
    path.write_bytes(msgspec.json.encode(book).replace(b'"since":"2026-03-13"', b'"since":"2026-02-31"'))
    assert read(store) is None
    assert load(store) == book


def test_a_model_that_is_priced_by_the_time_of_day_only_is_not_listed(store: str) -> None:
    hours = {"start_time": "16:30:00Z", "end_time": "00:30:00Z"}
    model = {"id": "claude-night", "match": {"equals": "claude-night"}}
    prices = [{"constraint": hours, "prices": {"input_mtok": 1, "output_mtok": 2}}]
    raw = [{**NEW[0], "models": [{**model, "prices": prices}, *NEW[0]["models"]]}]
    with serving(json.dumps(raw).encode()) as address:
        book = fetch(store, address)
    assert [listed.model for listed in book.models] == ["claude-new-1"]
    assert not resolve(book, (), RateKey("claude-night", "", "", ""))[0].is_priced


def test_another_package_brings_its_own_data(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load(store)
    seen = fingerprint(store)
    for module in (room, prints):
        monkeypatch.setattr(module, "installed", lambda: "another")
    assert fingerprint(store) != seen
    book = load(store)
    assert book.package == "another"
    assert read(store) == book


def test_a_place_that_cannot_be_written_still_gets_its_answer(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    assert len(load(str(blocked / "store")).models) > 100


def test_no_package_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    assert prints.installed() == "none"


def test_an_upgrade_of_the_package_is_noticed_while_a_process_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "genai_prices").mkdir()
    (tmp_path / "genai_prices" / "data.py").write_text("1")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    found = []
    for version in ("1", "2"):
        (tmp_path / f"genai_prices-{version}.dist-info").mkdir()
        os.utime(tmp_path, ns=(int(version), int(version)))
        found.append(prints.installed())
    assert found == ["genai_prices-1.dist-info 1", "genai_prices-1.dist-info,genai_prices-2.dist-info 1"]


def test_fetching(store: str) -> None:
    with serving(json.dumps(NEW).encode()) as address:
        book = fetch(store, address)
    assert [model.model for model in book.models] == ["claude-new-1"]
    assert book.dated == "2026-02-01", "the newest that is in force"
    assert book.fetched_at is not None
    assert datetime.fromisoformat(book.fetched_at).tzinfo is not None
    assert load(store) == book, "what was fetched stays in use"
    listed = find(book, "claude-new.1")
    assert listed is not None
    assert [card.since for card in listed.cards] == [None, date(2026, 2, 1), date(2999, 2, 1)]
    assert listed.cards[1].prices["input"] == room.Price("3", ((1000, "0.1"),))
    assert listed.cards[1].prices["web_search"].base == "7"


def test_a_newer_package_replaces_what_was_fetched_with_an_older(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(json.dumps(NEW).encode()) as address:
        fetch(store, address)
    monkeypatch.setattr(room, "installed", lambda: "newer")
    assert len(load(store).models) > 100


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 200),
        (b"not json", 200),
        (b"{}", 200),
        (b"[]", 200),
        (b'[{"id": 1}]', 200),
        (json.dumps([{**NEW[0], "models": []}]).encode(), 200),
        (json.dumps(NEW).encode(), 404),
        (json.dumps(NEW).encode(), 500),
    ],
    ids=["empty", "text", "object", "no provider", "no data", "no model", "404", "500"],
)
def test_what_cannot_be_fetched_changes_nothing(store: str, body: bytes, code: int) -> None:
    book = load(store)
    seen = fingerprint(store)
    with serving(body, code) as address, pytest.raises(PricesUnavailable, match="stay in use") as failed:
        fetch(store, address)
    assert address in str(failed.value)
    assert fingerprint(store) == seen
    assert load(store) == book


def test_nobody_listens(store: str) -> None:
    with serving(b"") as address:
        pass
    with pytest.raises(PricesUnavailable, match="stay in use"):
        fetch(store, address)
    assert read(store) is None
    assert not os.path.exists(store) or not os.listdir(store)


def test_updating_through_the_library(store: str) -> None:
    with serving(json.dumps(NEW).encode()) as address, Hansard(store, ()) as h:
        data = h.update_prices(address)
    assert (data.source, data.dated, data.overrides) == ("genai-prices", "2026-02-01", 0)
    assert data.fetched_at is not None


def test_every_price_of_the_package_is_a_number(book: Book) -> None:
    from decimal import Decimal

    for model in book.models:
        assert model.cards or model.provider != "anthropic", model.model
        for card in (*model.cards, *model.variants):
            for price in card.prices.values():
                assert all(Decimal(amount) >= 0 for amount in (price.base, *(amount for _, amount in price.tiers)))
                assert [start for start, _ in price.tiers] == sorted(start for start, _ in price.tiers)

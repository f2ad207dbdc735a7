import re
from pathlib import Path

import pytest

from benchmarks.load.dense import write_dense
from benchmarks.queries import EVERYTHING, Maker, Query, Sample, draw, take_sample

SEED = 5


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    root = tmp_path_factory.mktemp("dense")
    write_dense(root, blocks=6000)
    return take_sample(root, SEED)


def test_there_are_enough_of_every_class(sample: Sample) -> None:
    queries = draw(sample, SEED, 11)
    assert len(queries) >= 200
    assert len({query.text for query in queries}) == len(queries)
    kinds = [query.kind for query in queries]
    for kind in Maker(sample, SEED).makers:
        assert kinds.count(kind) == 11, kind
    assert kinds.count("everything") == len(EVERYTHING)


def test_the_same_seed_asks_the_same(sample: Sample) -> None:
    assert draw(sample, SEED, 4) == draw(sample, SEED, 4)
    assert draw(sample, SEED, 4) != draw(sample, SEED + 1, 4)


def test_every_field_is_asked_for(sample: Sample) -> None:
    asked = " ".join(query.text for query in draw(sample, SEED, 11) if query.kind.startswith("filter"))
    for field in ("project", "tool", "kind", "since", "file", "is", "model", "branch"):
        assert f"{field}:" in asked


def test_words_come_from_the_history(sample: Sample) -> None:
    text = "\n".join(block.text for block in sample.blocks).lower()
    words = " ".join(re.findall(r"\w+", text))
    for query in draw(sample, SEED, 11):
        if query.kind in ("rare word", "common word", "identifier, whole", "path", "CJK"):
            assert query.text.lower() in text, query
        elif query.kind.startswith("phrase"):
            assert query.text.strip('"').lower() in words, query
    rare = next(query for query in draw(sample, SEED, 1) if query.kind == "rare word")
    assert sum(rare.text in block.text.lower() for block in sample.blocks) == 1


def test_a_tiny_history_still_gives_queries(tmp_path: Path) -> None:
    write_dense(tmp_path, blocks=40)
    found = draw(take_sample(tmp_path, SEED), SEED, 2)
    assert all(isinstance(query, Query) for query in found)
    assert {"rare word", "CJK", "filters alone"} <= {query.kind for query in found}

import pytest

from benchmarks.search_cases import class_figure, overall, percentile
from benchmarks.table import Figure, Section, format_table


def test_values_beside_a_figure_are_told_and_kept() -> None:
    figure = Figure("a class", (1.0, 2.0, 3.0), "ms", 10, beside=(("p95", 4.0), ("max", 5.25)))
    lines = format_table([Section("a history", (figure,))]).splitlines()
    row = next(line for line in lines if "a class" in line)
    assert row.split() == ["a", "class", "2.0", "ms", "≤", "10", "ms", "ok", "p95", "4.0", "ms,", "max", "5.2", "ms"]
    assert figure.as_json()["beside"] == {"p95": 4.0, "max": 5.25}


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100), (0.0, 1)])
def test_percentile(share: float, value: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == value


def test_one_value_for_each_run() -> None:
    times = [[0.001, 0.002, 0.003], [0.004, 0.005, 0.060]]
    median, high, most = overall("search", times)
    assert median.values == pytest.approx((2.0, 5.0))
    assert high.values == pytest.approx((3.0, 60.0))
    assert most.values == pytest.approx((3.0, 60.0))
    figure = class_figure("a class", times)
    assert dict(figure.beside)["max"] == pytest.approx(31.5)

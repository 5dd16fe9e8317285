"""Scores as JSON: infinite and missing values, intervals, names of later versions."""

import json
import math
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from weyl.scores import Scores

numbers = st.floats(0, 1e9)
maybe = st.none() | numbers
intervals = st.dictionaries(
    st.sampled_from(["average_distortion", "worst_distortion", "mean_average_precision"]),
    st.tuples(numbers, numbers | st.just(math.inf)),
)
scores = st.builds(
    Scores,
    numbers,
    numbers | st.just(math.inf),
    maybe,
    sampled=st.booleans(),
    nodes=st.integers(0, 10**9),
    pairs=st.integers(0, 10**18),
    rank_correlation=maybe,
    precision_at_10=maybe,
    intervals=intervals,
)


@given(scores)
def test_scores_come_back_from_json(one):
    text = json.dumps(one.to_json(), allow_nan=False)
    assert asdict(Scores.from_json(json.loads(text))) == asdict(one)


@given(scores)
def test_intervals_stand_beside_their_scores(one):
    record = one.to_json()
    for name, (low, high) in one.intervals.items():
        assert record[f"{name}_interval"] == [low, None if high == math.inf else high]
    assert "intervals" not in record
    assert sum(name.endswith("_interval") for name in record) == len(one.intervals)


def test_what_a_later_version_adds_is_left_out():
    one = Scores(0.1, 2.0, None)
    assert Scores.from_json({**one.to_json(), "hyperbolicity": 0.5}) == one


def test_what_an_earlier_version_did_not_know_has_its_default():
    found = Scores.from_json(
        {"average_distortion": 0.1, "worst_distortion": None, "mean_average_precision": 1}
    )
    assert found == Scores(0.1, math.inf, 1)

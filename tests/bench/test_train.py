"""`weyl bench train`: whole loops, ours and geoopt's, to the same goal."""

import pytest

from weyl.bench import train

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # geoopt uses it
TASK = ("tree(2,3)", "upper(2)", "f1")


def test_both_reach_the_goal_they_are_timed_to():
    said = []
    ours, theirs = train.run(*TASK, 0.2, 60.0, [("geoopt", None)], threads=1, show=said.append)
    assert (ours["library"], theirs["library"]) == ("weyl", "geoopt")
    for row in (ours, theirs):
        assert row["distortion"] <= 0.2 == row["goal"]
        assert row["curve"][-1] == [row["seconds_to_goal"], row["distortion"]]
        assert row["pairs_per_second"] > 0 and row["nodes"] == 15 and row["pairs"] == 105
    assert theirs["ratio"] == theirs["seconds_to_goal"] / ours["seconds_to_goal"] > 1
    assert 0 < ours["kernel_share"] <= 1 and theirs["rate"] in train.THEIR_RATES
    assert said[0].startswith("weyl, 250 steps") and any(line.startswith("geoopt, ") for line in said)


def test_a_goal_that_is_not_reached_is_said():
    """Runs double until the time is over; none of them came so far."""
    (ours,) = train.run(*TASK, 1e-9, 0.3, [], threads=1)
    assert ours["seconds_to_goal"] is None and ours["distortion"] > 1e-9
    assert len(ours["curve"]) >= 1 and ours["curve"][-1][0] > 0


@pytest.mark.parametrize("goal", [0.0, 1.0, -0.1, float("nan")])
def test_a_goal_that_is_none_is_refused(goal):
    with pytest.raises(ValueError, match="goal is an average distortion between 0 and 1"):
        train.run(*TASK, goal, 1.0, [])


def test_the_kernel_is_timed_in_every_space():
    """Where pairs come sampled and points move one by one, too."""
    (ours,) = train.run("grid(3,3)", "hyperbolic(2)", "riemannian", 0.5, 5.0, [], threads=1)
    assert 0 < ours["kernel_share"] <= 1 and ours["space"] == "hyperbolic(2)"

"""A run that was cut off at any step goes on to the very bits of one that was not, through a file."""

import pytest
import torch

from weyl.training import checkpoint

LEARNED = 'interpolated(2, k="learn")'
CASES = [
    ("upper(2)", "f1", {}),
    ("upper(3)", "f1", {"dtype": "float64"}),
    ("bounded(2)", "finf", {"movement": "geodesic"}),
    ("spd(3)", "riemannian", {"optimizer": "sgd"}),
    ("qpd(2)", "f1", {"movement": "projection"}),
    ("hyperbolic(3)", "riemannian", {"pairs": "near"}),
    ("sphere(3)", "riemannian", {"unit": 3.0, "learn_unit": True}),
    ("product(hyperbolic(2), upper(2), spd(2))", "lp(3)", {"pairs": "sampled"}),
    ("power(hyperbolic(2), 11)", "f1", {}),  # more than ten parts
    (LEARNED, "f1", {"learned_rate": 0.05}),
    (LEARNED, "weighted", {"dtype": "float64", "schedule": "plateau"}),
    (f"product({LEARNED}, upper(1))", "weighted", {"learn_unit": True, "unit": 2.0}),
    ("upper(2)", "weighted", {"ranking": 1.0}),
    (
        "upper(2)",
        "f1",
        {"schedule": "plateau", "optimizer": "sgd", "patience": 1, "burn_in": 1, "total": True},
    ),
]


def through_a_file(state, path):
    plain = dict(state)
    checkpoint.save(path, plain, plain.pop("tensors"))
    plain, tensors = checkpoint.load(path)
    return {**plain, "tensors": tensors}


@pytest.mark.parametrize("cut", [1, 9, 19])
@pytest.mark.parametrize("space, metric, fields", CASES)
def test_a_run_goes_on_to_the_same_bits(trainer, tmp_path, space, metric, fields, cut):
    """Epochs are of 3 steps, so that some are cut in two."""

    def make():
        return trainer(space=space, metric=metric, steps=20, **fields)

    whole, first, second = make(), make(), make()
    expected = whole.run()
    first.run(steps=cut)
    second.state = through_a_file(first.state, tmp_path / "checkpoint")
    found = second.run()
    assert torch.equal(found.points, expected.points)
    assert (found.unit, found.loss, found.losses) == (expected.unit, expected.loss, expected.losses)
    assert (found.space.name, found.norm.text) == (expected.space.name, expected.norm.text)
    assert (found.steps, found.pairs_seen) == (expected.steps, expected.pairs_seen)
    for name, x in whole.state["tensors"].items():
        assert torch.equal(x, second.state["tensors"][name]), name


def test_a_stopped_run_goes_on_itself(trainer):
    """Looking, stopping and calling again change nothing."""
    expected, run = trainer(steps=450).run(), trainer(steps=450)
    for cut in (1, 2, 199, 200, 201, 449):
        assert not run.run(steps=cut).complete
    found = run.run()
    assert torch.equal(found.points, expected.points) and found.losses == expected.losses


def test_a_plateau_goes_on_from_where_it_is_and_not_from_its_best(trainer):
    """What a stopped run gives back are the best points; what goes on are the last."""
    fields = {"schedule": "plateau", "optimizer": "sgd", "rate": 0.4, "steps": 60, "batch": 8192}
    expected, run = trainer(**fields).run(), trainer(**fields)
    for cut in range(5, 60, 5):
        run.run(steps=cut)
    assert torch.equal(run.run().points, expected.points)


def test_what_is_kept_goes_on_to_the_same_bits(trainer, spoil, tmp_path):
    """`kept` is older than `state`, but leads to the same end; also where a setback came between."""

    def make():
        run = trainer(steps=650)
        spoilt = []

        def once(step, call):
            spoilt.append(step == 250 and not any(spoilt))
            return spoilt[-1]

        spoil(run, once)
        return run

    expected = make().run()
    for cut in (150, 240, 251, 300, 500):
        first, second = make(), make()
        first.run(steps=cut)
        second.state = through_a_file(first.kept, tmp_path / "checkpoint")
        found = second.run()
        assert torch.equal(found.points, expected.points) and found.losses == expected.losses, cut


def test_a_run_in_float64_goes_on_in_float64(trainer, tmp_path):
    first, second = (trainer("grid(41)", metric="finf", spread=12.0, steps=20) for _ in range(2))
    assert first.run(steps=10).dtype == "float64"
    second.state = through_a_file(first.state, tmp_path / "checkpoint")
    assert second.dtype == "float64"


def test_states_are_copies(trainer):
    run = trainer(space=LEARNED)
    state = run.state
    before = {name: x.clone() for name, x in state["tensors"].items()}
    run.run()
    assert all(torch.equal(x, state["tensors"][name]) for name, x in before.items())
    run.state = state
    run.run()
    assert all(torch.equal(x, state["tensors"][name]) for name, x in before.items())

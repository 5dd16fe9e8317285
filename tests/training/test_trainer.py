"""The loop of training: what it finds, that it repeats itself to the bit, and that nothing throws it."""

import math

import pytest
import torch

import weyl
from weyl.training.trainer import LEAST_SLOWNESS, REPORT, WIDEST_GAP, Diverged

EXACT = [
    ("grid(8)", "euclidean(1)", "f1"),
    ("grid(3,4)", "product(euclidean(1), euclidean(1))", "f1"),
    ("grid(3,4)", "power(euclidean(1), 2)", "f1"),
    ("grid(4,4)", "upper(2)", "f1"),
    ("grid(4,4)", "bounded(2)", "f1"),
    ("grid(3,3)", "spd(2)", "f1"),
    ("complete(4)", "euclidean(3)", "riemannian"),
    ("grid(5)", "hyperbolic(2)", "riemannian"),
    ("hypercube(3)", "power(euclidean(1), 3)", "f1"),
]


@pytest.mark.parametrize("graph, space, metric", EXACT)
def test_graphs_that_embed_exactly_are_found(trainer, distortion, graph, space, metric):
    run = trainer(graph, space, metric, steps=600, warmup=20, batch=8192)
    trained = run.run()
    assert distortion(trained, graph) < 5e-4
    assert trained.complete and trained.setbacks == 0 and trained.steps == 600
    assert trained.loss == trained.losses[-1][1] < 0.01


@pytest.mark.parametrize("objective", ["paper", "relative-squared", "stress"])
def test_every_objective_finds_them(trainer, distortion, objective):
    run = trainer("grid(4,4)", "upper(2)", steps=600, warmup=20, batch=8192, objective=objective)
    assert distortion(run.run(), "grid(4,4)") < 2e-3


@pytest.mark.parametrize("movement", ["retraction", "geodesic", "projection"])
@pytest.mark.parametrize("optimizer, rate", [("adam", 0.1), ("sgd", 1.0)])
@pytest.mark.parametrize("space", ["upper(2)", "bounded(2)", "hyperbolic(3)", "sphere(3)", "spd(3)"])
def test_every_way_of_moving_gains(trainer, distortion, space, optimizer, rate, movement):
    fields = {
        "optimizer": optimizer,
        "rate": rate,
        "movement": movement,
        "batch": 8192,
        "objective": "relative-squared",
    }
    unit = 3.0 if space == "sphere(3)" else 1.0
    before = trainer(space=space, unit=unit, steps=1, **fields).run()
    after = trainer(space=space, unit=unit, steps=80, **fields).run()
    assert distortion(after, "grid(3,4)") < 0.8 * distortion(before, "grid(3,4)")
    assert after.space.why_not(after.points) is None


def test_distances_grow_with_the_unit(trainer, distortion):
    """A space in other units holds the same graph."""
    trained = trainer("grid(4,4)", "upper(2)", steps=600, warmup=20, batch=8192, unit=2.5).run()
    assert trained.unit == 2.5 and distortion(trained, "grid(4,4)") < 5e-4


# ── the same bits ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "space, metric, fields",
    [
        ("upper(3)", "f1", {}),
        ("upper(2)", "weighted", {"dtype": "float64"}),
        ('interpolated(2, k="learn")', "riemannian", {}),
        ("spd(3)", "finf", {"movement": "geodesic"}),
        ("product(hyperbolic(2), dual(1))", "f1", {"unit": 9.0, "learn_unit": True}),
    ],
)
def test_the_same_bits_whatever_the_threads(trainer, space, metric, fields):
    """With batches that several threads share, and that one thread takes in several pieces."""
    found = []
    for threads in (1, 2, 3):
        run = trainer("grid(16,16)", space, metric, threads=threads, steps=3, batch=30_000, **fields)
        found.append((run.run(), run.learned.values))
    for trained, learned in found[1:]:
        assert torch.equal(trained.points, found[0][0].points) and trained.losses == found[0][0].losses
        assert all(torch.equal(a, b) for a, b in zip(learned, found[0][1], strict=True))


@pytest.mark.parametrize("pairs", ["all", "near", "sampled"])
def test_a_seed_repeats_and_another_does_not(trainer, pairs):
    one, same, other = (trainer(seed=seed, pairs=pairs).run() for seed in (3, 3, 4))
    assert torch.equal(one.points, same.points) and one.losses == same.losses
    assert not torch.equal(one.points, other.points)


# ── faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("at", [3, REPORT - 1, REPORT, REPORT + 50, 2 * REPORT - 1, 449])
def test_a_loss_that_turns_to_nan_is_survived(trainer, spoil, distortion, at):
    """Once, at any step, the last one too: the run goes back, slower, and comes to its end."""
    run, spoilt = trainer(steps=450, batch=8192), []

    def once(step, call):
        spoilt.append(step == at and at not in spoilt and not any(spoilt))
        return spoilt[-1]

    spoil(run, once)
    trained = run.run()
    assert any(spoilt) and trained.setbacks == 1 and trained.complete and trained.steps == 450
    assert distortion(trained, "grid(3,4)") < 1e-3
    assert trained.dtype == "float64", "the digits are suspected first"
    assert all(math.isfinite(loss) for _, loss in trained.losses)
    assert [step for step, _ in trained.losses] == sorted({step for step, _ in trained.losses})


def test_a_run_that_never_recovers_says_so_in_one_line(trainer, spoil):
    run = trainer(steps=3000)
    spoil(run, lambda step, call: step > 250)
    with pytest.raises(Diverged) as problem:
        run.run()
    assert "diverged" in str(problem.value) and "\n" not in str(problem.value)
    assert isinstance(problem.value, ValueError), "exit 2 on the command line"
    assert run.slowness / 2 < LEAST_SLOWNESS


def test_points_are_sound_where_a_run_is_stopped_before_it_notices(trainer, spoil):
    run = trainer(steps=450)
    spoil(run, lambda step, call: step == 210)
    trained = run.run(steps=220)
    assert not trained.complete and trained.points.isfinite().all() and math.isfinite(trained.loss)
    assert all(x.isfinite().all() for x in run.kept["tensors"].values())


def test_a_checkpoint_never_holds_what_is_no_number(trainer, spoil):
    run, kept = trainer(steps=450), []
    spoil(run, lambda step, call: step == 210 and call < 250)
    one = run._train_batch

    def step(rate, stop):
        kept.append(run.kept)
        return one(rate, stop)

    run._train_batch = step
    run.run()
    assert all(x.isfinite().all() for state in kept for x in state["tensors"].values())


def test_far_points_go_to_float64(trainer):
    """As soon as components of a distance differ by more than float32 can hold, and for good."""
    run, seen = trainer("grid(41)", "upper(2)", "finf", steps=50, batch=8192, spread=12.0), []
    one = run._train_batch

    def step(rate, stop):
        before = run.dtype
        stopped = one(rate, stop)
        seen.append((before, run.gap, run.dtype))
        return stopped

    run._train_batch = step
    trained = run.run()
    assert seen[0][0] == "float32" and trained.dtype == "float64" and trained.setbacks == 0
    for before, gap, after in seen:
        assert after == ("float64" if gap > WIDEST_GAP else before)
    assert trainer("grid(3)", "upper(2)", steps=20).run().dtype == "float32"


# ── who looks on ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_look_stops_the_run(trainer, monkeypatch):
    monkeypatch.setattr("weyl.training.trainer.LOOK", 0.0)
    seen = []

    def look(state):
        seen.append(state)
        state.stop = state.step >= 7

    trained = trainer(steps=10_000).run(look=look)
    assert not trained.complete and 7 <= trained.steps <= 8
    assert [state.step for state in seen[:8]] == list(range(8)) and seen[0].steps == 10_000
    assert all(0 <= state.progress <= 1 and state.pairs_seen <= 30 * state.step for state in seen)
    assert seen[5].loss == pytest.approx(sum(s.loss for s in seen[5:6])) and seen[5].loss > 0


def test_even_the_shortest_run_is_looked_at(trainer):
    seen = []
    trainer(steps=3).run(look=seen.append)
    assert seen[-1].progress == 1 and seen[-1].step == 3 and math.isfinite(seen[-1].loss)


def test_a_time_limit_ends_a_run_at_a_small_rate(trainer):
    """However many steps are asked for; the rate follows the clock down to zero."""
    run, rates = trainer(steps=10**8), []
    plain = run.schedule
    run.schedule = type("", (), {"__call__": lambda _, *now: rates.append(plain(*now)) or rates[-1], "finished": False,
                                 "state": {}, "epoch": lambda _, loss: False})()  # fmt: skip
    trained = run.run(time_limit=0.5)
    assert trained.complete and 0.5 <= trained.seconds < 10
    assert max(rates) > 0.09 and rates[-1] < 0.05


def test_a_limit_that_has_passed_trains_nothing(trainer):
    run = trainer()
    run.seconds = 3.0
    trained = run.run(time_limit=2.0)
    assert trained.steps == 0 and trained.points.isfinite().all() and math.isnan(trained.loss)


def test_reports_come_sooner_where_steps_take_longer(trainer, monkeypatch):
    """What a kill or a setback costs is a few seconds, for large graphs too."""
    monkeypatch.setattr("weyl.training.trainer.PAIRS_A_REPORT", 1000)
    for batch, steps in ((20, 50), (30, 33), (8192, 15)):
        run = trainer(batch=batch, steps=60)
        run.run()
        assert run.losses[0][0] == steps and run.kept["step"] == 60


# ── the paper's recipe, and neighbourhoods ───────────────────────────────────────────────────────────────────────────
def test_plateau_keeps_the_points_of_its_best_epoch(trainer):
    run = trainer(schedule="plateau", optimizer="sgd", rate=0.3, steps=60, batch=8192, stop_after=1000)
    losses, points = [], []
    plain = run.schedule.epoch

    def epoch(loss):
        losses.append(loss)
        points.append(run.moving.points())
        return plain(loss)

    run.schedule.epoch = epoch
    trained = run.run()
    best = min(range(len(losses)), key=losses.__getitem__)
    assert torch.equal(trained.points, points[best])


def test_plateau_ends_when_nothing_is_gained(trainer):
    run = trainer(
        schedule="plateau", optimizer="sgd", rate=1e-9, steps=10_000, stop_after=5, patience=2, batch=8192
    )
    trained = run.run()
    assert trained.complete and trained.steps < 1000


def test_best_points_go_with_the_curvature_of_their_epoch(trainer, distortion):
    run = trainer(
        space='interpolated(2, k="learn")', schedule="plateau", steps=30, batch=8192, learned_rate=0.05
    )
    seen = []
    plain = run.schedule.epoch

    def epoch(loss):
        seen.append((float(run.kernel.space.k.detach()), loss))
        return plain(loss)

    run.schedule.epoch = epoch
    trained = run.run()
    best = min(seen, key=lambda one: one[1])
    assert float(trained.space.k) == best[0]
    assert float(run.kernel.space.k.detach()) == seen[-1][0], "the run itself goes on from where it is"


def test_ranking_brings_neighbours_to_the_front(trainer):
    """In too small a space distances alone leave the order of neighbours wrong; the hinge counts and mends that."""
    graph, scores = weyl.graph("tree(3,3)"), {}
    for weight in (0.0, 3.0):
        trained = trainer(
            "tree(3,3)", "euclidean(2)", "riemannian", steps=1500, batch=8192, ranking=weight, warmup=20
        ).run()
        embedding = weyl.Embedding(trained.space, trained.norm, trained.points, graph.nodes)
        scores[weight] = weyl.evaluate(embedding, graph).mean_average_precision
    assert scores[0.0] < 0.95 and scores[3.0] > scores[0.0] + 0.02

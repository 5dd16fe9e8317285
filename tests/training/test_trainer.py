"""The loop of training: what it finds, that it repeats itself to the bit, and that nothing throws it."""

import math

import pytest
import torch

import weyl
from weyl.kernels.dispatch import PairKernel
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


# ── steps in one call ────────────────────────────────────────────────────────────────────────────────────────────────
WHOLE = [
    ("upper(1)", "f1", {}),
    ("upper(2)", "riemannian", {"objective": "stress"}),
    ("upper(3)", "weighted(3,2,1)", {"objective": "paper", "ranking": 0.3}),
    ("upper(4)", "f1", {"ranking": 0.5}),
    ("upper(9)", "finf", {"objective": "relative-squared"}),
    ("spd(3)", "f1", {"unit": 2.0, "ranking": 0.5}),
    ("spd(3, det=1)", "lp(3)", {"betas": (0.5, 0.9)}),
    ("hpd(2)", "f1", {}),
    ("hpd(3, det=1)", "fmin", {}),
    ("qpd(2)", "f1", {"objective": "stress", "unit": 0.5}),
    ("qpd(2, det=1)", "f1", {}),
    ("power(upper(2), 3)", "f1", {}),
    ("bounded(3)", "f1", {"ranking": 0.5}),
    ("dual(2)", "riemannian", {"unit": 6.0}),
    ("ball(2, 3)", "finf", {}),
    ('ball(3, 2, field="H", k=-0.5)', "f1", {"objective": "stress"}),
    ("antisymmetric(5)", "f1", {}),
    ("product(hyperbolic(3), euclidean(2), upper(2))", "weighted(3,2,1,1)", {"ranking": 0.1}),
    ('product(upper(2), spd(3), qpd(2), combine="pythagoras")', "finf", {"ranking": 0.2}),
]


def plainly(run):
    """What a run finds step by step, slopes and sums and Adam in torch."""
    one = run.kernel
    run.kernel = PairKernel(one.space, one.norm, one.dtype, "cpu", 1, backend="batched")
    assert not run.in_one_call
    return run.run()


@pytest.mark.parametrize("space, metric, fields", WHOLE)
@pytest.mark.parametrize("graph, batch", [("grid(3,4)", 30), ("grid(7,8)", 1540), ("grid(7,8)", 1100)])
def test_steps_in_one_call_are_the_plain_steps(trainer, space, metric, fields, graph, batch):
    """In float64, for batches of one chunk and of several, epochs of one step and of several."""
    fields = {"steps": 6, "dtype": "float64", "batch": batch, "rate": 0.01, "warmup": 1, **fields}
    whole, plain = (trainer(graph, space, metric, threads=2, **fields) for _ in range(2))
    assert whole.in_one_call
    found, expected = whole.run(), plainly(plain)
    assert (found.steps, found.pairs_seen) == (expected.steps, expected.pairs_seen)
    start = trainer(graph, space, metric, **fields).moving.points()
    assert (expected.points - start).abs().max() > 0.01, "or else nothing is compared"
    assert torch.allclose(found.points, expected.points, rtol=0, atol=1e-9)
    assert found.losses[-1][1] == pytest.approx(expected.losses[-1][1], rel=1e-9)


def test_calls_of_any_length_find_the_same_bits(trainer, monkeypatch):
    fields = {"graph": "grid(16,16)", "space": "upper(3)", "batch": 3000, "steps": 40, "ranking": 0.5}
    whole = trainer(**fields).run()
    for work in (0, 3000 * 27 * 2, 3000 * 27 * 7):
        monkeypatch.setattr("weyl.training.trainer.WORK_A_CALL", work)
        other = trainer(**fields)
        first = other.run(steps=13)
        assert not first.complete and first.steps == 13
        found = other.run()
        assert torch.equal(found.points, whole.points) and found.losses == whole.losses


def test_what_is_no_number_within_a_call_is_survived(trainer, distortion):
    """The run goes back to before that call, slower."""
    run, plain = trainer(steps=450, batch=8192), []
    take = run._train_batches

    def steps(rates):
        take(rates)
        if run.step > 250 and not plain:
            plain.append(run.step)
            run.optimizer.mean[3, 1] = math.nan

    run._train_batches = steps
    trained = run.run()
    assert plain and trained.setbacks == 1 and trained.complete and trained.steps == 450
    assert distortion(trained, "grid(3,4)") < 1e-3


def test_a_call_ends_where_the_gap_is_too_wide(trainer):
    """The step that meets it is the last in float32, wherever in the call it stands."""
    run = trainer("grid(41)", "upper(2)", "finf", steps=60, batch=100, spread=12.0)
    run.run(steps=1)
    assert run.dtype == "float64" and run.step == 1
    calm = trainer("grid(41)", "upper(2)", "finf", steps=60, batch=100, spread=1.0)
    calm.run(steps=1)
    assert calm.dtype == "float32"


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
    one = run._train

    def step(rates, stop):
        kept.append(run.kept)
        return one(rates, stop)

    run._train = step
    run.run()
    assert all(x.isfinite().all() for state in kept for x in state["tensors"].values())


def test_far_points_go_to_float64(trainer):
    """As soon as components of a distance differ by more than float32 can hold, and for good."""
    run, seen = trainer("grid(41)", "upper(2)", "finf", steps=50, batch=8192, spread=12.0), []
    one = run._train

    def step(rates, stop):
        before = run.dtype
        stopped = one(rates, stop)
        seen.append((before, run.gap, run.dtype))
        return stopped

    run._train = step
    trained = run.run()
    assert seen[0][0] == "float32" and trained.dtype == "float64" and trained.setbacks == 0
    for before, gap, after in seen:
        assert after == ("float64" if gap > WIDEST_GAP else before)
    assert trainer("grid(3)", "upper(2)", steps=20).run().dtype == "float32"


# ── who looks on ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_look_stops_the_run(trainer, monkeypatch, one_by_one):
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
                                 "by_epoch": False, "state": {}, "epoch": lambda _, loss: False})()  # fmt: skip
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

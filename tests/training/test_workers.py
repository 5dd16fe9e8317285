"""Several processes: they agree with one, and with each other, whatever their clocks, signals and shares.

Here the processes are threads that meet at a barrier; tests/cli/test_several_processes.py starts real ones.
"""

import math
import threading

import pytest
import torch

from weyl.training.processes import NAMES, place
from weyl.training.trainer import Trainer
from weyl.training.workers import Workers


class Meeting:
    """What the workers of one run hand round."""

    def __init__(self, count):
        self.count, self.barrier, self.brought = count, threading.Barrier(count, timeout=30), [None] * count

    def workers(self):
        return [Together(self, number) for number in range(self.count)]


class Together(Workers):
    def __init__(self, meeting, number):
        self.meeting, self.count, self.number, self.device = (
            meeting,
            meeting.count,
            number,
            torch.device("cpu"),
        )

    def sum(self, tensors, numbers):
        self.meeting.brought[self.number] = ([x.double() for x in tensors], list(numbers))
        self.meeting.barrier.wait()
        theirs = list(self.meeting.brought)
        self.meeting.barrier.wait()
        sums = [torch.stack(parts).sum(0) for parts in zip(*(x for x, _ in theirs), strict=True)]
        return sums, tuple(sum(parts) for parts in zip(*(x for _, x in theirs), strict=True))


def together(trainer, count, *, look=None, spoil=None, time_limit=None, **fields):
    """What each of several workers found."""
    workers, found, runs = Meeting(count).workers(), [None] * count, []
    for one in workers:
        run = trainer(**fields)
        run.workers = one
        runs.append(run)
        if spoil:
            spoil(run, one.number)

    def work(number):
        try:
            mine = look(number) if look else None
            found[number] = runs[number].run(time_limit=time_limit, look=mine)
        except Exception:
            workers[number].meeting.barrier.abort()
            raise

    threads = [
        threading.Thread(target=work, args=(number,), name=f"worker {number}") for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in found
    return found, runs


@pytest.mark.parametrize(
    "space, metric, fields",
    [
        ("upper(2)", "f1", {}),
        ('product(interpolated(2, k="learn"), spd(2))', "weighted", {"learn_unit": True, "unit": 2.0}),
        ("hyperbolic(3)", "riemannian", {"optimizer": "sgd", "schedule": "plateau", "pairs": "near"}),
    ],
)
@pytest.mark.parametrize("count", [2, 3])
def test_several_agree_with_one(trainer, count, space, metric, fields):
    """After 20 steps to 1e-9, in float64; with each other to the bit."""
    fields = {"space": space, "metric": metric, "steps": 20, "dtype": "float64", "batch": 31, **fields}
    alone = trainer(**fields).run()
    found, _ = together(trainer, count, **fields)
    for each in found:
        assert torch.equal(each.points, found[0].points) and each.losses == found[0].losses
        assert torch.allclose(each.points, alone.points, rtol=0, atol=1e-9)
        assert each.unit == pytest.approx(alone.unit, rel=1e-9)
        assert (each.steps, each.pairs_seen) == (alone.steps, alone.pairs_seen)


def test_more_workers_than_pairs(trainer):
    """Some have nothing to do; together they do what one does."""
    fields = {"graph": "grid(2)", "steps": 10, "dtype": "float64"}
    found, _ = together(trainer, 3, **fields)
    alone = trainer(**fields).run()
    assert all(torch.allclose(each.points, alone.points, atol=1e-12) for each in found)


def test_a_time_limit_ends_all_at_one_step(trainer, monkeypatch):
    """Though their clocks tell different times: that of the first counts, for the rate too."""
    ticks = {"worker 0": iter(range(10**9)), "worker 1": iter(range(10**9))}

    def clock():
        name = threading.current_thread().name
        return (
            0.003 * next(ticks[name])
            if name == "worker 0"
            else 1e6 + 0.007 * next(ticks.get(name, iter([0])))
        )

    monkeypatch.setattr("weyl.training.trainer.time.monotonic", clock)
    found, runs = together(trainer, 2, steps=10**6, time_limit=1.0)
    assert found[0].steps == found[1].steps > 1 and found[0].complete and found[1].complete
    assert torch.equal(found[0].points, found[1].points)
    assert runs[0].seconds == runs[1].seconds


@pytest.mark.parametrize("who", [0, 1])
def test_whoever_wants_to_stop_stops_all(trainer, who, monkeypatch):
    monkeypatch.setattr("weyl.training.trainer.LOOK", 0.0)

    def look(number):
        def see(state):
            state.stop = number == who and state.step >= 5

        return see

    found, _ = together(trainer, 2, steps=10**6, look=look)
    assert found[0].steps == found[1].steps == 6 and not found[0].complete
    assert torch.equal(found[0].points, found[1].points)


def test_a_loss_that_is_no_number_in_one_sets_back_all(trainer, spoil):
    def spoil_one(run, number):
        spoilt = []

        def once(step, call):
            spoilt.append(number == 1 and step == 30 and not any(spoilt))
            return spoilt[-1]

        spoil(run, once)

    found, _ = together(trainer, 2, steps=60, spoil=spoil_one)
    assert [each.setbacks for each in found] == [1, 1] and math.isfinite(found[0].loss)
    assert torch.equal(found[0].points, found[1].points)


def test_all_go_to_float64_where_one_sees_a_wide_gap(trainer):
    found, _ = together(trainer, 3, graph="grid(41)", metric="finf", spread=12.0, steps=5, batch=100)
    assert {each.dtype for each in found} == {"float64"}


@pytest.mark.parametrize(
    "found", [{}, {"WORLD_SIZE": "4", "RANK": "2"}, {"RANK": "1"}, {"MASTER_ADDR": "here"}]
)
def test_what_schedulers_set_makes_no_workers(monkeypatch, found):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    assert place() == (0, 1) and Workers().first


def test_torchrun_says_which_process_this_is(monkeypatch):
    for name, value in zip(NAMES, ("2", "4", "localhost", "29500"), strict=True):
        monkeypatch.setenv(name, value)
    assert place() == (2, 4)


def test_one_process_alone():
    alone = Workers()
    x = torch.arange(5)
    assert alone.first and alone.count == 1 and alone.share(x) is x
    assert alone.agreed(3.5) == 3.5 and alone.any(True) and not alone.any(False)
    alone.close()


def test_shares_make_up_the_batch():
    for size in (0, 1, 7, 9):
        parts = [worker.share(torch.arange(size)) for worker in Meeting(3).workers()]
        assert sorted(torch.cat(parts).tolist()) == list(range(size))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_trainers_make_their_own_workers(trainer):
    assert isinstance(trainer(), Trainer) and trainer().workers.first

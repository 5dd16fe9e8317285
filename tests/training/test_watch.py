"""What looks on: Ctrl-C, the log, and checkpoints, also where the disk is full."""

import json
import logging
import signal
import threading
from pathlib import Path

import pytest

from weyl.training import checkpoint
from weyl.training.watch import Interrupt, Watch, resumed


@pytest.fixture
def hears():
    """Ctrl-C raises KeyboardInterrupt, also where the tests run behind a shell's &."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def always(monkeypatch):
    """Every step is looked at."""
    monkeypatch.setattr("weyl.training.trainer.LOOK", 0.0)
    monkeypatch.setattr("weyl.training.trainer.WORK_A_CALL", 0)


def state():
    class State:
        stop = False

    return State()


# ── Ctrl-C ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_first_is_heard_and_the_second_ends_at_once(hears):
    with Interrupt() as interrupt:
        seen = state()
        interrupt.look(seen)
        assert not interrupt.heard and not seen.stop
        signal.raise_signal(signal.SIGINT)
        interrupt.look(seen)
        assert interrupt.heard and seen.stop
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_callbacks_stop_is_not_taken_back():
    with Interrupt() as interrupt:
        seen = state()
        seen.stop = True
        interrupt.look(seen)
        assert seen.stop


def test_who_does_not_hear_ctrl_c_goes_on_not_hearing_it(hears):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupt() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert not interrupt.heard
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_beside_the_main_thread_nothing_is_touched(hears):
    handlers = []

    def work():
        with Interrupt():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


def test_ctrl_c_stops_a_run_at_its_next_look(trainer, hears, always):
    run = trainer(steps=10**6)

    def callback(state):
        if state.step == 5:
            signal.raise_signal(signal.SIGINT)

    with Interrupt() as interrupt:
        trained = run.run(look=Watch(run, interrupt, callback=callback))
    assert trained.steps == 6 and not trained.complete and interrupt.heard


# ── the log ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_every_loss_stands_in_the_log_once(trainer, tmp_path, always):
    path = tmp_path / "log.jsonl"
    path.write_text("of an earlier run\n")
    run = trainer(steps=450)
    watch = Watch(run, Interrupt(), log=path)
    run.run(look=watch)
    watch.write_log()
    found = lines(path)
    assert [(line["step"], line["loss"]) for line in found] == run.losses and len(found) == 3
    assert all(line["dtype"] == "float32" and line["gap"] >= 0 and line["seconds"] >= 0 for line in found)


@pytest.mark.parametrize("cut", [0, 150, 250, 450])
def test_the_log_of_a_resumed_run_has_every_step_once(trainer, tmp_path, cut):
    """Also where lines are newer than the checkpoint, and the last was cut off."""
    log, kept = tmp_path / "log.jsonl", tmp_path / "checkpoint"
    whole, first, second = trainer(steps=650), trainer(steps=650), trainer(steps=650)
    whole.run()
    watch = Watch(first, Interrupt(), log=log, path=kept, identity={})
    first.run(steps=cut)
    watch.keep()
    first.run(steps=cut + 201)
    watch.write_log()
    with open(log, "a") as file:
        file.write('{"step": 640, "lo')
    resumed(second, kept, {})
    watch = Watch(second, Interrupt(), log=log)
    second.run()
    watch.write_log()
    assert [(line["step"], line["loss"]) for line in lines(log)] == whole.losses


def test_a_log_that_is_asked_for_late_holds_all_losses(trainer, tmp_path):
    run = trainer(steps=450)
    run.run(steps=220)
    watch = Watch(run, Interrupt(), log=tmp_path / "log.jsonl")
    run.run()
    watch.write_log()
    assert [line["step"] for line in lines(tmp_path / "log.jsonl")] == [200, 400, 450]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_ends_the_log_and_not_the_run(trainer, always, caplog):
    run = trainer(steps=650)
    trained = run.run(look=Watch(run, Interrupt(), log="/dev/full"))
    assert trained.complete
    assert [record.getMessage() for record in caplog.records] == [
        "the log ends here, training goes on: /dev/full: No space left on device"
    ]


@pytest.mark.parametrize("path", ["missing/log.jsonl", ""])
def test_a_log_that_cannot_be_is_refused_before_training(trainer, tmp_path, path):
    with pytest.raises(OSError):
        Watch(trainer(), Interrupt(), log=tmp_path / path)


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_checkpoints_are_written_when_it_is_time(trainer, tmp_path, always):
    path, run, times = tmp_path / "checkpoint", trainer(steps=30), []
    watch = Watch(run, Interrupt(), path=path, every=0.0, identity={"seed": 1})
    save = watch.keep

    def keep():
        times.append(run.step)
        save()

    watch.keep = keep
    run.run(look=watch)
    assert times == list(range(31)) and checkpoint.load(path)[0]["identity"] == {"seed": 1}
    seldom = Watch(trainer(steps=30), Interrupt(), path=tmp_path / "other", every=1000.0)
    seldom.trainer.run(look=seldom)
    assert not (tmp_path / "other").exists()


def test_a_checkpoint_that_cannot_be_written_is_warned_of_once(
    trainer, tmp_path, always, caplog, monkeypatch
):
    """Training goes on; the last checkpoint stays; where there is room again, the next one is written."""
    path, full = tmp_path / "checkpoint", [False]
    run = trainer(steps=450)

    def write_whole(path, data):
        if full[0]:
            raise OSError(28, "No space left on device; the file is as it was", str(path))
        path.write_bytes(data)

    monkeypatch.setattr(checkpoint.storage, "write_whole", write_whole)

    def callback(state):
        full[0] = 100 < state.step < 300
        if state.step == 299:
            assert checkpoint.load(path)[0]["step"] == 0

    assert run.run(look=Watch(run, Interrupt(), callback=callback, path=path, every=0.0)).complete
    (record,) = caplog.records
    expected = f"no checkpoint could be written, training goes on: {path}: No space left on device"
    assert record.getMessage().startswith(expected) and record.levelno == logging.WARNING
    assert checkpoint.load(path)[0]["step"] == 450


def test_a_folder_that_is_not_there_is_refused_before_training(trainer, tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        Watch(trainer(), Interrupt(), path=tmp_path / "missing" / "checkpoint")

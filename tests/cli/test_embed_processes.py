"""`weyl embed` as a process of its own: killed, interrupted, on a terminal, on a full disk, and as two at once."""

import json
import os
import pty
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import weyl
from weyl.cli import main
from weyl.training.checkpoint import load

START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & shuts its ears
{before}
from weyl.cli import main
sys.exit(main())
"""
OFTEN = """
import weyl, weyl.training.trainer
weyl.training.trainer.LOOK = {look}
weyl.embed.__kwdefaults__["checkpoint_every"] = {every}
"""
SLOWLY = """
import time
from weyl.training.trainer import Trainer
train = Trainer._train
def slowly(self, *arguments):
    time.sleep(0.0005 * len(arguments[0]))  # so that no machine is at the end before it is killed
    return train(self, *arguments)
Trainer._train = slowly
"""
GRAPH, SPACE = "tree(2,4)", "upper(2)"


def start(*arguments, look=0.2, every=10.0, before="", stderr=subprocess.PIPE):
    """`weyl embed` in a process that looks up, and writes checkpoints, this often."""
    program = START.format(before=before + OFTEN.format(look=look, every=every))
    path = os.pathsep.join([str(Path(weyl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", program, "embed", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=stderr,
    )


def wait_for(what, process, seconds=60.0):
    """Until there is what is waited for, while the process runs."""
    end = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


def finish(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out.decode(), (err or b"").decode()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(steps):
    Path("settings.toml").write_text(f"steps = {steps}\nwarmup = 20\nstarts = 1\n")
    return [GRAPH, "--space", SPACE, "--config", "settings.toml", "--out", "x.weyl", "--json"]


def test_killed_at_any_moment_and_resumed_it_ends_with_the_same_bits(here):
    """Twice kill -9, then Ctrl-C, then to the end; each in the middle of its steps and checkpoints."""
    steps = 3000
    arguments, checkpoint = settings(steps), Path("x.weyl.checkpoint")
    moments = random.Random(time.time_ns())
    reached = [0]
    for sent in (signal.SIGKILL, signal.SIGKILL, signal.SIGINT):
        process = start(*arguments, "--resume", "--threads", "1", look=0.02, every=0.0, before=SLOWLY)
        wait_for(lambda: checkpoint.exists() and load(checkpoint)[0]["step"] > reached[-1], process)
        time.sleep(0.1 * moments.random())
        process.send_signal(sent)
        status, out, err = finish(process)
        assert out == "" and status == (130 if sent == signal.SIGINT else -signal.SIGKILL)
        reached.append(load(checkpoint)[0]["step"])
    assert err.startswith("weyl embed: stopped; the best so far is in x.weyl; --resume goes on from here\n")
    best = weyl.load("x.weyl")
    assert not best.training["complete"] and best.scores is None and best.training["steps"] < steps
    assert reached == sorted(set(reached)) and reached[-1] < steps
    status, out, err = finish(start(*arguments, "--resume", "--threads", "2"))
    assert (status, err) == (0, "")
    whole = weyl.embed(GRAPH, SPACE, config={"steps": steps, "warmup": 20, "starts": 1})
    found = weyl.load("x.weyl")
    assert torch.equal(found.points, whole.points) and found.scores == whole.scores
    assert json.loads(out)["pairs_seen"] == whole.training["pairs_seen"]
    assert found.training["losses"] == [list(one) for one in whole.training["losses"]]
    left = {
        name for name in os.listdir() if not name.endswith(".part")
    }  # what a kill cut off is in nobody's way
    assert left == {"settings.toml", "x.weyl"}


def test_a_second_ctrl_c_ends_at_once(here):
    before = """
from weyl.training.watch import Interrupt
hear = Interrupt._hear
def heard(self, *signal):
    open("heard", "a").close()
    hear(self, *signal)
Interrupt._hear = heard
enter = Interrupt.__enter__
def entered(self):
    enter(self)
    open("entered", "a").close()
    return self
Interrupt.__enter__ = entered
"""
    process = start(*settings(10**9), look=1e9, before=before)
    wait_for(Path("entered").exists, process)
    process.send_signal(signal.SIGINT)
    wait_for(Path("heard").exists, process)
    process.send_signal(signal.SIGINT)
    assert finish(process) == (130, "", "weyl: interrupted\n")
    assert not Path("x.weyl").exists()


def test_a_full_disk_keeps_what_there_was(here, capsys):
    """Neither checkpoint nor embedding fit: one warning, one line at the end, and the earlier file as it was."""
    arguments = settings(60)
    assert main(["embed", *arguments]) == 0
    capsys.readouterr()
    earlier = Path("x.weyl").read_bytes()
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1500, resource.RLIM_INFINITY))\n"
    status, out, err = finish(start(*arguments, "--seed", "1", look=0.0, every=0.0, before=limit))
    first, second = err.splitlines()
    assert (status, out) == (2, "")
    assert first.startswith(
        "weyl embed: no checkpoint could be written, training goes on: x.weyl.checkpoint: File too"
    )
    assert second.startswith("weyl embed: x.weyl: File too large; the file is as it was")
    assert Path("x.weyl").read_bytes() == earlier and sorted(os.listdir()) == ["settings.toml", "x.weyl"]


def test_progress_is_for_terminals(here):
    """A line that is written over, and taken away at the end; the result on stdout is the result alone."""
    ours, theirs = pty.openpty()
    process = start(*settings(1500), look=0.01, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    status, out, _ = finish(process)
    text = seen.decode()
    assert status == 0 and json.loads(out)["out"] == "x.weyl"
    assert "reading the graph" in text and "loss" in text and "pairs a second" in text and "left" in text
    assert "\n" not in text and text.endswith("\r\x1b[K")
    assert all(len(line) < 100 for line in text.split("\r\x1b[K"))


# ── two processes ────────────────────────────────────────────────────────────────────────────────────────────────────
def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start_two(*arguments):
    path = os.pathsep.join([str(Path(weyl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    words = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_addr", "127.0.0.1"]
    # after "--" torchrun looks for no options of its own, such as what --log may be short for
    words += ["--master_port", str(free_port()), "-m", "weyl", "--", "embed", *arguments]
    return subprocess.Popen(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_two_processes_agree_with_one(here):
    """After 30 steps in float64 to 1e-9; one result, one file."""
    arguments = [*settings(30), "--dtype", "float64", "--time-limit", "600"]
    status, out, err = finish(start_two(*arguments))
    assert status == 0, err
    record = json.loads(out)
    whole = weyl.embed(GRAPH, SPACE, dtype="float64", config={"steps": 30, "warmup": 20, "starts": 1})
    found = weyl.load("x.weyl")
    assert torch.allclose(found.points, whole.points, rtol=0, atol=1e-9)
    assert record["average_distortion"] == pytest.approx(whole.scores.average_distortion, rel=1e-9)
    assert found.training["loss"] == pytest.approx(whole.training["loss"], rel=1e-9)
    assert record["pairs_seen"] == whole.training["pairs_seen"]
    assert sorted(os.listdir()) == ["settings.toml", "x.weyl"]


def test_ctrl_c_stops_two_processes_together(here):
    """The best so far is kept, and one process goes on with it."""
    Path("log.jsonl").touch()
    process = start_two(*settings(10**8), "--log", "log.jsonl")
    wait_for(lambda: Path("log.jsonl").stat().st_size > 0, process)
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    assert status != 0 and out == ""
    assert err.count("weyl embed: stopped; the best so far is in x.weyl; --resume goes on from here") == 1
    assert weyl.load("x.weyl").training["steps"] >= 200
    step = load("x.weyl.checkpoint")[0]["step"]
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert step == lines[-1]["step"]

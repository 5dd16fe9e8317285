"""Distances of many pairs and their gradients: microseconds a pair, beside other libraries, as a share of the peak.

A case is a space, a dtype and a number of pairs: all pairs of so many nodes, in random order. Each of its rounds times
distances alone and distances with the gradient of their sum, ours and theirs, and the machine's peak, in turns.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.kernels.dispatch import PairKernel
from weyl.kernels.layout import LOSSES, LossLayout

from . import geoopt_pairs, machine, operations, sympa_pairs
from .competitor import Competitor
from .peak import peak
from .request import Request
from .timing import Timing, interleaved, once

PAIRS = {"cpu": 200_000, "cuda": 8_000_000}
WORKS = {"distance": False, "distance+gradient": True}
CURVE_RANKS = (1, 2, 3, 4, 6, 8, 12, 17, 24, 32)
CURVE_PAIRS = 1024  # the paper's batch
CURVE_BATCHES = {"cpu": tuple(4**k for k in range(2, 10)), "cuda": tuple(4**k for k in range(2, 12))}
SHORTEST = 0.02  # seconds that one measurement takes at least, by repeating the call
THEIRS = 0.5  # seconds that one measurement of another library takes at most, by taking fewer pairs
THEIR_BATCH = 65_535  # pairs of one call: above, geoopt fails on a GPU and takes seconds on a CPU
LIMIT = {"table": 10.0, "rank": 3.0, "batch": 3.0}  # seconds for the rounds of a case

Row = dict[str, Any]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Case:
    """A line of the table, or a point of a curve."""

    series: str  # table, rank, batch
    space: SymmetricSpace
    metric: str
    dtype: torch.dtype
    device: torch.device
    threads: int
    pairs: int

    @property
    def nodes(self) -> int:
        """The least number of nodes that have so many pairs."""
        return math.ceil((1 + math.sqrt(1 + 8 * self.pairs)) / 2)

    def indices(self) -> tuple[Tensor, Tensor]:
        """Pairs of nodes in random order."""
        generator = torch.Generator().manual_seed(0)
        i, j = torch.triu_indices(self.nodes, self.nodes, 1)
        chosen = torch.randperm(len(i), generator=generator)[: self.pairs]
        return i[chosen].to(self.device), j[chosen].to(self.device)

    def points(self) -> Tensor:
        return self.space.random_points(self.nodes, seed=0, dtype=self.dtype).to(self.device)


@dataclass(frozen=True)
class Way:
    """One thing to time: a call, how many pairs it does, and how often it is repeated within one measurement."""

    work: str
    name: str  # weyl, a rival's, or peak
    call: Callable[[], object]
    pairs: int
    calls: int
    facts: Row  # columns of the rows

    @classmethod
    def lasting(
        cls, work: str, name: str, call: Callable[[], object], case: Case, pairs: int, **facts: Any
    ) -> Way:
        """Repeated so often that one measurement is long enough."""
        calls = math.ceil(SHORTEST / max(once(call, case.device), 1e-7))
        return cls(work, name, call, pairs, max(1, calls), facts)

    def run(self) -> None:
        for _ in range(self.calls):
            self.call()

    def microseconds(self, timing: Timing) -> float:
        return 1e6 * timing.median / (self.calls * self.pairs)


def run(request: Request, progress: Progress = lambda text: None) -> list[Row]:
    """Measures what was asked for: rows of the table, then those of the picture's curves."""
    device = _device(request.device)
    _check(request, device)
    threads, before = request.threads or torch.get_num_threads(), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with _nothing_compiled(device):
            cases = list(_cases(request, device, threads))
            rows: list[Row] = []
            for number, case in enumerate(cases):
                progress(f"{number + 1}/{len(cases)} {case.space} {_name(case.dtype)}, {case.pairs} pairs")
                rows += measure(case, partial(_rivals, request, case), request.repeats)
    finally:
        torch.set_num_threads(before)
    return rows


def _device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: torch finds no CUDA device here")
    return torch.device(
        "cuda" if name == "auto" and torch.cuda.is_available() else name.replace("auto", "cpu")
    )


def _check(request: Request, device: torch.device) -> None:
    """Raises before anything is measured what would be raised half way."""
    if request.picture and find_spec("matplotlib") is None:
        raise ImportError("--picture needs matplotlib: pip install 'weyl[plot]'")
    for expression in request.expressions(request.rank_list):
        space = PairKernel(expression, request.metric, device=device).space
        _rivals(request, Case("table", space, request.metric, torch.float32, device, 1, 1), None)


def _cases(request: Request, device: torch.device, threads: int) -> Iterator[Case]:
    def case(series: str, expression: str, dtype: str, pairs: int) -> Case:
        space = PairKernel(expression, request.metric).space
        return Case(series, space, request.metric, getattr(torch, dtype), device, threads, pairs)

    count = request.pairs or PAIRS[device.type]
    for expression in request.expressions(request.rank_list):
        for dtype in request.dtype_list:
            yield case("table", expression, dtype, count)
    if not request.with_curves:
        return
    dtype = request.dtype_list[-1]
    least = 2 if request.metric in ("fmin", "weighted") else 1  # where others have these
    for expression in request.expressions([rank for rank in CURVE_RANKS if rank >= least]):
        yield case("rank", expression, dtype, CURVE_PAIRS)
    rank = 4 if 4 in request.rank_list else request.rank_list[0]
    for batch in CURVE_BATCHES[device.type]:
        yield case("batch", request.expressions([rank])[0], dtype, batch)


def _rivals(request: Request, case: Case, points: Tensor | None) -> list[Competitor]:
    points = case.points() if points is None else points
    found = []
    if request.against == "geoopt":
        found.append(geoopt_pairs.competitor(case.space, case.metric, points))
    if request.sympa:
        found.append(sympa_pairs.competitor(request.sympa, case.space, case.metric, points))
    return found


@contextmanager
def _nothing_compiled(device: torch.device) -> Iterator[None]:
    """Hides GPU kernels that were compiled before, so that the first call says what compiling takes."""
    if device.type != "cuda":
        yield
        return
    before = os.environ.get("XDG_CACHE_HOME")
    with TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield
        finally:
            del os.environ["XDG_CACHE_HOME"]
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


def measure(case: Case, rivals: Callable[[Tensor], list[Competitor]], repeats: int = 7) -> list[Row]:
    """The rows of a case: one for each work and rival, or for each work."""
    points, (first, second) = case.points(), case.indices()
    kernel = PairKernel(case.space, case.metric, case.dtype, case.device, case.threads)
    others = rivals(points) if case.series != "batch" or case.pairs <= THEIR_BATCH else []
    top = peak(case.dtype, case.device)
    once(top.run, case.device)
    ways = [Way.lasting("peak", "peak", top.run, case, 1)]
    for work, gradients in WORKS.items():
        if gradients or case.series == "table":
            ways.append(_ours(kernel, points, first, second, work, case))
            ways += [_theirs(other, first, second, work, case) for other in others]
    timings = interleaved([way.run for way in ways], repeats, LIMIT[case.series], case.device)
    counted = operations.count(case.space, points, first, second)
    names: list[str | None] = [other.name for other in others] if others else [None]
    rate = 1e6 * top.multiply_adds / ways[0].microseconds(timings[0])
    return [
        {
            "series": case.series,
            "work": way.work,
            "space": case.space.name,
            "metric": case.metric,
            "rank": case.space.rank,
            "dtype": _name(case.dtype),
            "device": case.device.type,
            "threads": case.threads,
            "backend": kernel.backend,
            "pairs": case.pairs,
            "nodes": case.nodes,
            **_figures(way, timing, list(zip(ways, timings, strict=True)), counted, rate, other),
            "peak_by": top.by,
            **machine.described(case.device),
        }
        for way, timing in zip(ways, timings, strict=True)
        if way.name == "weyl"
        for other in names
    ]


def _ours(kernel: PairKernel, points: Tensor, first: Tensor, second: Tensor, work: str, case: Case) -> Way:
    """From node records to distances, or to the gradients of all nodes in their frames."""
    nodes = kernel.nodes(points)
    once_a_node = once(lambda: kernel.nodes(points), case.device) / len(points)
    call: Callable[[], object] = partial(kernel.forward, nodes, first, second)
    if WORKS[work]:
        ones = nodes.new_ones(case.pairs)
        call = partial(kernel.gradient, nodes, first, second, lambda _, block: ones[block])
        if kernel.backend == "native":  # as training has it: |d - 1|, whose slopes are 1 and -1
            call = partial(kernel.descend, nodes, first, second, ones, LossLayout(LOSSES["relative"]))
    begun = once(call, case.device)
    return Way.lasting(
        work,
        "weyl",
        call,
        case,
        case.pairs,
        first_call_seconds=begun,
        microseconds_per_node=1e6 * once_a_node,
    )


def _theirs(other: Competitor, first: Tensor, second: Tensor, work: str, case: Case) -> Way:
    """In the table another library has its best batch size, on fewer pairs where it is slow; on curves one call."""
    gradients, count = WORKS[work], len(first)
    tried: dict[int, float] = {}
    batch = count
    if case.series == "table":
        batch, tried = other.best_batch(first, second, gradients, THEIRS)
        count = min(count, batch * max(1, int(THEIRS / (tried[batch] * batch))))
    call = partial(other.run, first[:count], second[:count], batch, gradients)
    once(call, case.device)
    facts = {str(size): 1e6 * seconds for size, seconds in tried.items()}
    return Way.lasting(work, other.name, call, case, count, against_batch=batch, against_batches=facts)


def _figures(
    way: Way,
    timing: Timing,
    measured: list[tuple[Way, Timing]],
    counted: operations.Operations | None,
    rate: float,
    other: str | None,
) -> Row:
    """What the timings say of our way, and of another library's at the same work."""
    ours = way.microseconds(timing)
    needed = None
    if counted is not None:
        needed = counted.with_gradient if WORKS[way.work] else counted.distance
    found: Row = {"microseconds_per_pair": ours, "spread": timing.spread, **way.facts, "against": other}
    keys = ("pairs", "batch", "batches", "microseconds_per_pair", "spread")
    found |= dict.fromkeys((f"against_{key}" for key in keys), None) | {"ratio": None}
    for rival, time in measured:
        if rival.work == way.work and rival.name == other:
            theirs = rival.microseconds(time)
            found |= {**rival.facts, "against_pairs": rival.pairs, "ratio": theirs / ours}
            found |= {"against_microseconds_per_pair": theirs, "against_spread": time.spread}
    return found | {
        "multiply_adds_per_pair": needed,
        "peak_multiply_adds_per_second": rate,
        "share_of_peak": None if needed is None else needed / (ours * 1e-6) / rate,
    }


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")

"""Scores: how well an embedding keeps a graph, as fractions; what `evaluate` returns and files keep."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Scores:
    """Measured over all pairs that a path joins or, where `sampled`, over all pairs of some source nodes."""

    average_distortion: float  # mean |d - g| / g
    worst_distortion: float  # max d/g · max g/d; where sampled, a lower bound
    mean_average_precision: float | None  # ties against us; None where every pair is an edge
    sampled: bool = False
    nodes: int = 0
    edges: int = 0
    pairs: int = 0  # unordered pairs measured; where sampled, ordered ones
    sources: int = 0  # nodes whose distances to all others were measured
    mean_average_precision_by_sort_order: float | None = None  # ties by row, as the paper counts
    tie_share: float | None = None  # neighbours exactly as far as some node that is no neighbour
    precision_at_10: float | None = None
    rank_correlation: float | None = None  # Spearman, mean over sources
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)  # 95 %, where sampled

    def to_json(self) -> dict[str, Any]:
        """Plain values by name, the interval of x as `x_interval`; what JSON cannot hold (infinite) is None."""
        record = asdict(self)
        intervals = record.pop("intervals")
        record |= {f"{name}_interval": list(interval) for name, interval in intervals.items()}
        return {name: _finite(value) for name, value in record.items()}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Scores:
        """The scores that `to_json` has written; names it does not know are left out."""
        known = {name: record[name] for name in (one.name for one in fields(cls)) if name in record}
        for name in ("average_distortion", "worst_distortion"):
            known[name] = math.inf if known.get(name) is None else known[name]
        ends = {
            name.removesuffix("_interval"): (float(low or 0), math.inf if high is None else float(high))
            for name, (low, high) in ((n, v) for n, v in record.items() if n.endswith("_interval"))
        }
        return cls(**known, intervals=ends)


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

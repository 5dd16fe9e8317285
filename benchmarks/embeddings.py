"""`weyl embed` on the paper's graphs, from the start of the command to its file: python -m benchmarks.embeddings

Prints a line a graph. Needs WEYL_DATA for graphs that are files; --rows and --seeds choose some. Where all graphs are
measured, results/embeddings.json keeps every run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

RESULT = Path(__file__).parent / "results" / "embeddings.json"
GRAPHS = ("grid4d", "tree", "tree-x-grid", "tree-x-tree", "tree-o-grids", "grid-o-trees", "usca312", "bio-diseasome",
          "csphd", "euroroad", "facebook")  # fmt: skip
METRICS = {"facebook": "finf"}
KEPT = ("graph", "space", "metric", "nodes", "pairs", "average_distortion", "mean_average_precision", "epochs",
        "pairs_seen", "dtype", "seed", "version")  # fmt: skip


def embed(graph: str, seed: int, folder: str) -> dict[str, Any]:
    """One run of the command in a process of its own: its JSON, the seconds and the memory it took."""
    words = [sys.executable, "-m", "weyl", "embed", graph, "--metric", METRICS.get(graph, "f1")]
    words += ["--seed", str(seed), "--out", f"{folder}/{graph}.weyl", "--json"]
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    record = {name: json.loads(done.stdout)[name] for name in KEPT}
    record["graph"], record["seconds"] = graph, round(time.perf_counter() - begun, 2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    record["peak_gigabytes"] = round(after / 2**20, 3) if after > before else None  # the largest child so far
    return record


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.embeddings", description=__doc__)
    parser.add_argument("--rows", default=",".join(GRAPHS), help="Graphs, separated by commas.")
    parser.add_argument("--seeds", type=int, default=3, help="Seeds 0, 1, … of every graph.")
    chosen = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for graph in chosen.rows.split(","):
            some = [embed(graph, seed, folder) for seed in range(chosen.seeds)]
            rows += some
            percent = [100 * row["average_distortion"] for row in some]
            found = [
                row["mean_average_precision"] for row in some if row["mean_average_precision"] is not None
            ]
            precision = f"{100 * median(found):.2f}" if found else "-"
            shown = ", ".join(f"{x:.4f}" for x in percent)
            seconds = median(row["seconds"] for row in some)
            print(
                f"{graph:14} {median(percent):.4f} % ({shown}), mAP {precision} %, {seconds:.1f} s",
                flush=True,
            )
    if chosen.rows == ",".join(GRAPHS):
        import torch

        from weyl.bench.machine import described

        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(
            json.dumps([{**row, **described(torch.device("cpu"))} for row in rows], indent=1) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

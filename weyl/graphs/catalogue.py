"""Datasets by name: what they are, where they come from, and the files that hold them in a data folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from .graph import Graph

FOLDER_VARIABLE = "WEYL_DATA"
REPOSITORY = "Rossi and Ahmed, The Network Data Repository, 2015"
NETWORK_REPOSITORY = "CC BY-SA, as the Network Repository states for its data"
RESEARCH = "free for research; ask its authors before passing it on"


@dataclass(frozen=True)
class Dataset:
    """One graph of a data folder: the file NAME.tsv.gz, lines `source target [weight]`."""

    name: str
    nodes: int
    edges: int
    about: str
    source: str
    address: str
    licence: str
    sha256: str  # of NAME.tsv.gz
    unit: float = 1.0  # weights are divided by it

    @property
    def file(self) -> str:
        return f"{self.name}.tsv.gz"


DATASETS: dict[str, Dataset] = {
    row.name: row
    for row in (
        Dataset("usca312", 312, 48_516,
                "distances of 312 US and Canadian cities, in thousands of miles; shortest paths close it",
                "Burkardt, CITIES: city distance datasets", "https://people.sc.fsu.edu/~jburkardt/datasets/cities/",
                "GNU LGPL", "097132a5364a3cd0e883233357fe6c6cae6c44204a0abc470aca6a7cfe174247", 1000.0),
        Dataset("bio-diseasome", 516, 1_188, "diseases that share genes", f"Goh et al., PNAS 2007; {REPOSITORY}",
                "https://networkrepository.com/bio-diseasome.php", NETWORK_REPOSITORY,
                "b527a6cd2fba42b90f517c27489574ddd27a5cca69cc5aa49705c74436e72271"),
        Dataset("csphd", 1_025, 1_043, "PhD advisers and students in computer science",
                f"de Nooy, Mrvar and Batagelj, 2004; {REPOSITORY}", "https://networkrepository.com/ca-CSphd.php",
                NETWORK_REPOSITORY, "fbe936141702afa78334d6f96c3d303378cd8180cdb8467d145cf8d228cb1da4"),
        Dataset("euroroad", 1_039, 1_305, "European cities joined by E-roads",
                f"Šubelj and Bajec, 2011; {REPOSITORY}", "https://networkrepository.com/road-euroroad.php",
                NETWORK_REPOSITORY, "11bb734c97c48158d76a43019cb0a67af1bc062a364337f1d66fd22e4f3664e6"),
        Dataset("facebook", 4_039, 88_234, "friends of ten people, their circles combined",
                "McAuley and Leskovec, NIPS 2012; SNAP", "https://snap.stanford.edu/data/ego-Facebook.html", RESEARCH,
                "629fbc04022c6a992fc8b35ca8a87ae1b7799002f137ee8a241ea1bb80e39273"),
    )
}  # fmt: skip


def folder(data: str | os.PathLike | None = None) -> Path | None:
    """The data folder: the one given, or that of the environment."""
    chosen = data if data is not None else os.environ.get(FOLDER_VARIABLE)
    return Path(chosen).expanduser() if chosen else None


def others(data: str | os.PathLike | None = None) -> dict[str, Path]:
    """Files NAME.tsv.gz of the data folder that no entry describes, by NAME: graphs of the user's own."""
    where = folder(data)
    try:
        files = sorted(where.glob("*.tsv.gz")) if where is not None else []
    except OSError:
        return {}
    named = {file.name.removesuffix(".tsv.gz"): file for file in files}
    return {name: file for name, file in named.items() if name not in DATASETS}


def path(name: str, data: str | os.PathLike | None = None) -> Path:
    """The file of a dataset; where it is missing, the error says how to get it."""
    dataset, where = find(name), folder(data)
    if where is not None and (where / dataset.file).is_file():
        return where / dataset.file
    if where is None:
        reason = f"no data folder: name one with --data FOLDER or {FOLDER_VARIABLE}"
    elif not where.is_dir():
        reason = f"the data folder {where} does not exist"
    else:
        reason = f"{where} has no {dataset.file}"
    raise ValueError(f"dataset {name}: {reason}; {how_to_get(dataset)}")


def how_to_get(dataset: Dataset) -> str:
    """What to do where the file of a dataset is missing."""
    return (
        f"get it from {dataset.address} and save its edges in the data folder as {dataset.file}, "
        "lines `source target [weight]`"
    )


def find(name: str, beside: Iterable[str] = ()) -> Dataset:
    """The entry of a dataset; a wrong name lists the near ones, those of other graphs included."""
    if name in DATASETS:
        return DATASETS[name]
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), [*DATASETS, *beside], cutoff=0.6)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`weyl datasets` lists all"
    raise ValueError(f"no dataset {name!r}; {hint}")


def load(name: str, data: str | os.PathLike | None = None) -> Graph:
    """A dataset as a graph; a file that is not the listed one is used, and noted."""
    from .files import read_file

    dataset, file = find(name), path(name, data)
    graph = read_file(file)
    notes = graph.notes
    if checksum(file) != dataset.sha256:
        notes = (*notes, f"{file.name} is not the file that was measured: its sha256 differs")
    weights = graph.weights if graph.weights is None or dataset.unit == 1 else graph.weights / dataset.unit
    return replace(graph, name=name, weights=weights, notes=notes)


def checksum(file: Path) -> str:
    """The sha256 of a file's bytes."""
    return sha256(file.read_bytes()).hexdigest()

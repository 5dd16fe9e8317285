"""What `weyl bench pairs` is asked for; light, so that the command line can show its help at once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

RIVALS = ("geoopt",)
DTYPES = ("float32", "float64")
DEVICES = ("auto", "cpu", "cuda")


def option(default: Any, text: str, kind: type = str) -> Any:
    return field(default=default, metadata={"help": text, "kind": kind})


@dataclass(frozen=True)
class Request:
    """The options of the command, as typed."""

    space: str = option("upper", "Family of spaces, taken at every rank, or one space such as 'spd(3)'.")
    metric: str = option("f1", "Norm of the vector-valued distance.")
    ranks: str = option("2,4,17", "Ranks, separated by commas.")
    dtype: str = option("float32,float64", "float32, float64 or both, separated by a comma.")
    device: str = option("auto", "auto, cpu or cuda.")
    pairs: int | None = option(None, "Pairs in one call: 200,000 by default, on a GPU 8 million.", int)
    threads: int | None = option(None, "Threads, for all that is compared: torch's number by default.", int)
    repeats: int = option(
        7, "Rounds of measuring all in turns, fewer (at least 3) where they take long.", int
    )
    against: str | None = option(None, "Another library to measure beside: geoopt.")
    sympa: str | None = option(None, "A checkout of fedelopez77/sympa to measure beside.")
    picture: str | None = option(
        None, "Draw time against rank and batch size into this file (.png .pdf .svg)."
    )
    curves: bool = option(False, "Measure the curves of the picture without drawing it.", bool)

    def __post_init__(self) -> None:
        for name in ("pairs", "threads", "repeats"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1, got {value}")
        if self.device not in DEVICES:
            raise ValueError(f"--device takes {', '.join(DEVICES)}, not {self.device!r}")
        if self.against == "sympa" and not self.sympa:
            raise ValueError("for sympa name its checkout: --sympa PATH")
        if self.against not in (None, "sympa", *RIVALS):
            raise ValueError(f"--against knows {', '.join(RIVALS)} (and --sympa PATH), not {self.against!r}")
        if self.with_curves and not self.is_family:
            raise ValueError(f"curves run over the ranks of a family: --space upper, not {self.space}")
        if self.picture is not None:
            self._check_picture(Path(self.picture))
        _ = self.rank_list, self.dtype_list

    @classmethod
    def texts(cls) -> dict[str, str]:
        """What every option does."""
        return {option.name: option.metadata["help"] for option in fields(cls)}

    @property
    def rank_list(self) -> list[int]:
        try:
            ranks = [int(text) for text in self.ranks.split(",")]
        except ValueError:
            raise ValueError(f"--ranks takes whole numbers such as 2,4,17, not {self.ranks!r}") from None
        if min(ranks) < 1:
            raise ValueError(f"--ranks must be at least 1, got {min(ranks)}")
        return ranks

    @property
    def dtype_list(self) -> list[str]:
        dtypes = [text.strip() for text in self.dtype.split(",")]
        for unknown in (text for text in dtypes if text not in DTYPES):
            raise ValueError(f"--dtype takes {' or '.join(DTYPES)}, not {unknown!r}")
        return dtypes

    @property
    def with_curves(self) -> bool:
        return self.curves or self.picture is not None

    @property
    def is_family(self) -> bool:
        """Whether `space` is a name that takes a rank."""
        return "(" not in self.space

    def expressions(self, ranks: list[int]) -> list[str]:
        """The spaces to measure."""
        return [f"{self.space}({rank})" for rank in ranks] if self.is_family else [self.space]

    def _check_picture(self, path: Path) -> None:
        if path.suffix not in (".png", ".pdf", ".svg"):
            raise ValueError(f"--picture takes a file .png, .pdf or .svg, not {path}")
        if not path.absolute().parent.is_dir():
            raise ValueError(f"--picture: there is no folder {path.parent}")

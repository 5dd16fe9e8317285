"""Several processes train together: each takes its share of every batch, and sums go over all of them."""

from __future__ import annotations

import os

import torch
from torch import Tensor

from .processes import place


class Workers:
    """The processes of this run: one, unless torchrun has started more."""

    def __init__(self, device: torch.device | str = "cpu"):
        self.number, self.count = place()
        self.device = torch.device(device)
        if self.count > 1 and not torch.distributed.is_initialized():
            on_gpu = self.device.type == "cuda"
            if on_gpu and ":" not in str(self.device):  # each process takes a card of its own
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
            torch.distributed.init_process_group("nccl" if on_gpu else "gloo")

    @property
    def first(self) -> bool:
        """Whether this process writes files and speaks."""
        return self.number == 0

    def share(self, x: Tensor) -> Tensor:
        """This process's part of a batch."""
        return x if self.count == 1 else x[self.number :: self.count].contiguous()

    def sum(
        self, tensors: list[Tensor], numbers: tuple[float, ...]
    ) -> tuple[list[Tensor], tuple[float, ...]]:
        """Sums over all processes, in float64, in one message."""
        if self.count == 1:
            return tensors, numbers
        sums = [*tensors, tensors[0].new_tensor(numbers, dtype=torch.float64)]
        joined = torch.cat([x.to(torch.float64).flatten() for x in sums])
        torch.distributed.all_reduce(joined)
        pieces = joined.split([x.numel() for x in sums])
        *found, plain = (piece.reshape(x.shape) for piece, x in zip(pieces, sums, strict=True))
        return found, tuple(plain.tolist())

    def agreed(self, number: float) -> float:
        """The number of the first process: clocks differ, and decisions must not."""
        mine = torch.tensor([number if self.first else 0.0], dtype=torch.float64, device=self.device)
        return float(self.sum([mine], ())[0][0])

    def any(self, here: bool) -> bool:
        """Whether it is so in one of them."""
        mine = torch.tensor([float(here)], dtype=torch.float64, device=self.device)
        return bool(self.sum([mine], ())[0][0] > 0)

    @staticmethod
    def close() -> None:
        """Parts from the other processes."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()

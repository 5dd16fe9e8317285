"""Several processes train together: each takes its share of every batch, and sums go over all of them."""

from __future__ import annotations

import os

import torch
from torch import Tensor


class Workers:
    """The processes of this run: one, unless torchrun has started more."""

    def __init__(self, device: torch.device | str = "cpu"):
        self.count, self.number = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
        if self.count > 1 and not torch.distributed.is_initialized():
            torch.distributed.init_process_group("nccl" if torch.device(device).type == "cuda" else "gloo")

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

    def close(self) -> None:
        """Parts from the other processes."""
        if self.count > 1 and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()

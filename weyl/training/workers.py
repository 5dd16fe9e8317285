"""Several processes train together: each takes its share of every batch, and the gradients are summed."""

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

    def sum(self, totals: Tensor, loss: Tensor, count: int) -> tuple[Tensor, Tensor, int]:
        """Gradients, losses and numbers of pairs over all processes."""
        if self.count == 1:
            return totals, loss, count
        numbers = torch.stack([loss.to(totals.device), loss.new_tensor(count)])
        joined = torch.cat([totals.to(torch.float64).flatten(), numbers])
        torch.distributed.all_reduce(joined)
        return joined[:-2].reshape(totals.shape), joined[-2], int(joined[-1])

    def agree(self, stop: bool) -> bool:
        """Whether any process wants to stop."""
        if self.count == 1:
            return stop
        flag = torch.tensor([int(stop)])
        torch.distributed.all_reduce(flag)
        return bool(flag)

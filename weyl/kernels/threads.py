"""One thread for torch where there are many small operations; compiled kernels keep the number they were made with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """On a busy machine torch's threads wait milliseconds for each other in every operation, small as it may be."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

"""Fast ways to the numbers that weyl.geometry defines: pair distances, their gradients, and what those are made of.

Every kernel is tested against the readable formula it replaces, value and gradient; which one runs is chosen from
device and dtype and never changes a result beyond rounding.

    Trainer ──► PairKernel.take_steps     many steps of Adam in one call: compiled, CPU  (native/descent.hpp)
            ├──► PairKernel.descend       what a batch costs, and its slopes: compiled, CPU
            └──► PairKernel.gradient      the same by a slope given in Python: any backend
    users ────► PairKernel.distances, vector_distances, distance_matrix, neighbours; autograd.py for losses of one's own
    PairKernel (dispatch.py) chooses once, by device and dtype:
            ├─ native.py    CPU, compiled: pairs side by side in vector registers, threads split the batch
            ├─ cuda.py      GPU: the same headers, compiled by NVRTC at the first call (nvrtc.py)
            └─ batched.py   closed form in batched torch: any other device, or installed without a compiler
    singular_value_decomposition (native.py): one-sided Jacobi on the CPU, torch.linalg.svd elsewhere

All of them read the flat records of layout.py; reference.py is slow and judges. moving.py carries points from step to
step.
"""

from importlib import import_module
from typing import Any

_ROOMS = {
    "singular_value_decomposition": "native",
}

__all__ = list(_ROOMS)


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})

"""Fast ways to the numbers that weyl.geometry defines: pair distances, their gradients, and what those are made of.

Every kernel is tested against the readable formula it replaces, value and gradient; which one runs is chosen from
device and dtype and never changes a result beyond rounding.

    caller ──► singular_value_decomposition (native.py)
                 ├─ CPU, compiled    the C++ of native/, many matrices side by side in vector registers
                 └─ otherwise        torch.linalg.svd: any other device, or installed without a compiler
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

"""How many multiply-adds a machine does in a second, in one dtype: what share_of_peak is a share of.

CPU: torch's product of two 1024 × 1024 matrices, on as many threads as everything else; it reaches 95 % of what the
registers can do. GPU: multiply-adds on registers in every thread, compiled like our kernels, since a product of
matrices would run on tensor cores, which do nothing but products of matrices.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import torch

SIDE = 1024
CHAINS, STEPS, THREADS, BLOCKS_A_MULTIPROCESSOR = 8, 8192, 256, 8
LOOP = """
extern "C" __global__ void multiply_adds(REAL* out, int steps) {
    const REAL x = out[0], y = out[1];
    REAL sum[CHAINS];
    #pragma unroll
    for (int c = 0; c < CHAINS; ++c) sum[c] = REAL(threadIdx.x + c);
    for (int s = 0; s < steps; s += 8) {
        #pragma unroll
        for (int c = 0; c < 8 * CHAINS; ++c) sum[c % CHAINS] = sum[c % CHAINS] * x + y;
    }
    REAL total = 0;
    #pragma unroll
    for (int c = 0; c < CHAINS; ++c) total += sum[c];
    if (total == REAL(-1)) out[2] = total;
}
"""


@dataclass(frozen=True)
class Peak:
    """Work to be timed beside what it is compared with."""

    run: Callable[[], object]
    multiply_adds: int  # of one call
    by: str


def peak(dtype: torch.dtype, device: torch.device) -> Peak:
    """The multiply-adds of a device in a dtype."""
    from weyl.kernels import cuda

    if device.type == "cuda" and cuda.available():
        return _registers(dtype, device)
    A, B = (torch.rand(SIDE, SIDE, dtype=dtype, device=device) for _ in range(2))
    return Peak(lambda: A @ B, SIDE**3, "matrix product")


def _registers(dtype: torch.dtype, device: torch.device) -> Peak:
    from weyl.kernels import cuda, nvrtc

    properties = torch.cuda.get_device_properties(device)
    source = LOOP.replace("REAL", cuda.REALS[dtype]).replace("CHAINS", str(CHAINS))
    module = nvrtc.load(source, {}, properties)
    blocks = properties.multi_processor_count * BLOCKS_A_MULTIPROCESSOR
    out = torch.tensor([0.999, 0.001, 0.0], dtype=dtype, device=device)

    def run() -> None:
        arguments = [ctypes.c_int64(out.data_ptr()), ctypes.c_int(STEPS)]
        with torch.cuda.device(device):
            module.launch("multiply_adds", blocks, THREADS, 0, arguments)

    return Peak(run, blocks * THREADS * CHAINS * STEPS, "registers")

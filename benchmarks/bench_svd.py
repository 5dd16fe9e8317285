"""The compiled singular value decomposition against torch.linalg.svd, on one thread and on all."""

import torch

from weyl.bench.timing import medians
from weyl.kernels import native

RANKS = (1, 2, 3, 4, 6, 8, 17, 33)
DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def main() -> None:
    if not native.available():
        print("weyl was installed without its compiled kernel: nothing to compare")
        return
    threads = torch.get_num_threads()
    print(f"microseconds a matrix, {threads} threads; ratio = torch / native")
    print(f"{'dtype':>12} {'rank':>5} {'torch':>8} {'native':>8} {'one thread':>10} {'ratio':>7}")
    for dtype in DTYPES:
        for rank in RANKS:
            few = max(16, 40_000 // rank**2)
            count = 10 * few  # enough for starting threads not to matter
            C = torch.randn(count, rank, rank, dtype=dtype, generator=torch.Generator().manual_seed(0))
            ways = (
                lambda C=C, few=few: torch.linalg.svd(C[:few], full_matrices=False),
                lambda C=C: native.singular_value_decomposition(C, threads),
                lambda C=C: native.singular_value_decomposition(C, 1),
            )
            seconds = medians(ways)
            torch_time, native_time, single = (
                1e6 * t / n for t, n in zip(seconds, (few, count, count), strict=True)
            )
            name = str(dtype).removeprefix("torch.")
            print(
                f"{name:>12} {rank:>5} {torch_time:8.2f} {native_time:8.3f} {single:10.3f} "
                f"{torch_time / native_time:7.1f}"
            )


if __name__ == "__main__":
    main()

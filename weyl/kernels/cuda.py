"""The pair kernel on the GPU: the C++ of native/, compiled by NVRTC when a space is first used there.

NVRTC comes with torch's CUDA builds, so nothing else has to be installed. What it compiles is kept on disk, by the
content of the source. One thread a pair holds small matrices in its registers; above `BY_THREADS` rows a team of
threads shares a pair in shared memory (measured in benchmarks/README.md).
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from . import nvrtc
from .layout import KINDS, Layout, NormLayout, Part

BY_THREADS = {torch.float32: 4, torch.float64: 4}  # rows up to which one thread does a pair
UNROLL = 4  # of loops of teams: more takes longer to compile than it saves
LAUNCH = "128"
SCRATCH_PAIRS = 1 << 14  # pairs of a launch whose teams do not fit into shared memory
REALS = {torch.float32: "float", torch.float64: "double"}
SHARED_MEMORY = 96 * 1024  # bytes of a block of teams; two blocks fit on a multiprocessor
HEADERS = ("lanes.hpp", "number.hpp", "lane_math.hpp", "pair_batch.hpp", "pair_jacobi.hpp", "pair_matrix.hpp",
           "pair_vector.hpp", "pair_norm.hpp", "pair_gpu.hpp")  # fmt: skip
ENDS = "static __device__ __forceinline__"


def available() -> bool:
    """Whether the kernel can be compiled and run on torch's CUDA devices."""
    return (
        torch.cuda.is_available()
        and torch.version.hip is None
        and nvrtc.find() is not None
        and headers() is not None
    )


@functools.cache
def headers() -> Path | None:
    """The folder with the C++ headers: beside the package in a source tree, inside it where it was installed."""
    package = Path(__file__).parent.parent
    folders = [package / "native", package.parent / "native"]
    if (origin := nvrtc.extension_folder()) is not None:
        folders.insert(0, origin / "native")
    return next((folder for folder in folders if (folder / HEADERS[-1]).exists()), None)


def _part(part: Part, number: int, curvature: int, team: str, real: str) -> str:
    rows, columns = part.shape
    numbers = [
        KINDS[part.kind],
        int(part.is_complex),
        rows,
        columns,
        part.block,
        part.triangle,
        part.copies,
        part.length,
    ]
    numbers += [int(part.learned), part.node, part.gradient, part.component]
    k = f"curvatures[{curvature}]" if part.curvature is not None else "0.0"
    sizes = f"{KINDS[part.kind]}, {str(part.is_complex).lower()}, {rows}, {columns}"
    return (
        f"struct Part{number} {{\n"
        f"    using Part = weyl::GpuPart<{real}, {team}, {sizes}>;\n"
        f"    {ENDS} weyl::PairFactor factor(const double* curvatures) {{\n"
        f"        return {{{', '.join(map(str, numbers))}, {k}, {part.scale!r}}};\n"
        "    }\n};\n"
    )


def source(layout: Layout, norm: NormLayout, dtype: torch.dtype, gradients: bool) -> tuple[str, int]:
    """The kernels of a space and norm in CUDA C++, and the size of a team (1: a thread a pair)."""
    real = REALS[dtype]
    rows = max((part.shape[0] for part in layout.parts if not part.is_vector), default=1)
    columns = max((part.shape[1] for part in layout.parts), default=1)
    team_size = 1 if rows <= BY_THREADS[dtype] else min(32, 1 << max(0, (columns + 1) // 2 - 1).bit_length())
    team = "weyl::Alone" if team_size == 1 else "weyl::ThreadTeam"
    extras = (layout.components if norm.learned else 0) + len(layout.curvatures)
    text = (
        '#define WEYL_UNROLL _Pragma("unroll")\n'
        if team_size == 1
        else f'#define WEYL_UNROLL _Pragma("unroll {UNROLL}")\n'
    )
    text += '#include "pair_gpu.hpp"\n'
    text += "".join(_part(part, i, i, team, real) for i, part in enumerate(layout.parts))
    groups, segments = (ends.tolist() for ends in (norm.group_ends, norm.segment_ends))
    p = "1e308" if norm.is_max else repr(float(norm.p))
    text += (
        f"__constant__ int group_ends[] = {{{', '.join(map(str, groups))}}};\n"
        f"__constant__ int segment_ends[] = {{{', '.join(map(str, segments))}}};\n"
        "struct Settings {\n"
        f"    static constexpr int node_size = {layout.node_size}, gradient_size = {layout.gradient_size};\n"
        f"    static constexpr int components = {layout.components}, extras = {extras};\n"
        f"    static constexpr bool learned_weights = {str(norm.learned).lower()};\n"
        f"    {ENDS} weyl::PairNorm norm(const double* weights) {{\n"
        f"        return {{{norm.kind}, {len(groups)}, {len(segments)}, {layout.components}, {int(norm.learned)}, {p}, "
        "weights, group_ends, segment_ends};\n    }\n};\n"
    )
    parts = ", ".join(f"Part{i}" for i in range(len(layout.parts)))
    with_gradients = str(gradients).lower()
    way = f"pairs_by_threads<{real}, Settings, {with_gradients}, {parts}>"
    if team_size > 1:
        way = f"pairs_by_teams<{real}, Settings, {with_gradients}, {team_size}, {parts}>"
        text += (
            'extern "C" __device__ const int numbers_of_team = '
            f"weyl::numbers_of_team<{real}, Settings, {parts}>();\n"
        )
    text += (
        f'extern "C" __global__ void __launch_bounds__({LAUNCH}) pairs(weyl::PairsArguments arguments) {{\n'
        f"    weyl::{way}(arguments);\n}}\n"
    )
    return text, team_size


@dataclass(frozen=True)
class Compiled:
    """The kernels of one space, norm and dtype, on one GPU."""

    module: nvrtc.Module
    team_size: int
    bytes_of_team: int
    shared: bool  # whether teams have their memory on the chip

    @property
    def teams(self) -> int:
        """Pairs that a block of threads works on."""
        if self.team_size == 1:
            return 128
        return max(1, min(128 // self.team_size, SHARED_MEMORY // self.bytes_of_team)) if self.shared else 1


_compiled: dict[tuple[str, int], Compiled] = {}


def compiled(
    layout: Layout, norm: NormLayout, dtype: torch.dtype, device: torch.device, gradients: bool
) -> Compiled:
    """Compiles, or takes what was compiled before in this process or kept on disk."""
    text, team_size = source(layout, norm, dtype, gradients)
    index = torch.cuda.current_device() if device.index is None else device.index
    if (found := _compiled.get((text, index))) is not None:
        return found
    folder = headers()
    assert folder is not None, "no headers: dispatch chose wrongly"
    properties = torch.cuda.get_device_properties(index)
    module = nvrtc.load(text, {name: (folder / name).read_text() for name in HEADERS}, properties)
    need, shared = 0, True
    if team_size > 1:
        need = module.integer("numbers_of_team") * torch.finfo(dtype).bits // 8
        shared = need <= properties.shared_memory_per_block_optin  # type: ignore[attr-defined]
    made = Compiled(module, team_size, need, shared)
    if team_size > 1 and shared:
        module.allow_shared_memory("pairs", need * made.teams)
    _compiled[text, index] = made
    return made


def pairs(
    layout: Layout,
    norm: NormLayout,
    nodes: Tensor,
    first: Tensor,
    second: Tensor,
    *,
    distances: Tensor | None = None,
    vectors: Tensor | None = None,
    gradients: Tensor | None = None,
    threads: int | None = None,
) -> float:
    """Fills distances, vectors and gradients of pairs, those that are given; returns the largest gap of components."""
    count = len(first)
    if not count:
        return 0.0
    with torch.cuda.device(nodes.device):
        found = compiled(layout, norm, nodes.dtype, nodes.device, gradients is not None)
        gap = nodes.new_zeros(1)
        curvatures = layout.reals()[:, 0].to(nodes.device)
        weights = norm.weights().detach().to(nodes.device)
        step = count if found.shared else SCRATCH_PAIRS
        scratch = None
        if not found.shared:
            scratch = torch.empty(
                min(step, count) * found.bytes_of_team, dtype=torch.uint8, device=nodes.device
            )
        for start in range(0, count, step):
            stop = min(start + step, count)
            outputs = [None if x is None else x[start:stop] for x in (distances, vectors, gradients)]
            tensors = [
                nodes,
                first[start:stop],
                second[start:stop],
                *outputs,
                gap,
                curvatures,
                weights,
                scratch,
            ]
            arguments = _arguments(tensors, stop - start)
            blocks = -(-(stop - start) // found.teams)
            found.module.launch(
                "pairs", blocks, found.teams * found.team_size,
                found.bytes_of_team * found.teams if found.shared else 0, [arguments],
            )  # fmt: skip
    return float(gap)


def _arguments(tensors: list[Tensor | None], count: int) -> ctypes.Array:
    """PairsArguments of native/pair_gpu.hpp: addresses, with the number of pairs as the fourth."""
    addresses = [0 if x is None else x.data_ptr() for x in tensors]
    return (ctypes.c_int64 * 11)(*addresses[:3], count, *addresses[3:])


def accumulate(
    gradients: Tensor, first: Tensor, second: Tensor, upstream: Tensor | None, totals: Tensor, extras: Tensor
) -> None:
    """Adds upstream times pair gradients to the totals of their nodes, in any order: the last digits may vary."""
    count, size = len(first), totals.shape[1]
    if not count:
        return
    with torch.cuda.device(totals.device):
        module = _sums(size, gradients.shape[1], totals.dtype, totals.device)
        steps = 2 * size // (4 if totals.dtype == torch.float32 and size % 4 == 0 else 1)
        arguments = [
            ctypes.c_int64(0 if x is None else x.data_ptr()) for x in (gradients, first, second, upstream)
        ]
        arguments += [ctypes.c_int64(count), ctypes.c_int64(totals.data_ptr())]
        module.launch("accumulate", -(-count * steps // 256), 256, 0, arguments)
    if extras.numel():
        behind = gradients[:, 2 * size :]
        extras += (behind if upstream is None else behind * upstream.unsqueeze(-1)).sum(
            0, dtype=torch.float64
        )


@functools.cache
def _sums(size: int, row: int, dtype: torch.dtype, device: torch.device) -> nvrtc.Module:
    """The kernel that sums rows of pairs over nodes."""
    real = REALS[dtype]
    text = (
        '#define WEYL_UNROLL\n#include "pair_gpu.hpp"\n'
        'extern "C" __global__ void __launch_bounds__(256) accumulate(const void* gradients,\n'
        "        const std::int64_t* first, const std::int64_t* second, const void* upstream,\n"
        "        std::int64_t count, void* totals) {\n"
        f"    weyl::accumulate_row<{real}, {size}>(static_cast<const {real}*>(gradients), {row},\n"
        f"        first, second, static_cast<const {real}*>(upstream), count, static_cast<{real}*>(totals));\n}}\n"
    )
    folder = headers()
    assert folder is not None, "no headers: dispatch chose wrongly"
    return nvrtc.load(
        text,
        {name: (folder / name).read_text() for name in HEADERS},
        torch.cuda.get_device_properties(device),
    )

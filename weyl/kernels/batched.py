"""The pair kernel in batched torch, for any device: the readable twin of native/pair_matrix.hpp.

Values and gradients are in closed form, from the same node records and in the same order as the compiled kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from weyl.geometry.curved import ARCSINE, SERIES_BELOW, polynomial

from .layout import LINEAR, WEIGHTED, Layout, NormLayout, Part, flattened


@dataclass
class Decomposition:
    """C = U diag(σ) V* of pairs, with what the gradients need: values of v (copies apart), companions, 1/|N v|."""

    values: Tensor
    U: Tensor
    V: Tensor
    N: Tensor
    a: Tensor
    in_curvature: Tensor | None = None  # dv/dk at fixed points, copies apart


def triangle(row: Tensor, size: int, is_complex: bool) -> tuple[Tensor, Tensor]:
    """The lower triangular matrix that begins a row, and the rest of the row."""
    diagonal, rest = row[..., size : 2 * size], row[..., 2 * size :]
    i, j = torch.tril_indices(size, size, -1)
    below = rest[..., : len(i) * (1 + is_complex)]
    entries = torch.view_as_complex(below.unflatten(-1, (-1, 2)).contiguous()) if is_complex else below
    L = torch.diag_embed(diagonal.to(entries.dtype))
    L[..., i, j] = entries
    return L, rest[..., below.shape[-1] :]


def matrix(row: Tensor, rows: int, columns: int, is_complex: bool) -> tuple[Tensor, Tensor]:
    """The full matrix that begins a row, and the rest."""
    size = rows * columns * (1 + is_complex)
    entries, rest = row[..., :size], row[..., size:]
    if is_complex:
        entries = torch.view_as_complex(entries.unflatten(-1, (-1, 2)).contiguous())
    return entries.unflatten(-1, (rows, columns)), rest


def solve(L: Tensor, M: Tensor) -> Tensor:
    """L⁻¹ M."""
    return torch.linalg.solve_triangular(L, M, upper=False)


def between(L: Tensor, M: Tensor, R: Tensor) -> Tensor:
    """L⁻¹ M R⁻*."""
    return solve(R, solve(L, M).mH).mH


def lengths(x: Tensor, axis: int = -1) -> Tensor:
    """Euclidean lengths along an axis, which is kept; squares neither overflow nor vanish."""
    largest = x.abs().amax(axis, keepdim=True)
    scale = torch.where(largest > 0, largest, 1)
    return scale * torch.linalg.vector_norm(x / scale, dim=axis, keepdim=True)


def scaled(M: Tensor) -> Tensor:
    """Matrices with a largest entry of size 1 (or zero)."""
    largest = M.abs().amax((-1, -2), keepdim=True)
    return M / torch.where(largest > 0, largest, 1)


def half_space(part: Part, p: Tensor, q: Tensor) -> Decomposition:
    """C and N (up to a factor) from the differences of the frames, which lose no digits where the points are near."""
    size, siegel = part.shape[0], part.kind == "siegel"
    (L1, x1), (L2, x2) = (triangle(x, size, part.is_complex and not siegel) for x in (p, q))
    e1, e2 = solve(L1, L2 - L1), solve(L2, L2 - L1)
    C, N = e1 + e2.mH, e1 - e2.mH + 2 * torch.eye(size, dtype=L1.dtype, device=L1.device)
    if siegel:
        i, j = torch.triu_indices(size, size)
        D = torch.zeros_like(L1)
        D[..., i, j] = x2 - x1
        D[..., j, i] = x2 - x1
        shear = between(L1, D, L2)
        C, N = torch.complex(C, -shear), scaled(torch.complex(N, -shear))
        U, sigma, Vh = torch.linalg.svd(C)
        U = U * (sigma > torch.finfo(sigma.dtype).eps * sigma[..., :1]).unsqueeze(-2)
        return Decomposition(2 * torch.asinh(sigma / 2), U, Vh.mH, N, N.conj())
    N = scaled(N)
    M = scaled(C) @ N.mH
    signed, U = torch.linalg.eigh((M + M.mH) / 2)
    U = U.flip(-1)
    V = N.mH @ U
    length = lengths(C.mH @ U, -2).squeeze(-2)  # 2 sinh(|v|/2), more exactly than sinh v
    values = 2 * torch.asinh(length / 2).copysign(signed.flip(-1))
    order = values.argsort(-1, descending=True)
    values = values.gather(-1, order)
    U, V = (x.gather(-1, order.unsqueeze(-2).expand_as(x)) for x in (U, V))
    return Decomposition(values, U, V / torch.linalg.vector_norm(V, dim=-2, keepdim=True), N, N)


def ball(part: Part, p: Tensor, q: Tensor) -> Decomposition:
    """C = A₁⁻¹(Z₂ - Z₁)B₂⁻*, N = (B₂⁻¹B₁)* + kS₁*C, a = A₁⁻¹A₂ - kCS₂*, S = A⁻¹ZB."""
    rows, columns = part.shape
    assert part.curvature is not None
    k = part.curvature.detach().to(p)
    if part.kind == "ball":
        (A1, p), (A2, q) = (triangle(x, rows, part.is_complex) for x in (p, q))
    (B1, p), (B2, q) = (triangle(x, columns, part.is_complex) for x in (p, q))
    if part.kind != "ball":
        A1, A2 = B1.conj(), B2.conj()
    (Z1, p), (Z2, q) = (matrix(x, rows, columns, part.is_complex) for x in (p, q))
    (S1, _), (S2, _) = (matrix(x, rows, columns, part.is_complex) for x in (p, q))
    C = between(A1, Z2 - Z1, B2)
    N = solve(B2, B1).mH + k * (S1.mH @ C)
    a = solve(A1, A2) - k * (C @ S2.mH) if part.kind == "ball" else N.conj()
    U, sine, Vh = torch.linalg.svd(C, full_matrices=False)
    U = U * (sine > torch.finfo(sine.dtype).eps * sine[..., :1]).unsqueeze(-2)
    V = Vh.mH
    cosine = torch.linalg.vector_norm(N @ V, dim=-2)
    t, root = k * sine.square(), k.abs().sqrt()
    near = t.abs() < SERIES_BELOW
    far = torch.atan2(root * sine, cosine) if k > 0 else torch.asinh(root * sine)
    angle = torch.where(near, sine * polynomial(ARCSINE, t), far / torch.where(k == 0, 1, root))
    found = Decomposition(part.scale * angle, U, V, N, a)
    if part.learned:
        series = sine**3 * polynomial([m * x for m, x in enumerate(ARCSINE)][1:], t)
        cut = cosine < 1e-12
        slope = torch.where(cut, 0, 1 / torch.where(cut, 1, cosine))
        in_k = torch.where(near, series, (sine * slope - angle) / (2 * torch.where(k == 0, 1, k)))
        left = Z1.mH @ torch.linalg.solve_triangular(A1.mH, U, upper=True)
        right = Z2 @ torch.linalg.solve_triangular(B2.mH, V, upper=True)
        turned = left.abs().square().sum(-2) + right.abs().square().sum(-2)
        found.in_curvature = part.scale * (in_k - slope * sine * turned / 2)
    return found


def vector(part: Part, p: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """v and its gradients in both frames (on a sphere as vectors of the surrounding space)."""
    if part.kind == "hyperbolic":
        half = (p[..., -1:] - q[..., -1:]) / 2
        height, across = -(p[..., -1:] + q[..., -1:]) / 2, (p - q)[..., :-1]
        # Far points: e^shift is left out of sinh(v/2), beyond where e^-v counts, before anything overflows.
        size = lengths(across) if across.numel() else torch.zeros_like(half)
        shift = (torch.maximum(height + size.log(), half.abs()) - 40).clamp(min=0)
        apart = size > 0
        unit = torch.where(apart, size, 1)
        beyond = apart & (shift > 0)
        shrink = torch.exp(
            torch.where(beyond, height + unit.log() - shift, torch.where(apart, height / 2, 0))
        )
        flat = shrink / 2 * torch.where(beyond, across / unit, shrink * across)
        up, down = torch.exp(half - shift), torch.exp(-half - shift)
        rise = torch.where(half.abs() < 1, torch.sinh(half.clamp(-1, 1)), (up - down) / 2)
        step = torch.cat([flat, rise], -1)
        s = lengths(step)
        step = step / torch.where(s > 0, s, 1)
        cosine = torch.hypot(s, torch.ones_like(s))
        ahead, back = up / cosine, down / cosine
        down = s / cosine * step[..., :-1].square().sum(-1, keepdim=True)
        up = step[..., -1:] * (ahead + back) / 2
        first = torch.cat([ahead * step[..., :-1], up - down], -1)
        second = torch.cat([-back * step[..., :-1], -up - down], -1)
        return 2 * (shift + torch.asinh(s)), first, second
    length = lengths(p - q)
    step = (p - q) / torch.where(length > 0, length, 1)
    if part.kind == "euclidean":
        return length, step, -step
    across = torch.linalg.vector_norm(p + q, dim=-1, keepdim=True)
    cut = across < 2e-12
    along = torch.where(cut, 0, length / 2 / torch.where(cut, 1, across)) * (p + q)
    ahead = torch.where(cut, 0, across / 2) * step
    return 2 * torch.atan2(length, across), ahead - along, -ahead - along


def kept(part: Part, M: Tensor) -> Tensor:
    """The entries of a gradient matrix that a record keeps; of a Siegel space times i, as points Z = iH are stored."""
    i, j = part.kept
    entries = M[..., i, j]
    return flattened(1j * entries if part.kind == "siegel" else entries, 1)


def gradients(part: Part, d: Decomposition, slopes: Tensor) -> tuple[Tensor, Tensor]:
    """-U diag(w) (N V / c)* at p and (a* U / c) diag(w) V* at q; slopes with copies apart."""
    w = (slopes / part.scale).unsqueeze(-2)
    if part.kind == "positive":
        return kept(part, -(d.U * w) @ d.U.mH), kept(part, (d.V * w) @ d.V.mH)
    turned = d.N @ d.V
    length = torch.linalg.vector_norm(turned, dim=-2, keepdim=True)
    cut = length < 1e-12 if part.kind in ("ball", "symmetric ball") else length == 0
    w = torch.where(cut, 0, w / torch.where(cut, 1, length))
    return kept(part, -(d.U * w) @ turned.mH), kept(part, (d.a.mH @ d.U * w) @ d.V.mH)


def norm_slopes(layout: NormLayout, v: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """F(v), dF/dv and dF/dweights, a row a pair."""
    sign = v.sign()
    in_weights = v[..., :0]
    if layout.kind == LINEAR:
        slopes = weights.expand_as(v)
        combine = [(v * weights)[..., group].sum(-1) for group in _ranges(layout.group_ends)]
    elif layout.kind == WEIGHTED:
        sizes, ranked = torch.empty_like(v), torch.empty_like(v)
        for segment in _ranges(layout.segment_ends):
            sizes[..., segment], order = v[..., segment].abs().sort(dim=-1, descending=True, stable=True)
            ranked[..., segment] = torch.zeros_like(v[..., segment]).scatter(
                -1, order, weights[segment].expand_as(order)
            )
        each, slopes, in_weights = v.abs() * ranked, sign * ranked, sizes
        combine = [each[..., group].sum(-1) for group in _ranges(layout.group_ends)]
    else:
        combine, slopes = [], torch.empty_like(v)
        for group in _ranges(layout.group_ends):
            value, slopes[..., group] = _power(layout, v[..., group])
            combine.append(value)
    if len(combine) == 1:
        return combine[0], slopes, in_weights
    parts = torch.stack(combine, -1)
    total = torch.linalg.vector_norm(parts, dim=-1)
    share = parts / torch.where(total > 0, total, 1).unsqueeze(-1)
    factor = torch.cat(
        [share[..., g : g + 1].expand_as(v[..., r]) for g, r in enumerate(_ranges(layout.group_ends))], -1
    )
    return total, slopes * factor, in_weights * factor if in_weights.numel() else in_weights


def _ranges(ends: Tensor) -> list[slice]:
    stops = ends.tolist()
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _power(layout: NormLayout, v: Tensor) -> tuple[Tensor, Tensor]:
    size = v.abs()
    if layout.p == 1:
        return size.sum(-1), v.sign()
    largest = size.amax(-1, keepdim=True)
    if layout.is_max:
        share = (size == largest) * v.sign()
        return largest.squeeze(-1), share / share.abs().sum(-1, keepdim=True).clamp(min=1)
    scale = torch.where(largest > 0, largest, 1)
    value = torch.linalg.vector_norm(size / scale, layout.p, dim=-1, keepdim=True)
    slopes = (size / scale / torch.where(largest > 0, value, 1)) ** (layout.p - 1) * v.sign()
    return (scale * value).squeeze(-1), slopes


def run(
    layout: Layout, norm: NormLayout, p: Tensor, q: Tensor, with_gradients: bool
) -> tuple[Tensor, Tensor, Tensor | None, float]:
    """Distances, v, pair gradients and the largest gap between components, from records (pairs, node_size)."""
    values: list[Tensor] = []
    done: list[Decomposition | tuple[Tensor, Tensor]] = []
    gap = 0.0
    for part in layout.parts:
        a, b = (x[..., part.node : part.node + part.node_size] for x in (p, q))
        if part.is_vector:
            v, first, second = vector(part, a, b)
            done.append((first, second))
        else:
            d = half_space(part, a, b) if part.kind in ("siegel", "positive") else ball(part, a, b)
            done.append(d)
            v = d.values[..., : part.length * part.copies].unflatten(-1, (part.length, part.copies)).mean(-1)
            if v.numel():
                gap = max(gap, float((v[..., 0] - v[..., -1]).amax()))
        values.append(v)
    v = torch.cat(values, -1)
    distances, slopes, in_weights = norm_slopes(norm, v, norm.weights().detach().to(v))
    if not with_gradients:
        return distances, v, None, gap
    firsts, seconds, extras = [], [], [in_weights] if norm.learned else []
    for part, kept_back in zip(layout.parts, done, strict=True):
        w = slopes[..., part.component : part.component + part.length]
        if isinstance(kept_back, tuple):
            first, second = (w * x for x in kept_back)
        else:
            spread = torch.zeros_like(kept_back.values)
            spread[..., : part.length * part.copies] = w.repeat_interleave(part.copies, -1)
            first, second = gradients(part, kept_back, spread)
            if kept_back.in_curvature is not None:
                extras.append((spread * kept_back.in_curvature).sum(-1, keepdim=True) / part.copies)
        firsts.append(first)
        seconds.append(second)
    return distances, v, torch.cat([*firsts, *seconds, *extras], -1), gap

"""One small measurement for each constant of weyl/geometry: python -m accuracy.constants

Each table gives the error on either side of the constant, so that one sees where it belongs: `used` is the error of
what the library does there, `instead` of the other way. Writes accuracy/constants.csv.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mpmath as mp
import numpy as np
import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make
from weyl.geometry.curved import (
    ARCSINE,
    SERIES_BELOW,
    arcsine,
    arctangent,
    polynomial,
    room_of_arctangent,
)
from weyl.geometry.matrix_space import MatrixSpace
from weyl.geometry.space import LOOSE, TOLERANCE
from weyl.geometry.spectral import NEAR, Function, one_more

from . import oracle, report

EPS = torch.finfo(torch.float64).eps


def relative(ours: Tensor, truth: list) -> float:
    """The largest relative error."""
    return max(float(abs(mp.mpf(a) / b - 1)) for a, b in zip(ours.tolist(), truth, strict=True))


def row(constant: str, case: str, at: float, used: float, instead: float | None) -> report.Row:
    return {"constant": constant, "case": case, "at": at, "used": used, "instead": instead}


# ── SERIES_BELOW in curved.py ────────────────────────────────────────────────────────────────────────────────────────
def series() -> Iterator[report.Row]:
    """arcsine and its derivative in k around |k sine²| = SERIES_BELOW: series against closed form, both signs of k."""
    mp.mp.dps = 40
    for t in (1e-6, 1e-4, 1e-3, 3e-3, 0.999 * SERIES_BELOW, 0.03, 0.1, 0.3):
        for sign, name, arc in ((-1.0, "arcsine, k < 0", mp.asinh), (1.0, "arcsine, k > 0", mp.asin)):
            k = torch.tensor(sign, dtype=torch.float64)
            sine = (t * torch.linspace(0.9, 1, 40, dtype=torch.float64)).sqrt()
            cosine = (1 - k * sine.square()).sqrt()
            truth = [arc(mp.mpf(s)) for s in sine.tolist()]
            by_series = relative(sine * polynomial(ARCSINE, k * sine.square()), truth)
            closed = relative(torch.atan2(sine, cosine) if sign > 0 else torch.asinh(sine), truth)
            yield row("SERIES_BELOW", name, t, *(by_series, closed)[:: 1 if t < SERIES_BELOW else -1])
            slopes = [derivative_in_k(mp.mpf(s), int(sign)) for s in sine.tolist()]
            power = polynomial([m * a for m, a in enumerate(ARCSINE)][1:], k * sine.square())
            by_series = relative(sine**3 * power, slopes)
            angle = arcsine(sine, cosine, k)
            closed = relative((sine / cosine - angle) / (2 * k), slopes)
            yield row(
                "SERIES_BELOW",
                f"d {name[:7]}/dk{name[7:]}",
                t,
                *(by_series, closed)[:: 1 if t < SERIES_BELOW else -1],
            )


def derivative_in_k(s: mp.mpf, k: int) -> mp.mpf:
    """d/dk of asin(√k s)/√k."""
    arc = mp.asin(s) if k > 0 else mp.asinh(s)
    return (s / mp.sqrt(1 - k * s * s) - arc) / (2 * k)


# ── NEAR and the Gauss points in spectral.py ─────────────────────────────────────────────────────────────────────────
def _log_half(x: Tensor) -> Tensor:
    return 2 * torch.asinh(x / 2) / (4 + x.square()).sqrt()


def _curved(k: float) -> tuple[Function, Function]:
    curvature = torch.tensor(k, dtype=torch.float64)
    return lambda x: arctangent(x, curvature), lambda x: room_of_arctangent(x, curvature)


FUNCTIONS: dict[str, tuple[Function, Function, Callable, list[float]]] = {
    "log on half spaces": (
        _log_half,
        one_more,
        lambda x: 2 * mp.asinh(x / 2) / mp.sqrt(4 + x * x),
        [0.0, 0.1, 0.5, 1.0, 3.0, 10.0, 1e3, 1e6],
    ),
    "log on balls, k = 1": (*_curved(1.0), mp.atan, [0.0, 0.05, 0.3, 1.0, 3.0, 100.0]),
    "log on balls, k = -1, to 0.5": (*_curved(-1.0), mp.atanh, [0.0, 0.05, 0.1, 0.3, 0.45]),
    "log on balls, k = -1, to 0.99": (*_curved(-1.0), mp.atanh, [0.7, 0.8, 0.9, 0.95, 0.99]),
    "log on balls, k = -1, to 1 - 1e-6": (*_curved(-1.0), mp.atanh, [1 - 1e-3, 1 - 1e-5, 1 - 1e-6]),
}


def gauss(f: Callable[[Tensor], Tensor], a: Tensor, b: Tensor, points: int) -> Tensor:
    """The mean slope of f from a to b by a Gauss rule."""
    abscissae, weights = np.polynomial.legendre.leggauss(points)
    x = torch.stack([a + (b - a) * (1 + t) / 2 for t in abscissae.tolist()], -1).requires_grad_()
    (slopes,) = torch.autograd.grad(f(x).sum(), x)
    return (slopes * torch.from_numpy(weights / 2)).sum(-1)


def divided_differences() -> Iterator[report.Row]:
    """(f(a) - f(b))/(a - b) for b = a + x room(a): 4 Gauss points below NEAR, the quotient above."""
    mp.mp.dps = 40
    for name, (f, room, exact, places) in FUNCTIONS.items():
        for x in (1e-8, 1e-4, 1e-3, 5e-3, 0.999 * NEAR, 0.05, 0.1, 0.2):
            a = torch.tensor(places, dtype=torch.float64)
            b = a + x * room(a)
            pairs = [(mp.mpf(s), mp.mpf(t)) for s, t in zip(a.tolist(), b.tolist(), strict=True)]
            truth = [(exact(s) - exact(t)) / (s - t) for s, t in pairs]
            size = [abs(mp.diff(exact, s)) + abs(t) for (s, _), t in zip(pairs, truth, strict=True)]
            errors = [
                max(float(abs(u - t) / s) for u, t, s in zip(found.tolist(), truth, size, strict=True))
                for found in (gauss(f, a, b, 4), (f(a) - f(b)) / (a - b))
            ]
            yield row("NEAR", name, x, *errors[:: 1 if x < NEAR else -1])
    for points in (2, 3, 4, 5):
        f, room, exact, places = FUNCTIONS["log on half spaces"]
        a = torch.tensor(places, dtype=torch.float64)
        b = a + NEAR * room(a)
        truth = [
            (exact(mp.mpf(s)) - exact(mp.mpf(t))) / (mp.mpf(s) - mp.mpf(t))
            for s, t in zip(a.tolist(), b.tolist(), strict=True)
        ]
        worst = max(
            float(abs(u - t) / (abs(t) + 1e-3))
            for u, t in zip(gauss(f, a, b, points).tolist(), truth, strict=True)
        )
        yield row("GAUSS", "points of the rule, at NEAR", points, worst, None)


# ── TOLERANCE in space.py ────────────────────────────────────────────────────────────────────────────────────────────
def awkward_pairs(space: SymmetricSpace, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """p at a component gap of up to 14 from o (as far as there is room), q from 5e-9 to 5 away, random directions."""
    room = min(14.0, 0.5 * space.reach())
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(count, *shape, dtype=torch.float64, generator=generator)

    v = room * uniform(1) * uniform(space.chamber.length)
    o = space.origin().expand(count, *space.point_shape)
    turned = (
        space.frame(space.random_points(count, seed=seed, dtype=torch.float64)),
        space.rotation(generator),
    )
    p = space.act_at(turned, space.exp_at(o, space.flat_o(v)))
    X = space.random_tangents(p, generator)
    length = room / 3 * 10 ** (-9 * uniform().square())
    return p, space.exp_at(
        p, X * (length / space.inner_at(p, X, X).sqrt()).reshape(-1, *[1] * len(space.point_shape))
    )


def estimate(space: MatrixSpace, p: Tensor, q: Tensor) -> Tensor:
    """The relative error that vector_at expects of float64, as it computes it."""
    C, N, loss = space.pair(space.matrix(p), space.matrix(q))
    values = space.spectrum(C, N)[0].abs()
    return EPS * (loss + values.amax(-1) / (1 + values.amin(-1).square()).sqrt())


def float64_alone(batches: int = 20) -> Iterator[report.Row]:
    """By the estimated error: the worst error of v in float64 alone, and in Twofold where that took over."""
    for name in ("upper(2)", "upper(4)", "spd(4)", "hpd(4)", "bounded(4)", "ball(2, 3)"):
        space = make(name)
        assert isinstance(space, MatrixSpace)
        found = []
        for seed in range(batches):
            p, q = awkward_pairs(space, 1000, seed)
            expected = estimate(space, p, q)
            alone, twofold = (space.vector_at(p, q, tolerance) for tolerance in (float("inf"), -1.0))
            error = (alone - twofold).abs().amax(-1) / twofold.abs().amax(-1)
            worst = int(error.argmax())
            mp.mp.dps = 120
            truth = oracle.vector_distance(space, p[worst], q[worst])
            rest = float(
                max(abs(a - b) for a, b in zip(twofold[worst].tolist(), truth, strict=True)) / abs(truth[0])
            )
            found.append(torch.stack([expected, error, torch.full_like(error, rest)]))
        expected, error, rest = torch.cat(found, -1)
        for least in (1e-16, 1e-15, TOLERANCE[torch.float64], 1e-13, 1e-12, 1e-11, 1e-10, 1e-9):
            chosen = (expected > least) & (expected <= 10 * least)
            if bool(chosen.any()):
                used, instead = float(error[chosen].max()), float(rest.max())
                over = least >= TOLERANCE[torch.float64]
                case = f"{name}, {int(chosen.sum())} pairs"
                yield row("TOLERANCE", case, 10 * least, *(instead, used) if over else (used, instead))


# ── LOOSE in space.py ────────────────────────────────────────────────────────────────────────────────────────────────
def asymmetry() -> Iterator[report.Row]:
    """How far from symmetric an honest result of linear algebra is: the inverse of a matrix of some condition."""
    generator = torch.Generator().manual_seed(0)
    for dtype, loose in LOOSE.items():
        for condition in (1e1, 1e2, 1e3, 1e4, 1e6, 1e8):
            if condition < 0.1 / torch.finfo(dtype).eps:
                M = torch.randn(200, 6, 6, dtype=torch.float64, generator=generator)
                Q, _ = torch.linalg.qr(M)
                spectrum = torch.logspace(0, float(np.log10(condition)), 6, dtype=torch.float64)
                P = ((Q * spectrum) @ Q.mT).to(dtype)
                inverse = torch.linalg.inv((P + P.mT) / 2)
                off = (inverse - inverse.mT).abs().amax((-1, -2)) / 2 / inverse.abs().amax((-1, -2))
                yield row(
                    "LOOSE", f"inverse in {str(dtype)[6:]}, by condition", condition, float(off.max()), loose
                )
    M = torch.randn(1000, 6, 6, dtype=torch.float64, generator=generator)
    off = (M - M.mT).abs().amax((-1, -2)) / 2 / M.abs().amax((-1, -2))
    yield row("LOOSE", "noise, the least of 1000", 1.0, float(off.min()), None)


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    for measurement in (series, divided_differences, float64_alone, asymmetry):
        found = list(measurement())
        report.show(str(measurement.__doc__), found)
        rows += found
    report.save("constants", rows)


if __name__ == "__main__":
    main()

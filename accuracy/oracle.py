"""Distances and exponentials in as many digits as it takes, from the same rounded points.

Distances come from other formulas than the library's (cross-ratio, eigenvalues of P⁻¹Q, Möbius map to the origin).
Points are arrays as stored, or mpmath matrices that were never rounded.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import torch

from weyl.geometry import Space
from weyl.geometry.half_space import HalfSpace
from weyl.geometry.matrix_ball import MatrixBall
from weyl.geometry.matrix_space import MatrixSpace
from weyl.geometry.product import Power, Product
from weyl.geometry.rank_one import Hyperbolic, Sphere

Point = torch.Tensor | np.ndarray | mp.matrix


def exact(space: Space, x: Point) -> mp.matrix:
    """An exact copy of a stored point or tangent vector, as the matrix (or column) to compute with."""
    if isinstance(x, mp.matrix):
        return x
    x = torch.as_tensor(x).double()
    array = (space.field.matrix(x) if isinstance(space, MatrixSpace) else x[:, None]).numpy()
    return mp.matrix(
        [[mp.mpmathify(complex(e) if np.iscomplexobj(array) else float(e)) for e in row] for row in array]
    )


def vector_distance(space: Space, p: Point, q: Point) -> list:
    """v(p, q), sorted decreasingly in each factor, in the current precision of mpmath."""
    if isinstance(space, Product):
        return [x for factor, a, b in space.parts(p, q) for x in vector_distance(factor, a, b)]
    if isinstance(space, Power):
        return [x for a, b in zip(p, q, strict=True) for x in vector_distance(space.factor, a, b)]
    P, Q = exact(space, p), exact(space, q)
    if isinstance(space, Hyperbolic):
        return [_half_space(P, Q)]
    if isinstance(space, Sphere):
        return [2 * mp.atan2(mp.norm(P - Q), mp.norm(P + Q))]
    if isinstance(space, HalfSpace):
        values = _cross_ratio(P, Q) if space.kind == "symmetric" else _relative_logarithms(P, Q)
    elif isinstance(space, MatrixBall):
        k = mp.mpf(float(space.k.detach()))
        values = [space.v_scale * _arc(x, k) for x in _moebius(P, Q, k)]
    else:
        return [mp.norm(P - Q)]
    copies = space.field.block * (2 if space.kind == "antisymmetric" else 1)
    return [mp.fsum(values[i * copies : (i + 1) * copies]) / copies for i in range(space.chamber.length)]


def norm(v: list, metric: str) -> mp.mpf:
    """riemannian, f1 or finf."""
    sizes = [abs(x) for x in v]
    return {"f1": mp.fsum(sizes), "finf": max(sizes), "riemannian": mp.sqrt(mp.fsum(x * x for x in sizes))}[
        metric
    ]


def _eigenvalues(M: mp.matrix) -> list:
    """Decreasing eigenvalues of M, a matrix that is similar to a Hermitian one."""
    values = [M[0, 0]] if M.rows == 1 else mp.eig(M, left=False, right=False)
    return sorted((mp.re(x) for x in values), reverse=True)


def _cross_ratio(X: mp.matrix, Y: mp.matrix) -> list:
    """R = (X-Y)(X-Ȳ)⁻¹(X̄-Ȳ)(X̄-Y)⁻¹ has eigenvalues tanh²(v/2)."""
    R = (
        (X - Y)
        * mp.inverse(X - Y.conjugate())
        * (X.conjugate() - Y.conjugate())
        * mp.inverse(X.conjugate() - Y)
    )
    return [2 * mp.atanh(mp.sqrt(max(x, mp.mpf(0)))) for x in _eigenvalues(R)]


def _relative_logarithms(P: mp.matrix, Q: mp.matrix) -> list:
    return [mp.log(x) for x in _eigenvalues(mp.inverse(P) * Q)]


def _moebius(P: mp.matrix, Z: mp.matrix, k: mp.mpf) -> list:
    """Eigenvalues of WW*, W the image of Z under the Möbius map that takes P to 0."""
    if P.rows > P.cols:
        P, Z = P.T, Z.T
    left, right = mp.eye(P.rows) + k * P * P.H, mp.eye(P.cols) + k * P.H * P
    middle = mp.inverse(mp.eye(P.cols) + k * P.H * Z) * right * mp.inverse(mp.eye(P.cols) + k * Z.H * P)
    return _eigenvalues(mp.inverse(left) * (Z - P) * middle * (Z - P).H)


def _arc(square: mp.mpf, k: mp.mpf) -> mp.mpf:
    """θ with tan²(√k θ)/k = square."""
    root = mp.sqrt(abs(k) * max(square, mp.mpf(0)))
    return (
        mp.sqrt(max(square, mp.mpf(0))) if not k else (mp.atanh if k < 0 else mp.atan)(root) / mp.sqrt(abs(k))
    )


def _half_space(P: mp.matrix, Q: mp.matrix) -> mp.mpf:
    """cosh d = 1 + |p - q|² / (2 y y') for points stored as (x, log y)."""
    y1, y2 = mp.exp(P[len(P) - 1]), mp.exp(Q[len(Q) - 1])
    square = mp.fsum((P[i] - Q[i]) ** 2 for i in range(len(P) - 1)) + (y1 - y2) ** 2
    return mp.acosh(1 + square / (2 * y1 * y2))


def exponential(space: MatrixSpace, p: Point, X: Point) -> mp.matrix:
    """exp_p(X) by mp.expm of the generator at o, moved there and back by triangular frames, as it would be stored."""
    P, V = exact(space, p), exact(space, X)
    if isinstance(space, MatrixBall):
        k = mp.mpf(float(space.k.detach()))
        A, B = mp.cholesky(mp.eye(P.rows) + k * P * P.H), mp.cholesky(mp.eye(P.cols) + k * P.H * P)
        xi = mp.inverse(A) * V * mp.inverse(B).H
        T = mp.expm(_blocks(mp.zeros(P.rows), xi, -k * xi.H, mp.zeros(P.cols)))
        W = T[: P.rows, P.rows :] * mp.inverse(T[P.rows :, P.rows :])
        up, low = mp.inverse(A).H, mp.inverse(B).H
        return (up * W + P * low) * mp.inverse(-k * P.H * up * W + low)
    if space.kind == "hermitian":
        L = mp.cholesky(P)
        return L * mp.expm(mp.inverse(L) * V * mp.inverse(L).H) * L.H
    real, imag = _parts(P)
    L = mp.cholesky(imag)
    a, b = _parts(mp.inverse(L) * V * mp.inverse(L).T)
    T, n = mp.expm(_blocks(b / 2, a / 2, a / 2, -b / 2)), P.rows  # in sp(2n, R)
    image = (mp.j * T[:n, :n] + T[:n, n:]) * mp.inverse(mp.j * T[n:, :n] + T[n:, n:])
    return L * image * L.T + real


def _parts(M: mp.matrix) -> tuple[mp.matrix, mp.matrix]:
    return M.apply(mp.re), M.apply(mp.im)


def _blocks(a: mp.matrix, b: mp.matrix, c: mp.matrix, d: mp.matrix) -> mp.matrix:
    """[[a, b], [c, d]]."""
    whole = mp.zeros(a.rows + c.rows, a.cols + b.cols)
    for block, row, column in ((a, 0, 0), (b, 0, a.cols), (c, a.rows, 0), (d, a.rows, a.cols)):
        for i in range(block.rows):
            for j in range(block.cols):
                whole[row + i, column + j] = block[i, j]
    return whole


def stored(space: MatrixSpace, M: mp.matrix, dtype: torch.dtype) -> torch.Tensor:
    """The storage that a matrix rounds to."""
    rounded = np.array([[complex(e) for e in row] for row in M.tolist()])
    entries = space.field.entries(torch.from_numpy(rounded if space.field.width > 1 else rounded.real.copy()))
    return space.structured(entries).to(dtype)

"""Vector-valued distances in as many digits as it takes, from the same rounded points, by other formulas than ours.

Each oracle takes one pair as complex numpy matrices and returns v sorted decreasingly, as mpmath numbers.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np


def matrix(x: np.ndarray) -> mp.matrix:
    """An exact copy."""
    rows, columns = x.shape
    return mp.matrix(rows, columns) if x.size == 0 else mp.matrix([[mp.mpmathify(complex(e)) for e in row] for row in x])


def _eigenvalues(M: mp.matrix) -> list:
    """Real parts of the eigenvalues of M, a matrix that is similar to a Hermitian one."""
    values = [M[0, 0]] if M.rows == 1 else mp.eig(M, left=False, right=False)
    return sorted((mp.re(x) for x in values), reverse=True)


def upper(p: np.ndarray, q: np.ndarray) -> list:
    """The cross-ratio R = (X-Y)(X-Ȳ)⁻¹(X̄-Ȳ)(X̄-Y)⁻¹ of Z's has eigenvalues tanh²(v/2)."""
    X, Y = matrix(p), matrix(q)
    R = (X - Y) * mp.inverse(X - Y.conjugate()) * (X.conjugate() - Y.conjugate()) * mp.inverse(X.conjugate() - Y)
    return [2 * mp.atanh(mp.sqrt(max(x, mp.mpf(0)))) for x in _eigenvalues(R)]


def positive_definite(p: np.ndarray, q: np.ndarray) -> list:
    """The logarithms of the eigenvalues of P⁻¹Q."""
    return [mp.log(x) for x in _eigenvalues(mp.inverse(matrix(p)) * matrix(q))]


def symmetric_ball(p: np.ndarray, q: np.ndarray, k: int) -> list:
    """At the origin after the Moebius map: eigenvalues of W*W, W the image of q, are tanh²(v/2) or tan²(v/2)."""
    a, z, one = matrix(p), matrix(q), mp.eye(len(p))
    left = mp.inverse(one + k * a * a.H) * (z - a)
    product = left * mp.inverse(one + k * a.H * z) * (one + k * a.H * a) * mp.inverse(one + k * z.H * a) * (z - a).H
    arc = mp.atanh if k < 0 else mp.atan
    return [2 * arc(mp.sqrt(max(x, mp.mpf(0)))) for x in _eigenvalues(product)]


def hyperbolic(p: np.ndarray, q: np.ndarray) -> list:
    """cosh d = 1 + |p - q|² / (2 y y') on the half space, points stored as (x, log y)."""
    p, q = ([mp.mpf(float(e)) for e in x] for x in (p, q))
    y1, y2 = mp.exp(p[-1]), mp.exp(q[-1])
    square = sum((a - b) ** 2 for a, b in zip(p[:-1], q[:-1], strict=True)) + (y1 - y2) ** 2
    return [mp.acosh(1 + square / (2 * y1 * y2))]

"""Spectral functions whose gradients survive equal singular values.

No backward pass goes through eigenvectors or singular vectors: the gradient of Σ f(σ_j) at C = U diag(σ) V* is
U diag(f'(σ)) V*, and a matrix function is differentiated by divided differences (Daleckii and Krein, 1965), both
bounded where eigenvalues meet. Second derivatives are not offered, and refused (once.py).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .once import once

# Abscissae and weights of the 4 point Gauss rule on [0, 1]: exact to degree 7, so a divided difference over an
# interval of NEAR times the distance to the next singularity errs by less than one rounding.
GAUSS = [(0.06943184420297371, 0.17392742256872693), (0.33000947820757187, 0.32607257743127307)]
GAUSS += [(1 - x, w) for x, w in GAUSS]
NEAR = 0.02
Function = Callable[[Tensor], Tensor]


class _SingularValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx, C):
        U, values, Vh = torch.linalg.svd(C, full_matrices=False)
        ctx.save_for_backward(U, values, Vh)
        ctx.mark_non_differentiable(U, Vh)
        return U, values, Vh

    @staticmethod
    @once
    def backward(ctx, _U, grad, _Vh):
        U, values, Vh = ctx.saved_tensors
        noise = torch.finfo(values.dtype).eps * values[..., :1]
        grad = torch.where(values > noise, grad, 0)
        return (U * grad.unsqueeze(-2)) @ Vh


def singular_values(C: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, σ (non-increasing), V* of C; σ carries the gradient U diag(w) V*, the vectors carry none.

    A value that is zero up to rounding has no direction: its column of the gradient counts as zero.
    """
    return _SingularValues.apply(C)


class _HermitianValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx, M):
        values, Q = torch.linalg.eigh(M)
        values, Q = values.flip(-1), Q.flip(-1)
        ctx.save_for_backward(values, Q)
        ctx.mark_non_differentiable(Q)
        return values, Q

    @staticmethod
    @once
    def backward(ctx, grad, _Q):
        _, Q = ctx.saved_tensors
        return (Q * grad.unsqueeze(-2)) @ Q.mH


def hermitian_values(M: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues (non-increasing) with gradient Q diag(w) Q*, and eigenvectors Q without, of a Hermitian M."""
    return _HermitianValues.apply(M)


class _HermitianFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, M, f_values, Q, quotients):
        ctx.save_for_backward(M, f_values, Q, quotients)
        return (Q * f_values.unsqueeze(-2)) @ Q.mH

    @staticmethod
    @once
    def backward(ctx, grad):
        _, _, Q, quotients = ctx.saved_tensors
        inner = Q.mH @ grad @ Q
        return Q @ (quotients * inner) @ Q.mH, inner.diagonal(dim1=-2, dim2=-1).real, None, None


def one_more(x: Tensor) -> Tensor:
    """1 + |x|: the room of functions that are smooth near the real line, with singularities about 1 away from it."""
    return 1 + x.abs()


def _divided_differences(f: Function, values: Tensor, f_values: Tensor, room: Function) -> Tensor:
    """(f(a) - f(b)) / (a - b) for all pairs of values, f' on average where they are near."""
    a, b = values.unsqueeze(-1), values.unsqueeze(-2)
    with torch.enable_grad():
        points = torch.stack([a + (b - a) * x for x, _ in GAUSS], -1).detach().requires_grad_()
        (slopes,) = torch.autograd.grad(f(points).sum(), points)
    mean_slope = sum(slopes[..., i] * w for i, (_, w) in enumerate(GAUSS))
    difference = a - b
    near = difference.abs() < NEAR * room(a)
    quotient = (f_values.unsqueeze(-1) - f_values.unsqueeze(-2)) / torch.where(near, 1, difference)
    return torch.where(near, mean_slope, quotient)


def hermitian_function(M: Tensor, f: Function, room: Function = one_more) -> Tensor:
    """f(M) = Q diag(f(λ)) Q* for Hermitian M; f a smooth torch function, parameters of f get their gradients too.

    room(λ) > 0 is how far f goes on smoothly from λ: its distance to the next singularity, complex ones included.
    """
    values, Q = torch.linalg.eigh(M.detach())
    f_values = f(values)
    if not (M.requires_grad and torch.is_grad_enabled()):  # no slopes needed, nor to be had in inference mode
        return (Q * f_values.unsqueeze(-2)) @ Q.mH
    quotients = _divided_differences(f, values, f_values.detach(), room)
    return _HermitianFunction.apply(M, f_values, Q, quotients)


def exponential(M: Tensor) -> Tensor:
    """The matrix exponential, in a batch of at least two: torch errs by 1e-10 on single ones (pytorch issue 196592)."""
    if M.shape[:-2].numel() != 1:
        return torch.matrix_exp(M)
    return torch.matrix_exp(M.reshape(1, *M.shape[-2:]).expand(2, -1, -1))[0].reshape(M.shape)


def odd_function(C: Tensor, f: Function, room: Function = one_more) -> Tensor:
    """U diag(f(σ)) V* for C = U diag(σ) V* and an odd f: a corner of f([[0, C], [C*, 0]])."""
    rows, columns = C.shape[-2:]
    zero = C.new_zeros(*C.shape[:-2], rows, rows), C.new_zeros(*C.shape[:-2], columns, columns)
    dilation = torch.cat([torch.cat([zero[0], C], -1), torch.cat([C.mH, zero[1]], -1)], -2)
    return hermitian_function(dilation, f, room)[..., :rows, rows:]


class _TakagiValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A):
        n = A.shape[-1]
        top = torch.cat([A.real, A.imag], -1)
        real = torch.cat([top, torch.cat([A.imag, -A.real], -1)], -2)
        values, Q = torch.linalg.eigh(real)
        values, Q = values.flip(-1)[..., :n].clamp(min=0).abs(), Q.flip(-1)[..., :n]  # no -0
        K = torch.complex(Q[..., :n, :], Q[..., n:, :])
        # Columns of positive values are orthonormal already; those of zero values need not be: QR mends these alone.
        K, R = torch.linalg.qr(K)
        pivot = R.diagonal(dim1=-2, dim2=-1)
        size = pivot.abs()
        phase = torch.where(size > 0.5, pivot / torch.where(size > 0.5, size, 1), 1)
        K = K * phase.unsqueeze(-2)
        ctx.save_for_backward(K, values)
        ctx.mark_non_differentiable(K)
        return K, values

    @staticmethod
    @once
    def backward(ctx, _K, grad):
        K, _ = ctx.saved_tensors
        return (K * grad.unsqueeze(-2)) @ K.mT


def takagi(A: Tensor) -> tuple[Tensor, Tensor]:
    """Unitary K and singular values σ (non-increasing) with A = K diag(σ) Kᵀ, for complex symmetric A.

    Right at equal and at zero values. σ carries the gradient K diag(w) Kᵀ; K carries none (it has no derivative
    where values meet). A: (..., n, n) complex. Reference: L. Autonne 1915; T. Takagi, Japan. J. Math. 1, 1925.
    """
    if not isinstance(A, Tensor):
        raise TypeError(f"takagi: expected a torch tensor, got {type(A).__name__}; try torch.as_tensor(...)")
    if not A.is_complex() or A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(
            f"takagi: expected complex matrices (..., n, n), got {A.dtype} of shape {tuple(A.shape)}"
        )
    given = A.detach().reshape(-1, *A.shape[-2:])
    if not bool(given.isfinite().all()):
        raise ValueError("takagi: the matrix has NaN or infinite entries")
    off = (
        (given - given.mT).abs().amax((-1, -2)) > 1e-4 * given.abs().amax((-1, -2))
        if given.numel()
        else given
    )
    if bool(off.any()):
        raise ValueError(
            "takagi: the matrix is not symmetric (A must equal its transpose, without conjugation)"
        )
    return _TakagiValues.apply((A + A.mT) / 2)

"""Spectral functions: right values, and gradients confirmed by differences, where values meet or vanish too."""

import mpmath as mp
import pytest
import torch
from torch.autograd import gradcheck

from weyl import takagi
from weyl.geometry.curved import arctangent, room_of_arctangent
from weyl.geometry.spectral import (
    NEAR,
    exponential,
    hermitian_function,
    hermitian_values,
    odd_function,
    singular_values,
)


def unitary(n, seed, dtype):
    generator = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=dtype)).Q


def with_values(rows, columns, values, dtype, seed=0):
    """A matrix of these singular values."""
    D = torch.zeros(rows, columns, dtype=dtype)
    for j, value in enumerate(values[: min(rows, columns)]):
        D[j, j] = value
    return unitary(rows, seed, dtype) @ D @ unitary(columns, seed + 1, dtype).mH


SHAPES = [(1, 1), (3, 3), (2, 4), (4, 2)]
DTYPES = [torch.float64, torch.complex128]
VALUES = {
    "generic": [2.0, 1.1, 0.4, 0.1],
    "all equal": [1.5, 1.5, 1.5, 1.5],
    "two equal": [1.2, 0.7, 0.7, 0.7],
    "nearly equal": [1.0, 1.0 - 1e-9, 1.0 - 2e-9, 0.5],
    "rank one": [1.3, 0.0, 0.0, 0.0],
    "nearly singular": [1.0, 1e-9, 1e-17, 0.0],
    "zero": [0.0, 0.0, 0.0, 0.0],
}
EVERY = [
    pytest.param(shape, dtype, kind, id=f"{shape[0]}x{shape[1]}-{str(dtype)[6:]}-{kind}")
    for shape in SHAPES
    for dtype in DTYPES
    for kind in VALUES
]


def case(shape, dtype, kind):
    return with_values(*shape, VALUES[kind], dtype).requires_grad_()


# ── singular values ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("shape, dtype, kind", EVERY)
def test_singular_values(shape, dtype, kind):
    C = case(shape, dtype, kind)
    U, values, Vh = singular_values(C)
    assert (values.diff() <= 0).all() and (values >= 0).all() and not values.is_complex()
    assert not U.requires_grad and not Vh.requires_grad and values.requires_grad
    torch.testing.assert_close((U * values.detach()) @ Vh, C.detach())
    expected = torch.tensor(VALUES[kind][: min(shape)], dtype=torch.float64)
    torch.testing.assert_close(values.detach(), expected, atol=1e-14, rtol=1e-14)


@pytest.mark.parametrize("shape, dtype, kind", EVERY)
@pytest.mark.parametrize(
    "f", [lambda s: s.square().sum(-1), lambda s: s.cosh().sum(-1) + s.prod(-1).square()]
)
def test_symmetric_functions_of_singular_values_have_their_gradients(shape, dtype, kind, f):
    assert gradcheck(lambda C: f(singular_values(C)[1]), case(shape, dtype, kind), atol=1e-6)


@pytest.mark.parametrize("kind", VALUES)
def test_the_sum_of_singular_values_has_a_subgradient(kind):
    """U Vᵀ over the values above zero; columns of vanishing values count as zero."""
    C = case((3, 3), torch.float64, kind)
    singular_values(C)[1].sum().backward()
    U, values, Vh = torch.linalg.svd(C.detach())
    rank = int((values > 1e-15).sum())
    torch.testing.assert_close(C.grad, U[:, :rank] @ Vh[:rank], atol=1e-6, rtol=0)
    assert float(torch.linalg.matrix_norm(C.grad, 2)) <= 1 + 1e-12


def test_singular_values_of_a_batch_and_of_nothing():
    C = torch.randn(5, 2, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    batch = singular_values(C)[1]
    assert batch.shape == (5, 2, 2)
    for i in range(5):
        torch.testing.assert_close(singular_values(C[i])[1], batch[i])
    assert singular_values(C[:0])[1].shape == (0, 2, 2)


# ── eigenvalues ──────────────────────────────────────────────────────────────────────────────────────────────────
SPECTRA = {
    "generic": [2.0, 0.3, -1.1],
    "all equal": [1.5, 1.5, 1.5],
    "two equal": [0.7, 0.7, -0.2],
    "nearly equal": [1.0, 1.0 - 1e-9, -1.0],
    "plus and minus": [1.0, 0.0, -1.0],
    "zero": [0.0, 0.0, 0.0],
}


def hermitian(kind, dtype, seed=0):
    Q = unitary(3, seed, dtype)
    M = (Q * torch.tensor(SPECTRA[kind], dtype=dtype)) @ Q.mH
    return ((M + M.mH) / 2).requires_grad_()


def symmetrised(function):
    """Differences disturb single entries, Hermitian matrices come in pairs of them."""
    return lambda M: function((M + M.mH) / 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", SPECTRA)
def test_hermitian_values(kind, dtype):
    M = hermitian(kind, dtype)
    values, Q = hermitian_values(M)
    assert not Q.requires_grad and (values.diff() <= 0).all()
    torch.testing.assert_close((Q * values.detach()) @ Q.mH, M.detach())
    torch.testing.assert_close(values.tolist(), SPECTRA[kind], atol=1e-14, rtol=0)
    assert gradcheck(symmetrised(lambda M: hermitian_values(M)[0].cosh().sum()), M)
    assert gradcheck(symmetrised(lambda M: hermitian_values(M)[0].pow(3).sum()), M)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", SPECTRA)
@pytest.mark.parametrize("f", [torch.sin, torch.exp, lambda x: x.pow(3) - x])
def test_hermitian_functions(kind, dtype, f):
    M = hermitian(kind, dtype)
    values, Q = torch.linalg.eigh(M.detach())
    torch.testing.assert_close(hermitian_function(M, f).detach(), (Q * f(values)) @ Q.mH)
    assert gradcheck(symmetrised(lambda M: hermitian_function(M, f)), M)


def test_hermitian_functions_that_can_be_written_without_eigenvalues():
    M = hermitian("generic", torch.complex128)
    torch.testing.assert_close(hermitian_function(M, torch.exp), torch.matrix_exp(M))
    torch.testing.assert_close(hermitian_function(M, torch.square), M @ M)
    torch.testing.assert_close(hermitian_function(M, lambda x: 1 / x), torch.linalg.inv(M))
    ours = torch.autograd.grad(hermitian_function(M, torch.exp).real.sum(), M)
    torch.testing.assert_close(ours, torch.autograd.grad(torch.matrix_exp(M).real.sum(), M))


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-6, 1e-3, 0.5 * NEAR, 0.99 * NEAR, 1.01 * NEAR, 3 * NEAR, 1.0])
@pytest.mark.parametrize("f, exact", [(torch.atan, mp.atan), (torch.asinh, mp.asinh), (torch.sin, mp.sin)])
def test_divided_differences_keep_their_digits_across_the_change_of_formula(gap, f, exact):
    """The gradient of f(M)₁₂ at M = diag(a, b) in direction 12 is (f(a) - f(b))/(a - b)."""
    a = 0.8
    b = a + gap
    M = torch.diag(torch.tensor([a, b], dtype=torch.float64)).requires_grad_()
    (grad,) = torch.autograd.grad(hermitian_function(M, f)[0, 1], M)
    with mp.workdps(50):
        a, b = mp.mpf(a), mp.mpf(b)
        right = mp.diff(exact, a) if a == b else (exact(a) - exact(b)) / (a - b)
    assert float(grad[0, 1] + grad[1, 0]) == pytest.approx(float(right), rel=1e-13)


@pytest.mark.parametrize("k", [-0.3, -1.0, -100.0, 100.0])
@pytest.mark.parametrize("left", [0.5, 0.05, 1e-4, 1e-8])  # of the way to the end, as a share of it
@pytest.mark.parametrize("gap", [1e-6, 0.01, 0.03, 0.3, 0.9])  # as a share of what is left
def test_divided_differences_keep_their_digits_next_to_a_singularity(gap, left, k):
    root = abs(k) ** 0.5
    a = (1 - left) / root
    b = a + gap * (1 / root - a)
    M = torch.diag(torch.tensor([a, b], dtype=torch.float64)).requires_grad_()
    curvature = torch.tensor(k, dtype=torch.float64)
    value = hermitian_function(
        M, lambda x: arctangent(x, curvature), lambda x: room_of_arctangent(x, curvature)
    )
    (grad,) = torch.autograd.grad(value[0, 1], M)
    with mp.workdps(50):
        arc = mp.atan if k > 0 else mp.atanh
        a, b, root = mp.mpf(a), mp.mpf(b), mp.sqrt(abs(mp.mpf(k)))
        right = (arc(root * a) - arc(root * b)) / (root * (a - b))
    assert float(grad[0, 1] + grad[1, 0]) == pytest.approx(float(right), rel=2e-15 / (left * min(gap, 0.02)))


@pytest.mark.parametrize("kind", SPECTRA)
def test_parameters_of_a_function_get_their_gradients(kind):
    M, k = hermitian(kind, torch.float64), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)

    def value(M, k):
        return hermitian_function((M + M.mT) / 2, lambda x: torch.tanh(k * x) + k * x.square())

    assert gradcheck(value, (M, k))


# ── odd functions of singular values ─────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("shape, dtype, kind", EVERY)
def test_odd_functions(shape, dtype, kind):
    C = case(shape, dtype, kind)
    torch.testing.assert_close(odd_function(C, lambda x: x), C, atol=1e-14, rtol=0)
    torch.testing.assert_close(odd_function(C, lambda x: x**3), C @ C.mH @ C, atol=1e-13, rtol=0)
    U, values, Vh = torch.linalg.svd(C.detach(), full_matrices=False)
    torch.testing.assert_close(odd_function(C, torch.atan).detach(), (U * values.atan()) @ Vh)
    assert gradcheck(lambda C: odd_function(C, torch.atan), C)


@pytest.mark.parametrize("kind", VALUES)
def test_parameters_of_an_odd_function_get_their_gradients(kind):
    C, k = case((2, 3), torch.float64, kind), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda C, k: odd_function(C, lambda x: torch.sin(k * x)), (C, k))


SECOND = {
    "singular values": lambda A: singular_values(A)[1],
    "eigenvalues": lambda A: hermitian_values(A + A.mH)[0],
    "a function": lambda A: hermitian_function(A + A.mH, torch.exp),
    "an odd function": lambda A: odd_function(A, torch.atan),
    "Takagi values": lambda A: takagi(A + A.mT)[1],
}


@pytest.mark.parametrize("what", SECOND)
def test_second_derivatives_are_refused_not_wrong(what):
    """By torch.autograd.grad and by backward, and where the incoming gradient is a constant."""
    A = case((3, 3), torch.complex128, "generic").detach().requires_grad_()
    for outer in (lambda x: x.abs().square().sum(), lambda x: x.real.sum()):
        (first,) = torch.autograd.grad(outer(SECOND[what](A)), A, create_graph=True)
        with pytest.raises(RuntimeError, match="differentiated once"):
            torch.autograd.grad(first.abs().square().sum(), A, retain_graph=True)
        with pytest.raises(RuntimeError, match="differentiated once"):
            first.abs().square().sum().backward()


def test_the_gradient_in_the_matrix_is_no_constant_of_a_parameter():
    M, k = hermitian("generic", torch.float64), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    value = hermitian_function(M, lambda x: torch.sin(k * x)).sum()
    (first,) = torch.autograd.grad(value, M, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated once"):
        torch.autograd.grad(first.sum(), k)


# ── exponential ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("size", [1e-8, 1e-2, 1.0, 4.0])
def test_the_exponential_of_one_matrix_has_all_digits(n, size):
    M = size * torch.randn(n, n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    with mp.workdps(40):
        exact = torch.tensor(mp.expm(mp.matrix(M.tolist())).apply(float).tolist(), dtype=torch.float64)
    for ours in (exponential(M), exponential(M[None])[0], exponential(M[None, None])[0, 0]):
        assert float((ours - exact).abs().max() / exact.abs().max()) < 2e-15 * (1 + 4 * size)
    assert exponential(M[None][:0]).shape == (0, n, n)


def test_the_exponential_has_its_gradient():
    M = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.complex128).requires_grad_()
    assert gradcheck(exponential, M)
    assert gradcheck(exponential, torch.zeros(2, 2, dtype=torch.float64, requires_grad=True))


# ── Takagi ───────────────────────────────────────────────────────────────────────────────────────────────────────
TAKAGI = {
    "generic": [3.0, 2.0, 0.5, 0.1],
    "all equal": [1.5, 1.5, 1.5, 1.5],
    "two equal": [2.0, 2.0, 0.3, 0.3],
    "rank one": [2.0, 0.0, 0.0, 0.0],
    "rank two, equal": [1.0, 1.0, 0.0, 0.0],
    "tiny values": [1.0, 1e-12, 1e-12, 1e-14],
    "at the noise": [1.0, 1e-16, 1e-17, 0.0],
    "zero": [0.0, 0.0, 0.0, 0.0],
    "very small": [3e-150, 2e-150, 1e-150, 0.0],
    "very large": [3e100, 2e100, 2e100, 0.0],
}


def takagi_case(kind, n=4, seed=0):
    K = unitary(n, seed, torch.complex128)
    A = (K * torch.tensor(TAKAGI[kind][:n], dtype=torch.complex128)) @ K.mT
    return (A + A.mT) / 2


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("kind", TAKAGI)
def test_takagi_reconstructs(kind, n):
    A = takagi_case(kind, n)
    K, values = takagi(A)
    scale = max(TAKAGI[kind])
    assert (values >= 0).all() and (values.diff() <= 0).all()
    torch.testing.assert_close(
        values, torch.tensor(TAKAGI[kind][:n], dtype=torch.float64), atol=4e-15 * scale, rtol=0
    )
    torch.testing.assert_close((K * values) @ K.mT, A, atol=1e-14 * scale, rtol=0)
    torch.testing.assert_close(K.mH @ K, torch.eye(n, dtype=torch.complex128), atol=1e-13, rtol=0)


def test_takagi_of_awkward_matrices():
    one = torch.eye(3, dtype=torch.complex128)
    signs = torch.diag(torch.tensor([1.0, -1.0, 1j], dtype=torch.complex128))
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.complex128)
    nilpotent = torch.tensor([[1.0, 1j], [1j, -1.0]], dtype=torch.complex128)  # its square is zero
    for A in (one, -one, 1j * one, signs, swap, 1j * swap, nilpotent):
        K, values = takagi(A)
        torch.testing.assert_close((K * values) @ K.mT, A, atol=1e-14, rtol=0)
        torch.testing.assert_close(K.mH @ K, torch.eye(len(A), dtype=torch.complex128), atol=1e-14, rtol=0)
        torch.testing.assert_close(values, torch.linalg.svdvals(A), atol=1e-14, rtol=0)
    assert not takagi(torch.zeros_like(one))[1].signbit().any()


def test_takagi_of_a_batch_and_in_single_precision():
    A = torch.stack([takagi_case(kind) for kind in TAKAGI if "very" not in kind]).reshape(2, -1, 4, 4)
    K, values = takagi(A)
    for i in range(2):
        for j in range(A.shape[1]):
            torch.testing.assert_close(takagi(A[i, j])[1], values[i, j], atol=1e-14, rtol=0)
    torch.testing.assert_close((K * values.unsqueeze(-2)) @ K.mT, A, atol=1e-13, rtol=0)
    K, values = takagi(A.to(torch.complex64))
    assert K.dtype == torch.complex64 and values.dtype == torch.float32
    torch.testing.assert_close((K * values.unsqueeze(-2)) @ K.mT, A.to(torch.complex64), atol=1e-5, rtol=0)
    K, values = takagi(A[:0])
    assert K.shape == (0, A.shape[1], 4, 4) and values.shape == (0, A.shape[1], 4)


@pytest.mark.parametrize("kind", [kind for kind in TAKAGI if "very" not in kind and "tiny" not in kind])
def test_takagi_values_have_their_gradients(kind):
    A = takagi_case(kind).requires_grad_()
    K, _ = takagi(A)
    assert not K.requires_grad
    assert gradcheck(lambda A: takagi((A + A.mT) / 2)[1].square().sum(), A)
    assert gradcheck(lambda A: takagi((A + A.mT) / 2)[1].cosh().sum(), A, atol=1e-6)
    (first,) = torch.autograd.grad(takagi(A)[1][0], A)
    assert first.isfinite().all() and float(torch.linalg.matrix_norm(first, 2)) <= 1 + 1e-12


@pytest.mark.parametrize(
    "A, message",
    [
        (torch.eye(2), r"expected complex matrices \(..., n, n\), got torch.float32 of shape \(2, 2\)"),
        (torch.ones(2, 3) + 0j, r"got torch.complex64 of shape \(2, 3\)"),
        (torch.ones(3) + 0j, r"got torch.complex64 of shape \(3,\)"),
        (torch.tensor([[1.0, 2.0], [3.0, 4.0]]) + 0j, "not symmetric"),
        (torch.tensor([[0.0, 1j], [-1j, 0.0]]), "without conjugation"),  # Hermitian
        (torch.full((2, 2), complex("nan")), "NaN"),
        ([[1.0]], "expected a torch tensor, got list"),
    ],
)
def test_takagi_refuses_in_one_line(A, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        takagi(A)
    assert str(caught.value).startswith("takagi: ") and str(caught.value).isprintable()


def test_takagi_refuses_one_asymmetric_matrix_among_large_ones():
    A = torch.stack([1e6 * torch.eye(2), torch.tensor([[0.0, 1.0], [-1.0, 0.0]])]) + 0j
    with pytest.raises(ValueError, match="not symmetric"):
        takagi(A)

"""Twice the working precision: error-free steps are exact, everything else has about 31 digits."""

from fractions import Fraction

import mpmath as mp
import pytest
import torch

from weyl.geometry.twofold import (
    Twofold,
    between,
    cholesky,
    plus_identity,
    scaled,
    solve_lower,
    split,
    two_product,
    two_sum,
)

DIGITS = 1e-30


def draw(*shape, seed, decades=0):
    """Numbers of mixed sign, spread over some decades, all bits in use."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator, dtype=torch.float64)
    return x * 10 ** (decades * (2 * torch.rand(*shape, generator=generator, dtype=torch.float64) - 1))


def twofold(*shape, seed, decades=0):
    high = draw(*shape, seed=seed, decades=decades)
    return Twofold(*two_sum(high, high * 2.0**-55 * draw(*shape, seed=seed + 1)))


def exact(x):
    """Every entry as a Fraction, in the order of flatten()."""
    if isinstance(x, Twofold):
        return [a + b for a, b in zip(exact(x.high), exact(x.low), strict=True)]
    return [Fraction(e) for e in x.flatten().tolist()]


def assert_close(found, right, relative, sizes=None):
    """|found - right| ≤ relative · size, entry by entry; the size is |right| unless given."""
    for a, b, size in zip(exact(found), right, sizes or right, strict=True):
        assert abs(a - b) <= Fraction(relative) * abs(size), (float(a), float(b), float(abs(a - b)))


def assert_normalised(x):
    total, error = two_sum(x.high, x.low)
    assert torch.equal(total, x.high) and torch.equal(error, x.low)


# ── without error ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("decades", [0, 8, 40])
def test_sums_products_and_halves_are_exact(decades):
    a, b = draw(200, seed=0, decades=decades), draw(200, seed=1, decades=decades)
    for x, y in [(a, b), (a, -a), (a, a * (1 + 2.0**-52)), (a, -0.5 * a), (a, torch.zeros_like(a))]:
        total, error = two_sum(x, y)
        assert torch.equal(total, x + y)
        assert [s + e for s, e in zip(exact(total), exact(error), strict=True)] == [
            s + t for s, t in zip(exact(x), exact(y), strict=True)
        ]
        product, error = two_product(x, y)
        assert torch.equal(product, x * y)
        assert [s + e for s, e in zip(exact(product), exact(error), strict=True)] == [
            s * t for s, t in zip(exact(x), exact(y), strict=True)
        ]
    high, low = split(a)
    assert torch.equal(high + low, a)
    for part in (high, low):  # 26 bits: the product of any two parts is exact
        for x in exact(part):
            bits = abs(x.numerator)
            assert (bits >> ((bits & -bits).bit_length() - 1 if bits else 0)).bit_length() <= 26


# ── arithmetic ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("decades", [0, 6])
def test_arithmetic_has_thirty_digits(decades):
    x, y = twofold(100, seed=2, decades=decades), twofold(100, seed=4, decades=decades)
    a, b = exact(x), exact(y)
    sizes = [abs(s) + abs(t) for s, t in zip(a, b, strict=True)]
    assert_close(x + y, [s + t for s, t in zip(a, b, strict=True)], DIGITS, sizes)
    assert_close(x - y, [s - t for s, t in zip(a, b, strict=True)], DIGITS, sizes)
    assert_close(x * y, [s * t for s, t in zip(a, b, strict=True)], DIGITS)
    assert_close(x / y, [s / t for s, t in zip(a, b, strict=True)], DIGITS)
    assert_close(-x, [-s for s in a], 0)
    for result in (x + y, x - y, x * y, x / y):
        assert_normalised(result)


def test_a_difference_that_cancels_keeps_its_digits():
    x = twofold(100, seed=6)
    y = Twofold(x.high, x.low * (1 + 2.0**-20))
    assert_close(x - y, [s - t for s, t in zip(exact(x), exact(y), strict=True)], 1e-15)
    assert exact(x - x) == [0] * 100


def test_square_roots():
    x = twofold(100, seed=8, decades=6)
    x = x * x
    root = x.sqrt()
    assert_close(root * root, exact(x), 3 * DIGITS)
    assert (root.high > 0).all() and Twofold.of(torch.tensor([4.0], dtype=torch.float64)).sqrt().high == 2
    assert_normalised(root)


def test_matrices_are_stored_as_they_read():
    x = twofold(3, 2, seed=10)
    assert torch.equal(x.mH.high, x.high.mT) and torch.equal(x.mH.low, x.low.mT)
    copy, before = x.clone(), exact(x)
    copy[..., 0, :] = twofold(2, seed=12)
    assert (
        exact(x) == before and exact(copy)[2:] == before[2:] and exact(copy[0]) == exact(twofold(2, seed=12))
    )
    assert exact(x[..., 1:, :]) == before[2:]
    assert exact(Twofold.of(x.high)) == exact(x.high)


def product(a, b, rows, inner, columns):
    """The exact matrix product of lists of fractions, and the sum of absolute values."""
    entries = [
        [[a[i * inner + k] * b[k * columns + j] for k in range(inner)] for j in range(columns)]
        for i in range(rows)
    ]
    flat = [entry for row in entries for entry in row]
    return [sum(entry) for entry in flat], [sum(map(abs, entry)) for entry in flat]


@pytest.mark.parametrize("decades", [0, 6])
@pytest.mark.parametrize("rows, inner, columns", [(1, 1, 1), (3, 4, 2), (2, 8, 3)])
def test_matrix_products(rows, inner, columns, decades):
    x, y = twofold(rows, inner, seed=14, decades=decades), twofold(inner, columns, seed=16, decades=decades)
    right, sizes = product(exact(x), exact(y), rows, inner, columns)
    assert_close(x @ y, right, DIGITS, sizes)
    batch = Twofold(torch.stack([x.high, 2 * x.high]), torch.stack([x.low, 2 * x.low])) @ y
    assert exact(batch[0]) == exact(x @ y) and exact(batch[1]) == [2 * e for e in exact(x @ y)]


# ── factorisations ───────────────────────────────────────────────────────────────────────────────────────────────
def graded(n, decades, seed):
    """L L* with diagonal entries of L from 1 down to 10^-decades."""
    L = draw(n, n, seed=seed).tril(-1) + torch.eye(n, dtype=torch.float64)
    return L * 10 ** (-decades * torch.arange(n, dtype=torch.float64) / max(n - 1, 1))


def hilbert(n):
    i = torch.arange(1, n + 1, dtype=torch.float64)
    return 1 / (i[:, None] + i - 1)


POSITIVE = {
    "one": torch.full((1, 1), 0.3, dtype=torch.float64),
    "moderate": graded(4, 0, 18) @ graded(4, 0, 18).mT,
    "graded": graded(4, 5, 20) @ graded(4, 5, 20).mT,  # condition about 1e10
    "hilbert": hilbert(7),  # condition 5e8
}


@pytest.mark.parametrize("kind", POSITIVE)
def test_cholesky(kind):
    A = POSITIVE[kind]
    A = (A + A.mT) / 2
    n = len(A)
    L = cholesky(Twofold.of(A))
    assert torch.equal(L.high, L.high.tril()) and torch.equal(L.low, L.low.tril())
    assert (L.high.diagonal() > 0).all()
    right, sizes = product(exact(L), exact(L.mH), n, n, n)
    for found, given, size in zip(right, exact(A), sizes, strict=True):
        assert abs(found - given) <= 10 * Fraction(DIGITS) * size
    with mp.workdps(60):
        truth = mp.cholesky(mp.matrix(A.tolist()))
        pairs = (
            (mp.mpf(float(L.high[i, j])) + mp.mpf(float(L.low[i, j])), truth[i, j])
            for i in range(n)
            for j in range(i + 1)
        )
        condition = float(torch.linalg.cond(A))
        assert all(abs(ours - right) <= 1e-29 * condition * abs(truth[0, 0]) for ours, right in pairs)
    torch.testing.assert_close(L.high, cholesky(A), rtol=1e-15 * condition, atol=0)


@pytest.mark.parametrize("decades", [0, 8])
def test_solving_with_a_triangle(decades):
    L, right = Twofold.of(graded(4, decades, 22)), twofold(4, 3, seed=24)
    solution = solve_lower(L, right)
    found, sizes = product(exact(L), exact(solution), 4, 4, 3)
    for a, b, size in zip(found, exact(right), sizes, strict=True):
        assert abs(a - b) <= 10 * Fraction(DIGITS) * size
    torch.testing.assert_close(solution.high, solve_lower(L.high, right.high), rtol=1e-9, atol=0)


def test_between_and_its_parts_agree_with_float64():
    L, R = graded(3, 1, 26), graded(3, 1, 28)
    M = draw(3, 3, seed=30)
    double = torch.linalg.inv(L) @ M @ torch.linalg.inv(R).mT
    torch.testing.assert_close(between(L, M, R), double)
    twice = between(Twofold.of(L), Twofold.of(M), Twofold.of(R))
    torch.testing.assert_close(twice.high, double)
    back, sizes = product(exact(Twofold.of(L) @ twice), exact(R.mT), 3, 3, 3)
    for a, b, size in zip(back, exact(M), sizes, strict=True):
        assert abs(a - b) <= 10 * Fraction(DIGITS) * size


def test_between_takes_adjoints_of_complex_matrices():
    generator = torch.Generator().manual_seed(0)
    L, M, R = torch.randn(3, 2, 2, generator=generator, dtype=torch.complex128)
    L, R = (X.tril() + 3 * torch.eye(2) for X in (L, R))
    torch.testing.assert_close(between(L, M, R), torch.linalg.inv(L) @ M @ torch.linalg.inv(R).mH)


def test_scaling_and_the_identity():
    x, factor = twofold(3, 3, seed=32), torch.tensor(0.1, dtype=torch.float64)
    assert_close(scaled(x, factor), [Fraction(0.1) * e for e in exact(x)], DIGITS)
    assert_close(plus_identity(x), [e + (i % 4 == 0) for i, e in enumerate(exact(x))], 4 * DIGITS, [10] * 9)
    assert torch.equal(scaled(x.high, factor), 0.1 * x.high)
    assert torch.equal(plus_identity(x.high), x.high + torch.eye(3, dtype=torch.float64))


def test_batches_of_factorisations_broadcast():
    A = torch.stack([graded(3, 2, seed) @ graded(3, 2, seed).mT for seed in (34, 36)])
    L = cholesky(Twofold.of(A))
    for i in range(2):
        assert exact(cholesky(Twofold.of(A[i]))) == exact(L[i])
    right = twofold(3, 3, seed=38)
    both = solve_lower(L, right)
    for i in range(2):
        assert exact(both[i]) == exact(solve_lower(L[i], right))


def test_cholesky_names_the_first_point_outside():
    one = torch.eye(2, dtype=torch.float64)
    with pytest.raises(
        ValueError, match=r"^point 1 of 3 lies outside its space.*positive definite"
    ) as caught:
        cholesky(torch.stack([one, -one, -one]))
    assert str(caught.value).isprintable()


def test_a_condition_that_float64_cannot_see():
    """[[1, 1-ε], [1-ε, 1]] with ε = 2⁻⁵³: the second pivot is 2ε - ε², to all digits."""
    e = 2.0**-53
    A = torch.tensor([[1.0, 1 - e], [1 - e, 1.0]], dtype=torch.float64)
    L = cholesky(Twofold.of(A))
    pivot = L[1:, 1:] * L[1:, 1:]
    assert_close(pivot, [2 * Fraction(e) - Fraction(e) ** 2], 1e-14)

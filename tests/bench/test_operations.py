"""The count of multiply-adds, against loops that count and against what is known of rotations."""

import pytest
import torch

from weyl.bench.operations import Operations, count, rotations
from weyl.geometry import space as make_space

EPS = torch.finfo(torch.float64).eps


def random_matrices(n, seed=0):
    return torch.randn(40, n, n, dtype=torch.complex128, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_orthogonal_columns_meet_once_and_never_turn(n):
    Q, _ = torch.linalg.qr(random_matrices(n))
    scaled = Q * torch.arange(1, n + 1)
    assert rotations(scaled, EPS) == (n * (n - 1) / 2, 0.0)


def test_two_columns_are_orthogonal_after_one_turn():
    meetings, turns = rotations(random_matrices(2), 1e-12)
    assert (meetings, turns) == (2.0, 1.0)


def test_isometries_of_the_rows_change_nothing():
    C = random_matrices(5)
    U, _ = torch.linalg.qr(random_matrices(5, seed=1))
    assert rotations(U @ C, 1e-6) == rotations(C, 1e-6)


def test_fewer_digits_need_fewer_turns():
    C = random_matrices(6)
    assert rotations(C, 1e-7)[1] < rotations(C, EPS)[1]


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_formulas_count_the_loops(n):
    steps = 2 * sum(1 + i - j for j in range(n) for i in range(j, n))  # L⁻¹(L₂ - L₁): a division, i - j terms
    solves = 2 * sum(1 + i for _ in range(n) for i in range(n))  # of the difference of the X, from both sides
    lengths = 2 * n * n
    still = Operations(n, 0, 0)
    assert still.distance == pytest.approx(steps + solves + lengths)
    products = 2 * 4 * n**3 + 2 * sum(4 * n for i in range(n) for _ in range(i, n))
    sums = 2 * 2 * (n * (n + 1) / 2)
    assert still.with_gradient - still.distance == pytest.approx(products + 2 * n * n + sums)
    assert Operations(n, 1, 0).distance - still.distance == 4 * n
    assert Operations(n, 0, 1).distance - still.distance == 2 * 4 * n
    assert Operations(n, 0, 1).with_gradient - still.with_gradient == 4 * 4 * n


def test_only_upper_is_counted():
    for text, counted in (
        ("upper(3)", True),
        ("spd(3)", False),
        ("bounded(2)", False),
        ("euclidean(3)", False),
    ):
        space = make_space(text)
        points = space.random_points(5, seed=0, dtype=torch.float32)
        found = count(space, points, torch.tensor([0, 1]), torch.tensor([2, 3]))
        assert (found is not None) == counted, text


def test_equal_points_need_no_turn():
    space = make_space("upper(3)")
    points = space.random_points(2, seed=0, dtype=torch.float64)
    found = count(space, points, torch.tensor([0, 1]), torch.tensor([0, 1]))
    assert found == Operations(3, 3.0, 0.0)

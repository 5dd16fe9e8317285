"""Every space by name: the constructors of the expression grammar, and the table that `weyl spaces` prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn, tensor

from weyl.expression import Expression, build

from .arguments import whole
from .fields import COMPLEX, FIELDS, QUATERNION, REAL
from .half_space import HalfSpace
from .matrix_ball import MatrixBall
from .product import Power, Product
from .rank_one import Euclidean, Hyperbolic, Sphere
from .space import Space
from .symmetric import SymmetricSpace


def _curvature(k: object) -> tuple[float | Tensor, str]:
    """The curvature a ball keeps, and its text; "learn" makes a parameter that starts at -1."""
    if k == "learn":
        return nn.Parameter(tensor(-1.0).double()), ', k="learn"'
    if isinstance(k, Tensor):
        return k, ", k=<tensor>"
    if isinstance(k, bool) or not isinstance(k, int | float):
        raise ValueError(f'k must be a number, a tensor or "learn", got {k!r}')
    return float(k), f", k={number_text(k)}"


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number: -1, not -1.0."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _determinant(det: object) -> tuple[bool, str]:
    if det not in (None, 1):
        raise ValueError(f"det is 1 or left out, got {det!r}")
    return det == 1, ", det=1" if det == 1 else ""


def upper(n: int) -> HalfSpace:
    """Siegel upper half space: Z = X + iY symmetric, Y > 0."""
    return HalfSpace(f"upper({whole(n, 'rank')})", n, COMPLEX, "symmetric")


def interpolated(n: int, k: object = -0.5) -> MatrixBall:
    """Symmetric complex matrices with Id + kZ*Z > 0: from the bounded domain (k = -1) over flat (0) to its dual (1)."""
    value, text = _curvature(k)
    return MatrixBall(f"interpolated({whole(n, 'rank')}{text})", n, n, COMPLEX, "symmetric", value)


def bounded(n: int) -> MatrixBall:
    """Siegel bounded domain: Z symmetric, Z*Z < Id."""
    return MatrixBall(f"bounded({whole(n, 'rank')})", n, n, COMPLEX, "symmetric", -1.0)


def dual(n: int) -> MatrixBall:
    """The compact dual of Siegel space, in its affine chart of symmetric matrices."""
    return MatrixBall(f"dual({whole(n, 'rank')})", n, n, COMPLEX, "symmetric", 1.0)


def spd(n: int, det: int | None = None) -> HalfSpace:
    """Real positive definite matrices."""
    unimodular, text = _determinant(det)
    return HalfSpace(f"spd({whole(n, 'n', 1 + unimodular)}{text})", n, REAL, "hermitian", unimodular)


def hpd(n: int, det: int | None = None) -> HalfSpace:
    """Complex positive definite matrices."""
    unimodular, text = _determinant(det)
    return HalfSpace(f"hpd({whole(n, 'n', 1 + unimodular)}{text})", n, COMPLEX, "hermitian", unimodular)


def qpd(n: int, det: int | None = None) -> HalfSpace:
    """Quaternionic positive definite matrices."""
    unimodular, text = _determinant(det)
    return HalfSpace(f"qpd({whole(n, 'n', 1 + unimodular)}{text})", n, QUATERNION, "hermitian", unimodular)


def ball(p: int, q: int, field: str = "R", k: object = -1) -> MatrixBall:
    """p × q matrices over R, C or H with Id + kZ*Z > 0."""
    if field not in FIELDS:
        raise ValueError(f'field must be "R", "C" or "H", got {field!r}')
    value, curvature = _curvature(k)
    over = "" if field == "R" else f', field="{field}"'
    name = f"ball({whole(p, 'p')}, {whole(q, 'q')}{over}{'' if curvature == ', k=-1' else curvature})"
    space = MatrixBall(name, p, q, FIELDS[field], "free", value)
    if field == "R" and p == q == 1:
        space.notes = ("flat: a line",)
    if field == "R" and p == q == 2:
        space.notes = ("reducible: a product of two surfaces of constant curvature",)
    return space


def antisymmetric(n: int, k: object = -1) -> MatrixBall:
    """Antisymmetric complex matrices with Id + kZ*Z > 0: type DIII."""
    value, text = _curvature(k)
    name = f"antisymmetric({whole(n, 'n', 2)}{'' if text == ', k=-1' else text})"
    return MatrixBall(name, n, n, COMPLEX, "antisymmetric", value)


def euclidean(n: int) -> Euclidean:
    """Flat space with the distance |p - q|."""
    return Euclidean(whole(n, "dimension"))


def hyperbolic(n: int) -> Hyperbolic:
    """Real hyperbolic space of curvature -1, points (x, log y) of the half space."""
    space = Hyperbolic(whole(n, "dimension"))
    space.notes = ("flat: a line",) if n == 1 else ()
    return space


def sphere(n: int) -> Sphere:
    """Unit vectors of R^(n+1), curvature 1."""
    space = Sphere(whole(n, "dimension"))
    space.notes = ("flat: a circle",) if n == 1 else ("double cover of ball(1, n, k=1)",)
    return space


def complex_hyperbolic(n: int) -> MatrixBall:
    """Complex hyperbolic space of n complex dimensions: ball(1, n, field="C")."""
    return MatrixBall(f"complex_hyperbolic({whole(n, 'dimension')})", 1, n, COMPLEX, "free", -1.0)


def quaternionic_hyperbolic(n: int) -> MatrixBall:
    """Quaternionic hyperbolic space of n quaternionic dimensions: ball(1, n, field="H")."""
    return MatrixBall(f"quaternionic_hyperbolic({whole(n, 'dimension')})", 1, n, QUATERNION, "free", -1.0)


def product(*factors: str | Space, combine: str = "concatenate") -> Product:
    """A product; norms act on the concatenated vector, or combine="pythagoras" as in the paper."""
    if not factors:
        raise ValueError("a product needs at least one factor")
    return Product(*(_symmetric(factor) for factor in factors), combine=combine)


def power(factor: str | Space, m: int) -> Power:
    """m copies of one space."""
    return Power(_symmetric(factor), whole(m, "the number of copies"))


def _symmetric(factor: object) -> SymmetricSpace:
    factor = space(factor) if isinstance(factor, str) else factor
    if not isinstance(factor, SymmetricSpace):
        raise ValueError(f"expected a space such as upper(2), got {factor!r}")
    return factor


SPACES: dict[str, Callable[..., Space]] = {
    constructor.__name__: constructor
    for constructor in (
        upper, bounded, dual, interpolated, spd, hpd, qpd, ball, antisymmetric,
        euclidean, hyperbolic, sphere, complex_hyperbolic, quaternionic_hyperbolic, product, power,
    )
}  # fmt: skip


def space(expression: str | Expression | Space) -> Space:
    """The space that an expression such as "product(upper(2), euclidean(3))" names; a Space passes through.

    A curvature that is a tensor of yours: weyl.geometry.interpolated(2, k=tensor).
    """
    return expression if isinstance(expression, Space) else build(expression, SPACES, kind="space")


@dataclass(frozen=True)
class Row:
    """One line of `weyl spaces`; texts are functions of the parameters, `sizes` concrete members to look through."""

    expression: str
    example: str
    family: str
    root_system: str
    rank: str
    dimension: str
    curvature: str
    description: str
    sizes: tuple[str, ...] = ()


def _sizes(pattern: str, least: int = 1, most: int = 40) -> tuple[str, ...]:
    return tuple(pattern.format(n) for n in range(least, most))


def _grid(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.format(p, q) for p in range(1, 9) for q in range(p, 41))


TABLE = (
    Row("upper(n)", "upper(4)", "CI", "C_n", "n", "n(n+1)", "<= 0",
        "Siegel upper half space", _sizes("upper({})")),
    Row("bounded(n)", "bounded(4)", "CI", "C_n", "n", "n(n+1)", "<= 0",
        "Siegel bounded domain", _sizes("bounded({})")),
    Row("dual(n)", "dual(4)", "CI compact", "C_n", "n", "n(n+1)", ">= 0",
        "dual of Siegel space", _sizes("dual({})")),
    Row("interpolated(n, k)", "interpolated(4, k=-0.5)", "CI", "C_n", "n", "n(n+1)", "sign of k",
        "between the last two"),
    Row("spd(n)", "spd(4)", "AI × R", "A_(n-1)", "n", "n(n+1)/2", "<= 0",
        "positive definite over R", _sizes("spd({})")),
    Row("hpd(n)", "hpd(4)", "A × R", "A_(n-1)", "n", "n²", "<= 0",
        "positive definite over C", _sizes("hpd({})")),
    Row("qpd(n)", "qpd(3)", "AII × R", "A_(n-1)", "n", "n(2n-1)", "<= 0",
        "positive definite over H", _sizes("qpd({})")),
    Row("spd(n, det=1)", "spd(4, det=1)", "AI", "A_(n-1)", "n-1", "n(n+1)/2-1", "<= 0",
        "its irreducible part",
        _sizes("spd({}, det=1)", 2)),
    Row("hpd(n, det=1)", "hpd(4, det=1)", "A", "A_(n-1)", "n-1", "n²-1", "<= 0", "its irreducible part",
        _sizes("hpd({}, det=1)", 2)),
    Row("qpd(n, det=1)", "qpd(3, det=1)", "AII", "A_(n-1)", "n-1", "n(2n-1)-1", "<= 0",
        "its irreducible part",
        _sizes("qpd({}, det=1)", 2)),
    Row("ball(p, q, k)", "ball(2, 3)", "BDI", "B_p or D_p", "p", "pq", "sign of k", "real matrix ball",
        _grid("ball({}, {})")),
    Row('ball(p, q, "C", k)', 'ball(2, 3, field="C")', "AIII", "BC_p or C_p", "p", "2pq", "sign of k",
        "complex matrix ball", _grid('ball({}, {}, field="C")')),
    Row('ball(p, q, "H", k)', 'ball(2, 3, field="H")', "CII", "BC_p or C_p", "p", "4pq", "sign of k",
        "quaternionic matrix ball", _grid('ball({}, {}, field="H")')),
    Row("antisymmetric(n, k)", "antisymmetric(5)", "DIII", "BC or C", "n/2", "n(n-1)", "sign of k",
        "antisymmetric matrix ball", _sizes("antisymmetric({})", 2)),
    Row("hyperbolic(n)", "hyperbolic(10)", "BDI(1,n)", "A_1", "1", "n", "-1",
        "real hyperbolic", _sizes("hyperbolic({})")),
    Row("complex_hyperbolic(n)", "complex_hyperbolic(5)", "AIII(1,n)", "BC_1", "1", "2n", "-1 to -1/4",
        "complex hyperbolic", _sizes("complex_hyperbolic({})")),
    Row("quaternionic_hyperbolic(n)", "quaternionic_hyperbolic(3)", "CII(1,n)", "BC_1", "1", "4n",
        "-1 to -1/4",
        "quaternionic hyperbolic", _sizes("quaternionic_hyperbolic({})")),
    Row("euclidean(n)", "euclidean(10)", "flat", "none", "1", "n", "0",
        "flat space", _sizes("euclidean({})")),
    Row("sphere(n)", "sphere(10)", "BDI(1,n) compact", "A_1", "1", "n", "1",
        "unit sphere", _sizes("sphere({})")),
    Row("product(a, b, …)", "product(upper(2), euclidean(4))", "product", "union", "sum", "sum", "any",
        "of any spaces"),
    Row("power(a, m)", "power(hyperbolic(2), 5)", "product", "union", "m times", "m times", "any",
        "copies of one"),
)  # fmt: skip


def table() -> list[Row]:
    """What there is, one row a kind of space."""
    return list(TABLE)

"""The same point in another model: isometries between spaces, and embeddings that are isometric up to a stated scale.

`convert` finds a chain of the maps in MAPS. Models that are no spaces of ours (poincare_ball, hyperboloid) are reached
from `hyperbolic` and back.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from weyl.expression import Expression, parse

from .families import SPACES, space
from .fields import COMPLEX, QUATERNION, identity, real_form

Map = Callable[[Tensor], Tensor]
ENDS = {-1: "bounded", 1: "dual"}
# Models of hyperbolic space that are no spaces of ours, so their points are checked here.
MODELS = ("hyperboloid", "poincare_ball")


def _cayley(p: Tensor) -> Tensor:
    """W = (Z - i)(Z + i)⁻¹."""
    Z = COMPLEX.matrix(p)
    i = 1j * identity(Z, Z.shape[-1])
    return COMPLEX.entries(torch.linalg.solve(Z + i, Z - i, left=False))


def _inverse_cayley(p: Tensor) -> Tensor:
    """Z = i(Id + W)(Id - W)⁻¹."""
    W = COMPLEX.matrix(p)
    one = identity(W, W.shape[-1])
    return COMPLEX.entries(1j * torch.linalg.solve(one - W, one + W, left=False))


def _siegel_to_spd(p: Tensor) -> Tensor:
    """[[Y + XY⁻¹X, XY⁻¹], [Y⁻¹X, Y⁻¹]]: distances grow by √2 (riemannian), 2 (f1), 1 (finf)."""
    X, Y = p.unbind(-1)
    low = torch.cholesky_inverse(torch.linalg.cholesky(Y))
    return torch.cat([torch.cat([Y + X @ low @ X, X @ low], -1), torch.cat([low @ X, low], -1)], -2)


def _spd_to_siegel(p: Tensor) -> Tensor:
    """P → iP: the totally geodesic imaginary axis; v loses its signs."""
    return torch.stack([torch.zeros_like(p), p], -1)


def _to_klein(p: Tensor) -> Tensor:
    sheet = _to_hyperboloid(p)
    return (sheet[..., 1:] / sheet[..., :1]).unsqueeze(-2)


def _from_klein(p: Tensor) -> Tensor:
    x = p.squeeze(-2)
    time = 1 / (1 - x.square().sum(-1, keepdim=True)).sqrt()
    return _from_hyperboloid(torch.cat([time, x * time], -1))


def _to_hyperboloid(p: Tensor) -> Tensor:
    """(x, log y) to (t, x₁, …, x_n) with t² - |x|² = 1; o goes to (1, 0, …, 0)."""
    x, log_y = p[..., :-1], p[..., -1:]
    low = torch.exp(-log_y)
    square = x.square().sum(-1, keepdim=True) * low / 2
    return torch.cat([torch.cosh(log_y) + square, x * low, torch.sinh(log_y) + square], -1)


def _from_hyperboloid(p: Tensor) -> Tensor:
    t, x, last = p[..., :1], p[..., 1:-1], p[..., -1:]
    direct, stable = t - last, (1 + x.square().sum(-1, keepdim=True)) / (t + last).clamp(min=1e-300)
    height = torch.where(last > 0, stable, direct)  # e^(-log y), without cancellation
    return torch.cat([x / height, -height.log()], -1)


def _to_poincare(p: Tensor) -> Tensor:
    sheet = _to_hyperboloid(p)
    return sheet[..., 1:] / (1 + sheet[..., :1])


def _from_poincare(p: Tensor) -> Tensor:
    square = p.square().sum(-1, keepdim=True)
    return _from_hyperboloid(torch.cat([1 + square, 2 * p], -1) / (1 - square))


def _realified(p: Tensor) -> Tensor:
    """Hermitian n × n to symmetric 2n × 2n: every component of v twice."""
    return real_form(COMPLEX.matrix(p))


def _complexified(p: Tensor) -> Tensor:
    """Quaternionic n × n to Hermitian 2n × 2n: every component of v twice."""
    return COMPLEX.entries(QUATERNION.matrix(p))


def _number(text: Expression, position: int = 0) -> int:
    found = text.arguments[position] if len(text.arguments) > position else 0
    return found if isinstance(found, int) else 0


def _neighbours(text: Expression) -> list[tuple[str, Map]]:
    """The models one map away, as canonical texts."""
    n = _number(text)
    one_by = text.name == "ball" and n == 1 and not text.keywords and len(text.arguments) == 2
    found: dict[str, list[tuple[str, Map]]] = {
        "upper": [
            (f"bounded({n})", _cayley),
            (f"spd({2 * n})", _siegel_to_spd),
            *([("hyperbolic(2)", _half_plane)] if n == 1 else []),
        ],
        "bounded": [
            (f"upper({n})", _inverse_cayley),
            (f"interpolated({n}, k=-1)", _same),
            *([('ball(1, 1, field="C")', _same)] if n == 1 else []),
        ],
        "dual": [(f"interpolated({n}, k=1)", _same)],
        "interpolated": [(f"{ENDS[k]}({n})", _same)] if (k := text.keywords.get("k")) in ENDS else [],
        "spd": [(f"upper({n})", _spd_to_siegel)] if not text.keywords else [(f"spd({n})", _same)],
        "hpd": [(f"spd({2 * n})", _realified)] if not text.keywords else [(f"hpd({n})", _same)],
        "qpd": [(f"hpd({2 * n})", _complexified)] if not text.keywords else [(f"qpd({n})", _same)],
        "hyperbolic": [
            (f"ball(1, {n})", _to_klein),
            (f"hyperboloid({n})", _to_hyperboloid),
            (f"poincare_ball({n})", _to_poincare),
            *([("upper(1)", _to_half_plane)] if n == 2 else []),
        ],
        "ball": [(f"hyperbolic({_number(text, 1)})", _from_klein)] if one_by else [],
        "hyperboloid": [(f"hyperbolic({n})", _from_hyperboloid)],
        "poincare_ball": [(f"hyperbolic({n})", _from_poincare)],
        "sphere": [(f"ball(1, {n}, k=1)", _gnomonic)],
        "complex_hyperbolic": [(f'ball(1, {n}, field="C")', _same)],
        "quaternionic_hyperbolic": [(f'ball(1, {n}, field="H")', _same)],
    }
    if (
        text.name == "ball"
        and n == 1
        and text.keywords.get("field") in ("C", "H")
        and len(text.keywords) == 1
    ):
        name = {"C": "complex_hyperbolic", "H": "quaternionic_hyperbolic"}[text.keywords["field"]]
        found["ball"] = [(f"{name}({_number(text, 1)})", _same)]
        if text.keywords["field"] == "C" and _number(text, 1) == 1:
            found["ball"].append(("bounded(1)", _same))
    return found.get(text.name, [])


def _same(p: Tensor) -> Tensor:
    return p


def _half_plane(p: Tensor) -> Tensor:
    x, y = p[..., 0, 0, 0], p[..., 0, 0, 1]
    return torch.stack([x, y.log()], -1)


def _to_half_plane(p: Tensor) -> Tensor:
    return torch.stack([p[..., 0], p[..., 1].exp()], -1)[..., None, None, :]


def _gnomonic(p: Tensor) -> Tensor:
    """x → (x₁, …, x_n)/x₀: both of x and -x go to one point."""
    return (p[..., 1:] / p[..., :1]).unsqueeze(-2)


def path(source: str | Expression, target: str | Expression) -> list[tuple[str, Map]] | None:
    """The shortest chain of maps between two models, or None."""
    start, end = (_canonical(x) for x in (source, target))
    reached: dict[str, list[tuple[str, Map]]] = {start: []}
    queue = [start]
    while queue:
        at = queue.pop(0)
        if at == end:
            return reached[at]
        for name, step in _neighbours(parse(at)):
            if (canonical := _canonical(name)) not in reached and len(reached) < 60:
                reached[canonical] = reached[at] + [(canonical, step)]
                queue.append(canonical)
    return None


def _canonical(text: str | Expression) -> str:
    expression = parse(str(text))
    if expression.name in MODELS and (len(expression.arguments) != 1 or _number(expression) < 1):
        raise ValueError(f"convert: {expression} needs a dimension, such as {expression.name}(2)")
    return str(expression) if expression.name in MODELS else space(expression).name


def _check_model(p: Tensor, text: Expression) -> None:
    """Refuses what is no point of the hyperboloid or of Poincaré's ball."""
    size = _number(text) + (text.name == "hyperboloid")
    if not isinstance(p, Tensor) or p.dtype not in (torch.float32, torch.float64):
        found = getattr(p, "dtype", type(p).__name__)
        raise TypeError(f"convert: {text} takes a torch tensor of float32 or float64, got {found}")
    if not p.ndim or p.shape[-1] != size:
        raise ValueError(f"convert: {text} takes a shape ending in {size}, got {tuple(p.shape)}")
    if not bool(p.isfinite().all()):
        raise ValueError(f"convert: a point of {text} has NaN or infinite entries")
    square = p.detach().double().square()
    if text.name == "poincare_ball":
        inside = square.sum(-1) < 1
    else:
        form = square[..., 0] - square[..., 1:].sum(-1)
        slack = 1e-3 if p.dtype == torch.float32 else 1e-9
        inside = (p[..., 0] > 0) & ((form - 1).abs() <= slack * (1 + square[..., 0]))
    if not bool(inside.all()):
        raise ValueError(f"convert: a point lies outside {text}")


def _why_not(p: Tensor, text: Expression) -> str | None:
    """None where p belongs to the model, else the reason."""
    if text.name in SPACES:
        return space(text).why_not(p)
    try:
        _check_model(p, text)
    except ValueError as error:
        return str(error).removeprefix("convert: ")
    return None


def convert(p: Tensor, source: str, target: str) -> Tensor:
    """The point p of the model `source` in the model `target`: convert(p, "bounded(3)", "upper(3)").

    Distances are kept; into spd(2n) and hpd(2n) components of v are repeated, from spd to upper they lose signs, and
    the sphere is folded onto its projective space, where x and -x are one point.
    """
    chain, start, end = path(str(source), str(target)), parse(_canonical(source)), parse(_canonical(target))
    if chain is None:
        near = ", ".join(name for name, _ in _neighbours(start)) or "none"
        raise ValueError(f"convert: no way from {source} to {target}; models next to {source}: {near}")
    if start.name in SPACES:
        visit = space(start)._visit(p)
        (x,) = visit.tensors
        if start.name == "sphere" and chain and not bool((x[..., 0] != 0).all()):
            raise ValueError(
                f"convert: a point of {start} on the equator x₀ = 0 is not in the chart of {end}"
            )
    else:
        _check_model(p, start)
        x = p.double()
    for _, step in chain:
        x = step(x)
    x = x.to(p.real.dtype if p.is_complex() else p.dtype)
    if (reason := _why_not(x, end)) is not None:
        raise ValueError(f"convert: {reason}: {target} cannot hold points as far out as these in {x.dtype}")
    if p.is_complex() and end.name in SPACES and space(end).complex_points:
        return torch.view_as_complex(x.contiguous())
    return x

"""`weyl spaces`: what there is, what has a given number of parameters, or what one space is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from weyl.cli.printing import print_json, print_table

if TYPE_CHECKING:
    from weyl.geometry.space import Space


def command(
    expression: Annotated[
        str | None, typer.Argument(metavar="EXPRESSION", help='Describe this space, such as "upper(4)".')
    ] = None,
    parameters: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The spaces with N free real numbers a node, or just below."),
    ] = None,
    type_name: Annotated[
        str | None, typer.Option("--type", metavar="NAME", help="Only this type, such as CI.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """List the spaces with their ranks and dimensions."""
    if expression is not None:
        if parameters is not None or type_name is not None:
            raise ValueError(
                "--parameters and --type choose from the list: leave them out, or leave out EXPRESSION"
            )
        _print_space(expression, as_json)
        return
    families = _families(type_name)
    if parameters is None:
        _print_families(families, as_json)
    else:
        _print_members(families, parameters, as_json)


def _families(type_name: str | None) -> list[Any]:
    """The rows of the families table, of one type where asked."""
    from weyl.geometry.families import table

    rows = list(table())
    if type_name is None:
        return rows
    kept = [row for row in rows if row.family.casefold() == type_name.casefold()]
    if not kept:
        known = ", ".join(sorted({row.family for row in rows}))
        raise ValueError(f"no spaces of type {type_name!r}: --type takes one of {known}")
    return kept


def _print_families(families: list[Any], as_json: bool) -> None:
    records = [
        {
            "type": row.family,
            "expression": row.expression,
            "example": row.example,
            "root_system": row.root_system,
            "rank": row.rank,
            "dimension": row.dimension,
            "curvature": row.curvature,
            "description": row.description,
        }
        for row in families
    ]
    if as_json:
        print_json(records)
        return
    headings = ("space", "type", "roots", "rank", "dimension", "curvature")
    keys = (
        "expression",
        "type",
        "root_system",
        "rank",
        "dimension",
        "curvature",
    )  # descriptions would not fit
    print_table(headings, [[record[key] for key in keys] for record in records])
    print("\nmetrics: riemannian, f1, finf, fmin, lp(p), weighted (learned), weighted(w, …)")


def _print_members(families: list[Any], parameters: int, as_json: bool) -> None:
    """Of each row, the members with the largest dimension that does not exceed `parameters`."""
    import weyl

    members = [(row, weyl.space(text)) for row in families for text in row.sizes]
    best: dict[str, int] = {}
    for row, space in members:
        if space.dim <= parameters:
            best[row.expression] = max(space.dim, best.get(row.expression, 0))
    if not best:
        smallest = min((space.dim for _, space in members), default=None)
        hint = "leave out --type" if smallest is None else f"the smallest has {smallest}"
        raise ValueError(f"no listed space fits into {parameters} parameters: {hint}")
    found = [(row, space) for row, space in members if space.dim == best.get(row.expression)]
    records = [
        {"type": row.family, "space": space.name, "parameters": space.dim, "rank": space.rank}
        | {"root_system": row.root_system, "curvature": row.curvature}
        for row, space in sorted(found, key=lambda pair: pair[0].family)
    ]
    if as_json:
        print_json(records)
    else:
        headings = ("type", "space", "parameters", "rank", "roots", "curvature")
        print_table(headings, [tuple(record.values()) for record in records])


def _print_space(expression: str, as_json: bool) -> None:
    import weyl

    record = _describe(weyl.space(expression))
    if as_json:
        print_json(record)
        return
    notes = record.pop("notes")
    record["point_shape"] = " x ".join(map(str, record["point_shape"]))
    for key, value in [*record.items(), *(("note", note) for note in notes)]:
        print(f"{key.replace('_', ' '):<11}  {value}")


def _describe(space: Space) -> dict[str, Any]:
    signs = {factor.sign for factor in space.chamber.factors}
    curvature = "any sign" if {-1, 1} <= signs else "<= 0" if -1 in signs else ">= 0" if 1 in signs else "0"
    return {
        "name": space.name,
        "dim": space.dim,
        "rank": space.rank,
        "point_shape": list(space.point_shape),
        "chamber": str(space.chamber),
        "curvature": curvature,
        "notes": list(space.notes),
    }

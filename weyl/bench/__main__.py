"""`python -m weyl.bench` prints the rows of `weyl bench pairs --json`; it needs torch and numpy alone."""

import argparse
import json
import sys
from dataclasses import fields

from .request import Request


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m weyl.bench", description=__doc__)
    for option in fields(Request):
        kind, text = option.metadata["kind"], option.metadata["help"]
        how = {"action": "store_true"} if kind is bool else {"type": kind, "default": option.default}
        parser.add_argument(f"--{option.name}", help=text, **how)
    parser.add_argument("--json", action="store_true", help="What it does anyway.")
    chosen = vars(parser.parse_args(arguments))
    chosen.pop("json")
    try:
        request = Request(**chosen)
        from . import pairs

        rows = pairs.run(request, lambda text: print(text, file=sys.stderr))
        if request.picture:
            from . import picture

            picture.draw(rows, request.picture)
    except (ValueError, ImportError) as problem:
        print(f"python -m weyl.bench: {problem}", file=sys.stderr)
        return 2
    print(json.dumps(rows, allow_nan=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())

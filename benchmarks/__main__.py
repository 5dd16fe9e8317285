"""Runs main() of every benchmarks/bench_*.py, or of those named on the command line: python -m benchmarks svd."""

import importlib
import sys
from pathlib import Path


def main() -> int:
    found = {path.stem.removeprefix("bench_"): path.stem for path in Path(__file__).parent.glob("bench_*.py")}
    names = sys.argv[1:] or sorted(found)
    for unknown in (name for name in names if name not in found):
        print(f"no benchmark {unknown!r}; there are: {', '.join(sorted(found))}", file=sys.stderr)
        return 2
    for name in names:
        print(f"\n{name}\n")
        importlib.import_module(f"benchmarks.{found[name]}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`weyl bench pairs`, beside geoopt where it is installed."""

from importlib.util import find_spec

from weyl.cli import main as weyl


def main() -> None:
    weyl(["bench", "pairs", *(["--against", "geoopt"] if find_spec("geoopt") else [])])


if __name__ == "__main__":
    main()

"""What every command promises: exit 0 and a result, or exit 2 and one line; 130 after Ctrl-C."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import weyl.cli
from weyl.cli import main
from weyl.cli.printing import print_json, print_table
from weyl.cli.problems import describe, one_line

MANY_ROWS = """
import sys
from types import ModuleType, SimpleNamespace
row = SimpleNamespace(expression="upper(n)", example="upper(4)", family="CI", root_system="C_n", rank="n",
                      dimension="n(n+1)", curvature="<= 0", description="", sizes=())
families = sys.modules["weyl.geometry.families"] = ModuleType("weyl.geometry.families")
families.table = lambda: [row] * 5000
"""
RUN = "\nimport sys\nfrom weyl.cli import main\nsys.exit(main())\n"


def command(*arguments, before="", **environment):
    """The words and settings that start a `weyl` process, after a few lines of Python of its own."""
    root = str(Path(weyl.cli.__file__).parents[2])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-c", before + RUN, *arguments]
    return {"args": words, "env": {**os.environ, "PYTHONPATH": path, **environment}}


def weyl_process(*arguments, before="", stdout=subprocess.PIPE, **environment):
    done = subprocess.run(
        **command(*arguments, before=before, **environment),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_help_names_the_commands():
    status, out, err = weyl_process("--help")
    assert (status, err) == (0, "") and "spaces" in out and "--version" in out


def test_help_imports_nothing_heavy():
    check = """
import atexit, sys
heavy = {"torch", "numpy", "scipy", "networkx", "rich"}
atexit.register(lambda: print(*heavy & set(sys.modules), file=sys.stderr, end=""))
"""
    assert weyl_process("spaces", "--help", before=check)[2] == ""


def test_alone_it_prints_its_help(capsys):
    assert main([]) == 0
    alone = capsys.readouterr()
    assert main(["-h"]) == 0
    assert capsys.readouterr() == alone and alone.out.startswith("Usage: weyl") and not alone.err


def test_version(monkeypatch, capsys):
    monkeypatch.setattr(metadata, "version", {"weyl": "1.2.3"}.__getitem__)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "weyl 1.2.3\n"


def test_version_of_a_package_that_is_not_installed(monkeypatch, capsys):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert main(["--version"]) == 2
    assert (
        capsys.readouterr().err == "weyl: no version, since the package is not installed: run `make setup`\n"
    )


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["space"], "weyl: no such command 'space'. Did you mean 'spaces'"),
        (["--bogus"], "weyl: no such option: --bogus; see 'weyl --help'"),
        (
            ["spaces", "--parametrs", "3"],
            "weyl spaces: no such option: --parametrs (Possible options: --parameters); see",
        ),
        (
            ["spaces", "--parameters"],
            "weyl spaces: option '--parameters' requires an argument; see 'weyl spaces --help'",
        ),
        (
            ["spaces", "upper(2)", "left\nover"],
            "weyl spaces: got unexpected extra argument(s) (left\\x0aover); see",
        ),
    ],
)
def test_usage_errors_are_one_line(arguments, line, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(line) and err.count("\n") == 1 and err.endswith("\n")


def test_exit_status_and_streams_of_a_real_process():
    status, out, err = weyl_process("spaces", "--bogus")
    assert (status, out) == (
        2,
        "",
    ) and err == "weyl spaces: no such option: --bogus; see 'weyl spaces --help'\n"


def test_a_closed_pipe_is_no_error():
    with subprocess.Popen(
        **command("spaces", before=MANY_ROWS), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().startswith("space")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(unbuffered):
    with open("/dev/full", "w") as full:
        status, _, err = weyl_process("--help", stdout=full, PYTHONUNBUFFERED=unbuffered)
    assert (status, err) == (2, "weyl: No space left on device\n")


def test_ctrl_c_exits_with_130():
    heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's & shuts its ears
    interrupt = MANY_ROWS + heard + "families.table = lambda: signal.raise_signal(signal.SIGINT)\n"
    assert weyl_process("spaces", before=interrupt) == (130, "", "weyl: interrupted\n")


def test_a_fault_of_ours_is_one_line_too_and_shows_its_traceback_on_request():
    fault = MANY_ROWS + "families.table = lambda: {}['key']\n"
    status, out, err = weyl_process("spaces", before=fault, WEYL_TRACEBACK="")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("weyl spaces: KeyError in <string>:") and "report it" in err
    status, _, err = weyl_process("spaces", before=fault, WEYL_TRACEBACK="1")
    assert status != 0 and err.startswith("Traceback")


@pytest.mark.parametrize(
    "problem, line",
    [
        (ValueError("two\nlines"), "weyl embed: two lines"),
        (
            FileNotFoundError(2, "No such file or directory", "a.tsv"),
            "weyl embed: a.tsv: No such file or directory",
        ),
        (ValueError(), "weyl embed: ValueError"),
        (
            ImportError("parquet needs pyarrow: pip install weyl[parquet]"),
            "weyl embed: parquet needs pyarrow: pip",
        ),
        (
            RuntimeError("odd"),
            "weyl embed: RuntimeError in an unknown place: odd; this is a fault of weyl: please",
        ),
    ],
)
def test_problems_in_words(problem, line):
    assert describe(problem, ["embed", "a.tsv"]).startswith(line)


def test_one_line_spells_out_what_would_move_the_cursor():
    assert one_line("a\x1b[2J\r\n b\x00") == r"a\x1b[2J b\x00"


def test_json_refuses_what_json_has_not(capsys):
    with pytest.raises(ValueError):
        print_json({"score": float("nan")})
    assert capsys.readouterr().out == ""


def test_table_wraps_the_widest_column(capsys):
    print_table(["name", "count", "text"], [["a", 7, "one two three"], ["bb", 10, "four"]], width=20)
    assert capsys.readouterr().out.splitlines() == [
        "name  count  text",
        "a         7  one two",
        "             three",
        "bb       10  four",
    ]


def test_table_breaks_words_only_where_nothing_else_helps(capsys):
    row = ["quaternionic", "a b c d e f g h i j"]
    print_table(["space", "text"], [row], width=20)
    print_table(["space", "text"], [row], width=12)
    assert capsys.readouterr().out.splitlines() == [
        "space         text",
        "quaternionic  a b c",
        "              d e f",
        "              g h i",
        "              j",
        "space   text",
        "quater  a b",
        "nionic  c d",
        "        e f",
        "        g h",
        "        i j",
    ]


def test_table_without_rows_prints_its_headings(capsys):
    print_table(["name", "count"], [])
    assert capsys.readouterr().out == "name  count\n"

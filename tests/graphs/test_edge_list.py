"""Edge lists as text: what was written comes back, whatever the separator, header, encoding or packing."""

import codecs
import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weyl

ANY_WAY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(tmp_path, text, name="graph.tsv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return weyl.graph(path)


def edges(graph):
    """Lengths by the names of both ends."""
    weights = [1.0] * len(graph.edges) if graph.weights is None else graph.weights.tolist()
    names = [frozenset((graph.nodes[i], graph.nodes[j])) for i, j in graph.edges.tolist()]
    return dict(zip(names, weights, strict=True))


def as_name(text):
    whole = text.isascii() and text.isdigit() and len(text) <= 18 and (text == "0" or text[0] != "0")
    return int(text) if whole else text


# ── round trips ──────────────────────────────────────────────────────────────────────────────────────────────────
LETTERS = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"), min_size=1, max_size=8
)
WORDS = LETTERS.filter(lambda name: not name.isspace() and name.casefold() not in ("source", "target"))
PLAIN = st.from_regex(r"\A[a-zé][\w.:()-]{0,6}\Z")
WHOLE = st.integers(0, 10**18 - 1).map(str)
LENGTHS = st.floats(1e-300, 1e300)


@st.composite
def weighted_edges(draw, names):
    pair = st.tuples(names, names).filter(lambda two: two[0] != two[1])
    found = draw(st.lists(pair, min_size=1, max_size=12, unique_by=frozenset))
    weights = draw(st.none() | st.lists(LENGTHS, min_size=len(found), max_size=len(found)))
    return found, weights


def expected(found, weights):
    names = {name for pair in found for name in pair}
    convert = as_name if all(isinstance(as_name(name), int) for name in names) else str
    lengths = weights or [1.0] * len(found)
    return {frozenset(map(convert, pair)): w for pair, w in zip(found, lengths, strict=True)}


def packed(data, text):
    """The bytes of a text, ended and packed in one of the usual ways."""
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    comment = data.draw(st.sampled_from(["", "# made by hand", "% sym", "// one, two"]))
    text = end.join([*([comment] if comment else []), *text.split("\n")])
    raw = data.draw(st.sampled_from([b"", codecs.BOM_UTF8])) + text.encode()
    if data.draw(st.booleans()):
        raw = text.encode("utf-16")
    return gzip.compress(raw) if data.draw(st.booleans()) else raw


@ANY_WAY
@given(st.data())
def test_quoted_tables_come_back(way, tmp_path, data):
    found, weights = data.draw(weighted_edges(st.one_of(WORDS, PLAIN, WHOLE)))
    separator = data.draw(st.sampled_from(",;\t"))
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["source", "target", "weight"][: 2 + bool(weights)])
    for k, (a, b) in enumerate(found):
        writer.writerow([a, b, *([repr(weights[k])] if weights else [])])
    graph = read(tmp_path, packed(data, file.getvalue()), "table.csv")
    assert edges(graph) == expected(found, weights) and graph.name == "table"


@ANY_WAY
@given(st.data())
def test_plain_lines_come_back(way, tmp_path, data):
    found, weights = data.draw(st.one_of(weighted_edges(PLAIN), weighted_edges(WHOLE)))
    separator = data.draw(st.sampled_from(["\t", ",", ";", " ", "  ", " \t ", ", "]))
    lines = [
        separator.join([a, b, *([repr(weights[k])] if weights else [])]) for k, (a, b) in enumerate(found)
    ]
    graph = read(tmp_path, packed(data, "\n".join(lines) + data.draw(st.sampled_from(["", "\n", "\n\n"]))))
    assert edges(graph) == expected(found, weights) and not [n for n in graph.notes if "header" in n]


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.txt", "a.edges", "A.TSV", "a.TXT.gz", "a", "a.dat"])
def test_every_suffix_of_text(way, tmp_path, name):
    raw = b"x y\ny z\n"
    graph = read(tmp_path, gzip.compress(raw) if name.endswith("gz") else raw, name)
    assert list(graph.nodes) == ["x", "y", "z"] and graph.name in ("a", "A", "a.dat")


# ── names and order ──────────────────────────────────────────────────────────────────────────────────────────────
def test_whole_numbers_are_sorted_and_names_keep_their_order(way, tmp_path):
    assert read(tmp_path, "7\t3\n3\t100\n").nodes == [3, 7, 100]
    assert read(tmp_path, "2\t0\n0\t1\n").nodes == range(3)
    assert read(tmp_path, "b\ta\na\t10\n").nodes == ["b", "a", "10"]
    assert read(tmp_path, "01\t1\n1\t2\n").nodes == ["01", "1", "2"]  # one with a leading zero: text, all


def test_names_may_hold_blanks_between_tabs_and_commas(way, tmp_path):
    text = "New York\tSão Paulo\t7.5\nSão Paulo\tסאו פאולו\t1\n"
    assert read(tmp_path, text).nodes == ["New York", "São Paulo", "סאו פאולו"]
    assert read(tmp_path, text.replace("\t", ", ")).nodes == ["New York", "São Paulo", "סאו פאולו"]


def test_quotes_hold_separators_and_quotes(way, tmp_path):
    graph = read(tmp_path, '"a, b","say ""no""",2\n x" ,"  y ",3\n', "a.csv")
    assert graph.nodes == ["a, b", 'say "no"', 'x"', "  y "]


# ── headers ──────────────────────────────────────────────────────────────────────────────────────────────────────
def lengths(graph):
    return {frozenset(key): value for key, value in edges(graph).items()}


@pytest.mark.parametrize(
    "text, found, note",
    [
        ("source\ttarget\na\tb\n", {("a", "b"): 1}, ""),
        ("Source,Target,Weight\na,b,2\n", {("a", "b"): 2}, ""),
        ("Source,Target,Type,Id,Label,Weight\na,b,Undirected,0,,2\n", {("a", "b"): 2}, "ignored the columns"),
        (",from,to,distance\n0,a,b,2\n1,b,c,3\n", {("a", "b"): 2, ("b", "c"): 3}, ""),
        ("weight,source,target\n2,a,b\n", {("a", "b"): 2}, ""),
        ("target source\na b\n", {("a", "b"): 1}, ""),
        ("# FromNodeId\tToNodeId\n0\t1\n", {(0, 1): 1}, ""),
        ("FromNodeId\tToNodeId\n0\t1\n", {(0, 1): 1}, ""),
        ("city;town;miles\na;b;2\nb;c;3\n", {("a", "b"): 2, ("b", "c"): 3}, "column 'miles' for lengths"),
        ("x,y,timestamp\na,b,2\nb,c,3\n", {("a", "b"): 1, ("b", "c"): 1}, "ignored the column 'timestamp'"),
        ("x y\n1 2\n", {(1, 2): 1}, "read the first line as a header: 'x', 'y'"),
        ("from,to,kind,weight\n1,2,k,5\n", {(1, 2): 5}, "ignored the column 'kind'"),
        # no headers: names of nodes
        ("a b\nb c\n", {("a", "b"): 1, ("b", "c"): 1}, ""),
        ("source target\nsource b\n", {("source", "target"): 1, ("source", "b"): 1}, ""),
        ("x y 2\n", {("x", "y"): 2}, ""),
        ("a b 1\nb c 1\n", {("a", "b"): 1, ("b", "c"): 1}, ""),
        ("x 1\n2 3\n3 x\n", {("x", "1"): 1, ("2", "3"): 1, ("3", "x"): 1}, ""),
    ],
)
def test_headers(way, tmp_path, text, found, note):
    graph = read(tmp_path, text)
    assert lengths(graph) == {frozenset(pair): value for pair, value in found.items()}
    notes = [one for one in graph.notes if "components" not in one]
    assert any(note in one for one in notes) if note else not notes


@pytest.mark.parametrize(
    "text, ends",
    [
        ("a,b c\nd,e f\n", 2),  # commas, although blanks would do
        ("Smith,J Doe,A\nRoe,B Doe,A\n", 2),  # blanks: commas would make three fields, the last no number
        ("a\tb c\nd\te f\n", 2),
        ("1,5\t2\n2\t3\n", 2),
        ("a;b\nc;d,e\n", 2),
    ],
)
def test_the_separator_is_the_one_that_explains_the_lines(way, tmp_path, text, ends):
    graph = read(tmp_path, text)
    assert len(graph.edges) == 2 and graph.weights is None


def test_mac_line_ends_and_a_missing_last_one(way, tmp_path):
    assert len(read(tmp_path, "0 1\r1 2\r2 3").edges) == 3


def test_weights_of_one_are_no_weights(way, tmp_path):
    assert read(tmp_path, "0 1 1\n1 2 1.0\n").weights is None


def test_a_long_file_knows_its_lines(way, tmp_path):
    lines = [f"{k} {k + 1}" for k in range(3000)]
    lines[2000] = "# in between"
    lines[2500] = "2500 2501 9"
    with pytest.raises(
        ValueError, match="line 2501: 3 fields, expected 2: source, target, separated by blanks"
    ):
        read(tmp_path, "\n".join(lines))
    graph = read(tmp_path, "\n".join([*lines[:2500], "2500 2000"]))
    assert len(graph.edges) == 2500 and np.array_equal(graph.edges[:3], [[0, 1], [1, 2], [2, 3]])

"""Files that are no graphs: one line each, with the file and, in text, the number of the line; nothing else."""

import gzip
import io
import os

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import weyl
from weyl.cli import main


def written(write, *arguments, **keywords):
    file = io.BytesIO()
    write(file, *arguments, **keywords)
    return file.getvalue()


PACKED = gzip.compress(b"0\t1\n" * 1000 + os.urandom(100).hex().encode())
MATRIX = "%%MatrixMarket matrix coordinate real general\n"
DENSE = MATRIX.replace("coordinate", "array")
NPZ = written(np.savez, edges=[[0, 1], [1, 2]])
BAD = [
    # text
    ("empty.tsv", "", "an empty file, expected lines `source target [weight]`"),
    ("blank.csv", " \n\t\r\n", "an empty file"),
    ("comments.tsv", "# nothing\n\n% here\n", "only comments and blank lines"),
    ("header.csv", "# hello\nsource,target,weight\n", "line 2: only a header"),
    ("names.txt", "a\nb\n", "line 1: one field alone"),
    ("loop.tsv", "0\t0\n", "1 node and no edges: an embedding needs at least one edge"),
    ("words.tsv", "0\t1\t2\n\n1\t2\tfar\n", "line 3: weight 'far' is not a number"),
    ("first.tsv", "0\t1\tfar\n1\t2\t3\n", "line 1: weight 'far' is not a number"),
    ("long.tsv", "0\t1\t2\n1\t2\t" + 99 * "x", f"line 2: weight '{40 * 'x'}…' is not a number"),
    ("comma.csv", "a;b;1,5\nb;c;2\n", "line 1: weight '1,5' is not a number"),
    ("missing.csv", "a,b,1\nb,c,\n", "line 2: weight '' is not a number"),
    ("negative.tsv", "0 1 2\n1 2 -3\n", "line 2: weight -3 is negative: weights are lengths, positive and finite"),
    ("zero.tsv", "0 1 2\r\n1 2 0.0\r\n", "line 2: weight 0 is zero: weights are lengths"),
    ("nan.tsv", "0 1 2\n1 2 NaN\n", "line 2: weight nan is not a number: weights are lengths"),
    ("infinite.tsv", "0 1 2\n1 2 inf\n", "line 2: weight inf is infinite: weights are lengths"),
    ("huge.tsv", "0 1 2\n1 2 1e999\n", "line 2: weight inf is infinite"),
    ("short.tsv", "0 1 2\n1 2\n2 3 1", "line 2: 2 fields, expected 3: source, target, weight, separated by blanks"),
    ("count.txt", "4\n0 1\n1 2\n", "line 1: 1 field, expected 2: source, target"),
    ("wide.txt", "0 1 2 3\n1 2 3 4\n", "line 1: 4 fields, separated by blanks: expected lines"),
    ("matrix.csv", "0,1,2,3\n1,0,3,4\n", "a matrix of distances is read from .npy"),
    ("iris.csv", "length,width,size,label\n1,2,3,a\n2,3,4,b\n", "a header that names"),
    ("header.txt", "source,target,type\na,b,c\nd,e\n", "line 3: 2 fields, expected 3: as in the header"),
    ("noname.csv", "a,b\n,c\n", "line 2: a node has no name"),
    ("open.csv", 'a,b\n"c,d\n', 'line 2: a quote " is not closed'),
    ("alone.csv", '"a,b\n', 'line 1: a quote " is not closed'),
    ("after.csv", 'a,b\n"c"x,d\n', 'line 2: text follows a closing quote "'),
    ("latin.csv", b"a,b\nK\xf6ln,Bonn\n", "line 2: byte 0xf6 is not UTF-8: save the file as UTF-8"),
    ("half.txt", b"\xff\xfea\x00 ", "damaged UTF-16"),
    ("binary.txt", b"0 1\n\x00\x01\x02", "not a text file"),
    ("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00", "not a text file"),
    # gzip
    ("cut.tsv.gz", PACKED[:-20], "its gzip data end too early: the file was cut off"),
    ("cut.mtx.gz", PACKED[:6], "its gzip data end too early: the file was cut off"),
    ("flipped.tsv.gz", PACKED[:40] + b"hello" + PACKED[45:], "its gzip data are damaged"),
    ("tail.tsv.gz", PACKED + b"tail", "its gzip data are damaged"),
    ("empty.tsv.gz", gzip.compress(b""), "an empty file"),
    # numpy
    ("empty.npy", b"", "cannot be read as arrays of numpy: "),
    ("text.npy", b"0 1\n", "cannot be read as arrays of numpy: "),
    ("text.npz", b"0 1\n", "cannot be read as arrays of numpy: "),
    ("cut.npy", written(np.save, np.ones((9, 9)))[:-5], "cannot be read as arrays of numpy: "),
    ("cut.npz", NPZ[:-30], "cannot be read as arrays of numpy: "),
    ("flipped.npz", NPZ.replace(b"NUMPY", b"NVMPY"), "cannot be read as arrays of numpy: "),
    ("objects.npy", written(np.save, np.array([{}, None])), "Object arrays cannot be loaded"),
    ("flat.npy", written(np.save, np.ones(3)), "expected edges (m, 2) or (m, 3), or a square matrix"),
    ("wide.npy", written(np.save, np.ones((3, 4))), "got an array (3, 4)"),
    ("uneven.npy", written(np.save, np.array([[0, 1.5], [2, 0]])), "not symmetric, entry (0, 1) is 1.5"),
    ("diagonal.npy", written(np.save, np.ones((5, 5))), "the distance of node 0 from itself is 1"),
    ("negative.npy", written(np.save, np.array([[0, -1.5], [-1.5, 0]])), "entry (0, 1): weight -1.5 is negative"),
    ("nan.npy", written(np.save, np.array([[0, np.nan], [np.nan, 0]])), "entry (0, 1): weight nan"),
    ("one.npz", written(np.savez, distances=np.zeros((1, 1))), "a distance matrix of 1 node"),
    ("other.npz", written(np.savez, x=[1], y=[2]), "holds x, y: expected edges (weights, nodes)"),
    ("nothing.npz", written(np.savez), "holds nothing: expected edges"),
    ("three.npz", written(np.savez, edges=[[0, 1]], weights=[1, 2]), "weights (2) for 1 edges"),
    ("row.npz", written(np.savez, edges=[[0, 3]], nodes=["a", "b"]), "edges must be pairs of rows from 0 to 1"),
    ("twice.npz", written(np.savez, edges=[[0, 1]], nodes=["a", "a"]), "two nodes have the name 'a'"),
    ("half.npz", written(np.savez, edges=[[0, 1.5]]), "node numbers must be whole"),
    ("names.npz", written(np.savez, distances=[[0, 1], [1, 0]], nodes=["a"]), "1 names for 2 nodes"),
    ("word.npz", written(np.savez, edges=[[0, 1]], weights=["far"]), "a weight is not a number"),
    ("sparse.npz", written(np.savez, format="csr"), "cannot be read as a sparse matrix"),
    ("oblong.npz", written(sparse.save_npz, sparse.csr_array([[1, 2]])), "an adjacency matrix is square"),
    # matrix market
    ("empty.mtx", b"", "line 1: expected %%MatrixMarket matrix, then its format"),
    ("banner.mtx", MATRIX, "only comments, expected a matrix below them"),
    ("sizes.mtx", MATRIX + "% here\n2 x 1\n", "line 3: expected the sizes of the matrix, in whole numbers"),
    ("two.mtx", MATRIX + "2 2\n1 2 1\n", "line 2: expected the sizes of the matrix"),
    ("text.mtx", MATRIX + "2 2 1\n1 2 far\n", "line 3: weight 'far' is not a number"),
    ("range.mtx", MATRIX + "2 2 2\n1 2 1\n1 3 1.5\n", "line 4: '3' is no row from 1 to 2"),
    ("row.mtx", MATRIX + "2 2 1\n0 2 1.5\n", "line 3: '0' is no row from 1 to 2"),
    ("name.mtx", MATRIX + "2 2 1\n%\na 2 1.5\n", "line 4: 'a' is no row from 1 to 2"),
    ("cut.mtx", MATRIX + "2 2 2\n1 2 1.5\n", "line 2: promises 2 entries, but 1 follow"),
    ("negative.mtx", MATRIX + "2 2 1\n1 2 -1.5\n", "line 3: weight -1.5 is negative"),
    ("oblong.mtx", MATRIX + "2 3 1\n1 2 1.5\n", "an adjacency matrix is square, this one is (2, 3)"),
    ("complex.mtx", MATRIX.replace("real", "complex") + "2 2 1\n1 2 1 1\n", "line 1: 'complex' matrices hold no"),
    ("skew.mtx", MATRIX.replace("general", "skew-symmetric") + "2 2 1\n2 1 1\n", "line 1: 'skew-symmetric' matr"),
    ("none.mtx", MATRIX + "2 2 0\n", "2 nodes and no edges"),
    ("dense.mtx", DENSE + "2 2\n0\n1.5\n1.5\n", "line 2: promises 4 values, but 3 follow"),
    ("word.mtx", DENSE + "2 2\n0\n1.5\n1.5\nfar", "below line 2: could not convert string to float: b'far'"),
    ("wide.mtx", DENSE + "2 1\n0\n1.5\n", "a distance matrix is square, this one is (2, 1)"),
    # graphml
    ("empty.graphml", b"", "cannot be read as GraphML: no element found: line 1"),
    ("open.graphml", b"<graphml>\n<graph></graphml>", "cannot be read as GraphML: mismatched tag: line 2"),
    ("other.graphml", b"<html></html>", "cannot be read as GraphML: "),
    ("key.graphml", b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
     b'<node id="a"><data key="k">1</data></node></graph></graphml>', "cannot be read as GraphML: "),
    ("none.graphml", b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected"/>'
     b"</graphml>", "0 nodes and no edges"),
]  # fmt: skip


@pytest.mark.parametrize("name, data, message", BAD, ids=[row[0] for row in BAD])
def test_bad_files_in_one_line(way, tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(ValueError) as caught:
        weyl.graph(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: ") and message in line and "\n" not in line


GOOD = {
    ".tsv": b'source\ttarget\tweight\na\tb\t1.5\nb\t"c"\t2\n',
    ".tsv.gz": gzip.compress(b"1 2\n2 3\n"),
    ".npz": NPZ,
    "2.npz": written(sparse.save_npz, sparse.csr_array([[0, 1.5], [1.5, 0]])),
    ".npy": written(np.save, np.array([[0, 1.5], [1.5, 0]])),
    ".mtx": (MATRIX + "3 3 2\n2 1 1.5\n3 2 2.5\n").encode(),
    ".graphml": "\n".join(networkx.generate_graphml(networkx.path_graph(3))).encode(),
}


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.lists(st.tuples(st.integers(0), st.binary(max_size=3)), max_size=3))
def test_whatever_bytes_change_it_is_a_graph_or_one_line(tmp_path_factory, suffix, changes):
    data = bytearray(GOOD[suffix])
    for at, other in changes:
        at %= len(data)
        data[at : at + len(other) + (not other)] = other  # nothing: one byte less
    path = tmp_path_factory.mktemp("any") / f"any{suffix}"
    path.write_bytes(data)
    line = problem_with(path)
    assert (
        line is None if not changes else line is None or (line.startswith(f"{path}: ") and "\n" not in line)
    )


def problem_with(path):
    try:
        assert len(weyl.graph(path)) > 1
    except ValueError as problem:
        return str(problem)
    return None


def test_a_folder(tmp_path, capsys):
    with pytest.raises(IsADirectoryError, match="is a folder: name a file with a graph"):
        weyl.graph(tmp_path)
    assert main(["embed", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"weyl embed: {tmp_path}: is a folder: name a file with a graph\n"


@pytest.mark.parametrize("name", ["none.tsv", "none.npz", "none.tsv.gz", "none"])
def test_a_missing_file(tmp_path, capsys, name):
    path = tmp_path / name
    with pytest.raises(FileNotFoundError, match=name):
        weyl.graph(str(path))
    assert main(["embed", str(path)]) == 2
    assert capsys.readouterr().err == f"weyl embed: {path}: No such file or directory\n"


def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "secret.tsv"
    path.write_text("0 1\n")
    path.chmod(0)
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)  # the permissions bind everybody but root
    try:
        with pytest.raises(PermissionError, match=r"secret\.tsv"):
            weyl.graph(path)
    finally:
        os.seteuid(mine)


def test_a_bad_file_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "far.tsv"
    path.write_text("0 1 2\n1 2 far\n")
    assert main(["embed", str(path), "--out", str(tmp_path / "out.weyl")]) == 2
    assert capsys.readouterr() == ("", f"weyl embed: {path}: line 2: weight 'far' is not a number\n")
    assert not (tmp_path / "out.weyl").exists()

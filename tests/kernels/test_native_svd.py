"""Laws of the singular value decomposition, for the compiled kernel and for the torch path alike."""

import logging
import os
import shutil
import subprocess
import sys

import pytest
import torch

from weyl.kernels import native
from weyl.kernels.native import singular_value_decomposition

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
TOLERANCE = {torch.float32: 1e-5, torch.complex64: 1e-5, torch.float64: 1e-13, torch.complex128: 1e-13}
SQUARE = [(n, n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 17, 33)]
RECTANGULAR = [(1, 6), (6, 1), (2, 5), (5, 2), (4, 3), (3, 4), (20, 9), (9, 20)]
compiled = pytest.mark.skipif(not native.available(), reason="installed without the compiled kernel")


@pytest.fixture(params=["compiled", "torch"])
def way(request, monkeypatch):
    """Runs a test twice: with the compiled kernel, and as on a machine without it."""
    if request.param == "torch":
        monkeypatch.setattr(native, "_extension", lambda: None)
    elif not native.available():
        pytest.skip("installed without the compiled kernel")
    return request.param


def random(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def random_unitary(*shape, dtype=torch.float64, seed=0):
    return torch.linalg.qr(random(*shape, shape[-1], dtype=dtype, seed=seed))[0]


def check_decomposition(C, U, s, Vh):
    """C = U diag(s) Vh with orthonormal factors and sorted values, to a tolerance relative to the largest."""
    p, q = C.shape[-2:]
    k = min(p, q)
    assert U.shape == (*C.shape[:-2], p, k)
    assert s.shape == (*C.shape[:-2], k)
    assert Vh.shape == (*C.shape[:-2], k, q)
    assert U.dtype == Vh.dtype == C.dtype
    assert s.dtype == C.abs().dtype
    assert (s >= 0).all()
    assert (s[..., 1:] <= s[..., :-1]).all()
    if C.numel() == 0:
        return
    tolerance = TOLERANCE[C.dtype]
    identity = torch.eye(k, dtype=C.dtype)
    largest = C.abs().amax((-2, -1), keepdim=True).clamp_min(torch.finfo(s.dtype).tiny)
    torch.testing.assert_close((U * s[..., None, :]) @ Vh / largest, C / largest, rtol=0, atol=tolerance)
    torch.testing.assert_close(U.mH @ U, identity.expand_as(U.mH @ U), rtol=0, atol=tolerance)
    torch.testing.assert_close(Vh @ Vh.mH, identity.expand_as(Vh @ Vh.mH), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("p", "q"), SQUARE + RECTANGULAR)
def test_random_matrices(way, p, q, dtype):
    C = random(37, p, q, dtype=dtype)
    U, s, Vh = singular_value_decomposition(C)
    check_decomposition(C, U, s, Vh)
    expected = torch.linalg.svdvals(C)
    assert ((s - expected).abs() <= TOLERANCE[dtype] * expected[..., :1]).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("count", [0, 1, 13, 10_000])
def test_batch_sizes(way, count, dtype):
    C = random(count, 3, 3, dtype=dtype)
    check_decomposition(C, *singular_value_decomposition(C))


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 4, 4), (0, 5, 2, 2), (4, 0, 3), (4, 3, 0), (0, 0, 0)])
def test_leading_dimensions_and_empty_sides(way, shape):
    C = random(*shape, dtype=torch.complex128)
    check_decomposition(C, *singular_value_decomposition(C))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 4, 8, 11])
def test_zero_and_multiples_of_the_identity(way, n, dtype):
    factors = torch.tensor([0.0, 1.0, -2.5, 1e30, 1e-30], dtype=dtype)
    C = factors[:, None, None] * torch.eye(n, dtype=dtype)
    U, s, Vh = singular_value_decomposition(C)
    check_decomposition(C, U, s, Vh)
    torch.testing.assert_close(s, factors.abs()[:, None].expand_as(s), atol=0, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("values", [(1, 1, 1, 1), (3, 2, 2, 1), (5, 5, 1, 1), (1, 1, 0, 0), (2, 0, 0, 0)])
def test_equal_and_vanishing_singular_values(way, values, dtype):
    left, right = (random_unitary(50, 4, dtype=dtype, seed=seed) for seed in (1, 2))
    values = torch.tensor(values, dtype=torch.float64)
    C = left @ torch.diag(values).to(dtype) @ right.mH
    U, s, Vh = singular_value_decomposition(C)
    check_decomposition(C, U, s, Vh)
    torch.testing.assert_close(s.double(), values.expand(50, 4), atol=5 * TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("p", "q"), [(4, 4), (7, 7), (9, 9), (6, 3), (3, 6), (17, 17)])
def test_rank_deficient(way, p, q, dtype):
    rank_one = random(20, p, 1, dtype=dtype) @ random(20, 1, q, dtype=dtype, seed=1)
    zero_columns = random(20, p, q, dtype=dtype)
    zero_columns[..., ::2] = 0
    twice_the_same = random(20, p, 1, dtype=dtype).expand(20, p, q)
    multiplication_table = torch.outer(torch.arange(1, p + 1), torch.arange(1, q + 1)).to(dtype)[None]
    for C in (rank_one, zero_columns, twice_the_same, multiplication_table):
        check_decomposition(C, *singular_value_decomposition(C))


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("q", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("largest", [1, 2])
def test_small_integers(p, q, largest):
    """Equal, vanishing and dependent columns come by themselves."""
    generator = torch.Generator().manual_seed(10 * p + q)
    entries = torch.randint(-largest, largest + 1, (300, p, q, 2), generator=generator)
    C = torch.view_as_complex(entries.double())
    check_decomposition(C, *singular_value_decomposition(C))


@compiled
@pytest.mark.parametrize("decreasing", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("n", [4, 7, 13])
def test_graded_columns_keep_relative_accuracy(n, dtype, decreasing):
    values = torch.logspace(0, -12, n, dtype=torch.float64)
    C = random_unitary(30, n, dtype=dtype) * (values if decreasing else values.flip(0))
    U, s, Vh = singular_value_decomposition(C)
    check_decomposition(C, U, s, Vh)
    torch.testing.assert_close(s, values.expand_as(s), rtol=1e-13, atol=0)


@compiled
def test_graded_columns_against_fifty_digits():
    mpmath = pytest.importorskip("mpmath")
    C = random(6, 6) * torch.logspace(0, -12, 6, dtype=torch.float64)
    with mpmath.workdps(50):
        exact = [float(x) for x in mpmath.svd_r(mpmath.matrix(C.tolist()), compute_uv=False)]
    s = singular_value_decomposition(C)[1]
    torch.testing.assert_close(
        s, torch.tensor(sorted(exact, reverse=True), dtype=s.dtype), rtol=1e-13, atol=0
    )


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e300, 1e-300])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_huge_and_tiny_entries(way, dtype, scale):
    C = random(9, 5, 5, dtype=dtype)
    scaled = C * scale
    U, s, Vh = singular_value_decomposition(scaled)
    assert torch.isfinite(s).all()
    check_decomposition(scaled / scale, U, s / scale, Vh)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(("p", "q"), [(3, 3), (2, 4), (12, 12)])
def test_undefined_entries_give_nan_and_touch_no_other_matrix(way, p, q, bad, dtype):
    C = random(21, p, q, dtype=dtype)
    parts = singular_value_decomposition(C)
    spoilt = C.clone()
    spoilt[10, p - 1, 1] = bad
    for part, whole in zip(singular_value_decomposition(spoilt), parts, strict=True):
        assert part[10].isnan().all()
        others = torch.arange(21) != 10
        assert torch.equal(part[others], whole[others])


def test_any_layout_and_gradients_are_detached(way):
    whole = random(6, 10, 8, 2, dtype=torch.complex128)
    views = (whole[:, 1::2, :5, 0], whole[..., 1].mT, whole[..., 0].mH, whole[::2, :4, :4, 1].conj())
    for C in views:
        expected = singular_value_decomposition(C.resolve_conj().clone(memory_format=torch.contiguous_format))
        for part, same in zip(singular_value_decomposition(C), expected, strict=True):
            torch.testing.assert_close(part, same, rtol=0, atol=1e-13)
    C = random(3, 4, 4).requires_grad_()
    assert not any(part.requires_grad for part in singular_value_decomposition(C))


@compiled
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [2, 5, 12])
def test_same_bits_for_any_number_of_threads_and_any_neighbours(n, dtype):
    C = random(1003, n, n, dtype=dtype)
    C[::7] = C[::7, :, :1] * C[::7, :1]  # some need more sweeps than their neighbours
    parts = singular_value_decomposition(C, threads=1)
    for threads in (2, 3, 7, 64):
        assert all(map(torch.equal, singular_value_decomposition(C, threads=threads), parts))
    chosen = torch.tensor([0, 1, 14, 500, 1002])
    for one in chosen:
        alone = singular_value_decomposition(C[one])
        assert all(torch.equal(part, whole[one]) for part, whole in zip(alone, parts, strict=True))


@compiled
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_instruction_set(dtype):
    C = random(100, 9, 7, dtype=dtype)
    extension = native._extension()
    assert extension.instruction_sets()[-1] == "portable"
    for name in extension.instruction_sets():
        U, s, Vh = C.new_empty(100, 9, 7), C.new_empty(100, 7), C.new_empty(100, 7, 7)
        extension.singular_value_decomposition(C, U, s, Vh, threads=1, instruction_set=name)
        check_decomposition(C, U, s, Vh)


@compiled
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_torch_path_agrees(monkeypatch, dtype):
    C = random(40, 5, 5, dtype=dtype)
    U, s, Vh = singular_value_decomposition(C)
    monkeypatch.setattr(native, "_extension", lambda: None)
    U_torch, s_torch, Vh_torch = singular_value_decomposition(C)
    torch.testing.assert_close(s, s_torch, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    # vectors are unique up to a phase a column, which U diag(f(s)) Vh does not see
    torch.testing.assert_close(
        (U * s.square()[..., None, :]) @ Vh,
        (U_torch * s_torch.square()[..., None, :]) @ Vh_torch,
        rtol=0,
        atol=100 * TOLERANCE[dtype],
    )


def test_a_missing_extension_is_said_once(monkeypatch, caplog):
    monkeypatch.setattr(native, "_extension", lambda: None)
    native.say_once.cache_clear()
    assert not native.available()
    with caplog.at_level(logging.WARNING, logger="weyl"):
        for _ in range(3):
            singular_value_decomposition(random(2, 3, 3))
    assert [record.message for record in caplog.records] == [
        "weyl was installed without its compiled kernel: using torch.linalg.svd, which is slower on small matrices"
    ]


def test_built_where_there_is_a_compiler():
    compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    assert native.available(), f"{compiler} is here, but weyl._native was not built: make clean setup"


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.bfloat16, torch.bool], ids=str)
def test_other_dtypes_are_refused(way, dtype):
    with pytest.raises(TypeError, match=f"^C must be float32.*not {dtype}$"):
        singular_value_decomposition(torch.zeros(2, 3, 3, dtype=dtype))


def test_other_arguments_are_refused(way):
    with pytest.raises(TypeError, match=r"^C must be a torch\.Tensor, not list$"):
        singular_value_decomposition([[1.0]])
    with pytest.raises(ValueError, match=r"^C must have shape \(\.\.\., p, q\), not \(3,\)$"):
        singular_value_decomposition(torch.zeros(3))
    with pytest.raises(ValueError, match=r"^threads must be at least 1, not 0$"):
        singular_value_decomposition(torch.zeros(3, 3), threads=0)


@compiled
def test_the_extension_checks_what_it_is_given():
    C, square, s = torch.zeros(2, 3, 3), torch.zeros(2, 3, 3), torch.zeros(2, 3)
    decompose = native._extension().singular_value_decomposition
    with pytest.raises(ValueError, match=r"U has shape \(2, 3, 2\), not \(2, 3, 3\)"):
        decompose(C, torch.zeros(2, 3, 2), s, square, threads=1)
    with pytest.raises(ValueError, match="Vh is not contiguous"):
        decompose(C, square, s, torch.zeros(2, 3, 3).mT, threads=1)
    with pytest.raises(TypeError, match="s has another dtype"):
        decompose(C, square, s.double(), square, threads=1)
    with pytest.raises(TypeError, match="C is neither float32 nor float64"):
        decompose(C.int(), square, s, square, threads=1)
    with pytest.raises(ValueError, match="C must have shape"):
        decompose(torch.zeros(2, 3, 3, 3), square, s, square, threads=1)
    with pytest.raises(ValueError, match="threads"):
        decompose(C, square, s, square, threads=0)
    with pytest.raises(ValueError, match="no instruction set 'abacus'"):
        decompose(C, square, s, square, threads=1, instruction_set="abacus")


def test_importing_it_imports_nothing_else_of_weyl():
    program = (
        "import sys, weyl.kernels.native; print(*sorted(m for m in sys.modules if m.startswith('weyl')))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["weyl", "weyl.kernels", "weyl.kernels.native"]

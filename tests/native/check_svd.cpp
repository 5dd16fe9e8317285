// The laws of the decomposition on awkward matrices, in plain C++ so that sanitizers can watch: `make sanitize`.
// Buffers have exactly the size they need; every kind of entry, one lane and many lanes, one thread and several.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "jacobi_svd.hpp"
#include "svd_batch.hpp"
#include "threads.hpp"

namespace {

std::mt19937_64 generator(0);
int failures = 0, most_sweeps = 0;

double gaussian() { return std::normal_distribution<double>()(generator); }

constexpr int kinds = 13;

// One matrix of the given kind, rows x columns x reals.
std::vector<double> awkward(int kind, int rows, int columns, int reals) {
    std::vector<double> m(std::size_t(rows) * columns * reals);
    const auto at = [&](int r, int c, int part) -> double& { return m[(std::size_t(r) * columns + c) * reals + part]; };
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            for (int part = 0; part < reals; ++part) {
                double& x = at(r, c, part);
                switch (kind) {
                    case 0: x = gaussian(); break;
                    case 1: x = 0; break;
                    case 2: x = r == c && part == 0 ? 3.5 : 0; break;
                    case 3: x = double(int(generator() % 3)) - 1; break;                            // often singular
                    case 4: x = part == 0 ? (r + 1.0) * (c + 1.0) : 0; break;                        // rank one
                    case 5: x = gaussian() * std::pow(10.0, -2.0 * c); break;                        // graded columns
                    case 6: x = gaussian() * std::pow(10.0, -2.0 * r); break;                        // graded rows
                    case 7: x = part == 0 ? 1.0 / (r + c + 1) : 0; break;                            // Hilbert
                    case 8: x = c % 2 == 0 ? gaussian() : 0; break;                                  // zero columns
                    case 9: x = (c == 0 ? gaussian() : at(r, 0, part)) * (1 + 1e-14 * gaussian()); break;  // parallel
                    case 10: x = part == reals - 1 && (r + 1) % rows == c ? -1 : 0; break;           // permutation
                    case 11: x = gaussian() * 1e-30; break;
                    case 12: x = gaussian() * 1e30; break;
                }
            }
        }
    }
    return m;
}

void expect(bool held, const char* law, int kind, int rows, int columns, int reals, double found) {
    if (held) return;
    ++failures;
    std::printf("%s: kind %d, %d x %d, %d reals an entry: %g\n", law, kind, rows, columns, reals, found);
}

// max |X* X - Id| over columns when `by_columns`, else over rows; stride arithmetic on real pairs
template <class Real> double orthonormal_error(const Real* x, int rows, int columns, int reals, bool by_columns) {
    const int vectors = by_columns ? columns : rows, length = by_columns ? rows : columns;
    double worst = 0;
    for (int i = 0; i < vectors; ++i) {
        for (int j = 0; j < vectors; ++j) {
            double re = i == j ? -1 : 0, im = 0;
            for (int k = 0; k < length; ++k) {
                const Real* a = x + (by_columns ? k * columns + i : i * columns + k) * reals;
                const Real* b = x + (by_columns ? k * columns + j : j * columns + k) * reals;
                const double a_im = reals == 2 ? a[1] : 0, b_im = reals == 2 ? b[1] : 0;
                re += double(a[0]) * b[0] + a_im * b_im;
                im += double(a[0]) * b_im - a_im * b[0];
            }
            worst = std::max(worst, std::hypot(re, im));
        }
    }
    return worst;
}

template <class Real> void check_batch(int rows, int columns, int reals) {
    const int k = std::min(rows, columns), repeats = 3;
    const std::size_t count = std::size_t(kinds) * repeats, size = std::size_t(rows) * columns * reals;
    std::vector<Real> C, U(count * rows * k * reals), s(count * k), Vh(count * k * columns * reals);
    for (int repeat = 0; repeat < repeats; ++repeat) {
        for (int kind = 0; kind < kinds; ++kind) {
            for (double x : awkward(kind, rows, columns, reals)) C.push_back(static_cast<Real>(x));
        }
    }
    weyl::SvdBatch batch{};
    batch.input = C.data();
    batch.left = U.data();
    batch.singular_values = s.data();
    batch.right = Vh.data();
    batch.count = count;
    batch.rows = rows;
    batch.columns = columns;
    batch.is_complex = reals == 2;
    batch.is_double = sizeof(Real) == 8;
    const auto& variant = weyl::svd_portable;
    const std::size_t lanes = variant.lanes(batch), packs = (count + lanes - 1) / lanes;
    weyl::parallel_blocks(packs, 1, 4, variant.workspace(batch), [&](std::size_t first, std::size_t last, void* w) {
        variant.run(batch, first, last, w);
    });

    const double tolerance = 40 * std::numeric_limits<Real>::epsilon() * std::max(rows, columns);
    for (std::size_t b = 0; b < count; ++b) {
        const int kind = b % kinds;
        const Real *c = &C[b * size], *u = &U[b * rows * k * reals], *values = &s[b * k];
        const Real* v = &Vh[b * k * columns * reals];
        double largest = 0, residual = 0;
        for (std::size_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(double(c[i])));
        for (int r = 0; r < rows; ++r) {
            for (int j = 0; j < columns; ++j) {
                double sum[2] = {-double(c[(r * columns + j) * reals]), reals == 2 ? -double(c[(r * columns + j) * 2 + 1]) : 0};
                for (int i = 0; i < k; ++i) {
                    const Real *x = u + (r * k + i) * reals, *y = v + (i * columns + j) * reals;
                    const double x_im = reals == 2 ? x[1] : 0, y_im = reals == 2 ? y[1] : 0;
                    sum[0] += values[i] * (double(x[0]) * y[0] - x_im * y_im);
                    sum[1] += values[i] * (double(x[0]) * y_im + x_im * y[0]);
                }
                residual = std::max(residual, std::hypot(sum[0], sum[1]));
            }
        }
        expect(residual <= tolerance * largest, "U s V* = C", kind, rows, columns, reals, residual / largest);
        const double left = orthonormal_error(u, rows, k, reals, true);
        const double right = orthonormal_error(v, k, columns, reals, false);
        expect(left <= tolerance, "U orthonormal", kind, rows, columns, reals, left);
        expect(right <= tolerance, "V orthonormal", kind, rows, columns, reals, right);
        for (int i = 0; i < k; ++i) {
            expect(values[i] >= 0 && (i == 0 || values[i] <= values[i - 1]), "s sorted", kind, rows, columns, reals, values[i]);
        }
    }
}

// One lane, as a GPU thread works: it must converge long before the cap.
template <class Real, bool is_complex> void count_sweeps(int rows, int columns) {
    constexpr int reals = is_complex ? 2 : 1;
    for (int kind = 0; kind < kinds; ++kind) {
        std::vector<weyl::Number<Real, is_complex>> a, v(std::size_t(columns) * columns);
        std::vector<Real> s(columns);
        const auto m = awkward(kind, columns, rows, reals);  // row by row of the transpose: column by column
        for (std::size_t i = 0; i < m.size(); i += reals) {
            if constexpr (is_complex) {
                a.push_back({Real(m[i]), Real(m[i + 1])});
            } else {
                a.push_back({Real(m[i])});
            }
        }
        const int sweeps = weyl::jacobi_svd<0, 0>(a.data(), v.data(), s.data(), rows, columns);
        most_sweeps = std::max(most_sweeps, sweeps);
        expect(sweeps < weyl::jacobi_sweeps, "converges", kind, rows, columns, reals, sweeps);
    }
}

// Entries without a value: NaN out, only for that matrix.
template <class Real> void check_undefined(Real bad) {
    std::vector<Real> C(9 * 4), U(9 * 4), s(9 * 2), Vh(9 * 4);
    for (auto& x : C) x = static_cast<Real>(gaussian());
    C[4 * 4 + 1] = bad;
    weyl::SvdBatch batch{C.data(), U.data(), s.data(), Vh.data(), 9, 2, 2, false, sizeof(Real) == 8};
    weyl::parallel_blocks(1, 1, 1, weyl::svd_portable.workspace(batch), [&](std::size_t, std::size_t, void* w) {
        const std::size_t lanes = weyl::svd_portable.lanes(batch);
        weyl::svd_portable.run(batch, 0, (9 + lanes - 1) / lanes, w);
    });
    for (int b = 0; b < 9; ++b) {
        for (int i = 0; i < 4; ++i) expect(std::isnan(U[b * 4 + i]) == (b == 4), "NaN", b, 2, 2, 1, U[b * 4 + i]);
    }
}

}  // namespace

int main() {
    for (int rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17}) {
        for (int columns : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17}) {
            if (rows != columns && rows > 9 && columns > 4) continue;
            check_batch<float>(rows, columns, 1);
            check_batch<float>(rows, columns, 2);
            check_batch<double>(rows, columns, 1);
            check_batch<double>(rows, columns, 2);
            if (rows < columns) continue;
            count_sweeps<float, false>(rows, columns);
            count_sweeps<float, true>(rows, columns);
            count_sweeps<double, false>(rows, columns);
            count_sweeps<double, true>(rows, columns);
        }
    }
    check_undefined(std::numeric_limits<float>::quiet_NaN());
    check_undefined(std::numeric_limits<float>::infinity());
    check_undefined(std::numeric_limits<double>::quiet_NaN());
    check_undefined(-std::numeric_limits<double>::infinity());
    std::printf("%d failures, at most %d sweeps\n", failures, most_sweeps);
    return failures != 0;
}

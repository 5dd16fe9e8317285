// Moves a node of a matrix ball along a tangent vector in its frame, and gives the frame of where it arrives.
//
//   AA* = Id + kZZ*, BB* = Id + kZ*Z, S = A^-1 Z B,  W = xi (Id + bend xi* xi)^-1, bend = max(-k, 0) / 3
//   M = Id - k S* W,  Z <- Z + A W M^-1 B*
//   B <- B cholesky(M^-* (Id + k W*W) M^-1),  A <- A cholesky(K* (Id + k WW*) K), K = Id + k S M^-* W*
//
// W agrees with the exponential at the origin up to terms of third order. Factors only multiply, as in half spaces: nothing
// is subtracted that is nearly equal, however near the border. Where space is compact, M is singular for a step that
// leaves the chart: it is inverted as (M*M)^-1 M*, without a choice of pivots.
#pragma once

#include <initializer_list>

#include "lane_math.hpp"
#include "node_batch.hpp"
#include "pair_matrix.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

template <class Lane, bool is_complex, bool free> struct BallStep {
    using Real = typename LaneTraits<Lane>::Real;
    using Entry = Number<Lane, is_complex>;
    using Frame = Triangle<Lane, is_complex>;
    static constexpr int reals = is_complex ? 2 : 1;

    static int node_reals(const PairFactor& f) {
        return (free ? Frame::reals(f.rows) : 0) + Frame::reals(f.columns) + 2 * reals * f.rows * f.columns;
    }
    static int workspace(const PairFactor& f) {
        return reals * (6 * f.rows * f.columns + 4 * f.columns * f.columns + 4 * f.rows * f.rows);
    }

    int rows, columns;
    Entry *z, *s, *w, *x, *y, *u;     // rows x columns, row by row
    Entry *m, *r, *h, *b;             // columns x columns
    Entry *k1, *k2, *k3, *a;          // rows x rows

    BallStep(const PairFactor& f, Lane* memory) : rows(f.rows), columns(f.columns) {
        Entry* next = reinterpret_cast<Entry*>(memory);
        for (Entry** matrix : {&z, &s, &w, &x, &y, &u}) *matrix = next, next += rows * columns;
        for (Entry** matrix : {&m, &r, &h, &b}) *matrix = next, next += columns * columns;
        for (Entry** matrix : {&k1, &k2, &k3, &a}) *matrix = next, next += rows * rows;
    }

    static Entry zero() { return Entry::from(Lane(0)); }

    // out = left right, each as it is or its adjoint: an n x l by l x q product, row by row.
    template <bool adjoint_left, bool adjoint_right>
    static void multiply(const Entry* left, const Entry* right, Entry* out, int n, int l, int q) {
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < q; ++j) {
                Entry sum = zero();
                for (int e = 0; e < l; ++e) {
                    const Entry one = adjoint_left ? conjugate(left[e * n + i]) : left[i * l + e];
                    const Entry other = adjoint_right ? conjugate(right[j * l + e]) : right[e * q + j];
                    sum = multiply_add(sum, one, other);
                }
                out[i * q + j] = sum;
            }
        }
    }

    // x = Id + factor x
    static void plus_identity(Entry* x, int n, Lane factor) {
        for (int i = 0; i < n * n; ++i) x[i] = factor * x[i];
        for (int i = 0; i < n; ++i) x[i * n + i].re = x[i * n + i].re + Lane(1);
    }

    // The lower triangular factor of a Hermitian matrix, in its place, zero above.
    static void factorise(Entry* x, int n) {
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                Entry sum = x[i * n + j];
                for (int e = 0; e < j; ++e) sum = multiply_subtract(sum, x[i * n + e], conjugate(x[j * n + e]));
                if (i == j) {
                    x[i * n + i] = Entry::from(square_root(maximum(sum.re, Lane(Machine<Real>::smallest_normal))));
                } else {
                    x[i * n + j] = (Lane(1) / x[j * n + j].re) * sum;
                }
            }
            for (int j = i + 1; j < n; ++j) x[i * n + j] = zero();
        }
    }

    // x <- (LL*)^-1 x for the lower triangular L, x n x q
    static void solve(const Entry* l, Entry* x, int n, int q) {
        for (int j = 0; j < q; ++j) {
            for (int i = 0; i < n; ++i) {
                Entry sum = x[i * q + j];
                for (int e = 0; e < i; ++e) sum = multiply_subtract(sum, l[i * n + e], x[e * q + j]);
                x[i * q + j] = (Lane(1) / l[i * n + i].re) * sum;
            }
            for (int i = n - 1; i >= 0; --i) {
                Entry sum = x[i * q + j];
                for (int e = i + 1; e < n; ++e) sum = multiply_subtract(sum, conjugate(l[e * n + i]), x[e * q + j]);
                x[i * q + j] = (Lane(1) / l[i * n + i].re) * sum;
            }
        }
    }

    // The whole tangent vector from its kept entries, no longer than `longest`.
    void unpack(const NodeBatch& batch, const Lane* step) const {
        const PairFactor& f = batch.factor;
        const auto take = [&] {
            Entry one;
            one.re = *step++;
            if constexpr (is_complex) one.im = *step++;
            return one;
        };
        for (int i = 0; i < rows; i += f.block) {
            const int from = f.triangle == keep_all ? 0 : f.triangle == keep_upper ? i : i + 1;
            for (int j = from; j < columns; ++j) {
                const Entry one = w[i * columns + j] = take();
                if (f.triangle == keep_upper) w[j * columns + i] = one;
                if (f.triangle == keep_above) w[j * columns + i] = -one;
            }
            if (f.triangle == keep_above) w[i * columns + i] = zero();
            if (f.block == 2) quaternions(w, i);
        }
        Lane square(0);
        for (int i = 0; i < rows * columns; ++i) square = multiply_add_modulus(square, w[i]);
        const Lane length = square_root(square), longest(Real(batch.longest));
        const Lane factor = select(length > longest, longest / maximum(length, longest), Lane(1));
        for (int i = 0; i < rows * columns; ++i) w[i] = factor * w[i];
    }

    // The second row of quaternions [[x, y], [-conj y, conj x]].
    void quaternions(Entry* matrix, int i) const {
        for (int j = 0; j < columns; j += 2) {
            matrix[(i + 1) * columns + j] = -conjugate(matrix[i * columns + j + 1]);
            matrix[(i + 1) * columns + j + 1] = conjugate(matrix[i * columns + j]);
        }
    }

    static void load_triangle(const Lane* stored, Entry* out, int n) {
        const Frame frame{stored, n};
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) out[i * n + j] = j < i ? frame.below(i, j) : j == i ? Entry::from(frame.diagonal(i)) : zero();
        }
    }

    static void store_triangle(const Entry* l, Lane* stored, int n) {
        for (int i = 0; i < n; ++i) {
            stored[i] = Lane(1) / l[i * n + i].re, stored[n + i] = l[i * n + i].re;
            for (int j = 0; j < i; ++j) put(stored + 2 * n + reals * (i * (i - 1) / 2 + j), l[i * n + j]);
        }
    }

    static void put(Lane* at, Entry x) {
        at[0] = x.re;
        if constexpr (is_complex) at[1] = x.im;
    }

    static Entry get(const Lane* at) {
        if constexpr (is_complex) {
            return {at[0], at[1]};
        } else {
            return {at[0]};
        }
    }

    void move(const NodeBatch& batch, Lane* record, const Lane* step) const {
        const PairFactor& f = batch.factor;
        const Lane k(Real(f.curvature)), bend(Real(f.curvature < 0 ? -f.curvature / 3 : 0));
        Lane* const of_b = record + (free ? Frame::reals(rows) : 0);
        Lane *const of_z = of_b + Frame::reals(columns), *const of_s = of_z + reals * rows * columns;
        for (int i = 0; i < rows * columns; ++i) z[i] = get(of_z + reals * i), s[i] = get(of_s + reals * i);
        load_triangle(of_b, b, columns);
        if constexpr (free) {
            load_triangle(record, a, rows);
        } else {
            for (int i = 0; i < rows * rows; ++i) a[i] = conjugate(b[i]);
        }
        unpack(batch, step);
        multiply<true, false>(w, w, h, columns, rows, columns);  // W
        plus_identity(h, columns, bend);
        factorise(h, columns);
        for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) x[j * rows + i] = conjugate(w[i * columns + j]);
        }
        solve(h, x, columns, rows);
        for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) w[i * columns + j] = conjugate(x[j * rows + i]);
        }
        multiply<true, false>(s, w, m, columns, rows, columns);  // M, R = M^-1
        plus_identity(m, columns, Lane(0) - k);
        multiply<true, false>(m, m, h, columns, columns, columns);
        factorise(h, columns);
        for (int i = 0; i < columns; ++i) {
            for (int j = 0; j < columns; ++j) r[i * columns + j] = conjugate(m[j * columns + i]);
        }
        solve(h, r, columns, columns);
        multiply<false, false>(w, r, x, rows, columns, columns);  // Z
        multiply<false, false>(a, x, y, rows, rows, columns);
        multiply<false, true>(y, b, x, rows, columns, columns);
        for (int i = 0; i < rows * columns; ++i) z[i] = z[i] + x[i];
        symmetrise(f);
        multiply<true, false>(w, w, h, columns, rows, columns);  // B
        plus_identity(h, columns, k);
        multiply<false, false>(h, r, m, columns, columns, columns);
        multiply<true, false>(r, m, h, columns, columns, columns);
        factorise(h, columns);
        multiply<false, false>(b, h, m, columns, columns, columns);
        store_triangle(m, of_b, columns);
        if constexpr (free) {  // A, in k3
            multiply<false, true>(s, r, x, rows, columns, columns);
            multiply<false, true>(x, w, k1, rows, columns, rows);
            plus_identity(k1, rows, k);
            multiply<false, true>(w, w, k2, rows, columns, rows);
            plus_identity(k2, rows, k);
            multiply<false, false>(k2, k1, k3, rows, rows, rows);
            multiply<true, false>(k1, k3, k2, rows, rows, rows);
            factorise(k2, rows);
            multiply<false, false>(a, k2, k3, rows, rows, rows);
            store_triangle(k3, record, rows);
        } else {
            for (int i = 0; i < rows * rows; ++i) k3[i] = conjugate(m[i]);
        }
        multiply<false, false>(z, m, x, rows, columns, columns);  // S
        for (int j = 0; j < columns; ++j) {
            for (int i = 0; i < rows; ++i) {
                Entry sum = x[i * columns + j];
                for (int e = 0; e < i; ++e) sum = multiply_subtract(sum, k3[i * rows + e], x[e * columns + j]);
                x[i * columns + j] = (Lane(1) / k3[i * rows + i].re) * sum;
            }
        }
        for (int i = 0; i < rows * columns; ++i) put(of_z + reals * i, z[i]), put(of_s + reals * i, x[i]);
    }

    // What rounding leaves beside the pattern would grow.
    void symmetrise(const PairFactor& f) const {
        if (f.block == 2) {
            for (int i = 0; i < rows; i += 2) quaternions(z, i);
        }
        if (f.triangle == keep_all) return;
        const Lane half(Real(0.5));
        for (int i = 0; i < rows; ++i) {
            for (int j = i; j < columns; ++j) {
                Entry &one = z[i * columns + j], &other = z[j * columns + i];
                if (f.triangle == keep_upper) {
                    one = other = half * (one + other);
                } else {
                    one = half * (one - other), other = -one;
                }
            }
        }
    }
};

}  // namespace WEYL_VARIANT
}  // namespace weyl

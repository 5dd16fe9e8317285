// One factor of matrices: from the frames of two nodes to v(p, q), and from dF/dv to the gradients in both frames.
//
//   half spaces, H = skew + L L*:  C = L1^-1 (H2 - H1) L2^-*,  N = L1^-1 (H2 + H1*) L2^-*,  v = 2 asinh(sigma / 2)
//   balls, AA* = Id + kZZ*, BB* = Id + kZ*Z:  C = A1^-1 (Z2 - Z1) B2^-*,  N = B1^-1 (Id + k Z1*Z2) B2^-*,
//                                             a = A1^-1 (Id + k Z1 Z2*) A2^-*,  v = scale arcsin_k sigma
//   with C = U diag(sigma) V*, tangent vectors A xi B* (half space: L xi L*):
//   gradient at p: -U diag(w) (N V / c)* / scale,  at q: (a* U / c) diag(w) V* / scale,  c the lengths of the columns.
//
// Frames are stored, not points: L = L2 - L1 first, so that near points lose no digits, and never Y = L L*, whose
// condition is the square of the frame's.
#pragma once

#include "pair_batch.hpp"
#include "pair_jacobi.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

// A lower triangular matrix as nodes store it: inverse diagonal, diagonal, entries below it row by row.
template <class Lane, bool is_complex> struct Triangle {
    using Scalar = Lane;
    const Lane* stored;
    int size;

    WEYL_INLINE Lane inverse(int i) const { return stored[i]; }
    WEYL_INLINE Lane diagonal(int i) const { return stored[size + i]; }
    WEYL_INLINE Number<Lane, is_complex> below(int i, int j) const {
        const Lane* entry = stored + 2 * size + (is_complex ? 2 : 1) * (i * (i - 1) / 2 + j);
        if constexpr (is_complex) {
            return {entry[0], entry[1]};
        } else {
            return {entry[0]};
        }
    }
    static WEYL_INLINE constexpr int reals(int size) { return 2 * size + (is_complex ? 2 : 1) * (size * (size - 1) / 2); }
};

template <class Lane> WEYL_INLINE Number<Lane, true> operator*(Number<Lane, false> c, Number<Lane, true> x) {
    return {c.re * x.re, c.re * x.im};
}

template <bool conjugated, class Lane, bool is_complex>
WEYL_INLINE Number<Lane, is_complex> conjugate_if(Number<Lane, is_complex> x) {
    if constexpr (conjugated) {
        return conjugate(x);
    } else {
        return x;
    }
}

// X <- T^-1 X (or conj(T)^-1 X), X column by column
template <bool conjugated, class T, class Entry, class Team>
WEYL_INLINE void solve_left(const T& t, Entry* x, int rows, int columns, const Team& team) {
    WEYL_UNROLL
    for (int j = team.rank; j < columns; j += team.size) {
        WEYL_UNROLL
        for (int i = 0; i < rows; ++i) {
            Entry sum = x[j * rows + i];
            WEYL_UNROLL
            for (int k = 0; k < i; ++k) sum = sum - conjugate_if<conjugated>(t.below(i, k)) * x[j * rows + k];
            x[j * rows + i] = t.inverse(i) * sum;
        }
    }
}

// X <- X T^-*
template <class T, class Entry, class Team>
WEYL_INLINE void solve_right(const T& t, Entry* x, int rows, int columns, const Team& team) {
    WEYL_UNROLL
    for (int i = team.rank; i < rows; i += team.size) {
        WEYL_UNROLL
        for (int j = 0; j < columns; ++j) {
            Entry sum = x[j * rows + i];
            WEYL_UNROLL
            for (int k = 0; k < j; ++k) sum = sum - conjugate(t.below(j, k)) * x[k * rows + i];
            x[j * rows + i] = t.inverse(j) * sum;
        }
    }
}

// e = T^-1 (T2 - T1) below and on the diagonal, T one of the two; 0 above. Column by column.
template <class T, class Entry, class Team>
WEYL_INLINE void relative_step(const T& t, const T& t1, const T& t2, Entry* e, int n, const Team& team) {
    WEYL_UNROLL
    for (int j = team.rank; j < n; j += team.size) {
        WEYL_UNROLL
        for (int i = 0; i < n; ++i) {
            if (i < j) {
                e[j * n + i] = Entry::from(typename T::Scalar(0));
                continue;
            }
            Entry sum = i == j ? Entry::from(t2.diagonal(i) - t1.diagonal(i)) : t2.below(i, j) - t1.below(i, j);
            WEYL_UNROLL
            for (int k = j; k < i; ++k) sum = sum - t.below(i, k) * e[j * n + k];
            e[j * n + i] = t.inverse(i) * sum;
        }
    }
}

// theta from sine = sin_k(theta) and cosine = cos_k(theta) >= 0, and its derivative in k at a fixed sine.
template <class Lane> struct Arc {
    Lane angle, in_curvature;
};

template <bool learned, class Lane> WEYL_INLINE Arc<Lane> arcsine(Lane sine, Lane cosine, double curvature) {
    using Real = typename LaneTraits<Lane>::Real;
    constexpr int terms = 9;
    const Real k = Real(curvature), root = square_root(k < 0 ? -k : k);
    const Lane square = sine * sine, t = Lane(k) * square;
    const auto near = modulus(t) < Lane(Real(0.01));
    Lane series(0), slope(0);
    WEYL_UNROLL
    for (int m = terms - 1; m >= 0; --m) {
        double a = 1;  // of arcsine x = sum a x^(2m + 1)
        for (int i = 0; i < m; ++i) a *= double(2 * i + 1) * (2 * i + 1) / (double(2 * i + 2) * (2 * i + 3));
        series = series * t + Lane(Real(a));
        if (learned && m > 0) slope = slope * t + Lane(Real(m * a));
    }
    Lane angle = sine * series;
    if (k != 0) {
        const Lane far = k > 0 ? arctangent(Lane(root) * sine, cosine) : inverse_sinh(Lane(root) * sine);
        angle = select(near, angle, far / Lane(root));
    }
    Lane in_curvature(0);
    if (learned) {
        in_curvature = sine * square * slope;
        if (k != 0) {
            const auto cut = cosine < Lane(Real(1e-12));
            const Lane ratio = select(cut, Lane(0), sine / select(cut, Lane(1), cosine));
            in_curvature = select(near, in_curvature, (ratio - angle) / Lane(2 * k));
        }
    }
    return {angle, in_curvature};
}

template <class Lane_, int kind, bool is_complex, int fixed_rows, int fixed_columns, class Team = Alone>
struct MatrixPair {
    using Lane = Lane_;
    using Real = typename LaneTraits<Lane>::Real;
    using Entry = Number<Lane, is_complex>;
    static constexpr bool siegel = kind == pair_siegel, hermitian = kind == pair_positive;
    static constexpr bool half_space = siegel || hermitian, free = kind == pair_ball;
    static constexpr int reals = is_complex ? 2 : 1;
    using Frame = Triangle<Lane, is_complex && !siegel>;

    Team team;
    int rows, columns;
    Entry *x, *w, *n, *a, *t;  // chord, then U; V; companions; temporary. Hermitian: V, then U in w
    Lane *alpha, *angle, *cosine, *rank, *in_curvature;

    static WEYL_INLINE constexpr int workspace(int rows, int columns) {  // in lanes
        const int entries = rows * columns + (hermitian ? rows : columns) * columns + columns * columns +
                            (free ? rows * rows : 0) + rows * columns;
        return entries * reals + 5 * columns;
    }

    WEYL_INLINE MatrixPair(const PairFactor& factor, Lane* memory, Team team_ = Team()) : team(team_) {
        rows = fixed_rows ? fixed_rows : factor.rows, columns = fixed_columns ? fixed_columns : factor.columns;
        x = reinterpret_cast<Entry*>(memory);
        w = x + rows * columns;
        n = w + (hermitian ? rows : columns) * columns;
        a = n + columns * columns;
        t = a + (free ? rows * rows : 0);
        alpha = reinterpret_cast<Lane*>(t + rows * columns);
        angle = alpha + columns, cosine = angle + columns, rank = cosine + columns, in_curvature = rank + columns;
    }

    static WEYL_INLINE Entry entry(const Lane* stored, int index) {
        if constexpr (is_complex) {
            return {stored[2 * index], stored[2 * index + 1]};
        } else {
            return {stored[index]};
        }
    }

    WEYL_INLINE void half_space_chord(const Lane* p, const Lane* q) {
        const int size = columns;
        const Frame first{p, size}, second{q, size};
        using Step = Number<Lane, is_complex && !siegel>;
        Step* const e1 = reinterpret_cast<Step*>(t);  // L1^-1 (L2 - L1) and L2^-1 (L2 - L1)
        Step* const e2 = reinterpret_cast<Step*>(w);
        relative_step(first, first, second, e1, size, team);
        relative_step(second, first, second, e2, size, team);
        if constexpr (siegel) {
            const Lane *x1 = p + Frame::reals(size), *x2 = q + Frame::reals(size);
            Step* const s = reinterpret_cast<Step*>(n);
            WEYL_UNROLL
            for (int i = team.rank; i < size; i += team.size) {
                WEYL_UNROLL
                for (int j = i; j < size; ++j) {
                    const int at = i * size - i * (i - 1) / 2 + (j - i);
                    s[j * size + i] = s[i * size + j] = Step{x2[at] - x1[at]};
                }
            }
            team.sync();
            solve_left<false>(first, s, size, size, team);
            team.sync();
            solve_right(second, s, size, size, team);
            team.sync();
            WEYL_UNROLL
            for (int i = team.rank; i < size * size; i += team.size) x[i].im = Lane(0) - s[i].re;
            team.sync();
            WEYL_UNROLL
            for (int j = team.rank; j < size; j += team.size) {
                WEYL_UNROLL
                for (int i = 0; i < size; ++i) {
                    const int at = j * size + i;
                    x[at].re = e1[at].re + e2[i * size + j].re;
                    n[at] = {e1[at].re - e2[i * size + j].re + Lane(i == j ? 2 : 0), x[at].im};
                }
            }
        } else {
            team.sync();
            WEYL_UNROLL
            for (int j = team.rank; j < size; j += team.size) {
                WEYL_UNROLL
                for (int i = 0; i < size; ++i) {
                    const int at = j * size + i;
                    const Entry back = conjugate(e2[i * size + j]);
                    x[at] = e1[at] + back;
                    n[at] = e1[at] - back + Entry::from(Lane(i == j ? 2 : 0));
                }
            }
        }
    }

    WEYL_INLINE void ball_chord(const PairFactor& factor, const Lane* p, const Lane* q) {
        const int after_a = free ? Frame::reals(rows) : 0, after_b = after_a + Frame::reals(columns);
        const Frame a1{p, rows}, a2{q, rows}, b1{p + after_a, columns}, b2{q + after_a, columns};
        const Lane *z1 = p + after_b, *z2 = q + after_b;
        const Lane *s1 = z1 + reals * rows * columns, *s2 = z2 + reals * rows * columns;
        const Lane k(Real(factor.curvature));
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            WEYL_UNROLL
            for (int i = 0; i < rows; ++i) x[j * rows + i] = entry(z2, i * columns + j) - entry(z1, i * columns + j);
        }
        if constexpr (free) {
            solve_left<false>(a1, x, rows, columns, team);
        } else {
            solve_left<true>(b1, x, rows, columns, team);  // A = conj(B)
        }
        team.sync();
        solve_right(b2, x, rows, columns, team);
        // N = (B2^-1 B1)* + k S1* C and a = A1^-1 A2 - k C S2*, S = A* Z B^-* = A^-1 Z B
        product_of_triangles(b2, b1, t, columns);
        team.sync();
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            WEYL_UNROLL
            for (int i = 0; i < columns; ++i) {
                Entry sum = Entry::from(Lane(0));
                WEYL_UNROLL
                for (int r = 0; r < rows; ++r) sum = sum + conjugate(entry(s1, r * columns + i)) * x[j * rows + r];
                n[j * columns + i] = conjugate(t[i * columns + j]) + k * sum;
            }
        }
        if constexpr (free) {
            product_of_triangles(a1, a2, a, rows);
            WEYL_UNROLL
            for (int j = team.rank; j < rows; j += team.size) {
                WEYL_UNROLL
                for (int i = 0; i < rows; ++i) {
                    Entry sum = Entry::from(Lane(0));
                    WEYL_UNROLL
                    for (int r = 0; r < columns; ++r) sum = sum + x[r * rows + i] * conjugate(entry(s2, j * columns + r));
                    a[j * rows + i] = a[j * rows + i] - k * sum;
                }
            }
        }
    }

    // out = left^-1 right, lower triangular, column by column
    WEYL_INLINE void product_of_triangles(const Frame& left, const Frame& right, Entry* out, int size) const {
        WEYL_UNROLL
        for (int j = team.rank; j < size; j += team.size) {
            WEYL_UNROLL
            for (int i = 0; i < size; ++i) {
                if (i < j) {
                    out[j * size + i] = Entry::from(Lane(0));
                    continue;
                }
                Entry sum = i == j ? Entry::from(right.diagonal(i)) : right.below(i, j);
                WEYL_UNROLL
                for (int r = j; r < i; ++r) sum = sum - left.below(i, r) * out[j * size + r];
                out[j * size + i] = left.inverse(i) * sum;
            }
        }
    }

    // sum over r of conj(left_r) right_r, for columns `stride` apart (a row of a matrix times a vector)
    template <bool conjugated>
    static WEYL_INLINE Entry strided(const Entry* left, int stride, const Entry* right, int count) {
        Entry sum = Entry::from(Lane(0));
        WEYL_UNROLL
        for (int r = 0; r < count; ++r) sum = sum + conjugate_if<conjugated>(left[r * stride]) * right[r];
        return sum;
    }

    // Fills the components of v, non-increasing.
    WEYL_INLINE void forward(const PairFactor& factor, const Lane* p, const Lane* q, Lane* v, bool gradients) {
        if constexpr (half_space) {
            half_space_chord(p, q);
        } else {
            ball_chord(factor, p, q);
        }
        team.sync();
        const Lane scale = pair_scale(x, rows * columns);
        // In half spaces only directions of N count.
        const Lane companion_scale = half_space ? pair_scale(n, columns * columns) : Lane(1);
        team.sync();
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            WEYL_UNROLL
            for (int i = 0; i < rows; ++i) x[j * rows + i] = scale * x[j * rows + i];
            WEYL_UNROLL
            for (int i = 0; i < (hermitian ? rows : columns); ++i) {
                if constexpr (half_space) n[j * columns + i] = companion_scale * n[j * columns + i];
                w[j * columns + i] = hermitian ? n[j * columns + i] : Entry::from(Lane(i == j ? 1 : 0));
            }
        }
        team.sync();
        // V is there for the gradient, and for the cosines where space is compact.
        const bool vectors = gradients || hermitian || (!half_space && factor.curvature > 0);
        pair_jacobi<hermitian, fixed_rows, fixed_columns>(x, w, alpha, rank, rows, columns, vectors, team);
        measure(factor, scale, vectors);
        sort(factor, v);
    }

    WEYL_INLINE void measure(const PairFactor& factor, Lane scale, bool vectors) {
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            const Lane square = squared_norm(x + j * rows, rows);
            if constexpr (hermitian) {  // alpha keeps the sign
                alpha[j] = select(alpha[j] < Lane(0), Lane(0) - square_root(square), square_root(square));
            } else {
                alpha[j] = square;
            }
        }
        team.sync();
        Lane total(0);
        WEYL_UNROLL
        for (int j = 0; j < columns; ++j) total = total + alpha[j];
        const Lane noise = Lane(Machine<Real>::epsilon * Machine<Real>::epsilon) * total;
        team.sync();
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            Entry* const column = x + j * rows;
            if constexpr (hermitian) {
                const Lane sine = alpha[j] / scale, value = inverse_sinh(Lane(Real(0.5)) * modulus(sine));
                angle[j] = Lane(2) * select(sine < Lane(0), Lane(0) - value, value);
                Entry* const u = w + j * rows;
                const Lane inverse = Lane(1) / square_root(squared_norm(u, rows));
                WEYL_UNROLL
                for (int r = 0; r < rows; ++r) u[r] = inverse * u[r];
            } else {
                const Lane length = square_root(alpha[j]), sine = length / scale;
                // A value that is zero up to rounding has no direction: its column of the gradient counts as zero.
                const auto points = noise < alpha[j];
                const Lane inverse = select(points, Lane(1) / select(points, length, Lane(1)), Lane(0));
                WEYL_UNROLL
                for (int r = 0; r < rows; ++r) column[r] = inverse * column[r];
                if constexpr (half_space) {
                    angle[j] = Lane(2) * inverse_sinh(Lane(Real(0.5)) * sine);
                } else {
                    Lane square(1);  // |N v_j|^2
                    if (vectors) {
                        square = Lane(0);
                        WEYL_UNROLL
                        for (int i = 0; i < columns; ++i) {
                            square = multiply_add_modulus(square, strided<false>(n + i, columns, w + j * columns, columns));
                        }
                    }
                    cosine[j] = square_root(square);
                    alpha[j] = sine;
                    const auto arc = factor.learned ? arcsine<true>(sine, cosine[j], factor.curvature)
                                                    : arcsine<false>(sine, cosine[j], factor.curvature);
                    angle[j] = Lane(Real(factor.scale)) * arc.angle;
                    in_curvature[j] = Lane(Real(factor.scale)) * arc.in_curvature;
                }
            }
        }
        team.sync();
    }

    // The place of every value among all, and the components: means of `copies` values that belong together.
    WEYL_INLINE void sort(const PairFactor& factor, Lane* v) {
        const int copies = factor.copies;
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            Lane place(0);
            WEYL_UNROLL
            for (int i = 0; i < columns; ++i) {
                if (i < j) place = place + select(angle[i] < angle[j], Lane(0), Lane(1));
                if (i > j) place = place + select(angle[j] < angle[i], Lane(1), Lane(0));
            }
            rank[j] = place;
        }
        team.sync();
        const Lane share(Real(1) / Real(copies));
        WEYL_UNROLL
        for (int c = team.rank; c < columns; c += team.size) {
            if (c >= factor.length) break;
            const Lane low(Real(c * copies) - Real(0.5)), high(Real(c * copies + copies) - Real(0.5));
            Lane sum(0);
            WEYL_UNROLL
            for (int j = 0; j < columns; ++j) {
                sum = sum + select(low < rank[j], select(rank[j] < high, angle[j], Lane(0)), Lane(0));
            }
            v[c] = share * sum;
        }
        team.sync();
    }

    WEYL_INLINE Lane slope(const PairFactor& factor, const Lane* slopes, int j) const {
        Lane sum(0);
        WEYL_UNROLL
        for (int r = 0; r < columns; ++r) {
            if (r >= factor.length * factor.copies) break;
            sum = select(rank[j] == Lane(Real(r)), slopes[r / factor.copies], sum);
        }
        return sum;
    }

    // slopes: dF/dv of the components. Fills the kept entries of both gradients, and returns dF/dk where it is learned.
    WEYL_INLINE Lane backward(const PairFactor& factor, const Lane* p, const Lane* q, const Lane* slopes, Lane* first,
                              Lane* second) {
        Lane in_k(0);
        if constexpr (hermitian) {  // -U w U* and V w V*, V = N* U / |N* U|
            WEYL_UNROLL
            for (int j = team.rank; j < columns; j += team.size) {
                alpha[j] = slope(factor, slopes, j);
                const Entry* const u = w + j * rows;
                WEYL_UNROLL
                for (int i = 0; i < rows; ++i) t[j * rows + i] = (Lane(0) - alpha[j]) * u[i];
                Lane square(0);
                WEYL_UNROLL
                for (int i = 0; i < rows; ++i) {
                    x[j * rows + i] = strided<true>(n + i * columns, 1, u, rows);
                    square = multiply_add_modulus(square, x[j * rows + i]);
                }
                alpha[j] = alpha[j] / square;  // of the vectors as they are, not normalised
            }
            team.sync();
            keep(factor, t, rows, w, rows, first);
            team.sync();
            WEYL_UNROLL
            for (int j = team.rank; j < columns; j += team.size) {
                WEYL_UNROLL
                for (int i = 0; i < rows; ++i) t[j * rows + i] = alpha[j] * x[j * rows + i];
            }
            team.sync();
            keep(factor, t, rows, x, rows, second);
        } else {
            const Real inverse_scale = half_space ? Real(1) : Real(1 / factor.scale);
            if constexpr (!half_space) {
                if (factor.learned) {
                    if (team.rank == 0) in_k = curvature_slope(factor, p, q, slopes);
                    team.sync();
                }
            }
            WEYL_UNROLL
            for (int j = team.rank; j < columns; j += team.size) {  // -w N V / |N V|
                Lane square(0);
                WEYL_UNROLL
                for (int i = 0; i < columns; ++i) {
                    t[j * columns + i] = strided<false>(n + i, columns, w + j * columns, columns);
                    square = multiply_add_modulus(square, t[j * columns + i]);
                }
                // At the cut locus of a compact space, where the companion vanishes, there is no gradient: zero.
                const auto cut = square < Lane(half_space ? Real(0) : Real(1e-24));
                const Lane inverse = select(cut, Lane(0), Lane(1) / square_root(select(cut, Lane(1), square)));
                cosine[j] = inverse * Lane(inverse_scale) * slope(factor, slopes, j);
                WEYL_UNROLL
                for (int i = 0; i < columns; ++i) t[j * columns + i] = (Lane(0) - cosine[j]) * t[j * columns + i];
            }
            team.sync();
            keep(factor, x, rows, t, columns, first);
            team.sync();
            WEYL_UNROLL
            for (int j = team.rank; j < columns; j += team.size) {  // w a* U / |N V|
                WEYL_UNROLL
                for (int i = 0; i < rows; ++i) {
                    if constexpr (free) {
                        t[j * rows + i] = cosine[j] * strided<true>(a + i * rows, 1, x + j * rows, rows);
                    } else {
                        t[j * rows + i] = cosine[j] * strided<false>(n + i * columns, 1, x + j * rows, rows);
                    }
                }
            }
            team.sync();
            keep(factor, t, rows, w, columns, second);
        }
        team.sync();
        return in_k;
    }

    // The kept entries of left right*, row by row; of a Siegel space times i, as its points Z = iH are stored.
    WEYL_INLINE void keep(const PairFactor& factor, const Entry* left, int left_rows, const Entry* right, int right_rows,
                          Lane* out) const {
        const int block = factor.block;
        const int triangle = siegel || hermitian ? int(keep_upper) : free ? int(keep_all) : factor.triangle;
        WEYL_UNROLL
        for (int step = team.rank; step < rows / block; step += team.size) {
            const int i = step * block, from = triangle == keep_all ? 0 : triangle == keep_upper ? i : i + 1;
            const int left_out = triangle == keep_all ? 0 : block * (step * (step - 1) / 2) + (from - i) * step;
            int at = reals * (step * columns - left_out);  // entries of the rows before
            WEYL_UNROLL
            for (int j = 0; j < columns; ++j) {
                if (j < from) continue;
                Entry sum = Entry::from(Lane(0));
                WEYL_UNROLL
                for (int k = 0; k < columns; ++k) sum = sum + left[k * left_rows + i] * conjugate(right[k * right_rows + j]);
                if constexpr (is_complex) {
                    out[at++] = siegel ? Lane(0) - sum.im : sum.re;
                    out[at++] = siegel ? sum.re : sum.im;
                } else {
                    out[at++] = sum.re;
                }
            }
        }
    }

    // dF/dk at fixed points: d sigma_j / dk = -sigma_j (|Z1* A1^-* u_j|^2 + |Z2 B2^-* v_j|^2) / 2.
    WEYL_INLINE Lane curvature_slope(const PairFactor& factor, const Lane* p, const Lane* q, const Lane* slopes) {
        const int after_a = free ? Frame::reals(rows) : 0, after_b = after_a + Frame::reals(columns);
        const Frame a1{p, rows}, b2{q + after_a, columns};
        const Lane *z1 = p + after_b, *z2 = q + after_b;
        Lane total(0);
        for (int j = 0; j < columns; ++j) {
            solve_adjoint<!free>(a1, x + j * rows, t, rows);
            Lane sum(0);
            for (int i = 0; i < columns; ++i) {
                Entry inner = Entry::from(Lane(0));
                for (int r = 0; r < rows; ++r) inner = inner + conjugate(entry(z1, r * columns + i)) * t[r];
                sum = multiply_add_modulus(sum, inner);
            }
            solve_adjoint<false>(b2, w + j * columns, t, columns);
            for (int r = 0; r < rows; ++r) {
                Entry inner = Entry::from(Lane(0));
                for (int i = 0; i < columns; ++i) inner = inner + entry(z2, r * columns + i) * t[i];
                sum = multiply_add_modulus(sum, inner);
            }
            const auto cut = cosine[j] < Lane(Real(1e-12));
            const Lane in_sine = select(cut, Lane(0), Lane(1) / select(cut, Lane(1), cosine[j]));
            const Lane of_sine = Lane(Real(-0.5 * factor.scale)) * alpha[j] * sum * in_sine;
            total = total + slope(factor, slopes, j) * (in_curvature[j] + of_sine);
        }
        return Lane(Real(1) / Real(factor.copies)) * total;
    }

    // out = T^-* x (conjugated: T^-T x)
    template <bool conjugated>
    static WEYL_INLINE void solve_adjoint(const Frame& frame, const Entry* right, Entry* out, int size) {
        for (int i = size - 1; i >= 0; --i) {
            Entry sum = right[i];
            for (int k = i + 1; k < size; ++k) sum = sum - conjugate_if<!conjugated>(frame.below(k, i)) * out[k];
            out[i] = frame.inverse(i) * sum;
        }
    }
};

}  // namespace WEYL_VARIANT
}  // namespace weyl

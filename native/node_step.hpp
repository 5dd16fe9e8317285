// Moves a node of a half space along a tangent vector in its frame, and gives the frame of where it arrives.
//
//   Siegel, Z = X + i L L*, xi = a + ib:  Z <- X + L (a + (ab + ba)/2 + i h h*) L*,  h = Id + b/2 + (b^2 - 2a^2)/8
//   positive definite, P = L L*, xi = b:  P <- L h h* L*,                            h = Id + b/2 + b^2/8
//
// Both agree with the geodesic up to terms of third order. The factor L only multiplies: L <- L cholesky(h h*), so no point
// is ever formed whose condition would be the square of its frame's. h is positive for steps no longer than 1.
#pragma once

#include "lane_math.hpp"
#include "node_batch.hpp"
#include "pair_matrix.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

template <class Lane, bool siegel, bool is_complex> struct NodeStep {
    using Real = typename LaneTraits<Lane>::Real;
    using Entry = Number<Lane, is_complex>;  // of L and b
    using Frame = Triangle<Lane, is_complex>;
    static constexpr int reals = is_complex ? 2 : 1;

    static int node_reals(const PairFactor& f) { return Frame::reals(f.rows) + (siegel ? f.rows * (f.rows + 1) / 2 : 0); }
    static int workspace(const PairFactor& f) { return f.rows * f.rows * (4 * reals + (siegel ? 2 : 0)); }

    int size;
    Entry *b, *h, *m, *l;
    Lane *a, *bend;  // Siegel only

    NodeStep(const PairFactor& f, Lane* memory) : size(f.rows) {
        b = reinterpret_cast<Entry*>(memory);
        h = b + size * size, m = h + size * size, l = m + size * size;
        a = reinterpret_cast<Lane*>(l + size * size), bend = a + size * size;
    }

    Entry& at(Entry* x, int i, int j) const { return x[i * size + j]; }

    // The kept entries, and those that follow from the symmetry.
    void unpack(const PairFactor& factor, const Lane* step) const {
        int next = 0;
        for (int i = 0; i < size; i += factor.block) {
            for (int j = i; j < size; ++j) {
                if constexpr (siegel) {
                    a[i * size + j] = a[j * size + i] = step[next++];
                    at(b, i, j) = at(b, j, i) = Entry{step[next++]};
                } else if constexpr (is_complex) {
                    const Lane re = step[next++], im = step[next++];
                    at(b, i, j) = {re, i == j ? Lane(0) : im};
                    at(b, j, i) = conjugate(at(b, i, j));
                } else {
                    at(b, i, j) = at(b, j, i) = Entry{step[next++]};
                }
            }
            if (factor.block == 2) {  // the second row of a quaternion [[x, y], [-conj y, conj x]]
                for (int j = i; j < size; j += 2) {
                    at(b, i + 1, j) = -conjugate(at(b, i, j + 1));
                    at(b, i + 1, j + 1) = conjugate(at(b, i, j));
                    at(b, j, i + 1) = conjugate(at(b, i + 1, j));
                    at(b, j + 1, i + 1) = conjugate(at(b, i + 1, j + 1));
                }
            }
        }
    }

    void shorten(bool unimodular, double longest) const {
        if (unimodular) {
            Lane trace(0);
            for (int i = 0; i < size; ++i) trace = trace + at(b, i, i).re;
            for (int i = 0; i < size; ++i) at(b, i, i).re = at(b, i, i).re - trace / Lane(Real(size));
        }
        Lane square(0);
        for (int i = 0; i < size * size; ++i) {
            square = multiply_add_modulus(square, b[i]);
            if constexpr (siegel) square = square + a[i] * a[i];
        }
        const Lane length = square_root(square);
        const Lane factor = select(length > Lane(Real(longest)), Lane(Real(longest)) / maximum(length, Lane(Real(longest))), Lane(1));
        for (int i = 0; i < size * size; ++i) {
            b[i] = factor * b[i];
            if constexpr (siegel) a[i] = factor * a[i];
        }
    }

    // m = h h*, then its Cholesky factor in m
    void factorise() const {
        for (int i = 0; i < size; ++i) {
            for (int j = 0; j < size; ++j) {
                Entry square = Entry::from(Lane(0));
                for (int k = 0; k < size; ++k) square = multiply_add(square, at(b, i, k), at(b, k, j));
                if constexpr (siegel) {
                    for (int k = 0; k < size; ++k) square.re = square.re - Lane(2) * a[i * size + k] * a[k * size + j];
                }
                at(h, i, j) = Lane(Real(0.5)) * at(b, i, j) + Lane(Real(0.125)) * square;
            }
            at(h, i, i).re = at(h, i, i).re + Lane(1);
        }
        for (int i = 0; i < size; ++i) {
            for (int j = 0; j <= i; ++j) {
                Entry sum = Entry::from(Lane(0));
                for (int k = 0; k < size; ++k) sum = multiply_add(sum, at(h, i, k), conjugate(at(h, j, k)));
                for (int k = 0; k < j; ++k) sum = multiply_subtract(sum, at(m, i, k), conjugate(at(m, j, k)));
                if (i == j) {
                    at(m, i, i) = Entry::from(square_root(maximum(sum.re, Lane(Machine<Real>::smallest_normal))));
                } else {
                    at(m, i, j) = (Lane(1) / at(m, j, j).re) * sum;
                }
            }
        }
    }

    void move(const NodeBatch& batch, Lane* record, const Lane* step) {
        unpack(batch.factor, step);
        shorten(batch.unimodular, batch.longest);
        factorise();
        const Frame frame{record, size};
        for (int i = 0; i < size; ++i) {
            for (int j = 0; j <= i; ++j) at(l, i, j) = i == j ? Entry::from(frame.diagonal(i)) : frame.below(i, j);
        }
        if constexpr (siegel) shear(record + Frame::reals(size));
        Lane scale(1);
        if (batch.unimodular) {
            Lane sum(0);
            for (int i = 0; i < size; ++i) sum = sum + logarithm(at(l, i, i).re * at(m, i, i).re);
            scale = exponential(Lane(Real(-1) / Real(size)) * sum);
        }
        for (int i = 0; i < size; ++i) {
            for (int j = 0; j <= i; ++j) {
                Entry sum = Entry::from(Lane(0));
                for (int k = j; k <= i; ++k) sum = multiply_add(sum, at(l, i, k), at(m, k, j));
                sum = scale * sum;
                if (i == j) {
                    record[i] = Lane(1) / sum.re, record[size + i] = sum.re;
                } else {
                    Lane* const entry = record + 2 * size + reals * (i * (i - 1) / 2 + j);
                    entry[0] = sum.re;
                    if constexpr (is_complex) entry[1] = sum.im;
                }
            }
        }
    }

    // X <- X + L (a + (ab + ba)/2) L*
    void shear(Lane* x) const {
        for (int i = 0; i < size; ++i) {
            for (int j = 0; j < size; ++j) {
                Lane sum(0);
                for (int k = 0; k < size; ++k) {
                    sum = sum + a[i * size + k] * at(b, k, j).re + at(b, i, k).re * a[k * size + j];
                }
                bend[i * size + j] = a[i * size + j] + Lane(Real(0.5)) * sum;
            }
        }
        for (int i = 0; i < size; ++i) {  // a = L bend
            for (int j = 0; j < size; ++j) {
                Lane sum(0);
                for (int k = 0; k <= i; ++k) sum = sum + at(l, i, k).re * bend[k * size + j];
                a[i * size + j] = sum;
            }
        }
        int next = 0;
        for (int i = 0; i < size; ++i) {
            for (int j = i; j < size; ++j, ++next) {
                Lane sum(0);
                for (int k = 0; k <= j; ++k) sum = sum + a[i * size + k] * at(l, j, k).re;
                x[next] = x[next] + sum;
            }
        }
    }
};

}  // namespace WEYL_VARIANT
}  // namespace weyl

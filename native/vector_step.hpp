// Moves a node of Euclidean or hyperbolic space along a tangent vector in its frame, by the exponential itself.
#pragma once

#include "lane_math.hpp"
#include "node_batch.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

template <class Lane, int kind> struct VectorStep {
    using Real = typename LaneTraits<Lane>::Real;

    static int node_reals(const PairFactor& f) { return f.rows; }
    static int workspace(const PairFactor&) { return 0; }

    int size;

    VectorStep(const PairFactor& f, Lane*) : size(f.rows) {}

    void move(const NodeBatch& batch, Lane* p, const Lane* step) const {
        Lane square(0);
        for (int i = 0; i < size; ++i) square = square + step[i] * step[i];
        const Lane whole = square_root(square), longest(Real(batch.longest)), length = minimum(whole, longest);
        const auto still = whole < Lane(Machine<Real>::smallest_normal);
        if constexpr (kind == pair_euclidean) {
            const Lane share = select(still, Lane(1), length / select(still, Lane(1), whole));
            for (int i = 0; i < size; ++i) p[i] = p[i] + share * step[i];
        } else {  // (x, log y); from o with velocity r (u, c): y = 1/(cosh r - c sinh r), x = y sinh(r) u
            const int last = size - 1;
            const Lane up = exponential(length), down = exponential(Lane(0) - length);
            const Lane sine = sine_hyperbolic(length, up, down), share = select(still, Lane(1), sine / select(still, Lane(1), whole));
            const Lane y = Lane(1) / (Lane(Real(0.5)) * (up + down) - share * step[last]);
            const Lane scale = exponential(p[last]) * y * share;
            for (int i = 0; i < last; ++i) p[i] = p[i] + scale * step[i];
            p[last] = p[last] + logarithm(y);
        }
    }
};

}  // namespace WEYL_VARIANT
}  // namespace weyl

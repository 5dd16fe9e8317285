// The distance F(v) and its derivatives in v and in learned weights, a pair a lane.
#pragma once

#include "lane_math.hpp"
#include "pair_batch.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

// v, slopes: components. extras: learned weights of the norm, or null.
template <class Lane> WEYL_INLINE Lane norm_of_group(const PairNorm& norm, const Lane* v, Lane* slopes, int from, int to) {
    using Real = typename LaneTraits<Lane>::Real;
    if (norm.kind == norm_linear) {
        Lane sum(0);
        WEYL_UNROLL
        for (int i = from; i < to; ++i) slopes[i] = Lane(Real(norm.weights[i])), sum = sum + slopes[i] * v[i];
        return sum;
    }
    if (norm.p == 1) {
        Lane sum(0);
        WEYL_UNROLL
        for (int i = from; i < to; ++i) {
            slopes[i] = select(v[i] < Lane(0), Lane(-1), select(Lane(0) < v[i], Lane(1), Lane(0)));
            sum = sum + modulus(v[i]);
        }
        return sum;
    }
    Lane largest(0);
    WEYL_UNROLL
    for (int i = from; i < to; ++i) largest = maximum(largest, modulus(v[i]));
    const auto zero = largest < Lane(Machine<Real>::smallest_normal);
    const Lane scale = select(zero, Lane(1), largest), inverse = select(zero, Lane(0), Lane(1) / scale);
    if (norm.p > 1e300) {  // the largest; equal ones share
        Lane count(0);
        WEYL_UNROLL
        for (int i = from; i < to; ++i) count = count + select(modulus(v[i]) < largest, Lane(0), Lane(1));
        const Lane share = select(zero, Lane(0), Lane(1) / count);
        WEYL_UNROLL
        for (int i = from; i < to; ++i) {
            const Lane sign = select(v[i] < Lane(0), Lane(0) - share, share);
            slopes[i] = select(modulus(v[i]) < largest, Lane(0), sign);
        }
        return largest;
    }
    // (sum (|v| / scale)^p)^(1/p), slopes (|v| / F)^(p - 1)
    Lane sum(0);
    const bool square = norm.p == 2;
    const Lane p(Real(norm.p)), before(Real(norm.p - 1));
    WEYL_UNROLL
    for (int i = from; i < to; ++i) {
        const Lane x = inverse * modulus(v[i]);
        slopes[i] = square ? x : power(x, before);
        sum = sum + slopes[i] * x;
    }
    sum = select(zero, Lane(1), sum);
    const Lane root = square ? square_root(sum) : power(sum, Lane(Real(1 / norm.p)));
    const Lane over = Lane(1) / (square ? root : power(root, before));
    WEYL_UNROLL
    for (int i = from; i < to; ++i) {
        const Lane slope = over * slopes[i];
        slopes[i] = select(v[i] < Lane(0), Lane(0) - slope, slope);
    }
    return select(zero, Lane(0), scale * root);
}

// Weights act on |v| sorted decreasingly in each segment.
template <class Lane>
WEYL_INLINE Lane norm_by_weights(const PairNorm& norm, const Lane* v, Lane* slopes, Lane* extras, int from, int to) {
    using Real = typename LaneTraits<Lane>::Real;
    Lane total(0);
    int start = 0;
    WEYL_UNROLL
    for (int s = 0; s < norm.segments; ++s) {
        const int end = norm.segment_ends[s];
        if (start >= from && end <= to) {
            WEYL_UNROLL
            for (int j = start; j < end; ++j) {
                const Lane size = modulus(v[j]);
                Lane rank(0), weight(0);
                WEYL_UNROLL
                for (int i = start; i < end; ++i) {
                    const Lane other = modulus(v[i]);
                    if (i < j) rank = rank + select(other < size, Lane(0), Lane(1));
                    if (i > j) rank = rank + select(size < other, Lane(1), Lane(0));
                }
                WEYL_UNROLL
                for (int r = start; r < end; ++r) {
                    const auto here = rank == Lane(Real(r - start));
                    weight = select(here, Lane(Real(norm.weights[r])), weight);
                    if (norm.learned && extras) extras[r] = extras[r] + select(here, size, Lane(0));
                }
                slopes[j] = select(v[j] < Lane(0), Lane(0) - weight, select(Lane(0) < v[j], weight, Lane(0)));
                total = total + weight * size;
            }
        }
        start = end;
    }
    return total;
}

template <class Lane>
WEYL_INLINE Lane norm_of_vector(const PairNorm& norm, const Lane* v, Lane* slopes, Lane* extras) {
    using Real = typename LaneTraits<Lane>::Real;
    if (norm.learned && extras) {
        WEYL_UNROLL
        for (int i = 0; i < norm.components; ++i) extras[i] = Lane(0);
    }
    const auto group = [&](int from, int to) {
        return norm.kind == norm_weighted ? norm_by_weights(norm, v, slopes, extras, from, to)
                                          : norm_of_group(norm, v, slopes, from, to);
    };
    if (norm.groups == 1) return group(0, norm.components);
    Lane square(0), largest(0);
    int start = 0;
    WEYL_UNROLL
    for (int g = 0; g < norm.groups; ++g) largest = maximum(largest, group(start, norm.ends[g])), start = norm.ends[g];
    const auto zero = largest < Lane(Machine<Real>::smallest_normal);
    const Lane scale = select(zero, Lane(1), largest);
    if (norm.learned && extras) {
        WEYL_UNROLL
        for (int i = 0; i < norm.components; ++i) extras[i] = Lane(0);
    }
    start = 0;
    WEYL_UNROLL
    for (int g = 0; g < norm.groups; ++g) {
        const Lane part = group(start, norm.ends[g]) / scale;
        square = square + part * part;
        WEYL_UNROLL
        for (int i = start; i < norm.ends[g]; ++i) {
            slopes[i] = part * slopes[i];
            if (norm.learned && extras) extras[i] = part * extras[i];
        }
        start = norm.ends[g];
    }
    const Lane root = square_root(square), inverse = select(zero, Lane(0), Lane(1) / select(zero, Lane(1), root));
    WEYL_UNROLL
    for (int i = 0; i < norm.components; ++i) {
        slopes[i] = inverse * slopes[i];
        if (norm.learned && extras) extras[i] = inverse * extras[i];
    }
    return select(zero, Lane(0), scale * root);
}

}  // namespace WEYL_VARIANT
}  // namespace weyl

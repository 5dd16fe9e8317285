// What a pair costs, and the slope of that in its distance, a pair a lane.
#pragma once

#include "lane_math.hpp"
#include "pair_batch.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

// d and g in graph units
template <class Lane> WEYL_INLINE Lane loss_of_pair(const PairObjective& objective, Lane d, Lane g, Lane& slope) {
    using Real = typename LaneTraits<Lane>::Real;
    const Lane one(1), zero(0);
    const Lane sign = select(g < d, one, select(d < g, zero - one, zero));
    Lane loss;
    if (objective.kind == loss_stress) {
        const Lane rest = d - g;
        loss = rest * rest, slope = Lane(2) * rest;
    } else {
        const Lane inverse = one / g, ratio = d * inverse, rest = ratio - one;
        if (objective.kind == loss_relative) {
            loss = sign * rest, slope = sign * inverse;
        } else if (objective.kind == loss_paper) {
            loss = sign * (ratio * ratio - one), slope = Lane(2) * sign * ratio * inverse;
        } else {
            loss = rest * rest, slope = Lane(2) * rest * inverse;
        }
    }
    if (objective.weight > 0) {
        const Lane beyond = d - Lane(Real(objective.border)), weight(Real(objective.weight));
        const auto near = g < Lane(Real(objective.border));
        const Lane wrong = select(near, select(zero < beyond, weight, zero), select(beyond < zero, zero - weight, zero));
        loss = loss + wrong * beyond, slope = slope + wrong;
    }
    return loss;
}

}  // namespace WEYL_VARIANT
}  // namespace weyl

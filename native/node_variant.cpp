// The loop over nodes to be moved, compiled once for each instruction set (see CMakeLists.txt).
#include "node_step.hpp"
#include "variant.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

using NodeLane = LaneOf<double>;
constexpr int node_width = LaneTraits<NodeLane>::width;

static int node_lanes() { return node_width; }

static std::size_t node_workspace(const NodeBatch& batch) {
    const int size = batch.factor.rows;
    const int work = batch.factor.kind == pair_siegel ? NodeStep<NodeLane, true, false>::workspace(size)
                                                      : NodeStep<NodeLane, false, true>::workspace(size);
    return (std::size_t(batch.node_size) + std::size_t(batch.step_size) + std::size_t(work)) * sizeof(NodeLane);
}

template <class Step> static void move_nodes(const NodeBatch& batch, std::size_t first, std::size_t last, void* memory) {
    // only what belongs to the factor is read and written
    const int node = batch.factor.node, step = batch.factor.gradient, size = batch.factor.rows;
    const int node_reals = Step::Frame::reals(size) + (batch.factor.kind == pair_siegel ? size * (size + 1) / 2 : 0);
    const int step_reals = batch.step_size - step;  // at least those of the factor
    NodeLane* const record = static_cast<NodeLane*>(memory);
    NodeLane* const tangent = record + batch.node_size;
    Step work(size, tangent + batch.step_size);
    for (std::size_t pack = first; pack < last; ++pack) {
        const std::size_t at = pack * node_width;
        const int used = batch.count - at < node_width ? static_cast<int>(batch.count - at) : node_width;
        for (int lane = 0; lane < node_width; ++lane) {
            const std::size_t row = at + (lane < used ? lane : 0);
            const double* const from = batch.records + row * batch.node_size + node;
            const double* const along = batch.steps + row * batch.step_size + step;
            for (int e = 0; e < node_reals; ++e) set_lane(record[e], lane, from[e]);
            for (int e = 0; e < step_reals; ++e) set_lane(tangent[e], lane, along[e]);
        }
        work.move(batch, record, tangent);
        for (int lane = 0; lane < used; ++lane) {
            double* const to = batch.records + (at + lane) * batch.node_size + node;
            for (int e = 0; e < node_reals; ++e) to[e] = get_lane(record[e], lane);
        }
    }
}

static void run_nodes(const NodeBatch& batch, std::size_t first, std::size_t last, void* memory) {
    if (batch.factor.kind == pair_siegel) {
        move_nodes<NodeStep<NodeLane, true, false>>(batch, first, last, memory);
    } else if (batch.factor.is_complex) {
        move_nodes<NodeStep<NodeLane, false, true>>(batch, first, last, memory);
    } else {
        move_nodes<NodeStep<NodeLane, false, false>>(batch, first, last, memory);
    }
}

}  // namespace WEYL_VARIANT

const NodeVariant WEYL_JOIN(nodes_, WEYL_VARIANT) = {WEYL_TEXT(WEYL_VARIANT), supported, node_lanes, node_workspace,
                                                     run_nodes};

}  // namespace weyl

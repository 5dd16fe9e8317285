// The loop over nodes to be moved, compiled once for each instruction set (see CMakeLists.txt).
#include "ball_step.hpp"
#include "node_step.hpp"
#include "rows.hpp"
#include "variant.hpp"
#include "vector_step.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

using NodeLane = LaneOf<double>;
constexpr int node_width = LaneTraits<NodeLane>::width;

static int node_lanes() { return node_width; }

// What a pack of nodes goes through in one factor, behind plain function pointers: chosen once a batch.
struct Mover {
    int node_reals, workspace;  // numbers of a record, lanes of memory
    void (*run)(const NodeBatch&, std::size_t first, std::size_t last, int node_reals, void* memory);
};

template <class Step> static void move_nodes(const NodeBatch& batch, std::size_t first, std::size_t last, int node_reals, void* memory) {
    // only what belongs to the factor is read and written
    const int node = batch.factor.node, step = batch.factor.gradient;
    const int step_reals = batch.step_size - step;  // at least those of the factor
    NodeLane* const record = static_cast<NodeLane*>(memory);
    NodeLane* const tangent = record + node_reals;
    Step work(batch.factor, tangent + step_reals);
    for (std::size_t pack = first; pack < last; ++pack) {
        const std::size_t at = pack * node_width;
        const int used = batch.count - at < node_width ? static_cast<int>(batch.count - at) : node_width;
        const double *from[node_width], *along[node_width];
        for (int lane = 0; lane < node_width; ++lane) {
            const std::size_t row = at + (lane < used ? lane : 0);
            from[lane] = batch.records + row * batch.node_size + node;
            along[lane] = batch.steps + row * batch.step_size + step;
        }
        gather_rows<double, node_width>(from, node_reals, reinterpret_cast<double*>(record));
        gather_rows<double, node_width>(along, step_reals, reinterpret_cast<double*>(tangent));
        work.move(batch, record, tangent);
        each_row<double, node_width>(reinterpret_cast<const double*>(record), node_reals, used,
                                     [&](int lane) { return batch.records + (at + lane) * batch.node_size + node; },
                                     [](double* row, auto entries) { store(row, entries); });
    }
}

template <class Step> static Mover mover(const PairFactor& factor) {
    return {Step::node_reals(factor), Step::workspace(factor), move_nodes<Step>};
}

static Mover mover_for(const PairFactor& factor) {
    const bool is_complex = factor.is_complex;
    switch (factor.kind) {
        case pair_siegel: return mover<NodeStep<NodeLane, true, false>>(factor);
        case pair_positive:
            return is_complex ? mover<NodeStep<NodeLane, false, true>>(factor) : mover<NodeStep<NodeLane, false, false>>(factor);
        case pair_ball:
            return is_complex ? mover<BallStep<NodeLane, true, true>>(factor) : mover<BallStep<NodeLane, false, true>>(factor);
        case pair_ball_symmetric: return mover<BallStep<NodeLane, true, false>>(factor);
        case pair_euclidean: return mover<VectorStep<NodeLane, pair_euclidean>>(factor);
        case pair_hyperbolic: return mover<VectorStep<NodeLane, pair_hyperbolic>>(factor);
        default: return {0, 0, nullptr};  // nodes of a sphere have no frames here
    }
}

static int node_reals(const PairFactor& factor) { return mover_for(factor).node_reals; }

static std::size_t node_workspace(const NodeBatch& batch) {
    const Mover chosen = mover_for(batch.factor);
    return (std::size_t(chosen.node_reals) + std::size_t(batch.step_size) + std::size_t(chosen.workspace)) * sizeof(NodeLane);
}

static void run_nodes(const NodeBatch& batch, std::size_t first, std::size_t last, void* memory) {
    const Mover chosen = mover_for(batch.factor);
    chosen.run(batch, first, last, chosen.node_reals, memory);
}

// ---- Adam, and then the move, for a few nodes at a time

constexpr std::size_t nodes_at_once = 32;

static std::size_t descent_workspace(const NodeDescent& descent) {
    std::size_t most = 0;
    for (int f = 0; f < descent.factor_count; ++f) {
        const std::size_t bytes = node_workspace(descent.factors[f]);
        most = most < bytes ? bytes : most;
    }
    return (most + 63) / 64 * 64 + nodes_at_once * descent.size * sizeof(double) + 64;
}

// step = -rate m / (sqrt v + epsilon), with the means of gradients and of their squares, both corrected for their start
template <class Real>
static void adam(const NodeDescent& descent, std::size_t first, std::size_t last, double* step) {
    const std::size_t from = first * descent.size, entries = (last - first) * descent.size;
    const Real* const totals = static_cast<const Real*>(descent.totals) + from;
    double *const mean = descent.mean + from, *const square = descent.square + from;
    for (std::size_t e = 0; e < entries; ++e) step[e] = totals[e];
    for (std::size_t c = 1; c < descent.chunks; ++c) {
        const Real* const more = totals + c * descent.count * descent.size;
        for (std::size_t e = 0; e < entries; ++e) step[e] += double(more[e]);
    }
    if (descent.free) {
        for (std::size_t e = 0; e < entries; ++e) step[e] *= descent.free[e % descent.size];
    }
    const double share = 1 / descent.pairs, b1 = descent.betas[0], b2 = descent.betas[1];
    const double of_square = 1 / descent.corrections[1], of_step = -descent.rate / descent.corrections[0];
    for (std::size_t e = 0; e < entries; ++e) {
        const double g = share * step[e];
        mean[e] = b1 * mean[e] + (1 - b1) * g;
        square[e] = b2 * square[e] + (1 - b2) * g * g;
        step[e] = of_step * mean[e] / (__builtin_sqrt(of_square * square[e]) + 1e-12);
    }
}

template <class Real> static void copy_rows(const NodeBatch& factor, int place, Real* nodes, int node_size) {
    const int size = factor.node_size;
    for (std::size_t row = 0; row < factor.count; ++row) {
        for (int e = 0; e < size; ++e) nodes[row * node_size + place + e] = Real(factor.records[row * size + e]);
    }
}

static void descend_nodes(const NodeDescent& descent, std::size_t first, std::size_t last, void* memory) {
    double* const steps = static_cast<double*>(memory);
    void* const work = static_cast<char*>(memory) + (nodes_at_once * descent.size * sizeof(double) + 63) / 64 * 64;
    for (std::size_t from = first; from < last; from += nodes_at_once) {
        const std::size_t to = last - from < nodes_at_once ? last : from + nodes_at_once;
        descent.is_double ? adam<double>(descent, from, to, steps) : adam<float>(descent, from, to, steps);
        for (int f = 0; f < descent.factor_count; ++f) {
            NodeBatch batch = descent.factors[f];
            batch.records += from * batch.node_size, batch.steps = steps, batch.count = to - from;
            run_nodes(batch, 0, (batch.count + node_width - 1) / node_width, work);
            const std::size_t row = from * descent.node_size;
            descent.is_double ? copy_rows(batch, descent.places[f], static_cast<double*>(descent.nodes) + row, descent.node_size)
                              : copy_rows(batch, descent.places[f], static_cast<float*>(descent.nodes) + row, descent.node_size);
        }
    }
}

}  // namespace WEYL_VARIANT

const NodeVariant WEYL_JOIN(nodes_, WEYL_VARIANT) = {WEYL_TEXT(WEYL_VARIANT), supported, node_lanes, node_reals, node_workspace,
                                                     run_nodes, descent_workspace, descend_nodes};

}  // namespace weyl

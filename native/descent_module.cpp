// Training for Python: the slopes of a batch, and whole steps.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "descent.hpp"
#include "numbered_arrays.hpp"
#include "pair_problem.hpp"

namespace weyl {

std::initializer_list<const NodeVariant*> node_variants();  // nodes_module.cpp

namespace {

void check_objective(const PairObjective& objective) {
    if (objective.kind < loss_relative || objective.kind > loss_stress) throw nb::value_error("there is no such objective");
}

nb::tuple descend(const ReadOnlyArray& nodes, const ReadOnlyArray& first, const ReadOnlyArray& second,
                  const ReadOnlyArray& goals, const PairProblem& problem, const PairObjective& objective, const Array& totals,
                  const Array& extras, int threads) {
    PairBatch batch = problem.batch();
    take_nodes(batch, nodes, threads);
    check_objective(objective);
    const std::size_t count = first.size(), n = nodes.shape(0), size = std::size_t(batch.gradient_size);
    const auto* a = entries<std::int64_t>(first, "first", {count});
    const auto* b = entries<std::int64_t>(second, "second", {count});
    check_nodes(a, count, n, "first");
    check_nodes(b, count, n, "second");
    check(goals, "goals", nodes.dtype(), {count});
    auto* const sums = entries<double>(totals, "totals", {n, size});
    auto* const extra_sums = entries<double>(extras, "extras", {std::size_t(batch.extras)});
    const std::size_t real = batch.is_double ? sizeof(double) : sizeof(float), chunk_count = chunks_of(count, n);
    const std::size_t team = std::min<std::size_t>(static_cast<std::size_t>(threads), chunk_count);
    Chunks chunks(variant_named(pair_variants(), ""), batch, objective, count, n, team);
    {
        const nb::gil_scoped_release release;
        std::atomic<std::size_t> next_chunk{0}, next_block{0};
        constexpr std::size_t block = 256;  // nodes
        Team::run(team, [&](std::size_t rank, Team& all) {
            for (std::size_t c; (c = next_chunk.fetch_add(1)) < chunk_count;) {
                const std::size_t from = chunks.first(c, count), to = chunks.last(c, count);
                chunks.descend(c, rank, a + from, b + from, static_cast<const char*>(goals.data()) + from * real, to - from);
            }
            all.meet();
            for (std::size_t from; (from = block * next_block.fetch_add(1)) < n;) {
                const std::size_t to = std::min(from + block, n);
                batch.is_double ? chunks.add_totals<double>(sums, from, to) : chunks.add_totals<float>(sums, from, to);
            }
        });
        chunks.add_extras(extra_sums);
    }
    return nb::make_tuple(chunks.loss(), chunks.unit_slope(), chunks.gap());
}

// Steps of Adam where nodes move as frames; see take_steps in descent.hpp.
nb::tuple steps(const std::vector<Array>& records, const Array& nodes, const PairProblem& problem,
                const PairObjective& objective, const ReadOnlyArray& blocks, const ReadOnlyArray& orders,
                const ReadOnlyArray& row_of, const ReadOnlyArray& rows, std::uint64_t all, std::uint64_t stride,
                const ReadOnlyArray& epochs, const ReadOnlyArray& begins, const ReadOnlyArray& counts, const ReadOnlyArray& rates, const Array& mean,
                const Array& square, const std::optional<ReadOnlyArray>& free, double first_beta, double second_beta,
                std::size_t before, const std::vector<bool>& unimodular, double longest, double widest_gap,
                const Array& losses, int threads) {
    PairBatch batch = problem.batch();
    take_nodes(batch, nodes, threads);
    check_objective(objective);
    const std::size_t n = nodes.shape(0), size = std::size_t(batch.gradient_size), count = rates.size();
    const std::vector<PairFactor>& factors = problem.factors();
    if (records.size() != factors.size() || unimodular.size() != factors.size()) {
        throw nb::value_error("one array of records for every factor expected");
    }
    const NodeVariant& variant = variant_named(node_variants(), "");
    NodeDescent node{};
    std::vector<NodeBatch> moved(factors.size());
    std::vector<int> places;
    for (std::size_t f = 0; f < factors.size(); ++f) {
        const PairFactor& factor = factors[f];
        const int width = variant.node_reals(factor);
        if (width == 0 || factor.node + width > batch.node_size) throw nb::value_error("a factor whose nodes do not move as frames");
        NodeBatch& one = moved[f];
        one.records = entries<double>(records[f], "records", {n, std::size_t(width)});
        one.factor = factor, one.factor.node = 0, one.node_size = width, one.step_size = static_cast<int>(size);
        one.count = n, one.unimodular = unimodular[f], one.longest = longest;
        places.push_back(factor.node);
    }
    node.factors = moved.data(), node.places = places.data(), node.factor_count = static_cast<int>(factors.size());
    node.count = n, node.size = size, node.nodes = nodes.data(), node.node_size = batch.node_size;
    node.is_double = batch.is_double;
    node.mean = entries<double>(mean, "mean", {n, size}), node.square = entries<double>(square, "square", {n, size});
    node.free = free ? entries<double>(*free, "free", {size}) : nullptr;
    node.betas[0] = first_beta, node.betas[1] = second_beta;
    DescentPlan plan{};
    if (orders.ndim() != 2) throw nb::value_error("orders must have two axes");
    plan.orders = entries<std::int64_t>(orders, "orders", {orders.shape(0), n});
    plan.epochs = entries<std::int64_t>(epochs, "epochs", {count});
    plan.begins = entries<std::int64_t>(begins, "begins", {count});
    plan.counts = entries<std::int64_t>(counts, "counts", {count});
    plan.rates = entries<double>(rates, "rates", {count});
    plan.steps = count, plan.before = before, plan.widest_gap = widest_gap;
    plan.betas[0] = first_beta, plan.betas[1] = second_beta;
    auto* const found = entries<double>(losses, "losses", {count});
    const PairNumbering numbering = numbering_from(blocks, plan.orders, n, row_of, rows);
    for (std::size_t s = 0; s < count; ++s) {
        if (plan.epochs[s] < 0 || std::size_t(plan.epochs[s]) >= orders.shape(0)) throw nb::value_error("a step without an epoch");
        if (plan.counts[s] < 1 || plan.begins[s] < 0 || std::uint64_t(plan.begins[s]) >= all) {
            throw nb::value_error("a step without pairs");
        }
    }
    if (count == 0) return nb::make_tuple(0, 0.0);
    const auto most = static_cast<std::size_t>(*std::max_element(plan.counts, plan.counts + count));
    const std::size_t team = std::min<std::size_t>(static_cast<std::size_t>(threads), chunks_of(most, n));
    Chunks chunks(variant_named(pair_variants(), ""), batch, objective, most, n, team);
    std::size_t taken = 0;
    double gap = 0;
    with_entries(rows, [&](const auto* distances) {
        using Entry = std::decay_t<decltype(*distances)>;
        const PairSource<Entry> source{numbering, distances, all, stride};
        const nb::gil_scoped_release release;
        taken = batch.is_double ? take_steps<Entry, double>(plan, source, chunks, node, variant, team, found, gap)
                                : take_steps<Entry, float>(plan, source, chunks, node, variant, team, found, gap);
    });
    return nb::make_tuple(taken, gap);
}

}  // namespace

void bind_descent(nb::module_& module) {
    nb::class_<PairObjective>(module, "PairObjective", "What a pair costs: kind, unit, weight and border of the ranking.")
        .def("__init__", [](PairObjective* self, int kind, double unit, double weight, double border) {
            new (self) PairObjective{kind, unit, weight, border};
        }, nb::arg("kind"), nb::arg("unit"), nb::arg("weight"), nb::arg("border"));
    module.def("descend", &descend, nb::arg("nodes"), nb::arg("first"), nb::arg("second"), nb::arg("goals"),
               nb::arg("problem"), nb::arg("objective"), nb::arg("totals"), nb::arg("extras"), nb::arg("threads"),
               "Adds the slopes of a batch to the totals of its nodes and to extras; returns the sum of its losses, that of "
               "their slopes in the logarithm of the unit, and the largest gap of components.");
    module.def("steps", &steps, nb::arg("records"), nb::arg("nodes"), nb::arg("problem"), nb::arg("objective"),
               nb::arg("blocks"), nb::arg("orders"), nb::arg("row_of"), nb::arg("rows"), nb::arg("all"), nb::arg("stride"),
               nb::arg("epochs"), nb::arg("begins"), nb::arg("counts"), nb::arg("rates"), nb::arg("mean"), nb::arg("square"),
               nb::arg("free").none(), nb::arg("first_beta"), nb::arg("second_beta"), nb::arg("before"),
               nb::arg("unimodular"), nb::arg("longest"), nb::arg("widest_gap"), nb::arg("losses"), nb::arg("threads"),
               "Trains some steps: changes records, nodes, mean and square, fills losses; returns the steps that were taken "
               "and the gap of the last.");
}

}  // namespace weyl

// Graphs for Python: edge lists from text, shortest paths from many sources, and the pairs of a schedule.
#include <nanobind/stl/optional.h>

#include <atomic>
#include <optional>

#include "breadth_first.hpp"
#include "dijkstra.hpp"
#include "edge_list.hpp"
#include "numbered_arrays.hpp"
#include "threads.hpp"

namespace weyl {
namespace {

// ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────
nb::tuple edge_list(const nb::bytes& text, std::size_t start, std::int64_t line, char separator, int columns,
                    int first_column, int second_column, int weight_column, const Array& first, const Array& second,
                    const std::optional<Array>& weights) {
    const std::string_view all(text.c_str(), text.size());
    if (start > all.size()) throw nb::value_error("start lies behind the end of the text");
    const std::string_view part = all.substr(start);
    const std::size_t room = length(first, "first");
    if (room < static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n')) + 1) {
        throw nb::value_error("first has no room for every line");
    }
    auto *a = entries<std::int64_t>(first, "first", {room}), *b = entries<std::int64_t>(second, "second", {room});
    auto* w = weights ? entries<double>(*weights, "weights", {room}) : nullptr;
    if (first_column == second_column || first_column < 0 || second_column < 0 ||
        std::max(first_column, second_column) >= columns || weight_column >= columns || (weight_column >= 0) != !!w) {
        throw nb::value_error("columns do not fit together");
    }
    EdgeReader reader(part, line, {separator, columns, first_column, second_column, weight_column});
    std::vector<std::int64_t> numbers;
    {
        nb::gil_scoped_release release;
        reader.read(a, b, w);
        if (reader.problem == LineProblem::none) numbers = as_numbers(reader.names.names());
    }
    if (reader.problem != LineProblem::none) {
        return nb::make_tuple(static_cast<int>(reader.problem), reader.line(),
                              nb::bytes(reader.found.data(), reader.found.size()));
    }
    if (!numbers.empty()) {
        return nb::make_tuple(reader.edges, nb::none(), nb::bytes(numbers.data(), 8 * numbers.size()), nb::none());
    }
    nb::list names;
    for (std::string_view name : reader.names.names()) names.append(nb::str(name.data(), name.size()));
    return nb::make_tuple(reader.edges, names, nb::none(), nb::none());
}

// ── shortest paths ───────────────────────────────────────────────────────────────────────────────────────────────
Adjacency adjacency(const ReadOnlyArray& starts, const ReadOnlyArray& targets) {
    const std::size_t n = length(starts, "starts") - 1, arcs = length(targets, "targets");
    const auto* s = entries<std::int64_t>(starts, "starts", {n + 1});
    const auto* t = entries<std::int32_t>(targets, "targets", {arcs});
    bool sound = s[0] == 0 && s[n] == static_cast<std::int64_t>(arcs);
    for (std::size_t v = 0; v < n; ++v) sound &= s[v] <= s[v + 1];
    for (std::size_t e = 0; e < arcs; ++e) sound &= static_cast<std::size_t>(t[e]) < n;
    if (!sound) throw nb::value_error("starts and targets are no adjacency");
    return {s, t, n};
}

struct Sources {
    const std::int64_t *nodes, *order;
    std::size_t count;
};

Sources sources_of(const ReadOnlyArray& sources, const ReadOnlyArray& order, const Adjacency& graph, std::size_t rows) {
    const std::size_t count = length(sources, "sources");
    const auto* s = entries<std::int64_t>(sources, "sources", {count});
    const std::size_t some = length(order, "order");
    const auto* o = entries<std::int64_t>(order, "order", {some});
    bool sound = rows == count;
    for (std::size_t i = 0; i < count; ++i) sound &= static_cast<std::size_t>(s[i]) < graph.nodes;
    for (std::size_t i = 0; i < some; ++i) sound &= static_cast<std::size_t>(o[i]) < count;
    if (!sound) throw nb::value_error("sources or order out of range");
    return {s, o, some};
}

template <int words, class Distance>
bool searches(const Adjacency& graph, const Sources& from, Distance* rows, std::size_t threads) {
    using Search = BreadthFirst<words>;
    std::atomic<bool> fits{true};
    const std::size_t share = (from.count + threads - 1) / threads;  // few sources: each thread gets some
    const std::size_t size = std::max<std::size_t>(1, std::min(Search::width, share));
    const std::size_t batches = (from.count + size - 1) / size;
    parallel_blocks(batches, 1, threads, Search::workspace_bytes(graph.nodes), [&](auto first, auto last, void* space) {
        for (std::size_t batch = first; batch < last && fits; ++batch) {
            const std::size_t at = batch * size, count = std::min(size, from.count - at);
            if (!Search::search(graph, from.nodes, from.order + at, count, rows, space)) fits = false;
        }
    });
    return fits;
}

bool breadth_first(const ReadOnlyArray& starts, const ReadOnlyArray& targets, const ReadOnlyArray& sources,
                   const ReadOnlyArray& order, const Array& rows, int threads) {
    const Adjacency graph = adjacency(starts, targets);
    if (rows.ndim() != 2 || threads < 1) throw nb::value_error("rows must have two axes, threads be positive");
    const Sources from = sources_of(sources, order, graph, rows.shape(0));
    check(rows, "rows", rows.dtype(), {from.count ? rows.shape(0) : 0, graph.nodes});
    const bool narrow = rows.dtype() == nb::dtype<std::uint8_t>();
    if (!narrow && rows.dtype() != nb::dtype<std::uint16_t>()) throw nb::type_error("rows are neither uint8 nor uint16");
    const bool large = graph.nodes > 500'000;  // then the bits of 512 sources would fill memory
    nb::gil_scoped_release release;
    const auto run = [&](auto* out) {
        return large ? searches<1>(graph, from, out, threads) : searches<8>(graph, from, out, threads);
    };
    return narrow ? run(static_cast<std::uint8_t*>(rows.data())) : run(static_cast<std::uint16_t*>(rows.data()));
}

void shortest_paths(const ReadOnlyArray& starts, const ReadOnlyArray& targets, const ReadOnlyArray& lengths,
                    const ReadOnlyArray& sources, const ReadOnlyArray& order, const Array& rows, int threads) {
    const Adjacency graph = adjacency(starts, targets);
    const auto* length_of = entries<double>(lengths, "lengths", {targets.shape(0)});
    if (rows.ndim() != 2 || threads < 1) throw nb::value_error("rows must have two axes, threads be positive");
    const Sources from = sources_of(sources, order, graph, rows.shape(0));
    check(rows, "rows", rows.dtype(), {rows.shape(0), graph.nodes});
    const bool single = rows.dtype() == nb::dtype<float>();
    if (!single && rows.dtype() != nb::dtype<double>()) throw nb::type_error("rows are neither float32 nor float64");
    nb::gil_scoped_release release;
    parallel_blocks(from.count, 1, threads, graph.nodes * sizeof(double), [&](auto first, auto last, void* space) {
        std::vector<std::pair<double, std::int32_t>> heap;
        const auto fill = [&](auto* out) {
            for (std::size_t i = first; i < last; ++i) {
                const auto row = static_cast<std::size_t>(from.order[i]);
                dijkstra(graph, length_of, static_cast<std::size_t>(from.nodes[row]), out + row * graph.nodes,
                         static_cast<double*>(space), heap);
            }
        };
        if (single) fill(static_cast<float*>(rows.data()));
        else fill(static_cast<double*>(rows.data()));
    });
}

// ── pairs ────────────────────────────────────────────────────────────────────────────────────────────────────────
void scheduled_pairs(const ReadOnlyArray& blocks, const ReadOnlyArray& order, const ReadOnlyArray& row_of,
                     const ReadOnlyArray& rows, const ReadOnlyArray& numbers, const Array& first, const Array& second,
                     const Array& target) {
    const std::size_t n = length(order, "order");
    const PairNumbering numbering = numbering_from(blocks, entries<std::int64_t>(order, "order", {n}), n, row_of, rows);
    const std::size_t count = length(numbers, "numbers");
    const auto* x = entries<std::int64_t>(numbers, "numbers", {count});
    auto *a = entries<std::int64_t>(first, "first", {count}), *b = entries<std::int64_t>(second, "second", {count});
    check(target, "target", target.dtype(), {count});
    const auto fill = [&](const auto* entries) {
        nb::gil_scoped_release release;
        if (target.dtype() == nb::dtype<float>()) numbered_pairs(numbering, x, count, entries, a, b, static_cast<float*>(target.data()));
        else numbered_pairs(numbering, x, count, entries, a, b, static_cast<double*>(target.data()));
    };
    if (target.dtype() != nb::dtype<float>() && target.dtype() != nb::dtype<double>()) {
        throw nb::type_error("target is neither float32 nor float64");
    }
    with_entries(rows, fill);
}

}  // namespace

void bind_graphs(nb::module_& module) {
    module.def("edge_list", &edge_list, nb::arg("text"), nb::arg("start"), nb::arg("line"), nb::arg("separator"),
               nb::arg("columns"), nb::arg("first_column"), nb::arg("second_column"), nb::arg("weight_column"),
               nb::arg("first"), nb::arg("second"), nb::arg("weights").none(),
               "Fills first, second and weights, one entry a line with an edge; returns (edges, names, numbers as "
               "bytes, None), or (problem, line, field) where a line cannot be read.");
    module.def("breadth_first", &breadth_first, nb::arg("starts"), nb::arg("targets"), nb::arg("sources"),
               nb::arg("order"), nb::arg("rows"), nb::arg("threads"),
               "Fills the rows named by order with steps from their sources; False where one does not fit.");
    module.def("shortest_paths", &shortest_paths, nb::arg("starts"), nb::arg("targets"), nb::arg("lengths"),
               nb::arg("sources"), nb::arg("order"), nb::arg("rows"), nb::arg("threads"),
               "Fills the rows named by order with distances from their sources.");
    module.def("scheduled_pairs", &scheduled_pairs, nb::arg("blocks"), nb::arg("order"), nb::arg("row_of"),
               nb::arg("rows"), nb::arg("numbers"), nb::arg("first"), nb::arg("second"), nb::arg("target"),
               "Fills first, second and target with the pairs that numbers stand for.");
}

}  // namespace weyl

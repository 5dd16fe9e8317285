// Shortest paths along weighted edges from one source: Dijkstra with a binary heap whose stale entries are skipped.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "breadth_first.hpp"

namespace weyl {

// `heap` keeps its memory from call to call.
template <class Distance>
void dijkstra(const Adjacency& graph, const double* lengths, std::size_t source, Distance* row, double* best,
              std::vector<std::pair<double, std::int32_t>>& heap) {
    for (std::size_t v = 0; v < graph.nodes; ++v) best[v] = std::numeric_limits<double>::infinity();
    const auto later = std::greater<>();
    best[source] = 0;
    heap.assign(1, {0.0, static_cast<std::int32_t>(source)});
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), later);
        const auto [distance, v] = heap.back();
        heap.pop_back();
        if (distance > best[v]) continue;
        for (std::int64_t e = graph.starts[v]; e < graph.starts[v + 1]; ++e) {
            const double through = distance + lengths[e];
            const std::int32_t u = graph.targets[e];
            if (through < best[u]) {
                best[u] = through;
                heap.emplace_back(through, u);
                std::push_heap(heap.begin(), heap.end(), later);
            }
        }
    }
    for (std::size_t v = 0; v < graph.nodes; ++v) row[v] = static_cast<Distance>(best[v]);
}

}  // namespace weyl

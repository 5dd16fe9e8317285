// Numbers of steps from many sources: together, one bit a source, so that one pass over the edges serves hundreds; or
// one by one, where the sources lie so far apart that they meet a node in as many passes as they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weyl {

// Neighbours of node v: targets[starts[v]] to targets[starts[v + 1]].
struct Adjacency {
    const std::int64_t* starts;
    const std::int32_t* targets;
    std::size_t nodes;
};

template <int words> struct BreadthFirst {
    static constexpr std::size_t width = 64 * words;  // sources of one search

    struct alignas(8 * words) Bits {
        std::uint64_t word[words];

        bool any() const {
            std::uint64_t all = 0;
            for (int w = 0; w < words; ++w) all |= word[w];
            return all != 0;
        }
    };

    static std::size_t workspace_bytes(std::size_t nodes) {
        return nodes * (3 * sizeof(Bits) + 2 * sizeof(std::int32_t) + 1) + 64;
    }

    // Fills rows[r] for r in positions[0, count) from sources[r]; false where a distance does not fit into Distance,
    // whose largest value says that there is no path.
    template <class Distance>
    static bool search(const Adjacency& graph, const std::int64_t* sources, const std::int64_t* positions,
                       std::size_t count, Distance* rows, void* workspace) {
        const auto alone = [&](std::size_t at) {
            const auto row = static_cast<std::size_t>(positions[at]);
            return search_alone(graph, static_cast<std::size_t>(sources[row]), rows + row * graph.nodes,
                                static_cast<std::int32_t*>(workspace));
        };
        if (!alone(0)) return false;
        const Distance* from_first = rows + static_cast<std::size_t>(positions[0]) * graph.nodes;
        std::size_t apart = 0;
        for (std::size_t at = 1; at < count; ++at) {
            const Distance distance = from_first[sources[positions[at]]];
            if (distance != std::numeric_limits<Distance>::max()) apart = std::max<std::size_t>(apart, distance);
        }
        if (count > 1 && apart <= far_apart) return search_together(graph, sources, positions, count, rows, workspace);
        for (std::size_t at = 1; at < count; ++at) {
            if (!alone(at)) return false;
        }
        return true;
    }

private:
    static constexpr std::size_t far_apart = width / 20;  // steps; measured on roads, meshes, trees and social graphs

    // `queue` has room for every node.
    template <class Distance>
    static bool search_alone(const Adjacency& graph, std::size_t source, Distance* row, std::int32_t* queue) {
        constexpr Distance none = std::numeric_limits<Distance>::max();
        for (std::size_t v = 0; v < graph.nodes; ++v) row[v] = none;
        row[source] = 0;
        queue[0] = static_cast<std::int32_t>(source);
        for (std::size_t head = 0, tail = 1; head < tail; ++head) {
            const std::int32_t v = queue[head];
            const std::size_t steps = static_cast<std::size_t>(row[v]) + 1;
            for (std::int64_t e = graph.starts[v]; e < graph.starts[v + 1]; ++e) {
                const std::int32_t u = graph.targets[e];
                if (row[u] != none) continue;
                if (steps >= none) return false;
                row[u] = static_cast<Distance>(steps);
                queue[tail++] = u;
            }
        }
        return true;
    }

    template <class Distance>
    static bool search_together(const Adjacency& graph, const std::int64_t* sources, const std::int64_t* positions,
                                std::size_t count, Distance* rows, void* workspace) {
        constexpr Distance none = std::numeric_limits<Distance>::max();
        const std::size_t n = graph.nodes;
        auto* seen = static_cast<Bits*>(workspace);
        Bits *front = seen + n, *next = front + n;
        auto* active = reinterpret_cast<std::int32_t*>(next + n);
        auto* touched = active + n;
        auto* is_touched = reinterpret_cast<unsigned char*>(touched + n);
        for (std::size_t v = 0; v < n; ++v) seen[v] = front[v] = next[v] = Bits{}, is_touched[v] = 0;

        std::size_t actives = 0;
        Distance* row_of[width];
        for (std::size_t bit = 0; bit < count; ++bit) {
            Distance* row = row_of[bit] = rows + static_cast<std::size_t>(positions[bit]) * n;
            for (std::size_t v = 0; v < n; ++v) row[v] = none;
            const auto source = static_cast<std::size_t>(sources[positions[bit]]);
            row[source] = 0;
            if (!is_touched[source]) active[actives++] = static_cast<std::int32_t>(source);
            is_touched[source] = 1;
            front[source].word[bit / 64] |= std::uint64_t(1) << bit % 64;
            seen[source] = front[source];
        }
        for (std::size_t a = 0; a < actives; ++a) is_touched[active[a]] = 0;

        for (std::size_t level = 1; actives; ++level) {
            std::size_t touches = 0;
            for (std::size_t a = 0; a < actives; ++a) {
                const std::int32_t v = active[a];
                const Bits bits = front[v];
                front[v] = Bits{};
                for (std::int64_t e = graph.starts[v]; e < graph.starts[v + 1]; ++e) {
                    const std::int32_t u = graph.targets[e];
                    if (!is_touched[u]) is_touched[u] = 1, touched[touches++] = u;
                    for (int w = 0; w < words; ++w) next[u].word[w] |= bits.word[w];
                }
            }
            actives = 0;
            for (std::size_t t = 0; t < touches; ++t) {
                const std::int32_t u = touched[t];
                Bits fresh;
                for (int w = 0; w < words; ++w) {
                    fresh.word[w] = next[u].word[w] & ~seen[u].word[w];
                    seen[u].word[w] |= fresh.word[w];
                }
                next[u] = Bits{};
                is_touched[u] = 0;
                if (!fresh.any()) continue;
                if (level >= none) return false;
                front[u] = fresh;
                active[actives++] = u;
                for (int w = 0; w < words; ++w) {
                    for (std::uint64_t left = fresh.word[w]; left; left &= left - 1) {
                        row_of[64 * w + lowest(left)][u] = static_cast<Distance>(level);
                    }
                }
            }
        }
        return true;
    }

    static int lowest(std::uint64_t bits) {
#if defined(__GNUC__)
        return __builtin_ctzll(bits);
#else
        int place = 0;
        while (!(bits >> place & 1)) ++place;
        return place;
#endif
    }
};

}  // namespace weyl

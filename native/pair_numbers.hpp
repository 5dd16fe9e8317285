// The pairs that numbers stand for, with their distances: the numbering is explained in weyl/graphs/pairs.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weyl {

struct PairNumbering {
    // for every block: its first number, the sources in its circle, the nodes beside them or 0, place of its first node
    const std::int64_t *start, *circle, *others, *offset;
    std::size_t blocks;
    const std::int64_t *order, *row_of;  // the node at a place, the row of a node
    std::size_t nodes;
};

template <class Entry, class Target>
void numbered_pairs(const PairNumbering& n, const std::int64_t* numbers, std::size_t count, const Entry* rows,
                    std::int64_t* first, std::int64_t* second, Target* target) {
    constexpr std::size_t chunk = 64;  // reads of rows miss the cache: a chunk of them is on its way at once
    std::size_t places[chunk];
    for (std::size_t begin = 0; begin < count; begin += chunk) {
        const std::size_t size = std::min(chunk, count - begin);
        for (std::size_t i = 0; i < size; ++i) {
            const std::int64_t number = numbers[begin + i];
            std::size_t b = 0;
            if (n.blocks > 1) b = static_cast<std::size_t>(std::upper_bound(n.start, n.start + n.blocks, number) - n.start) - 1;
            const auto local = static_cast<std::uint64_t>(number - n.start[b]);
            const auto circle = static_cast<std::uint64_t>(n.circle[b]);
            // a division of 32 bits takes a third of the time
            const std::uint64_t k = (local | circle) >> 32 ? local / circle
                                                           : std::uint32_t(local) / std::uint32_t(circle);
            const std::uint64_t a = local - k * circle;
            std::uint64_t other = n.others[b] ? k + circle : a + k + 1;
            if (!n.others[b] && other >= circle) other -= circle;
            const std::int64_t x = n.order[n.offset[b] + static_cast<std::int64_t>(a)];
            const std::int64_t y = n.order[n.offset[b] + static_cast<std::int64_t>(other)];
            first[begin + i] = x;
            second[begin + i] = y;
            places[i] = static_cast<std::size_t>(n.row_of[x]) * n.nodes + static_cast<std::size_t>(y);
#if defined(__GNUC__)
            __builtin_prefetch(rows + places[i]);
#endif
        }
        for (std::size_t i = 0; i < size; ++i) target[begin + i] = static_cast<Target>(rows[places[i]]);
    }
}

}  // namespace weyl

// Steps of training without a word of Python between them: pairs by their numbers, their slopes, Adam, moved nodes.
//
// A batch is cut into chunks that depend on its size alone. Whoever is free takes the next; each chunk has sums of its own,
// which are added in the order of the chunks: the same bits, whatever the threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "node_batch.hpp"
#include "pair_loops.hpp"
#include "pair_numbers.hpp"
#include "team.hpp"

namespace weyl {

struct ReleaseAligned {
    void operator()(void* memory) const { ::operator delete(memory, std::align_val_t(64)); }
};
using AlignedMemory = std::unique_ptr<void, ReleaseAligned>;

inline AlignedMemory aligned_memory(std::size_t bytes) {
    return AlignedMemory(::operator new(std::max<std::size_t>(bytes, 64), std::align_val_t(64)));
}

// How many chunks: each at least 256 pairs, and their sums, a row a node, no more than two for each pair.
inline std::size_t chunks_of(std::size_t pairs, std::size_t nodes) {
    const std::size_t most = std::min<std::size_t>({pairs / 256, 2 * pairs / std::max<std::size_t>(nodes, 1), 64});
    return std::max<std::size_t>(most, 1);
}

// The sums of all chunks, and room for the pairs of each.
class Chunks {
public:
    Chunks(const PairVariant& variant, const PairBatch& batch, const PairObjective& objective, std::size_t most_pairs,
           std::size_t nodes, std::size_t threads)
        : variant_(variant), batch_(batch), objective_(objective), nodes_(nodes),
          real_(batch.is_double ? sizeof(double) : sizeof(float)), count_(chunks_of(most_pairs, nodes)),
          totals_(aligned_memory(count_ * row_bytes())), extras_(count_ * batch.extras), found_(count_) {
        for (std::size_t t = 0; t < threads; ++t) workspaces_.push_back(aligned_memory(variant.workspace(batch)));
    }

    std::size_t count() const { return count_; }
    const void* totals() const { return totals_.get(); }
    // Pairs of chunk c, of so many.
    std::size_t first(std::size_t c, std::size_t pairs) const { return c * pairs / count_ / 64 * 64; }
    std::size_t last(std::size_t c, std::size_t pairs) const { return c + 1 == count_ ? pairs : first(c + 1, pairs); }

    // The chunk's part of a step, with the nodes of its pairs and their goals.
    void descend(std::size_t c, std::size_t thread, const std::int64_t* first, const std::int64_t* second, const void* goals,
                 std::size_t pairs) {
        PairBatch batch = batch_;
        batch.first = first, batch.second = second, batch.count = pairs;
        PairDescent& descent = found_[c];
        descent.goals = goals, descent.objective = objective_;
        descent.totals = static_cast<char*>(totals_.get()) + c * row_bytes();
        descent.extras = extras_.data() + c * batch.extras;
        std::memset(descent.totals, 0, row_bytes());
        std::fill_n(descent.extras, batch.extras, 0.0);
        variant_.descend(batch, descent, workspaces_[thread].get());
    }

    double loss() const { return sum(&PairDescent::loss); }
    double unit_slope() const { return sum(&PairDescent::unit_slope); }
    double gap() const {
        double most = 0;
        for (const PairDescent& one : found_) most = std::max(most, one.gap);
        return most;
    }
    void add_extras(double* extras) const {
        for (std::size_t e = 0; e < extras_.size(); ++e) extras[e % batch_.extras] += extras_[e];
    }
    // Sums of all chunks for some nodes.
    template <class Real> void add_totals(double* to, std::size_t first_node, std::size_t last_node) const {
        const std::size_t size = batch_.gradient_size;
        for (std::size_t c = 0; c < count_; ++c) {
            const Real* const from = static_cast<const Real*>(totals_.get()) + c * nodes_ * size;
            for (std::size_t e = first_node * size; e < last_node * size; ++e) to[e] += double(from[e]);
        }
    }

private:
    std::size_t row_bytes() const { return nodes_ * batch_.gradient_size * real_; }
    double sum(double PairDescent::*field) const {
        double total = 0;
        for (const PairDescent& one : found_) total += one.*field;
        return total;
    }

    const PairVariant& variant_;
    PairBatch batch_;
    PairObjective objective_;
    std::size_t nodes_, real_, count_;
    AlignedMemory totals_;
    std::vector<double> extras_;
    std::vector<PairDescent> found_;
    std::vector<AlignedMemory> workspaces_;
};

// Where the pairs of a step come from: the numbers begin, begin + stride, … modulo all of them.
template <class Entry> struct PairSource {
    PairNumbering numbering;
    const Entry* rows;
    std::uint64_t all, stride;

    template <class Real>
    void fill(std::uint64_t begin, std::size_t from, std::size_t to, std::int64_t* numbers, std::int64_t* first,
              std::int64_t* second, Real* goals) const {
        std::uint64_t number = (begin + from * stride) % all;
        for (std::size_t i = 0; i < to - from; ++i) {
            numbers[i] = static_cast<std::int64_t>(number);
            number += stride;
            if (number >= all) number -= all;
        }
        numbered_pairs(numbering, numbers, to - from, rows, first, second, goals);
    }
};

struct DescentPlan {
    // of every step: its epoch, the number of its first pair, how many pairs
    const std::int64_t *epochs, *begins, *counts;
    const std::int64_t* orders;  // of the nodes in every epoch
    const double* rates;
    std::size_t steps;
    double betas[2];
    std::size_t before;  // steps that Adam has taken
    double widest_gap;
};

// Takes the steps, or fewer: the one that meets a gap beyond the widest is the last. Returns how many; fills their losses.
template <class Entry, class Real>
std::size_t take_steps(const DescentPlan& plan, const PairSource<Entry>& source, Chunks& chunks, NodeDescent node,
                       const NodeVariant& variant, std::size_t threads, double* losses, double& gap) {
    const std::size_t most = static_cast<std::size_t>(*std::max_element(plan.counts, plan.counts + plan.steps));
    const std::size_t room = most / chunks.count() + 65;  // of a chunk
    struct Pairs {
        std::vector<std::int64_t> numbers, first, second;
        std::vector<Real> goals;
    };
    std::vector<Pairs> pairs(threads);
    std::vector<AlignedMemory> workspaces;
    for (Pairs& own : pairs) {
        own.numbers.resize(room), own.first.resize(room), own.second.resize(room), own.goals.resize(room);
        workspaces.push_back(aligned_memory(variant.descent_workspace(node)));
    }
    constexpr std::size_t nodes_of_a_block = 64;
    const std::size_t blocks = (node.count + nodes_of_a_block - 1) / nodes_of_a_block;
    std::atomic<std::size_t> next_chunk{0}, next_block{0}, taken{0};
    node.chunks = chunks.count(), node.totals = chunks.totals();
    Team::run(threads, [&](std::size_t rank, Team& team) {
        NodeDescent own = node;
        Pairs& mine = pairs[rank];
        PairSource<Entry> own_source = source;
        for (std::size_t step = 0; step < plan.steps; ++step) {
            own_source.numbering.order = plan.orders + plan.epochs[step] * std::int64_t(node.count);
            const auto count = static_cast<std::size_t>(plan.counts[step]);
            for (std::size_t c; (c = next_chunk.fetch_add(1)) < chunks.count();) {
                const std::size_t from = chunks.first(c, count), to = chunks.last(c, count);
                own_source.fill(static_cast<std::uint64_t>(plan.begins[step]), from, to, mine.numbers.data(), mine.first.data(),
                            mine.second.data(), mine.goals.data());
                chunks.descend(c, rank, mine.first.data(), mine.second.data(), mine.goals.data(), to - from);
            }
            team.meet();
            const bool wide = chunks.gap() > plan.widest_gap;  // all see the same
            if (rank == 0) {
                losses[step] = chunks.loss();
                gap = chunks.gap();
                taken = step + 1;
                next_chunk = 0;
            }
            for (int b = 0; b < 2; ++b) own.corrections[b] = 1 - std::pow(plan.betas[b], double(plan.before + step + 1));
            own.pairs = double(count), own.rate = plan.rates[step];
            for (std::size_t block; (block = next_block.fetch_add(1)) < blocks;) {
                const std::size_t from = block * nodes_of_a_block;
                variant.descend(own, from, std::min(from + nodes_of_a_block, node.count), workspaces[rank].get());
            }
            team.meet();
            if (rank == 0) next_block = 0;  // nobody looks at it before the next meeting
            if (wide) return;
        }
    });
    return taken.load();
}

}  // namespace weyl

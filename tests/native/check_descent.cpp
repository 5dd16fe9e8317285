// Whole steps of training in plain C++, so that sanitizers can watch: `make sanitize`. One thread and several find the same
// bits, in calls of any length, and what they find is what single batches and single moves make of it.
#include <cmath>
#include <cstdio>
#include <random>

#include "descent.hpp"

namespace {

using namespace weyl;

std::mt19937_64 generator(0);
int failures = 0, runs = 0;

double gaussian() { return std::normal_distribution<double>()(generator); }

void expect(bool held, const char* law, int rank, double found) {
    if (held) return;
    ++failures;
    std::printf("%s: rank %d: %g\n", law, rank, found);
}

// Siegel or positive definite nodes of one rank, all pairs of them, goals by the rows of a table.
template <class Real> struct Task {
    static constexpr std::size_t nodes = 70;
    int rank, node_size, gradient_size;
    PairFactor factor;
    std::vector<double> records, mean, square;
    std::vector<Real> copies;
    std::vector<std::int64_t> order, row_of, blocks;
    std::vector<std::uint8_t> rows;
    int ends[1] = {0};

    Task(int rank_, bool siegel) : rank(rank_) {
        const int below = rank * (rank - 1) / 2, whole = rank * (rank + 1) / 2;
        node_size = 2 * rank + below + (siegel ? whole : 0);
        gradient_size = whole * (siegel ? 2 : 1);
        factor = {siegel ? pair_siegel : pair_positive, siegel, rank, rank, 1, keep_upper, 1, rank, 0, 0, 0, 0, 0, 1};
        for (std::size_t i = 0; i < nodes; ++i) {
            std::vector<double> diagonal(rank);
            for (double& x : diagonal) x = std::exp(0.3 * gaussian());
            for (double x : diagonal) records.push_back(1 / x);
            for (double x : diagonal) records.push_back(x);
            for (int e = 2 * rank; e < node_size; ++e) records.push_back(0.3 * gaussian());
            order.push_back(i), row_of.push_back(i);
        }
        for (double x : records) copies.push_back(static_cast<Real>(x));
        mean.assign(nodes * gradient_size, 0), square = mean;
        blocks = {0, std::int64_t(nodes), 0, 0};
        for (std::size_t i = 0; i < nodes * nodes; ++i) rows.push_back(static_cast<std::uint8_t>(1 + i % 7));
        ends[0] = rank;
    }

    PairBatch batch() const {
        PairBatch one{};
        one.nodes = copies.data(), one.factors = &factor, one.factor_count = 1, one.node_size = node_size;
        one.gradient_size = gradient_size, one.is_double = sizeof(Real) == 8;
        one.norm = {norm_power, 1, 1, rank, 0, 1.0, nullptr, ends, ends};
        return one;
    }

    // Steps from `first` to `last`, in calls of so many.
    std::vector<double> train(std::size_t first, std::size_t last, std::size_t a_call, std::size_t threads) {
        ++runs;
        const std::uint64_t all = nodes * (nodes - 1) / 2, stride = 1009;
        const PairObjective objective{loss_relative, 1.0, 0.5, 1.5};
        std::vector<double> losses;
        for (std::size_t step = first; step < last; step += a_call) {
            const std::size_t count = std::min(a_call, last - step);
            std::vector<std::int64_t> epochs(count, 0), begins, counts(count, 1600);
            std::vector<double> rates(count, 0.05), found(count);
            for (std::size_t s = 0; s < count; ++s) begins.push_back(std::int64_t((step + s) * 77 % all));
            NodeBatch moved{};
            moved.records = records.data(), moved.count = nodes, moved.node_size = node_size;
            moved.step_size = gradient_size, moved.factor = factor, moved.longest = 1;
            const int place = 0;
            NodeDescent node{};
            node.factors = &moved, node.places = &place, node.factor_count = 1, node.count = nodes;
            node.size = std::size_t(gradient_size), node.mean = mean.data(), node.square = square.data();
            node.betas[0] = 0.9, node.betas[1] = 0.99, node.nodes = copies.data(), node.node_size = node_size;
            node.is_double = sizeof(Real) == 8;
            const DescentPlan plan{epochs.data(), begins.data(), counts.data(), order.data(), rates.data(), count, {0.9, 0.99}, step, 1e9};
            const PairNumbering numbering{blocks.data(), blocks.data() + 1, blocks.data() + 2, blocks.data() + 3, 1,
                                          order.data(), row_of.data(), nodes};
            const PairSource<std::uint8_t> source{numbering, rows.data(), all, stride};
            Chunks chunks(pairs_portable, batch(), objective, 1600, nodes, threads);
            double gap = 0;
            const std::size_t taken = take_steps<std::uint8_t, Real>(plan, source, chunks, node, nodes_portable, threads,
                                                                     found.data(), gap);
            expect(taken == count, "all steps are taken", rank, double(taken));
            expect(gap >= 0 && std::isfinite(gap), "a gap", rank, gap);
            losses.insert(losses.end(), found.begin(), found.end());
        }
        return losses;
    }
};

template <class Real> void check(int rank, bool siegel) {
    const Task<Real> start(rank, siegel);
    Task<Real> one = start, many = start, pieces = start;
    const auto losses = one.train(0, 12, 12, 1);
    expect(losses == many.train(0, 12, 12, 3), "the same losses whatever the threads", rank, 0);
    expect(one.records == many.records && one.square == many.square, "the same bits whatever the threads", rank, 0);
    expect(losses == pieces.train(0, 12, 5, 2) && one.records == pieces.records, "calls of any length", rank, 0);
    expect(one.records != start.records && losses.back() < losses.front(), "the loss falls", rank, losses.back());
    for (std::size_t e = 0; e < one.records.size(); ++e) {
        expect(Real(one.records[e]) == one.copies[e], "what kernels read is what was moved", rank, one.copies[e]);
    }
}

}  // namespace

int main() {
    for (int rank : {1, 2, 3, 4, 9}) {
        for (bool siegel : {false, true}) check<float>(rank, siegel), check<double>(rank, siegel);
    }
    std::printf("%d failures in %d runs of steps\n", failures, runs);
    return failures != 0;
}

// What a batch of pairs is, in plain data: shared by the compiled loops, the Python module and the GPU.
#pragma once

#if defined(__CUDACC_RTC__)  // which has no headers
namespace std {
typedef unsigned long size_t;
typedef long long int64_t;
}
#else
#include <cstddef>
#include <cstdint>
#endif

namespace weyl {

// Matrix kinds: a pair has a chord C, a companion N and a second companion a (see pair_matrix.hpp).
enum PairKind {
    pair_siegel,         // {Y - iX symmetric, Y > 0}: a = conj(N), L real
    pair_positive,       // Hermitian positive definite: a = N, values keep their signs
    pair_ball,           // free matrices, Id + k Z*Z > 0
    pair_ball_symmetric, // symmetric or antisymmetric: a = conj(N)
    pair_euclidean,
    pair_hyperbolic,     // (x, log y)
    pair_sphere,
};

// Which entries of a gradient matrix are kept; the others follow from its symmetry.
enum PairTriangle { keep_all, keep_upper, keep_above };

struct PairFactor {
    int kind, is_complex;
    int rows, columns;   // of the matrices computed with, rows >= columns; a vector has one column
    int block;           // every block-th row of the gradient is kept (2 for quaternions)
    int triangle;        // a PairTriangle
    int copies, length;  // singular values a component; components
    int learned;         // whether the derivative in the curvature is wanted
    int node, gradient, component;  // where its part begins in a node's record, a gradient and v
    double curvature, scale;        // v = scale * theta
};

constexpr int most_factors = 1024;

enum PairNormKind { norm_power, norm_linear, norm_weighted };

// F(v): `ends` closes the groups whose norms are combined by Pythagoras (one group: nothing to combine), `segments` the
// factors within which weights are sorted.
struct PairNorm {
    int kind, groups, segments, components, learned;
    double p;  // of norm_power; infinity is allowed
    const double* weights;
    const int *ends, *segment_ends;
};

struct PairBatch {
    const void* nodes;           // count of nodes x node_size
    const std::int64_t *first, *second;  // node indices
    std::size_t count;
    void* distances;             // count, or null
    void* vectors;               // count x components, or null
    void* gradients;             // count x pair_size, or null: [gradient at first, at second, extras]
    const PairFactor* factors;
    int factor_count, node_size, gradient_size, extras;  // extras: learned weights, then learned curvatures
    PairNorm norm;
    bool is_double;
};

// Gradients of pairs to be summed over their nodes, upstream times each.
struct PairSums {
    const void* gradients;                // count x (2 size + extras)
    const std::int64_t *first, *second;   // node indices
    const void* upstream;                 // count, or null: ones
    void* totals;                         // nodes x size, added to
    std::size_t count, size, extras;
    bool is_double;
};

enum PairLoss { loss_relative, loss_paper, loss_relative_squared, loss_stress };

// What a pair at distance d costs that should be g apart, in graph units (`unit` of them are one of the space):
// |d/g - 1|, |(d/g)^2 - 1|, (d/g - 1)^2 or (d - g)^2, and `weight` times how far d lies on the wrong side of `border`,
// beyond it for pairs with g < border and before it for all others.
struct PairObjective {
    int kind;
    double unit, weight, border;
};

// A batch on its way down: what the pairs cost, and the slopes of that, summed at their nodes.
struct PairDescent {
    const void* goals;  // count, in the dtype of the nodes
    PairObjective objective;
    void* totals;       // nodes x gradient_size, added to
    double* extras;     // added to
    double loss, unit_slope, gap;  // sums, the second of d times its slope; and the largest gap of components
};

}  // namespace weyl

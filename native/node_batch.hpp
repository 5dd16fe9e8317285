// What moving many nodes is, in plain data: shared by the compiled loops and the Python module.
#pragma once

#include "pair_batch.hpp"

namespace weyl {

struct NodeBatch {
    double* records;      // count x node_size, changed in place
    const double* steps;  // count x step_size: kept entries of tangent vectors in the frames
    std::size_t count;
    int node_size, step_size;
    PairFactor factor;    // any but a sphere
    bool unimodular;      // determinant 1 stays 1
    double longest;       // longer steps are shortened to this length
};

// One step of Adam down a sum over pairs, for all coordinates of every node, and the move that it asks for.
struct NodeDescent {
    const NodeBatch* factors;  // their steps are left open
    const int* places;         // where each factor's record begins in `nodes`
    int factor_count;
    const void* totals;        // chunks x nodes x size: gradients, to be summed
    std::size_t chunks, count, size;
    double pairs;              // that were summed
    const double* free;        // size: 0 for coordinates that stay as they are, or null
    double *mean, *square;     // nodes x size
    double betas[2], corrections[2], rate;  // corrections: 1 - beta^t
    void* nodes;               // count x node_size: what the pair kernel reads
    int node_size;
    bool is_double;            // totals and nodes
};

struct NodeVariant {
    const char* instruction_set;
    bool (*supported)();
    int (*lanes)();
    int (*node_reals)(const PairFactor&);  // numbers of a record; 0 where nodes of such a factor cannot be moved
    std::size_t (*workspace)(const NodeBatch&);
    void (*run)(const NodeBatch&, std::size_t first_pack, std::size_t last_pack, void* workspace);
    std::size_t (*descent_workspace)(const NodeDescent&);
    void (*descend)(const NodeDescent&, std::size_t first_node, std::size_t last_node, void* workspace);
};

extern const NodeVariant nodes_portable, nodes_avx2, nodes_avx512;

}  // namespace weyl

// The laws of the pair kernel on random and awkward nodes, in plain C++ so that sanitizers can watch: `make sanitize`.
// Buffers have exactly the size they need; every kind, rank and norm, both precisions, one thread and several. Then nodes
// of random bytes, which may give any number but must neither hang nor leave their buffers.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "descent.hpp"
#include "threads.hpp"

namespace {

using Complex = std::complex<double>;
using Matrix = std::vector<Complex>;  // row by row

std::mt19937_64 generator(0);
int failures = 0, batches = 0;

double gaussian() { return std::normal_distribution<double>()(generator); }

struct Space {
    const char* name;
    int kind;
    bool is_complex;
    int rows, columns, block, triangle, copies;
    double curvature, scale;

    bool vector() const { return kind >= weyl::pair_euclidean; }
    bool free() const { return kind == weyl::pair_ball; }
    int reals() const { return is_complex ? 2 : 1; }
    int length() const { return vector() ? 1 : std::min(rows, columns) / copies; }
    int triangle_size(int size, int reals) const { return 2 * size + reals * (size * (size - 1) / 2); }

    int node_size() const {
        if (vector()) return rows;
        if (kind == weyl::pair_siegel) return triangle_size(rows, 1) + rows * (rows + 1) / 2;
        if (kind == weyl::pair_positive) return triangle_size(rows, reals());
        return (free() ? triangle_size(rows, reals()) : 0) + triangle_size(columns, reals()) + 2 * rows * columns * reals();
    }

    int gradient_size() const {
        if (vector()) return rows;
        int entries = 0;
        for (int i = 0; i < rows; i += block) {
            for (int j = 0; j < columns; ++j) {
                entries += triangle == weyl::keep_all || j > i || (j == i && triangle == weyl::keep_upper);
            }
        }
        return entries * reals();
    }
};

// The lower triangular factor of Id + k P, P = X X* (or X* X).
Matrix cholesky(const Matrix& x, int rows, int columns, double k, bool adjoint) {
    const int n = adjoint ? columns : rows, depth = adjoint ? rows : columns;
    Matrix l(n * n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            Complex sum = i == j ? 1 : 0;
            for (int d = 0; d < depth; ++d) {
                sum += k * (adjoint ? std::conj(x[d * columns + i]) * x[d * columns + j]
                                    : x[i * columns + d] * std::conj(x[j * columns + d]));
            }
            for (int d = 0; d < j; ++d) sum -= l[i * n + d] * std::conj(l[j * n + d]);
            l[i * n + j] = i == j ? std::sqrt(std::real(sum)) : sum / l[j * n + j];
        }
    }
    return l;
}

void put(std::vector<double>& out, Complex x, int reals) {
    out.push_back(x.real());
    if (reals == 2) out.push_back(x.imag());
}

void put_triangle(std::vector<double>& out, const Matrix& l, int n, int reals) {
    for (int i = 0; i < n; ++i) out.push_back(1 / l[i * n + i].real());
    for (int i = 0; i < n; ++i) out.push_back(l[i * n + i].real());
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) put(out, l[i * n + j], reals);
    }
}

// The record of a random point, `spread` from the origin; weyl/kernels/layout.py describes it.
std::vector<double> random_node(const Space& space, double spread) {
    std::vector<double> out;
    const int reals = space.reals(), n = space.columns;
    if (space.vector()) {
        double square = 0;
        for (int i = 0; i < space.rows; ++i) out.push_back(spread * gaussian()), square += out[i] * out[i];
        if (space.kind == weyl::pair_sphere && square > 0) {
            for (double& x : out) x /= std::sqrt(square);
        } else if (space.kind == weyl::pair_sphere) {
            out[0] = 1;
        }
        return out;
    }
    const int in_triangle = space.kind == weyl::pair_siegel ? 1 : reals;
    Matrix x(space.rows * n);
    for (auto& entry : x) entry = {gaussian(), reals == 2 ? gaussian() : 0};
    if (space.kind == weyl::pair_siegel || space.kind == weyl::pair_positive) {
        Matrix l(n * n);  // rows of length about `spread`, or else large factors are nearly singular
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < i; ++j) {
                l[i * n + j] = spread / std::sqrt(double(n)) * (in_triangle == 2 ? x[i * n + j] : Complex(x[i * n + j].real()));
            }
            l[i * n + i] = std::exp(spread * gaussian());
        }
        put_triangle(out, l, n, in_triangle);
        if (space.kind == weyl::pair_siegel) {
            for (int i = 0; i < n * (n + 1) / 2; ++i) out.push_back(spread * gaussian());
        }
        return out;
    }
    double square = 0;
    if (space.triangle != weyl::keep_all) {
        const double sign = space.triangle == weyl::keep_above ? -1 : 1;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < i; ++j) x[i * n + j] = sign * x[j * n + i];
            if (sign < 0) x[i * n + i] = 0;
        }
    }
    if (space.block == 2) {  // quaternions: [[a, b], [-conj b, conj a]]
        for (int i = 0; i < space.rows; i += 2) {
            for (int j = 0; j < n; j += 2) {
                x[(i + 1) * n + j] = -std::conj(x[i * n + j + 1]), x[(i + 1) * n + j + 1] = std::conj(x[i * n + j]);
            }
        }
    }
    for (const auto& entry : x) square += std::norm(entry);
    const double reach = std::uniform_real_distribution<double>(0.3, 0.9)(generator);
    const double shrink = std::tanh(spread) * reach / std::sqrt(std::max(square, 1e-300) * std::max(1.0, std::abs(space.curvature)));
    for (auto& entry : x) entry *= shrink;
    const Matrix a = cholesky(x, space.rows, n, space.curvature, false), b = cholesky(x, space.rows, n, space.curvature, true);
    if (space.free()) put_triangle(out, a, space.rows, reals);
    put_triangle(out, b, n, reals);
    for (const auto& entry : x) put(out, entry, reals);
    Matrix s(space.rows * n);  // A^-1 Z B
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < space.rows; ++i) {
            Complex sum = 0;
            for (int d = 0; d < n; ++d) sum += x[i * n + d] * b[d * n + j];
            for (int d = 0; d < i; ++d) sum -= a[i * space.rows + d] * s[d * n + j];
            s[i * n + j] = sum / a[i * space.rows + i];
        }
    }
    for (const auto& entry : s) put(out, entry, reals);
    return out;
}

struct Norm {
    int kind;
    double p;
    bool learned;
};

template <class Real> struct Result {
    std::vector<Real> distances, vectors, gradients, totals, slopes;
    double gap, loss;
};

// Several factors side by side; every buffer is a vector of its own, so that a step outside is seen.
template <class Real>
Result<Real> run(const std::vector<Space>& spaces, const Norm& norm, bool groups, bool learned_curvature, int node_count,
                 const std::vector<Real>& nodes, const std::vector<std::int64_t>& first,
                 const std::vector<std::int64_t>& second, std::size_t threads) {
    ++batches;
    std::vector<weyl::PairFactor> factors;
    int node = 0, gradient = 0, component = 0, extras = 0;
    std::vector<int> ends;
    for (const Space& s : spaces) {
        const bool learned = learned_curvature && (s.kind == weyl::pair_ball || s.kind == weyl::pair_ball_symmetric);
        factors.push_back({s.kind, s.is_complex, s.rows, s.columns, s.block, s.triangle, s.copies, s.length(), learned, node,
                           gradient, component, s.curvature, s.scale});
        node += s.node_size(), gradient += s.gradient_size(), component += s.length(), extras += learned;
        ends.push_back(component);
    }
    std::vector<double> weights(norm.kind == weyl::norm_power ? 0 : component, 1.0);
    const std::vector<int> whole{component};
    if (norm.learned) extras += component;
    Result<Real> result;
    const std::size_t count = first.size(), row = 2 * gradient + extras;
    result.distances.resize(count), result.vectors.resize(count * component), result.gradients.resize(count * row);
    result.totals.resize(std::size_t(node_count) * gradient);
    weyl::PairBatch batch{};
    batch.nodes = nodes.data(), batch.first = first.data(), batch.second = second.data(), batch.count = count;
    batch.distances = result.distances.data(), batch.vectors = result.vectors.data();
    batch.gradients = result.gradients.data();
    batch.factors = factors.data(), batch.factor_count = static_cast<int>(factors.size()), batch.node_size = node;
    batch.gradient_size = gradient, batch.extras = extras, batch.is_double = sizeof(Real) == 8;
    const std::vector<int>& group_ends = groups ? ends : whole;
    batch.norm = {norm.kind, static_cast<int>(group_ends.size()), static_cast<int>(ends.size()), component, norm.learned,
                  norm.p, weights.data(), group_ends.data(), ends.data()};
    const auto& variant = weyl::pairs_portable;
    const std::size_t lanes = variant.lanes(batch), packs = (count + lanes - 1) / lanes;
    std::atomic<double> gap{0};
    weyl::parallel_blocks(packs, 1, threads, variant.workspace(batch), [&](std::size_t from, std::size_t to, void* memory) {
        const double found = variant.run(batch, from, to, memory);
        double known = gap.load();
        while (known < found && !gap.compare_exchange_weak(known, found)) {
        }
    });
    result.gap = gap.load();
    weyl::PairSums sums{result.gradients.data(), first.data(), second.data(), result.distances.data(), result.totals.data(),
                        count, std::size_t(gradient), std::size_t(extras), batch.is_double};
    const std::vector<Real> goals(count, Real(1.5));
    std::vector<Real> slopes(result.totals.size());
    std::vector<double> extra_slopes(extras);
    const auto memory = weyl::aligned_memory(variant.workspace(batch));
    weyl::PairDescent descent{goals.data(), {weyl::loss_stress, 2, 0.5, 1}, slopes.data(), extra_slopes.data(), 0, 0, 0};
    variant.descend(batch, descent, memory.get());
    result.slopes = slopes, result.loss = descent.loss;
    std::size_t owners = 1;
    while (owners < threads) owners *= 2;
    weyl::parallel_blocks(owners, 1, threads, 1, [&](std::size_t from, std::size_t to, void*) {
        for (std::size_t owner = from; owner < to; ++owner) variant.accumulate(sums, owner, owners - 1);
    });
    return result;
}

void expect(bool held, const char* law, const Space& space, double found) {
    if (held) return;
    ++failures;
    std::printf("%s: %s, %d x %d: %g\n", law, space.name, space.rows, space.columns, found);
}

template <class Real> bool same(const std::vector<Real>& a, const std::vector<Real>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

constexpr int node_count = 7;

template <class Real> void check_space(const std::vector<Space>& spaces, const Norm& norm, bool groups, bool learned) {
    std::vector<Real> nodes;
    for (int i = 0; i < node_count; ++i) {
        for (const Space& space : spaces) {  // the origin, near it, and about 1 away
            for (double x : random_node(space, i == 0 ? 0 : i == 1 ? 1e-6 : 1)) nodes.push_back(static_cast<Real>(x));
        }
    }
    std::vector<std::int64_t> first, second;
    for (int i = 0; i < node_count; ++i) {
        for (int j = 0; j < node_count; ++j) first.push_back(i), second.push_back(j);
    }
    const auto one = run<Real>(spaces, norm, groups, learned, node_count, nodes, first, second, 1);
    const auto many = run<Real>(spaces, norm, groups, learned, node_count, nodes, first, second, 3);
    const Space& space = spaces.front();
    expect(same(one.distances, many.distances) && same(one.gradients, many.gradients) && same(one.totals, many.totals),
           "same bits whatever the threads", space, 0);
    const double tolerance = 300 * (sizeof(Real) == 4 ? 1.2e-7 : 2.3e-16) * space.rows;
    for (int i = 0; i < node_count; ++i) {
        for (int j = 0; j < node_count; ++j) {
            const double d = one.distances[i * node_count + j], back = one.distances[j * node_count + i];
            expect(i != j || d == 0, "d(p, p) = 0", space, d);
            expect(i == j || d > 0, "d(p, q) > 0", space, d);
            expect(std::abs(d - back) <= tolerance * (1 + d), "d(p, q) = d(q, p)", space, d - back);
        }
    }
    for (const Real x : one.gradients) expect(std::isfinite(x), "finite gradients", space, x);
    double loss = 0;
    for (const double d : one.distances) loss += (2 * d - 1.5) * (2 * d - 1.5) + 0.5 * std::max(0.0, 1 - 2 * d);
    expect(std::abs(one.loss - loss) <= tolerance * (1 + loss), "the loss of a batch", space, one.loss - loss);
    for (const Real x : one.slopes) expect(std::isfinite(x), "finite slopes", space, x);
    expect(one.gap >= 0 && std::isfinite(one.gap), "a gap", space, one.gap);
}

// Random bytes in the records, and numbers at the ends of the range.
template <class Real> void fuzz(const std::vector<Space>& spaces, const Norm& norm, bool learned) {
    std::size_t size = 0;
    for (const Space& space : spaces) size += space.node_size();
    std::vector<Real> nodes(size * node_count);
    const Real ends[] = {Real(0), Real(-0.0), std::numeric_limits<Real>::infinity(), -std::numeric_limits<Real>::infinity(),
                         std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::max(),
                         std::numeric_limits<Real>::lowest(), std::numeric_limits<Real>::min(),
                         std::numeric_limits<Real>::denorm_min(), Real(1)};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i / size % 2) {
            nodes[i] = ends[generator() % (sizeof ends / sizeof *ends)];
        } else {
            const std::uint64_t bits = generator();
            std::memcpy(&nodes[i], &bits, sizeof(Real));
        }
    }
    std::vector<std::int64_t> first(23), second(23);
    for (auto& i : first) i = generator() % node_count;
    for (auto& i : second) i = generator() % node_count;
    run<Real>(spaces, norm, false, learned, node_count, nodes, first, second, 2);
}

std::vector<Space> spaces_of_rank(int n) {
    using namespace weyl;
    std::vector<Space> all = {
        {"siegel", pair_siegel, true, n, n, 1, keep_upper, 1, 0, 1},
        {"positive over R", pair_positive, false, n, n, 1, keep_upper, 1, 0, 1},
        {"positive over C", pair_positive, true, n, n, 1, keep_upper, 1, 0, 1},
        {"euclidean", pair_euclidean, false, n, 1, 1, keep_all, 1, 0, 1},
        {"hyperbolic", pair_hyperbolic, false, n, 1, 1, keep_all, 1, 0, 1},
        {"sphere", pair_sphere, false, n + 1, 1, 1, keep_all, 1, 0, 1},
    };
    for (double k : {-1.0, 0.0, 0.5}) {
        all.push_back({"ball over R", pair_ball, false, n, n, 1, keep_all, 1, k, 1});
        all.push_back({"ball over C", pair_ball, true, n, n, 1, keep_all, 1, k, 2});
        all.push_back({"symmetric ball", pair_ball_symmetric, true, n, n, 1, keep_upper, 1, k, 2});
        if (n > 1) all.push_back({"antisymmetric ball", pair_ball_symmetric, true, n, n, 1, keep_above, 2, k, 2});
        all.push_back({"tall ball over R", pair_ball, false, n + 2, n, 1, keep_all, 1, k, 1});
        all.push_back({"tall ball over C", pair_ball, true, n + 1, n, 1, keep_all, 1, k, 2});
        if (n % 2 == 0) all.push_back({"ball over H", pair_ball, true, n + 2, n, 2, keep_all, 2, k, 2});
    }
    if (n % 2 == 0) all.push_back({"positive over H", pair_positive, true, n, n, 2, keep_upper, 2, 0, 1});
    return all;
}

template <class Real> void check_all() {
    using namespace weyl;
    const Norm riemannian{norm_power, 2, false}, f1{norm_power, 1, false}, finf{norm_power, 1e308, false},
        third{norm_power, 3, false}, linear{norm_linear, 1, false}, weighted{norm_weighted, 1, false},
        learned{norm_weighted, 1, true};
    for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17}) {
        for (const Space& space : spaces_of_rank(n)) {
            if (n == 17 && space.curvature != -1 && !space.vector() && space.kind != pair_siegel) continue;
            check_space<Real>({space}, f1, false, true);
            fuzz<Real>({space}, riemannian, true);
            if (n > 4) continue;
            for (const Norm& norm : {riemannian, finf, third, weighted, learned}) check_space<Real>({space}, norm, false, false);
            for (const Norm& norm : {f1, finf, third, learned}) fuzz<Real>({space}, norm, false);
        }
    }
    const auto small = spaces_of_rank(2), large = spaces_of_rank(3);
    for (std::size_t i = 0; i + 1 < small.size(); ++i) {
        const std::vector<Space> product{small[i], large[(i * 5) % large.size()], small[i + 1]};
        for (const bool groups : {false, true}) {
            for (const Norm& norm : {f1, third, finf, learned}) check_space<Real>(product, norm, groups, true);
        }
        fuzz<Real>(product, learned, true);
    }
    check_space<Real>({large[0], large[4], large[3]}, linear, true, false);
}

}  // namespace

int main() {
    check_all<float>();
    check_all<double>();
    std::printf("%d failures in %d batches of pairs\n", failures, batches);
    return failures != 0;
}

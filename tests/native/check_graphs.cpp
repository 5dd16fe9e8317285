// The compiled part of graphs under the sanitizers: edge lists of random text, searches from random sources.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "breadth_first.hpp"
#include "dijkstra.hpp"
#include "edge_list.hpp"

namespace {

std::mt19937 random_bits(1);
std::size_t below(std::size_t count) { return random_bits() % count; }

void expect(bool holds, const char* what) {
    if (holds) return;
    std::printf("check_graphs: %s\n", what);
    std::exit(1);
}

void read_random_text() {
    const std::vector<std::string> pieces{"a", "b", "1234567", "12345678", "\"q\"\"r\"", "\"longer \"\"q\"\" here\"", "\"", " ",
                                          "\t", "\t", "\n", "\r\n", "#", "-1", "1.5", "1e400", "averyverylongname", "\xc3\xa9"};
    std::string text;
    for (std::size_t size = below(40); size > 0; --size) text += pieces[below(pieces.size())];
    std::size_t room = 1;
    for (char c : text) room += c == '\n';
    const int columns = 2 + static_cast<int>(below(2));
    std::vector<std::int64_t> first(room), second(room);
    std::vector<double> weights(room);
    const std::vector<char> exact(text.begin(), text.end());  // no byte to spare behind the end
    weyl::EdgeReader reader({exact.data(), exact.size()}, 1, {below(2) ? '\t' : ' ', columns, 0, 1, columns == 3 ? 2 : -1});
    reader.read(first.data(), second.data(), weights.data());
    expect(reader.edges <= room, "more edges than lines");
    if (reader.problem != weyl::LineProblem::none) return;
    const auto names = static_cast<std::int64_t>(reader.names.names().size());
    for (std::size_t e = 0; e < reader.edges; ++e) {
        expect(first[e] >= 0 && first[e] < names && second[e] >= 0 && second[e] < names, "an edge without a name");
    }
}

template <int words, class Distance> void search_random_graph(std::size_t n, std::size_t edges, std::size_t count) {
    std::vector<std::vector<std::int32_t>> near(n);
    for (std::size_t e = 0; e < edges; ++e) {
        // mostly a path, which makes sources lie far apart, some of the time
        const std::size_t a = below(n), b = edges > n ? below(n) : (a + 1) % n;
        near[a].push_back(static_cast<std::int32_t>(b));
        near[b].push_back(static_cast<std::int32_t>(a));
    }
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> targets;
    for (const auto& list : near) {
        targets.insert(targets.end(), list.begin(), list.end());
        starts.push_back(static_cast<std::int64_t>(targets.size()));
    }
    const weyl::Adjacency graph{starts.data(), targets.data(), n};
    std::vector<std::int64_t> sources(count), order(count);
    for (std::size_t i = 0; i < count; ++i) sources[i] = static_cast<std::int64_t>(below(n)), order[i] = static_cast<std::int64_t>(i);
    using Search = weyl::BreadthFirst<words>;
    void* workspace = ::operator new(Search::workspace_bytes(n), std::align_val_t(64));
    std::vector<Distance> rows(count * n);
    const bool fits = Search::search(graph, sources.data(), order.data(), count, rows.data(), workspace);
    ::operator delete(workspace, std::align_val_t(64));

    const std::vector<double> lengths(targets.size(), 1.0);
    std::vector<double> row(n), best(n);
    std::vector<std::pair<double, std::int32_t>> heap;
    bool should_fit = true;
    for (std::size_t i = 0; i < count; ++i) {
        weyl::dijkstra(graph, lengths.data(), static_cast<std::size_t>(sources[i]), row.data(), best.data(), heap);
        for (std::size_t v = 0; v < n; ++v) {
            const bool reached = row[v] < 1e300;
            should_fit &= !reached || row[v] < std::numeric_limits<Distance>::max();
            const double found = rows[i * n + v] == std::numeric_limits<Distance>::max() ? -1 : rows[i * n + v];
            if (fits) expect(found == (reached ? row[v] : -1), "another distance than Dijkstra's");
        }
    }
    expect(fits == should_fit, "a distance that does not fit");
}

}  // namespace

int main() {
    for (int turn = 0; turn < 20000; ++turn) read_random_text();
    for (int turn = 0; turn < 60; ++turn) {
        const std::size_t n = 2 + below(400), edges = below(3) * n / 2 + below(n);
        search_random_graph<8, std::uint8_t>(n, edges, 1 + below(512));
        search_random_graph<1, std::uint16_t>(n, edges, 1 + below(64));
    }
    std::puts("check_graphs: all held");
}

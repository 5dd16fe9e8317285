// Threads that stay together through many short phases: starting them anew for each takes longer than a phase.
#pragma once

#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace weyl {

class Team {
public:
    std::size_t size = 1;

    // Calls work(rank, team) in at most `wanted` threads at once. `work` must not throw.
    template <class Work> static void run(std::size_t wanted, const Work& work) {
        Team team;
        std::vector<std::thread> helpers;
        helpers.reserve(wanted);
        std::atomic<std::size_t> ready{0};  // the size of the team, once it is known
        try {
            while (helpers.size() + 1 < wanted) {
                helpers.emplace_back([&, rank = helpers.size() + 1] {
                    while (!ready.load(std::memory_order_acquire)) std::this_thread::yield();
                    work(rank, team);
                });
            }
        } catch (const std::system_error&) {  // no more threads to be had: those that run do all the work
        }
        team.size = helpers.size() + 1;
        ready.store(team.size, std::memory_order_release);
        work(0, team);
        for (auto& helper : helpers) helper.join();
    }

    // Returns when all have called it. Waits without sleeping, but lets others run where there are fewer cores.
    void meet() {
        const std::size_t round = rounds.load(std::memory_order_acquire);
        if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
            arrived.store(0, std::memory_order_relaxed);
            rounds.store(round + 1, std::memory_order_release);
            return;
        }
        for (std::size_t spins = 0; rounds.load(std::memory_order_acquire) == round; ++spins) {
            if (spins > 10000) std::this_thread::yield();
#if defined(__x86_64__) || defined(_M_X64)
            __builtin_ia32_pause();
#endif
        }
    }

private:
    std::atomic<std::size_t> arrived{0}, rounds{0};
};

}  // namespace weyl

// Splits a range over threads. Which thread does which block never changes a result.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace weyl {

// Calls work(first, last, workspace) on blocks of [0, count), at least `grain` long, from at most `threads` threads,
// each with a workspace of its own, aligned to 64 bytes. `work` must not throw.
template <class Work>
void parallel_blocks(std::size_t count, std::size_t grain, std::size_t threads, std::size_t workspace_bytes,
                     const Work& work) {
    struct Release {
        void operator()(void* memory) const { ::operator delete(memory, std::align_val_t(64)); }
    };
    if (count == 0) return;
    threads = std::max<std::size_t>(1, std::min(threads, count / std::max<std::size_t>(grain, 1)));
    const std::size_t block = std::max(grain, count / (threads * 8) + 1);  // some slack for uneven threads

    std::vector<std::unique_ptr<void, Release>> workspaces;  // allocated here, where an exception can be reported
    for (std::size_t i = 0; i < threads; ++i) {
        workspaces.emplace_back(::operator new(workspace_bytes, std::align_val_t(64)));
    }
    std::atomic<std::size_t> next{0};
    const auto loop = [&](void* workspace) {
        for (std::size_t first; (first = next.fetch_add(block)) < count;) {
            work(first, std::min(first + block, count), workspace);
        }
    };
    std::vector<std::thread> helpers;
    helpers.reserve(threads - 1);
    try {
        for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(loop, workspaces[i].get());
    } catch (const std::system_error&) {  // no more threads to be had: those that run do all the work
    }
    loop(workspaces[0].get());
    for (auto& helper : helpers) helper.join();
}

}  // namespace weyl

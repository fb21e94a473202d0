// SPDX-License-Identifier: Apache-2.0
// A program that "uses NCCL": it calls the profiler plugin of NCCL_PROFILER_PLUGIN as NCCL does
// (call_order.hpp), with one version of the interface.
//
//   nccl_program VERSION SCENARIO [TRUTH]
//
// With TRUTH, what really happened is appended to that file: a line of JSON for each operation of a
// rank.
#include <sys/wait.h>

#include <random>

#include "call_order.hpp"

namespace nccl_test {
namespace {

constexpr int kRanks = 4;
constexpr uint64_t kWorld = 0xabcdef0123456789;

template <int kVersion>
using RankWork = std::function<void(typename Nccl<kVersion>::Communicator&)>;

/// One thread for each rank, each with its communicator.
template <int kVersion>
void runRanks(Nccl<kVersion>& nccl, int ranks, const RankWork<kVersion>& work,
              uint64_t key = kWorld, bool aborts = false) {
  Job job;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      typename Nccl<kVersion>::Communicator world(nccl, job, key, "world", ranks, rank);
      work(world);
      world.destroy(aborts);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Collectives of every kind and size of channels, messages around a ring, groups.
template <int kVersion>
void work(typename Nccl<kVersion>::Communicator& world) {
  constexpr const char* kFunctions[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                        "Reduce"};
  for (int i = 0; i < 40; ++i) {
    Request request{
        .function = kFunctions[i % 5], .count = size_t{256} << (i % 8), .peer = i % kRanks};
    request.channels = i == 7 ? 64 : 1 + i % 5;
    world.enqueue(request);
  }
  for (int i = 0; i < 10; ++i) {
    world.groupStart();
    world.enqueue(
        {.function = "Send", .count = 512, .peer = (world.rank() + 1) % kRanks, .channels = 2});
    world.enqueue({.function = "Recv",
                   .count = 512,
                   .peer = (world.rank() + kRanks - 1) % kRanks,
                   .channels = 2});
    world.groupEnd();
  }
  world.groupStart();
  for (int i = 0; i < 3; ++i) world.enqueue({.count = 128});
  world.groupEnd();
}

/// Every other one uses symmetric memory.
template <int kVersion>
void workWithSymmetricMemory(typename Nccl<kVersion>::Communicator& world) {
  for (int i = 0; i < 10; ++i) {
    world.enqueue({});
    world.enqueue({.is_symmetric = true});
    world.enqueue({.function = "Broadcast", .is_symmetric = true});
  }
}

/// Rank 2 comes late to each collective.
template <int kVersion>
void workWithStraggler(typename Nccl<kVersion>::Communicator& world) {
  for (int i = 0; i < 30; ++i) {
    if (world.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    world.enqueue({.count = 1 << 16, .kernel_ns = 200'000});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

template <int kVersion>
void runGraphs(Nccl<kVersion>& nccl) {
  if constexpr (kVersion >= 5) {
    runRanks<kVersion>(nccl, kRanks, [](auto& world) {
      world.groupStart();  // while it is captured nothing is launched
      world.enqueue({.count = 4096, .is_captured = true});
      const auto plan = world.takePlan();
      world.endGroupCall();
      for (int i = 0; i < 20; ++i) {
        for (const auto& planned : plan) world.replay(planned.kernel, planned.call);
      }
    });
  }
}

template <int kVersion>
void runCopyEngines(Nccl<kVersion>& nccl) {
  if constexpr (kVersion >= 6) {
    runRanks<kVersion>(nccl, kRanks, [](auto& world) {
      for (uint64_t i = 0; i < 10; ++i) {
        void* call = nullptr;
        typename Nccl<kVersion>::Descriptor d{};
        d.type = bitOf(Event::kCollectiveCall);
        d.collective_call.function = "AllGather";
        d.collective_call.count = 1000;
        d.collective_call.data_type = "ncclFloat16";
        world.start(&call, d);
        world.stop(call);
        void* copies = nullptr;
        typename Nccl<kVersion>::Descriptor c{};
        c.type = bitOf(Event::kCopyCollective);
        c.parent = call;
        c.rank = world.rank();
        c.copy_collective.sequence = i;
        c.copy_collective.function = "AllGather";
        c.copy_collective.count = 1000;
        c.copy_collective.data_type = "ncclFloat16";
        world.start(&copies, c);
        if (copies != nullptr) world.stop(copies);
      }
    });
  }
}

/// Calls in any order, with handles of any kind, from several threads.
template <int kVersion>
void runAtRandom(Nccl<kVersion>& nccl) {
  Job job;
  typename Nccl<kVersion>::Communicator shared(nccl, job, kWorld, "shared", 1, 0);
  std::atomic<void*> last{nullptr};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      std::vector<void*> handles{nullptr};
      const char* const names[] = {"AllReduce", "", nullptr,
                                   "a name that is longer than sixteen bytes"};
      for (int i = 0; i < 20'000; ++i) {
        void* const any = random() % 4 == 0 ? last.load() : handles[random() % handles.size()];
        switch (random() % 4) {
          case 0: {
            typename Nccl<kVersion>::Descriptor d{};
            const uint64_t type = random() % 8 == 0 ? random() : uint64_t{1} << random() % 18;
            d.type = static_cast<decltype(d.type)>(type);
            d.parent = random() % 8 == 0 ? reinterpret_cast<void*>(random()) : any;  // NOLINT
            d.rank = static_cast<int>(random());
            if (type == static_cast<uint64_t>(bitOf(Event::kCollective))) {
              if constexpr (kVersion >= 2) {
                d.collective.function = names[random() % 4];
                d.collective.data_type = names[random() % 4];
                d.collective.algorithm = names[random() % 4];
                d.collective.protocol = names[random() % 4];
              } else {
                d.collective.function = static_cast<uint8_t>(random());
              }
              d.collective.sequence = random();
              d.collective.channels = static_cast<uint8_t>(random());
            }
            void* handle = nullptr;
            shared.start(&handle, d);
            if (handle != nullptr) handles.push_back(handle);
            last = handle;
            break;
          }
          case 1:
            shared.stop(any);
            break;
          case 2: {
            typename Nccl<kVersion>::Arguments arguments{};
            shared.state(any, static_cast<int>(random() % 40),
                         random() % 4 == 0 ? nullptr : &arguments);
            break;
          }
          default:
            shared.stop(random() % 8 == 0 ? reinterpret_cast<void*>(random()) : any);  // NOLINT
        }
        if (handles.size() > 1000) handles.assign(1, nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  shared.destroy();
}

template <int kVersion>
int runScenario(const std::string& scenario, const std::string& truth) {
  typename Nccl<kVersion>::Options options{.truth = truth};
  options.with_proxies = scenario == "proxies" || scenario == "pxn" || scenario == "lost_ends";
  options.lose_step_ends = scenario == "lost_ends";
  options.foreign_pid = scenario == "pxn";
  options.wild_device_times = scenario == "wild";
  options.stuck_channel = scenario == "stuck" ? 0 : -1;
  options.blocked_rank = scenario == "blocked" ? 1 : -1;
  Nccl<kVersion> nccl(options);
  printf("plugin %s\n", nccl.hasPlugin() ? nccl.pluginName() : "none");
  fflush(stdout);
  if (scenario == "many") {  // more communicators than the plugin has room for, one after the other
    for (int i = 0; i < 5000; ++i) {
      Job job;
      typename Nccl<kVersion>::Communicator one(nccl, job, kWorld + static_cast<uint64_t>(i), "one",
                                                1, 0);
      if (i % 500 == 0) one.enqueue({.kernel_ns = 1000});
      one.destroy();
    }
  } else if (scenario == "straggler") {
    runRanks<kVersion>(nccl, kRanks, workWithStraggler<kVersion>);
  } else if (scenario == "symmetric") {
    runRanks<kVersion>(nccl, kRanks, workWithSymmetricMemory<kVersion>);
  } else if (scenario == "graphs") {
    runGraphs(nccl);
  } else if (scenario == "copies") {
    runCopyEngines(nccl);
  } else if (scenario == "random") {
    runAtRandom(nccl);
  } else if (scenario == "abort") {
    const RankWork<kVersion> half = [](auto& world) {
      for (int i = 0; i < 5; ++i) world.enqueue({});
      if (world.rank() != 1) world.enqueue({.function = "Broadcast"});  // rank 1 never comes
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    };
    runRanks<kVersion>(nccl, kRanks, half, kWorld, true);
    runRanks<kVersion>(
        nccl, 2, [](auto& world) { world.enqueue({}); }, kWorld + 1);
  } else if (scenario == "hang" || scenario == "blocked") {  // for ever: somebody has to kill it
    runRanks<kVersion>(nccl, kRanks, [&](auto& world) {
      for (int i = 0; i < 5; ++i) world.enqueue({});
      if (scenario == "blocked" || world.rank() != 1) {
        world.enqueue({.function = scenario == "blocked" ? "Broadcast" : "AllGather"});
      }
      if (world.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        puts("hangs");
        fflush(stdout);
      }
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    });
  } else if (scenario == "fork") {
    runRanks<kVersion>(nccl, 2, [](auto& world) { world.enqueue({}); });
    if (const pid_t child = fork(); child == 0) {
      runRanks<kVersion>(
          nccl, 2, [](auto& world) { world.enqueue({}); }, kWorld + 1);
      _exit(0);
    } else {
      int status = 1;
      waitpid(child, &status, 0);
      if (status != 0) return 1;
    }
  } else {
    runRanks<kVersion>(nccl, kRanks, work<kVersion>);
  }
  return 0;
}

int run(int version, const std::string& scenario, const std::string& truth) {
  switch (version) {
    case 1:
      return runScenario<1>(scenario, truth);
    case 2:
      return runScenario<2>(scenario, truth);
    case 3:
      return runScenario<3>(scenario, truth);
    case 4:
      return runScenario<4>(scenario, truth);
    case 5:
      return runScenario<5>(scenario, truth);
    case 6:
      return runScenario<6>(scenario, truth);
    default:
      return runScenario<7>(scenario, truth);
  }
}

}  // namespace
}  // namespace nccl_test

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: nccl_program VERSION SCENARIO [TRUTH]\n");
    return 2;
  }
  return nccl_test::run(atoi(argv[1]), argv[2], argc > 3 ? argv[3] : "");
}

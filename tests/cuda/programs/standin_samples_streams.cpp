// SPDX-License-Identifier: Apache-2.0
// The stand-ins of the samples about streams, graphs, events and clocks.
#include <random>
#include <thread>
#include <utility>

#include "standin_cuda.hpp"
#include "standin_samples.hpp"

namespace samples {

void streams(int argc, char** argv) {
  const bool many = argc < 2 || std::strcmp(argv[1], "many") == 0;
  const auto number = [&](int nth, unsigned otherwise) {
    return argc > nth ? static_cast<unsigned>(std::atoi(argv[nth])) : otherwise;
  };
  const unsigned kernels = number(2, many ? 4 : 300);
  const uint64_t ns = 1000ull * number(3, many ? 20'000 : 1000);
  // How long the stand-in's kernels run is read when it starts.
  setenv("STANDIN_SCRIPT", extendScript("kernel_ns=" + std::to_string(ns)).c_str(), 1);
  start();
  std::vector<CUstream> all(many ? kernels : 1);
  for (CUstream& s : all) CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  const CUfunction f = function("spin");
  bracket("spin", 1, [&] { launch(f, 1, 1, all.front()); });
  bracket("spin", kernels, [&] {
    for (unsigned i = 0; i < kernels; ++i) launch(f, 1, 1, all[i % all.size()]);
  });
  say("streams", ", \"streams\": " + std::to_string(all.size()) +
                     ", \"most_at_once\": " + std::to_string(all.size()) +
                     ", \"device_busy_ns\": " + std::to_string(kernels * ns) +
                     ", \"device_span_ns\": " + std::to_string(kernels * ns / all.size()));
}

namespace {

/// A chain of kernels.
CUgraphExec makeGraph(unsigned nodes) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode last = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  for (unsigned i = 0; i < nodes; ++i) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = function("addOne");
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = 256;
    node.blockDimY = node.blockDimZ = 1;
    CUgraphNode next = nullptr;
    CHECK(cuGraphAddKernelNode(&next, graph, &last, last != nullptr ? 1 : 0, &node));
    last = next;
  }
#if CUDA_VERSION >= 12000
  CHECK(cuGraphInstantiate(&exec, graph, 0));
#else
  CHECK(cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
#endif
  return exec;
}

}  // namespace

void graphs(unsigned launches, unsigned nodes) {
  start();
  const CUdeviceptr data = allocate(4096);
  fill(data, 4096);
  const CUgraphExec exec = makeGraph(nodes);
  const int64_t begin = nowNs();
  int64_t launched = 0;
  bracket("addOne", uint64_t{launches} * nodes, [&] {
    for (unsigned i = 0; i < launches; ++i) CHECK(cuGraphLaunch(exec, nullptr));
    launched = nowNs();
  });
  const int64_t end = nowNs();
  did[kGraphLaunches] = launches;
  std::swap(did[kGraphKernels], did[kKernels]);
  release(data, 4096);
  say("graphs", member("nodes", nodes) + member("launch_ns", launched - begin) +
                    member("loop_ns", end - begin));
}

void threads(unsigned threads, unsigned seconds) {
  start();
  constexpr unsigned kLaunches = 100;
  const int64_t until = nowNs() + int64_t{seconds} * 1'000'000'000;
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  std::vector<std::vector<std::pair<int64_t, double>>> rounds(threads);
  std::vector<std::thread> running;
  for (auto& mine : rounds) {
    running.emplace_back([&] {
      CHECK(cuCtxSetCurrent(context));
      CUstream stream = nullptr;
      CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      const CUfunction f = function("addOne");
      const CUgraphExec exec = makeGraph(kLaunches);
      while (nowNs() < until) {
        const int64_t begin = nowNs();
        for (unsigned i = 0; i < kLaunches; ++i) launch(f, 1, 64, stream);
        CHECK(cuStreamSynchronize(stream));
        const int64_t end = nowNs();
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
        mine.emplace_back(end, static_cast<double>(end - begin) / kLaunches);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  std::string text;
  for (const auto& mine : rounds) {
    did[kKernels] += mine.size() * kLaunches;
    did[kGraphLaunches] += mine.size();
    did[kGraphKernels] += mine.size() * kLaunches;
    for (const auto& [end, ns] : mine) {
      text += (text.empty() ? "[" : ", [") + std::to_string(end) + ", " + std::to_string(ns) + "]";
    }
  }
  say("threads", ", \"rounds\": [" + text + "]");
}

void events(unsigned rounds) {
  start();
  const CUdeviceptr data = allocate(16384), sums = allocate(16384);
  fill(sums, 16384);
  CUstream producer = nullptr, consumer = nullptr;
  CUevent produced = nullptr, consumed = nullptr;
  for (CUstream* s : {&producer, &consumer}) CHECK(cuStreamCreate(s, CU_STREAM_NON_BLOCKING));
  for (CUevent* e : {&produced, &consumed}) CHECK(cuEventCreate(e, CU_EVENT_DISABLE_TIMING));
  const CUfunction produce = function("produce"), consume = function("consume");
  CHECK(cuCtxSynchronize());
  unsigned records = 0, waits = 0;
  std::string edges;
  const auto record_and_wait = [&](CUevent event, CUstream from, CUstream to) {
    CHECK(cuEventRecord(event, from));
    CHECK(cuStreamWaitEvent(to, event, 0));
    edges += std::string(edges.empty() ? "" : ", ") + "[" + std::to_string(records++) + ", " +
             std::to_string(waits++) + "]";
  };
  bracket("produce", rounds, [&] {
    for (unsigned round = 0; round < rounds; ++round) {
      launch(produce, 16, 256, producer);
      record_and_wait(produced, producer, consumer);
      launch(consume, 16, 256, consumer);
      record_and_wait(consumed, consumer, producer);
    }
  });
  did[kKernels] += rounds;
  for (const CUdeviceptr m : {data, sums}) release(m, 16384);
  say("events", member("rounds", rounds) + member("records", records) + member("waits", waits) +
                    ", \"edges\": [" + edges + "]");
}

/// On the stand-in's device no stream waits for a value; the host waits in its place.
void streamValues(unsigned rounds) {
  start();
  using Write = decltype(&cuStreamWriteValue32);
  const auto write = reinterpret_cast<Write>(optional("stream_values", "cuStreamWriteValue32_v2"));
  const auto wait = reinterpret_cast<Write>(optional("stream_values", "cuStreamWaitValue32_v2"));
  const CUdeviceptr data = allocate(16384), values = allocate(8);
  fill(values, 8);
  CUstream producer = nullptr, consumer = nullptr;
  for (CUstream* s : {&producer, &consumer}) CHECK(cuStreamCreate(s, CU_STREAM_NON_BLOCKING));
  const CUfunction produce = function("stepProduce"), consume = function("stepConsume");
  CHECK(cuCtxSynchronize());
  bracket("stepProduce", rounds, [&] {
    for (unsigned round = 1; round <= rounds; ++round) {
      launch(produce, 16, 256, producer);
      CHECK(write(producer, values, round, CU_STREAM_WRITE_VALUE_DEFAULT));
      CHECK(wait(consumer, values, round, CU_STREAM_WAIT_VALUE_GEQ));
      CHECK(cuCtxSynchronize());
      launch(consume, 16, 256, consumer);
      CHECK(write(consumer, values + 4, round, CU_STREAM_WRITE_VALUE_DEFAULT));
      CHECK(wait(producer, values + 4, round, CU_STREAM_WAIT_VALUE_GEQ));
      CHECK(cuCtxSynchronize());
    }
  });
  did[kKernels] += rounds;
  release(data, 16384);
  release(values, 8);
  say("stream_values", member("rounds", rounds) + member("value_writes", 2 * rounds) +
                           member("value_waits", 2 * rounds));
}

namespace {

constexpr uint64_t kDeviceEpochNs = 1'700'000'000'000'000'000;
constexpr uint64_t kResolutionNs = 32;

/// The device's clock at a time of the host's: another epoch, 20 ppm faster, in steps.
uint64_t deviceClock(uint64_t host_ns) {
  static const uint64_t first = host_ns;
  const uint64_t since = host_ns - first;
  return (kDeviceEpochNs + since + since / 50'000) / kResolutionNs * kResolutionNs;
}

std::string exchangeOnce(CUfunction exchange) {
  launch(exchange, 1, 1);
  ++did[kKernels];
  int64_t before = 0, after = 0, narrowest = INT64_MAX;
  uint64_t device = 0;
  for (int round = 0; round < 200; ++round) {
    const int64_t asked = nowNs();
    const uint64_t time = deviceClock(static_cast<uint64_t>(nowNs()));
    const int64_t seen = nowNs();
    if (seen - asked >= narrowest) continue;
    narrowest = seen - asked;
    before = asked, after = seen, device = time;
  }
  CHECK(cuCtxSynchronize());
  return "[" + std::to_string(before) + ", " + std::to_string(device) + ", " +
         std::to_string(after) + "]";
}

}  // namespace

void clocks(unsigned seconds, unsigned gap_us) {
  constexpr uint64_t kKernelNs = 20'000;
  setenv("STANDIN_SCRIPT", extendScript("kernel_ns=" + std::to_string(kKernelNs)).c_str(), 1);
  start();
  (void)deviceClock(static_cast<uint64_t>(nowNs()));
  const CUdeviceptr out = allocate(16), slot = allocate(16);
  const CUfunction exchange = function("exchange"), stamp = function("stamp");
  bracket("resolution", 1, [&] { launch(function("resolution"), 1, 1); });
  launch(stamp, 1, 1);
  CHECK(cuCtxSynchronize());
  ++did[kKernels];
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  std::mt19937 random(1);
  std::string stamps, exchanges = exchangeOnce(exchange);
  const int64_t run_ns = int64_t{seconds} * 1'000'000'000;
  int64_t exchanged = nowNs();
  for (const int64_t begin = exchanged; nowNs() - begin < run_ns;) {
    usleep(random() % (2 * gap_us));
    const int64_t before = nowNs();
    launch(stamp, 1, 1);
    // When the kernel ends is known by now.
    const uint64_t end = standin::readyNs(context);
    CHECK(cuCtxSynchronize());
    const int64_t after = nowNs();
    ++did[kKernels];
    stamps += std::string(stamps.empty() ? "" : ", ") + "[" + std::to_string(before) + ", " +
              std::to_string(deviceClock(end - kKernelNs)) + ", " +
              std::to_string(deviceClock(end)) + ", " + std::to_string(after) + "]";
    if (nowNs() - exchanged < 500'000'000) continue;
    exchanges += ", " + exchangeOnce(exchange);
    exchanged = nowNs();
  }
  exchanges += ", " + exchangeOnce(exchange);
  for (const CUdeviceptr m : {out, slot}) release(m, 16);
  say("clocks", member("resolution_ns", kResolutionNs) + member("clock_steps", 1000) +
                    ", \"stamps\": [" + stamps + "], \"exchanges\": [" + exchanges + "]");
}

}  // namespace samples

// SPDX-License-Identifier: Apache-2.0
// A program that records itself: a pipeline of two stages connected by a queue.
//   session_demo [TRACE]     (default session_demo.sbt)
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <tracesmith/tracesmith.hpp>
#include <vector>

namespace {

constexpr int kBatches = 200;
constexpr size_t kBatchSize = 20'000;

/// Batches on their way from the loader to the workers; an empty one ends a worker.
class Queue {
 public:
  void put(std::vector<float> batch) {
    const std::lock_guard lock(mutex_);
    batches_.push_back(std::move(batch));
    ready_.notify_one();
  }
  std::vector<float> take() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !batches_.empty(); });
    std::vector<float> batch = std::move(batches_.front());
    batches_.pop_front();
    return batch;
  }
  size_t size() {
    const std::lock_guard lock(mutex_);
    return batches_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::vector<float>> batches_;
};

}  // namespace

int main(int argc, char** argv) {
  using tracesmith::TracingSession;
  const std::string path = argc > 1 ? argv[1] : "session_demo.sbt";
  TracingSession session;
  if (auto started = session.start({.output_file = path}); !started) {
    std::fprintf(stderr, "%s\n", started.error().toString().c_str());
    return 1;
  }
  // Names are interned once; after that a span costs two time stamps and a few stores.
  const auto load = session.spanName("load batch");
  const auto wait = session.spanName("wait for batch");
  const auto compute = session.spanName("compute");
  const auto epoch = session.spanName("half of the batches loaded");
  const auto depth = session.counterTrack("queue depth", "batches");

  Queue queue;
  std::vector<double> sums(2, 0);
  std::vector<std::thread> workers;
  for (double& sum : sums) {
    workers.emplace_back([&] {
      for (;;) {
        std::vector<float> batch;
        {
          const TracingSession::Span span(session, wait);
          batch = queue.take();
        }
        if (batch.empty()) return;
        const TracingSession::Span span(session, compute);
        for (float v : batch) sum += std::sqrt(static_cast<double>(v));
      }
    });
  }
  for (int i = 0; i < kBatches; ++i) {
    {
      const TracingSession::Span span(session, load);
      queue.put(std::vector<float>(kBatchSize, static_cast<float>(i)));
    }
    session.counter(depth, static_cast<double>(queue.size()));
    if (i == kBatches / 2) session.marker(epoch);
  }
  for (size_t i = 0; i < workers.size(); ++i) queue.put({});
  for (std::thread& worker : workers) worker.join();

  if (auto stopped = session.stop(); !stopped) {
    std::fprintf(stderr, "%s\n", stopped.error().toString().c_str());
    return 1;
  }
  const auto statistics = session.getStatistics();
  std::printf("sum %.0f; %llu events and %llu counter values in %s, %llu dropped\n",
              sums[0] + sums[1], static_cast<unsigned long long>(statistics.events_emitted),
              static_cast<unsigned long long>(statistics.counters_emitted), path.c_str(),
              static_cast<unsigned long long>(statistics.events_dropped));
  return 0;
}

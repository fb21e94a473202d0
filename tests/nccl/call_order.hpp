// SPDX-License-Identifier: Apache-2.0
// Calls a profiler plugin in the order in which NCCL does, for each version of its interface
// (src/plugin/profiler.cc, src/enqueue.cc, src/group.cc, src/transport/net.cc and profiler.cc of
// NCCL 2.30): the program's thread calls the API and enqueues, a thread of each communicator
// notices what kernels have done and sends, and a thread for each device runs the kernels in their
// order. All ranks of a job are threads of one process. A kernel ends when all ranks have come to
// it.
#pragma once

#include <dlfcn.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tracesmith/capture/agents/nccl/descriptor_conversion.hpp"
#include "tracesmith/capture/agents/nccl/profiler_api.hpp"

namespace nccl_test {

using namespace tracesmith::agent::nccl;  // NOLINT: the layouts

inline int64_t nowNs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// A GPU's timer: it runs at another rate, from another start.
struct DeviceTimer {
  int64_t offset = 1'700'000'000'000'000'000;
  double rate = 1.00002;
  int64_t origin = nowNs();

  uint64_t at(int64_t host_ns) const {
    return static_cast<uint64_t>(
        offset + static_cast<int64_t>(static_cast<double>(host_ns - origin) * rate));
  }
};

/// Loads a plugin as openPluginLib() of NCCL does.
inline void* openPlugin(const char* name) {
  if (name == nullptr || *name == 0) return dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
  if (strcasecmp(name, "none") == 0) return nullptr;
  if (void* const found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
  return dlopen(("libnccl-profiler-" + std::string(name) + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// What a call asks for.
struct Request {
  const char* function = "AllReduce";
  size_t count = 1024;
  int peer = 0;  // root, or the other rank of a message
  int channels = 4;
  int64_t kernel_ns = 100'000;  // on the device, after the last rank has come
  bool is_captured = false;
  bool is_symmetric = false;  // symmetric memory: NCCL reports the call only
  bool is_message() const { return strcmp(function, "Send") == 0 || strcmp(function, "Recv") == 0; }
};

/// The moment at which all ranks are in a collective.
class Meeting {
 public:
  explicit Meeting(int ranks) : missing_(ranks) {}
  /// Waits for the others, if it `waits`; false: `stop` was set meanwhile.
  bool arrive(bool waits, const std::atomic<bool>& stop) {
    std::unique_lock lock(mutex_);
    if (--missing_ <= 0 || !waits) at_ = nowNs();
    if (missing_ <= 0) all_.notify_all();
    if (!waits) return true;
    while (missing_ > 0 && !stop) all_.wait_for(lock, std::chrono::milliseconds(1));
    return missing_ <= 0;
  }
  int64_t at() const {
    const std::lock_guard lock(mutex_);
    return at_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable all_;
  int missing_;
  int64_t at_ = 0;
};

/// The job: meetings by communicator, function and number.
class Job {
 public:
  std::shared_ptr<Meeting> meeting(const std::string& key, int ranks) {
    const std::lock_guard lock(mutex_);
    auto& meeting = meetings_[key];
    if (meeting == nullptr) meeting = std::make_shared<Meeting>(ranks);
    return meeting;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Meeting>> meetings_;
};

/// A kernel of a plan, and what its proxies know of it.
struct Kernel {
  Request request;
  std::shared_ptr<Meeting> meeting;  // null: nobody else takes part
  void* task = nullptr;              // the plugin's handle of the collective or message
  int mask = 0;
  int64_t start_ns = 0, end_ns = 0;  // true times, written by the device
  std::atomic<int> started{0};       // channels
  std::atomic<int> ended{0};
  std::atomic<bool> is_posted{false};
  uint64_t sequence = 0;
  int64_t call_ns = 0;
};

/// NCCL, with version kVersion of the interface.
template <int kVersion>
class Nccl {
 public:
  using Descriptor = typename Api<kVersion>::Descriptor;
  using Arguments = typename Api<kVersion>::Arguments;
  using Symbol = typename Api<kVersion>::Symbol;

  struct Options {
    bool with_proxies = false;  // as if ranks were on several hosts
    bool lose_step_ends = false;
    bool foreign_pid = false;        // proxies for another process (PXN)
    bool wild_device_times = false;  // one of ten is of other work
    int64_t blocked_rank = -1;       // it never ends the launch of a Broadcast, as if it connected
    int stuck_channel = -1;          // never ends, of the last kernel
    std::string truth;               // file for what really happened
  };

  explicit Nccl(Options options) : options_(std::move(options)) {
    library_ = openPlugin(getenv("NCCL_PROFILER_PLUGIN"));
    if (library_ != nullptr) {
      const std::string symbol = "ncclProfiler_v" + std::to_string(kVersion);
      plugin_ = static_cast<const Symbol*>(dlsym(library_, symbol.c_str()));
    }
    if (!options_.truth.empty()) truth_ = fopen(options_.truth.c_str(), "a");
  }
  ~Nccl() {
    if (library_ != nullptr) dlclose(library_);  // as NCCL does after the last communicator
    if (truth_ != nullptr) fclose(truth_);
  }
  bool hasPlugin() const { return plugin_ != nullptr; }
  const char* pluginName() const { return plugin_->name; }
  int mask() const { return __atomic_load_n(&mask_, __ATOMIC_RELAXED); }

  class Communicator {
   public:
    Communicator(Nccl& nccl, Job& job, uint64_t key, std::string name, int ranks, int rank)
        : nccl_(nccl), job_(job), key_(key), name_(std::move(name)), ranks_(ranks), rank_(rank) {
      if (nccl_.plugin_ != nullptr) {
        if constexpr (kVersion <= 3) {
          nccl_.plugin_->init(&context_, &nccl_.mask_);
        } else if constexpr (kVersion == 4) {
          nccl_.plugin_->init(&context_, &nccl_.mask_, name_.c_str(), key_, 2, ranks_, rank_,
                              nullptr);
        } else {
          nccl_.plugin_->init(&context_, key_, &nccl_.mask_, name_.c_str(), 2, ranks_, rank_,
                              nullptr);
        }
      }
      device_ = std::thread([this] { runDevice(); });
      proxy_ = std::thread([this] { runProxy(); });
    }
    /// Waits for the kernels, unless they are aborted.
    void destroy(bool aborts = false) {
      {
        const std::lock_guard lock(mutex_);
        stop_ = aborts;
        no_more_ = true;
      }
      more_.notify_all();
      device_.join();
      proxy_.join();
      if (nccl_.plugin_ != nullptr) nccl_.plugin_->finalize(context_);
    }

    /// ncclAllReduce() and so on, each in its own group or, between them, in one.
    void groupStart() { ++depth_; }
    void enqueue(const Request& request) {
      const int mask = nccl_.mask();
      startGroupCall(mask);
      auto kernel = std::make_shared<Kernel>();
      kernel->request = request;
      kernel->mask = mask;
      kernel->call_ns = nowNs();
      void* call = nullptr;
      if constexpr (kVersion >= 5) {
        Descriptor d{};
        d.parent = group_call_;
        if (request.is_message()) {
          d.type = bitOf(Event::kMessageCall);
          d.message_call.function = request.function;
          d.message_call.count = request.count;
          d.message_call.data_type = "ncclFloat32";
          d.message_call.stream = this;
          d.message_call.is_captured = request.is_captured;
        } else {
          d.type = bitOf(Event::kCollectiveCall);
          d.collective_call.function = request.function;
          d.collective_call.count = request.count;
          d.collective_call.data_type = "ncclFloat32";
          d.collective_call.root = request.peer;
          d.collective_call.stream = this;
          d.collective_call.is_captured = request.is_captured;
        }
        if ((mask & kOfCalls) != 0) start(&call, d);
        if (call != nullptr) stop(call);
      }
      if (!request.is_symmetric) planned_.push_back({kernel, call});
      if (depth_ == 0) launch();
    }
    void groupEnd() {
      if (--depth_ > 0) return;
      if constexpr (kVersion >= 5) {
        if (group_call_ != nullptr) state(group_call_, 24, nullptr);
      }
      launch();
    }
    /// A graph that was captured runs once more.
    void replay(const std::shared_ptr<Kernel>& captured, void* call) {
      auto kernel = std::make_shared<Kernel>();
      kernel->request = captured->request;
      kernel->mask = nccl_.mask();
      kernel->call_ns = nowNs();
      planned_.push_back({kernel, call});
      launch();
    }
    struct Planned {
      std::shared_ptr<Kernel> kernel;
      void* call = nullptr;
    };
    std::vector<Planned> takePlan() { return std::exchange(planned_, {}); }
    void endGroupCall() {
      if (group_call_ != nullptr) stop(group_call_);
      group_call_ = nullptr;
    }
    int rank() const { return rank_; }
    void* context() { return context_; }
    void start(void** handle, Descriptor d) { start(handle, d, context_); }
    void start(void** handle, Descriptor d, void* context) {
      if (nccl_.plugin_ != nullptr) nccl_.plugin_->start(context, handle, &d);
    }
    /// The context that NCCL passes when a thread sends for another process. The plugin in that
    /// process has made it: it may be an address there, or a number.
    void* proxyContext() const {
      if (!options().foreign_pid) return context_;
      const uintptr_t foreign = rank_ % 2 == 0 ? 0xdeadbeef0 : 1;
      return reinterpret_cast<void*>(foreign);  // NOLINT(performance-no-int-to-ptr)
    }
    void stop(void* handle) {
      if (nccl_.plugin_ != nullptr) nccl_.plugin_->stop(handle);
    }
    void state(void* handle, int state, Arguments* arguments) {
      if (nccl_.plugin_ != nullptr) nccl_.plugin_->state(handle, state, arguments);
    }

   private:
    static constexpr int kOfTasks = bitOf(Event::kCollective) | bitOf(Event::kMessage) |
                                    bitOf(Event::kProxyOperation) | bitOf(Event::kProxyStep) |
                                    bitOf(Event::kKernelChannel) | bitOf(Event::kNetwork);
    static constexpr int kOfCalls =
        kOfTasks | bitOf(Event::kCollectiveCall) | bitOf(Event::kMessageCall);

    void startGroupCall(int mask) {
      if constexpr (kVersion >= 5) {
        if (group_call_ != nullptr || (mask & (kOfCalls | bitOf(Event::kGroupCall))) == 0) return;
        Descriptor d{};
        d.type = bitOf(Event::kGroupCall);
        d.group_call.depth = depth_ + 1;
        start(&group_call_, d);
        if (group_call_ != nullptr) state(group_call_, 23, nullptr);
      }
    }

    /// A plan: its kernel is launched, then its events are reported, then its proxies are posted.
    void launch() {
      const std::vector<Planned> plan = takePlan();
      while (blocks(plan)) std::this_thread::sleep_for(std::chrono::seconds(1));
      for (const Planned& planned : plan) post(planned.kernel);
      void* group = nullptr;
      if (!plan.empty() && (plan[0].kernel->mask & (kOfTasks | bitOf(Event::kGroup))) != 0) {
        Descriptor d{};
        d.type = static_cast<decltype(d.type)>(bitOf(Event::kGroup));
        start(&group, d);
      }
      for (const Planned& planned : plan) startTask(*planned.kernel, group, planned.call);
      for (const Planned& planned : plan) {
        planned.kernel->is_posted = true;
        if (planned.kernel->task != nullptr) stop(planned.kernel->task);
      }
      if (group != nullptr) stop(group);
      endGroupCall();
    }

    bool blocks(const std::vector<Planned>& plan) const {
      return options().blocked_rank == rank_ && !plan.empty() &&
             strcmp(plan[0].kernel->request.function, "Broadcast") == 0;
    }

    void post(const std::shared_ptr<Kernel>& kernel) {
      const Request& r = kernel->request;
      std::string key = std::to_string(key_) + r.function;
      if (r.is_message()) {
        const bool sends = strcmp(r.function, "Send") == 0;
        const int from = sends ? rank_ : r.peer, to = sends ? r.peer : rank_;
        key = std::to_string(key_) + "message" + std::to_string(from) + ">" + std::to_string(to);
        kernel->sequence = messages_[key]++;
      } else {
        kernel->sequence = sequences_[r.function]++;
      }
      const int members = r.is_message() ? 2 : ranks_;
      kernel->meeting = job_.meeting(key + "#" + std::to_string(kernel->sequence), members);
      {
        const std::lock_guard lock(mutex_);
        kernels_.push_back(kernel);
        watched_.push_back(kernel);
      }
      more_.notify_all();
    }

    void startTask(Kernel& kernel, void* group, void* call) {
      if ((kernel.mask & kOfTasks) == 0) return;
      const Request& r = kernel.request;
      Descriptor d{};
      d.parent = kVersion >= 5 ? call : group;
      d.rank = rank_;
      const auto fill = [&](auto& part) {
        if constexpr (std::is_same_v<decltype(part.function), uint8_t>) {
          part.function = numberOf(kFunctionNames, r.function, 0);
          part.data_type = numberOf(kDataTypeNames, "ncclFloat32", 0);
        } else {
          part.function = r.function;
          part.data_type = "ncclFloat32";
        }
        part.count = r.count;
        if constexpr (requires { part.channels; }) part.channels = static_cast<uint8_t>(r.channels);
        if constexpr (requires { part.group; }) part.group = group;
        if constexpr (requires { part.communicator_hash; }) {
          part.communicator_hash = key_;
          part.communicator_name = name_.c_str();
        }
      };
      if (r.is_message()) {
        d.type = static_cast<decltype(d.type)>(bitOf(Event::kMessage));
        fill(d.message);
        d.message.buffer = this;
        d.message.peer = r.peer;
      } else {
        d.type = static_cast<decltype(d.type)>(bitOf(Event::kCollective));
        fill(d.collective);
        d.collective.sequence = kernel.sequence;
        d.collective.send_buffer = this;
        d.collective.receive_buffer = &d;
        d.collective.root = r.peer;
        d.collective.warps = 16;
        if constexpr (std::is_same_v<decltype(d.collective.algorithm), uint8_t>) {
          d.collective.algorithm = numberOf(kAlgorithmNames, "RING", 0);
          d.collective.protocol = numberOf(kProtocolNames, "LL128", 0);
        } else {
          d.collective.algorithm = "RING";
          d.collective.protocol = "LL128";
        }
      }
      start(&kernel.task, d);
    }

    /// Kernels run one after the other, each until all ranks have come.
    void runDevice() {
      for (;;) {
        std::shared_ptr<Kernel> kernel;
        {
          std::unique_lock lock(mutex_);
          more_.wait(lock, [&] { return stop_ || no_more_ || !kernels_.empty(); });
          if (stop_ || kernels_.empty()) return;
          kernel = kernels_.front();
          kernels_.pop_front();
        }
        kernel->start_ns = nowNs();
        kernel->started = kernel->request.channels;
        const bool sends = strcmp(kernel->request.function, "Send") == 0;  // into a buffer
        if (!kernel->meeting->arrive(!sends, stop_)) return;
        const int64_t until = kernel->meeting->at() + kernel->request.kernel_ns;
        while (nowNs() < until && !stop_) std::this_thread::yield();
        kernel->end_ns = nowNs();
        const bool is_stuck = options().stuck_channel >= 0 && isLast();
        kernel->ended = kernel->request.channels - (is_stuck ? 1 : 0);
        tellTruth(*kernel);
        if (is_stuck) return;
      }
    }
    bool isLast() {
      const std::lock_guard lock(mutex_);
      return no_more_ && kernels_.empty();
    }

    /// What NCCL's thread knows of a kernel that it watches.
    struct Watched {
      std::shared_ptr<Kernel> kernel;
      std::vector<void*> channels;
      int started = 0;
      int ended = 0;
      bool has_sent = false;
    };

    void runProxy() {
      std::vector<Watched> watched;
      for (;;) {
        bool is_end = false;
        {
          const std::lock_guard lock(mutex_);
          while (!watched_.empty() && watched_.front()->is_posted) {
            watched.push_back({watched_.front(), {}, 0, 0, false});
            watched_.pop_front();
          }
          is_end = stop_ || (no_more_ && watched_.empty() && watched.empty());
        }
        if (is_end) return;
        for (Watched& w : watched) progress(w);
        std::erase_if(watched,
                      [](const Watched& w) { return w.ended == w.kernel->request.channels; });
        // A kernel that never ends: NCCL's thread would look for ever.
        if (options().stuck_channel >= 0 && watched.size() == 1 && isLast() &&
            watched[0].kernel->end_ns != 0 &&
            watched[0].ended == watched[0].kernel->request.channels - 1) {
          return;
        }
        std::this_thread::yield();
      }
    }

    void progress(Watched& w) {
      Kernel& kernel = *w.kernel;
      if constexpr (kVersion >= 3) {
        if ((kernel.mask & bitOf(Event::kKernelChannel)) != 0) {
          while (w.started < kernel.started) startChannel(w);
          if (options().with_proxies && !w.has_sent && w.started > 0) sendAndReceive(w);
          while (w.ended < kernel.ended && w.ended < w.started) endChannel(w);
          return;
        }
      }
      if (options().with_proxies && !w.has_sent && kernel.started > 0) sendAndReceive(w);
      w.ended = kernel.ended;
    }

    uint64_t deviceTime(int64_t host_ns) const {
      const bool is_wild = options().wild_device_times && (++times_ % 10) == 0;
      return nccl_.timer.at(host_ns) - (is_wild ? 7'000'000'000u : 0u);
    }

    void startChannel(Watched& w) {
      if constexpr (kVersion >= 3) {
        Descriptor d{};
        d.type = static_cast<decltype(d.type)>(bitOf(Event::kKernelChannel));
        d.parent = w.kernel->task;
        d.kernel_channel.channel = static_cast<uint8_t>(w.started);
        if constexpr (requires { d.kernel_channel.device_time; }) {
          d.kernel_channel.device_time = deviceTime(w.kernel->start_ns);
        }
        void* handle = nullptr;
        start(&handle, d);
        w.channels.push_back(handle);
      }
      ++w.started;
    }
    void endChannel(Watched& w) {
      void* const handle = w.channels[static_cast<size_t>(w.ended)];
      if (handle != nullptr) {
        if constexpr (kVersion >= 4) {
          Arguments arguments{};
          arguments.kernel_channel.device_time = deviceTime(w.kernel->end_ns);
          state(handle, kStateKernelChannelStop, &arguments);
        }
        stop(handle);
      }
      ++w.ended;
    }

    /// A proxy for each direction: as src/transport/net.cc reports it.
    void sendAndReceive(Watched& w) {
      w.has_sent = true;
      const int mask = w.kernel->mask;
      if ((mask & (bitOf(Event::kProxyOperation) | bitOf(Event::kProxyStep))) == 0) return;
      for (const bool is_send : {true, false}) {
        Descriptor d{};
        d.type = static_cast<decltype(d.type)>(bitOf(Event::kProxyOperation));
        d.rank = rank_;
        d.parent = w.kernel->task;
        d.proxy_operation = {getpid(), 1, (rank_ + 1) % ranks_, 3, 4096, is_send ? 1 : 0};
        if (options().foreign_pid) d.proxy_operation.pid = 1;
        void* operation = nullptr;
        start(&operation, d, proxyContext());
        if constexpr (kVersion >= 4) {
          Arguments none{};
          if (operation != nullptr) state(operation, 19, &none);
        }
        for (int step = 0; step < 3; ++step) oneStep(operation, is_send, step);
        if (operation != nullptr) stop(operation);
      }
    }
    void oneStep(void* operation, bool is_send, int number) {
      Descriptor d{};
      d.type = static_cast<decltype(d.type)>(bitOf(Event::kProxyStep));
      d.rank = rank_;
      d.parent = operation;
      d.proxy_step.step = number;
      void* step = nullptr;
      start(&step, d, proxyContext());
      if (step == nullptr) return;
      const std::vector<int> states = !is_send        ? std::vector{10, 11, 12}
                                      : kVersion >= 4 ? std::vector{8, 20, 9}
                                                      : std::vector{8, 9};
      for (const int each : states) {
        Arguments arguments{};
        if constexpr (kVersion >= 4)
          arguments.proxy_step.bytes = each == 9 || each >= 11 ? 4096 : 0;
        state(step, each, &arguments);
        const int64_t until = nowNs() + 20'000;
        while (nowNs() < until) std::this_thread::yield();
      }
      if (!options().lose_step_ends) stop(step);
    }

    const Options& options() const { return nccl_.options_; }
    void tellTruth(const Kernel& k) {
      if (nccl_.truth_ == nullptr) return;
      const std::lock_guard lock(nccl_.truth_mutex_);
      fprintf(
          nccl_.truth_,
          "{\"key\": %llu, \"rank\": %d, \"function\": \"%s\", \"sequence\": %llu, \"count\": %zu, "
          "\"peer\": %d, \"channels\": %d, \"call_ns\": %lld, \"start_ns\": %lld, \"end_ns\": "
          "%lld}\n",
          static_cast<unsigned long long>(key_), rank_, k.request.function,
          static_cast<unsigned long long>(k.sequence), k.request.count, k.request.peer,
          k.request.channels, static_cast<long long>(k.call_ns), static_cast<long long>(k.start_ns),
          static_cast<long long>(k.end_ns));
      fflush(nccl_.truth_);
    }

    Nccl& nccl_;
    Job& job_;
    uint64_t key_;
    std::string name_;
    int ranks_, rank_;
    void* context_ = nullptr;
    int depth_ = 0;
    void* group_call_ = nullptr;
    std::vector<Planned> planned_;
    std::map<std::string, uint64_t> sequences_, messages_;
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<std::shared_ptr<Kernel>> kernels_, watched_;
    std::atomic<bool> stop_{false};
    bool no_more_ = false;
    mutable std::atomic<unsigned> times_{0};
    std::thread device_, proxy_;
  };

  DeviceTimer timer;

 private:
  Options options_;
  void* library_ = nullptr;
  const Symbol* plugin_ = nullptr;
  int mask_ = 0;  // one for all communicators, as in NCCL
  FILE* truth_ = nullptr;
  std::mutex truth_mutex_;
};

}  // namespace nccl_test

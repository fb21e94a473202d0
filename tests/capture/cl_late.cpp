// SPDX-License-Identifier: Apache-2.0
// Launches kernels late, each time for one reason, and says how long each reason took.
// Usage: cl_late TIMES REASON...   prints "REASON ns" for each
//   compute  computes (in prepareInput)
//   lock     waits for a mutex that another thread has
//   sleep    sleeps
//   read     reads random bytes, which the kernel computes
//   fault    touches memory that is not there yet
//   stop     gets SIGSTOP, and goes on when another process says so
//   hog      computes on a processor on which another process does, too
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cl_program.hpp"

namespace {

int64_t nowNs(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

volatile uint64_t g_sink = 0;

void sleepFor(int64_t ns) {
  const timespec length{.tv_sec = 0, .tv_nsec = ns};
  nanosleep(&length, nullptr);
}

/// Its own processor time counts, so that others do not make it shorter.
[[gnu::noinline]] void prepareInput(int64_t ns) {
  const int64_t end = nowNs(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (nowNs(CLOCK_THREAD_CPUTIME_ID) < end) {
    for (int i = 0; i < 20'000; ++i) g_sink = g_sink * 3 + 1;
  }
}

/// Another thread takes the mutex for a while, whenever it is asked.
class Holder {
 public:
  Holder() : thread_([this] { run(); }) {}
  ~Holder() {
    ask('e');
    thread_.join();
  }
  [[gnu::noinline]] void waitForLock() {
    ask('h');
    {  // until it has the mutex
      std::unique_lock lock(state_mutex_);
      changed_.wait(lock, [this] { return state_ == 'H'; });
    }
    const std::lock_guard lock(mutex_);
  }

 private:
  void ask(char what) {
    const std::lock_guard lock(state_mutex_);
    state_ = what;
    changed_.notify_all();
  }
  [[gnu::noinline]] void holdLock() {
    const std::lock_guard lock(mutex_);
    ask('H');
    sleepFor(7'000'000);
  }
  void run() {
    for (;;) {
      {
        std::unique_lock lock(state_mutex_);
        changed_.wait(lock, [this] { return state_ == 'h' || state_ == 'e'; });
        if (state_ == 'e') return;
      }
      holdLock();
    }
  }

  std::mutex mutex_, state_mutex_;
  std::condition_variable changed_;
  char state_ = ' ';
  std::thread thread_;
};

void readBytes() {
  static std::vector<char> bytes(1 << 20);
  static const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < 2; ++i) {
    if (read(file, bytes.data(), bytes.size()) < 0) exit(96);
  }
}

[[gnu::noinline]] void touchMemory() {
  constexpr size_t kBytes = 16 << 20;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(97);
  madvise(memory, kBytes, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < kBytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
  munmap(memory, kBytes);
}

/// Another process that stops this one for 8 ms whenever it reads a byte.
class Stopper {
 public:
  Stopper() {
    if (pipe(ask_) != 0) exit(98);
    void* const shared =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) exit(97);
    stops_ = static_cast<std::atomic<int>*>(shared);
    const pid_t of_all = getpid();
    pid_ = fork();
    if (pid_ != 0) {
      close(ask_[0]);
      return;
    }
    close(ask_[1]);
    char byte = 0;
    while (read(ask_[0], &byte, 1) == 1) {
      kill(of_all, SIGSTOP);
      sleepFor(8'000'000);
      stops_->fetch_add(1);
      kill(of_all, SIGCONT);
    }
    _exit(0);
  }
  ~Stopper() {
    close(ask_[1]);
    waitpid(pid_, nullptr, 0);
  }
  void stop() {
    const int before = stops_->load();
    if (write(ask_[1], "s", 1) != 1) exit(99);
    while (stops_->load() == before) sched_yield();
  }

 private:
  int ask_[2]{};
  pid_t pid_ = 0;
  std::atomic<int>* stops_ = nullptr;  // so far
};

/// Another process that computes on processor 0 until the end. This thread runs there as well.
class Hog {
 public:
  Hog() : pid_(fork()) {
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    cpu_set_t first;
    CPU_ZERO(&first);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &first);
    }
    sched_setaffinity(0, sizeof first, &first);
    if (pid_ != 0) return;
    for (;;) g_sink = g_sink * 5 + 1;
  }
  ~Hog() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 95;
  const int times = std::atoi(argv[1]);
  const ClProgram cl("__kernel void one(void) {}");
  const cl_command_queue queue = cl.queue();
  const cl_kernel kernel = cl.kernel("one");
  const size_t items = 1;
  const auto launch = [&] {
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");
  };
  Stopper stopper;
  Holder holder;
  launch();
  for (int k = 2; k < argc; ++k) {
    const std::string reason = argv[k];
    const auto hog = reason == "hog" ? std::make_unique<Hog>() : nullptr;
    int64_t spent = 0;
    for (int i = 0; i < times; ++i) {
      const int64_t begin = nowNs();
      if (reason == "compute" || reason == "hog") prepareInput(5'000'000);
      if (reason == "lock") holder.waitForLock();
      if (reason == "sleep") sleepFor(6'000'000);
      if (reason == "read") readBytes();
      if (reason == "fault") touchMemory();
      if (reason == "stop") stopper.stop();
      spent += nowNs() - begin;
      launch();
    }
    printf("%s %lld\n", reason.c_str(), static_cast<long long>(spent));
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A program with NVTX and nothing of CUDA. Usage: nvtx_program MODE [NUMBER [NUMBER]]; each mode
// prints what it did as JSON, and ends with 1 when NVTX answered it wrongly.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

unsigned ranges = 0;
unsigned marks = 0;

/// With a tool, answers are what NVTX documents; without one they are all 0, or -2.
bool hasTool() { return std::getenv("TRACESMITH_SESSION") != nullptr; }

void expect(bool right, const char* what) {
  if (right || !hasTool()) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

nvtxEventAttributes_t named(const char* text) {
  nvtxEventAttributes_t made{};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  made.messageType = NVTX_MESSAGE_TYPE_ASCII;
  made.message.ascii = text;
  return made;
}

void say() {
  std::printf("{\"pid\": %d, \"ranges\": %u, \"marks\": %u}\n", static_cast<int>(getpid()), ranges,
              marks);
  std::fflush(stdout);
}

// Levels count in each domain and thread alone; ids and handles are what they should be.
void answers() {
  std::vector<nvtxDomainHandle_t> domains = {nullptr};
  for (int i = 0; i < 40; ++i) {
    domains.push_back(nvtxDomainCreateA(("domain " + std::to_string(i)).c_str()));
    expect(domains.back() != nullptr, "a domain's handle is null");
  }
  expect(nvtxDomainCreateW(L"domain 7") == domains[8], "a name has two domains");
  const auto levels = [&] {
    for (const nvtxDomainHandle_t domain : domains) {
      for (int level = 0; level < 3; ++level) {
        const nvtxEventAttributes_t a = named("level");
        expect(nvtxDomainRangePushEx(domain, &a) == level, "level of a push");
      }
    }
    for (const nvtxDomainHandle_t domain : domains) {
      for (int level = 2; level >= 0; --level) {
        expect(nvtxDomainRangePop(domain) == level, "level of a pop");
      }
    }
  };
  levels();
  std::thread(levels).join();
  ranges += 2 * 3 * static_cast<unsigned>(domains.size());
  expect(nvtxRangePop() < 0, "a pop without a push");
  expect(nvtxDomainRangePop(domains[30]) < 0, "a pop without a push in a domain");
  std::set<nvtxRangeId_t> ids;
  std::atomic_flag adding = ATOMIC_FLAG_INIT;
  const auto start = [&] {
    for (int i = 0; i < 1000; ++i) {
      const nvtxRangeId_t id = nvtxRangeStartA("some range");
      while (adding.test_and_set()) {
      }
      expect(id != 0 && ids.insert(id).second, "the id of a range");
      adding.clear();
      nvtxRangeEnd(id);
      ++ranges;
    }
  };
  start();
  std::thread(start).join();
  nvtxRangeEnd(0);  // no range
  expect(nvtxDomainRegisterStringA(nullptr, "text") != nullptr, "a string's handle is null");
  nvtxDomainDestroy(domains[3]);
}

void types() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateW(L"types");
  nvtxDomainNameCategoryA(domain, 3, "third");
  nvtxNameCategoryW(4, L"fourth");
  nvtxEventAttributes_t a = named("uint64");
  a.category = 3;
  a.colorType = NVTX_COLOR_ARGB;
  a.color = 0x80102030;
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  a.payload.ullValue = UINT64_MAX;
  nvtxDomainMarkEx(domain, &a);
  const auto mark = [&](const char* name, int32_t type) {
    a = named(name);
    a.payloadType = type;
    return &a.payload;
  };
  mark("int64", NVTX_PAYLOAD_TYPE_INT64)->llValue = INT64_MIN;
  nvtxDomainMarkEx(domain, &a);
  mark("double", NVTX_PAYLOAD_TYPE_DOUBLE)->dValue = 0.1;
  nvtxDomainMarkEx(domain, &a);
  mark("uint32", NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)->uiValue = UINT32_MAX;
  nvtxDomainMarkEx(domain, &a);
  mark("int32", NVTX_PAYLOAD_TYPE_INT32)->iValue = -5;
  nvtxDomainMarkEx(domain, &a);
  mark("float", NVTX_PAYLOAD_TYPE_FLOAT)->fValue = 0.1f;
  nvtxDomainMarkEx(domain, &a);
  mark("extended", NVTX_PAYLOAD_TYPE_EXT)->ullValue = 0;
  nvtxDomainMarkEx(domain, &a);
  a = named("");
  a.category = 4;
  a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  a.message.unicode = L"größer \u20ac \U0001f600";
  nvtxMarkEx(&a);
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = nvtxDomainRegisterStringW(domain, L"registered \u20ac");
  nvtxDomainMarkEx(domain, &a);
  a.messageType = NVTX_MESSAGE_UNKNOWN;
  nvtxMarkEx(&a);
  nvtxMarkEx(nullptr);
  nvtxMarkA(nullptr);
  nvtxMarkW(L"wide");
  nvtxMarkW(L"wide");
  marks += 14;
}

// One place whose text changes with each range.
void inPlace(unsigned count) {
  char text[32];
  for (unsigned i = 0; i < count; ++i) {
    std::snprintf(text, sizeof text, "iteration %u", i);
    nvtxRangePushA(text);
    nvtxRangePop();
    ++ranges;
  }
}

void threads(unsigned count, unsigned each) {
  std::vector<std::thread> all;
  for (unsigned i = 0; i < count; ++i) {
    all.emplace_back([i, each] {
      const std::string own = "thread " + std::to_string(i);
      nvtxNameOsThreadA(static_cast<uint32_t>(gettid()), own.c_str());
      for (unsigned n = 0; n < each; ++n) {
        nvtxRangePushA(own.c_str());
        nvtxRangePushA(n % 2 == 0 ? "even" : "odd");
        nvtxRangePop();
        nvtxRangePop();
      }
    });
  }
  for (std::thread& t : all) t.join();
  ranges += 2 * count * each;
}

void some(const char* text, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    nvtxRangePushA(text);
    nvtxRangePop();
    ++ranges;
  }
}

void open() {
  nvtxRangePushA("never popped");
  some("closed", 5);
  (void)nvtxRangeStartA("never ended");
  std::thread([] { nvtxRangePushA("left by its thread"); }).join();
}

// A child says things of its own, in words old and new, while its parent goes on.
void forks() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("before the fork");
  const nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "registered before");
  some("parent", 10);
  nvtxRangePushA("around the fork");
  const pid_t child = fork();
  if (child == 0) {
    ranges = 0;
    some("parent", 5);
    some("child alone", 7);
    nvtxEventAttributes_t a = named("");
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = text;
    expect(nvtxDomainRangePushEx(domain, &a) == 0, "level in a child");
    nvtxDomainRangePop(domain);
    const nvtxEventAttributes_t other = named("in the child's domain");
    const nvtxDomainHandle_t own = nvtxDomainCreateA("child's");
    nvtxDomainRangePushEx(own, &other);
    nvtxDomainRangePop(own);
    expect(nvtxRangePop() == 0, "the level that was open");
    exit(0);
  }
  some("parent alone", 11);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
  nvtxRangePop();
  ++ranges;
}

// Threads tell new names all the time while children are made, or made by the bare system call.
void forksAmidNames(unsigned count, bool bare) {
  std::atomic<bool> stop{false};
  nvtxInitialize(nullptr);  // a child that is made amid that waits for ever, whatever the tool
  std::thread names([&] {
    char text[32];
    for (unsigned i = 0; !stop; ++i) {
      std::snprintf(text, sizeof text, "name %u", i % 20000);
      nvtxMarkA(text);
      if (i % 100 == 99) usleep(100);
    }
  });
  for (unsigned i = 0; i < count; ++i) {
    const pid_t child = bare ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : fork();
    if (child == 0) {
      char text[32];
      for (unsigned n = 0; n < 50; ++n) {
        std::snprintf(text, sizeof text, "child %u-%u", i, n);
        nvtxRangePushA(text);
        nvtxRangePop();
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::exit(1);
  }
  stop = true;
  names.join();
  ranges = 50 * count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int i, unsigned otherwise) {
    return argc > i ? static_cast<unsigned>(std::atoi(argv[i])) : otherwise;
  };
  if (mode == "answers") {
    answers();
  } else if (mode == "types") {
    types();
  } else if (mode == "in_place") {
    inPlace(number(2, 1000));
  } else if (mode == "threads") {
    threads(number(2, 8), number(3, 10'000));
  } else if (mode == "some") {
    some(argc > 3 ? argv[3] : "some", number(2, 10));
  } else if (mode == "open") {
    open();
  } else if (mode == "forks") {
    forks();
  } else if (mode == "forks_amid_names") {
    forksAmidNames(number(2, 20), number(3, 0) != 0);
  } else if (mode == "exec") {
    nvtxRangePushA("before exec");
    some("first program", 10);
    say();
    execl("/proc/self/exe", argv[0], "some", "20", "second program", nullptr);
    return 1;
  } else if (mode == "abort") {
    nvtxRangePushA("while it was killed");
    some("done", number(2, 1000));
    say();
    kill(getpid(), SIGKILL);
  } else if (mode == "wait") {  // goes on when it is told to
    const nvtxRangeId_t whole = nvtxRangeStartA("whole");
    nvtxRangePushA("around");
    some("before", 10);
    say();
    if (std::getchar() == EOF) return 1;
    some("after", 10);
    nvtxRangePop();
    nvtxRangeEnd(whole);
  } else {
    std::fprintf(stderr, "no such mode: %s\n", mode.c_str());
    return 2;
  }
  say();
}

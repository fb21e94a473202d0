// SPDX-License-Identifier: Apache-2.0
// Stacks that do not come from ordinary calls: signals, code generated at run time, assembly, and
// damaged stacks.
#include "tracesmith/stacks/unwind/call_path_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <random>

#include "tracesmith/stacks/unwind/call_path_test_util.hpp"

namespace tracesmith::stacks {
namespace {

using test::CallPathCacheTest;
using test::capture;
using test::deep;
using test::expectSame;
using test::g_ask_libunwind;
using test::g_taken;
using test::glibcBacktrace;
using test::keep;
using test::take;
using ::testing::ElementsAreArray;

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(TS_SANITIZED)

uint64_t g_samples = 0;
std::vector<uint64_t> g_outer;  // the callers of the test

/// Compares in the signal handler itself; its cache takes no lock.
void onSample(int) {
  const int before = errno;
  take();
  errno = before;
  ++g_samples;
}

[[gnu::noinline]] void raiseInside() {
  raise(SIGUSR1);
  asm volatile("");
}

TEST_F(CallPathCacheTest, SignalFrames) {
  signal(SIGUSR1, onSample);
  expectExact([] { raiseInside(); }, 9);
  signal(SIGUSR1, SIG_DFL);
  EXPECT_GT(book_.cache().fullWalks(), 0u);
}

TEST_F(CallPathCacheTest, SignalsOnAStackOfTheirOwn) {
  std::vector<char> stack(256 << 10);
  stack_t alternative{stack.data(), 0, stack.size()};
  stack_t before;
  sigaltstack(&alternative, &before);
  struct sigaction action {};
  action.sa_handler = onSample;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  raiseInside();
  expectSame(g_taken, 9);
  EXPECT_EQ(book_.endOf(g_taken.id), WalkEnd::kOutermost);
  signal(SIGUSR1, SIG_DFL);
  sigaltstack(&before, nullptr);
}

#if defined(__x86_64__)
extern "C" void ts_test_restorer();
asm(R"(
  .text
  nop
  .type ts_test_restorer, @function
ts_test_restorer:
  mov $15, %rax
  syscall
  .size ts_test_restorer, .-ts_test_restorer
)");

/// Programs with another C library or none have such handlers: Go, musl.
TEST_F(CallPathCacheTest, HandlersThatReturnToCodeWithoutRules) {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    uint64_t mask;
  } const action{onSample, 0x04000000 /* SA_RESTORER */, ts_test_restorer, 0};
  g_ask_libunwind = false;  // libunwind stops there
  ASSERT_EQ(syscall(SYS_rt_sigaction, SIGUSR1, &action, nullptr, 8), 0);
  expectExact([] { raiseInside(); }, 9);
  signal(SIGUSR1, SIG_DFL);
}
#endif

/// Signals arrive wherever a program can be interrupted: prologues, epilogues, PLT entries, the
/// vDSO, string functions of the C library written in assembly. Not in malloc(), which the handler
/// uses.
TEST_F(CallPathCacheTest, WhereverASignalComes) {
  struct sigaction action {};
  action.sa_handler = [](int) {
    take();
    const std::vector<uint64_t>& ours = g_taken.ours;
    if (kFrameRecordAnywhere && g_taken.glibcs.size() < g_outer.size()) {
      // glibc's stack ends at PLT entries, which have no unwind information on AArch64.
      ASSERT_GT(ours.size(), g_outer.size() + 3);
      EXPECT_THAT(std::vector<uint64_t>(ours.end() - static_cast<long>(g_outer.size()), ours.end()),
                  ElementsAreArray(g_outer));
      EXPECT_EQ(ours.size(), g_outer.size() + 5);  // take, handler, trampoline, entry, this test
    } else {
      expectSame(g_taken, 4);
    }
    ++g_samples;
  };
  g_ask_libunwind = false;  // it fails where glibc and our walk succeed
  take();
  g_outer.assign(g_taken.ours.begin() + 2, g_taken.ours.end());
  sigaction(SIGPROF, &action, nullptr);
  g_samples = 0;
  const itimerval often{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &often, nullptr);
  std::vector<char> a(4096, 'a'), b(4096, 'a');
  volatile uint64_t sum = 0;
  const timespec begin = [] {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
  }();
  for (timespec t = begin; g_samples < 300 && t.tv_sec < begin.tv_sec + 3;) {
    for (int i = 0; i < 50; ++i) clock_gettime(CLOCK_MONOTONIC, &t);
    sum = sum + static_cast<uint64_t>(memcmp(a.data(), b.data(), a.size()));
    char text[64];
    snprintf(text, sizeof text, "%d %s", static_cast<int>(sum), "x");
    sum = sum + strlen(text);
    sum = sum + static_cast<uint64_t>(strtod(text, nullptr));
  }
  const itimerval never{};
  setitimer(ITIMER_PROF, &never, nullptr);
  signal(SIGPROF, SIG_DFL);
  EXPECT_GT(g_samples, 20u);
}

/// Code as from a just-in-time compiler: without unwind information, with a frame pointer.
class JitCode {
 public:
  explicit JitCode(bool frame_pointer) {
    bytes_ = static_cast<uint8_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
#if defined(__x86_64__)
    // push rbp; mov rbp, rsp; sub rsp, 32; call rdi; leave; ret
    const uint8_t with[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xff, 0xd7, 0xc9, 0xc3};
    // sub rsp, 40; call rdi; add rsp, 40; ret
    const uint8_t without[] = {0x48, 0x83, 0xec, 0x28, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x28, 0xc3};
#else
    // stp x29, x30, [sp, #-48]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #48; ret
    const uint32_t with[] = {0xa9bd7bfd, 0x910003fd, 0xd63f0000, 0xa8c37bfd, 0xd65f03c0};
    // str x30, [sp, #-48]!; blr x0; ldr x30, [sp], #48; ret
    const uint32_t without[] = {0xf81d0ffe, 0xd63f0000, 0xf84307fe, 0xd65f03c0};
#endif
    if (frame_pointer) {
      memcpy(bytes_, with, sizeof with);
    } else {
      memcpy(bytes_, without, sizeof without);
    }
    __builtin___clear_cache(reinterpret_cast<char*>(bytes_),
                            reinterpret_cast<char*>(bytes_ + sizeof with));
  }
  ~JitCode() { munmap(bytes_, 4096); }
  [[gnu::noinline]] void call(void (*f)()) const {
    reinterpret_cast<void (*)(void (*)())>(bytes_)(f);
    asm volatile("");
  }
  uint64_t begin() const { return reinterpret_cast<uint64_t>(bytes_); }
#if defined(__x86_64__)
  static constexpr uint64_t kBehindCallWith = 10;
  static constexpr uint64_t kBehindCallWithout = 6;
#else
  static constexpr uint64_t kBehindCallWith = 12;
  static constexpr uint64_t kBehindCallWithout = 8;
#endif

 private:
  uint8_t* bytes_;
};

TEST_F(CallPathCacheTest, CodeThatWasMadeAtRunTimeIsWalkedByItsFramePointer) {
  const JitCode code(true);
  uint32_t id = 0;
  for (int i = 0; i < 2; ++i) {
    keep(&i);
    code.call(take);
    EXPECT_TRUE(id == 0 || id == g_taken.id);
    id = g_taken.id;
    EXPECT_EQ(book_.endOf(id), WalkEnd::kOutermost);
    const std::vector<uint64_t> words = book_.words(id);
    EXPECT_EQ(words.at(1), code.begin() + JitCode::kBehindCallWith);
    EXPECT_NE(words.at(2) & kGuessedFrame, 0u);
    take();
    // From here on the callers are those of this function.
    EXPECT_EQ(std::vector<uint64_t>(words.begin() + 4, words.end()),
              std::vector<uint64_t>(g_taken.ours.begin() + 2, g_taken.ours.end()));
  }
}

TEST_F(CallPathCacheTest, CodeWithNeitherEndsTheStackAndSaysSo) {
  const JitCode code(false);
  // The frame pointer register may contain anything, often nothing that is a frame.
#if defined(__x86_64__)
  asm volatile(
      "sub $128, %%rsp\n\tpush %%rbp\n\tpush %%rbp\n\txor %%ebp, %%ebp\n\tcall *%1\n\t"
      "pop %%rbp\n\tpop %%rbp\n\tadd $128, %%rsp"
      :
      : "D"(take), "r"(code.begin())
      : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
#else
  asm volatile(
      "stp x29, x30, [sp, #-16]!\n\tmov x0, %0\n\tmov x29, xzr\n\tblr %1\n\t"
      "ldp x29, x30, [sp], #16"
      :
      : "r"(take), "r"(code.begin())
      : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
        "x14", "x15", "x16", "x17", "x18", "x30", "memory", "cc");
#endif
  const WalkEnd end = book_.endOf(g_taken.id);
  EXPECT_EQ(end, WalkEnd::kNoInformation);
  EXPECT_EQ(g_taken.ours.at(1), code.begin() + JitCode::kBehindCallWithout);
}

// Assembly whose frame is found through another register, as in some of the loader's functions, and
// assembly whose rules are expressions.
extern "C" void ts_test_by_saved(void (*)());
extern "C" void ts_test_by_expression(void (*)());
#if defined(__x86_64__)
asm(R"(
  .text
  .type ts_test_by_saved, @function
ts_test_by_saved:
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset %rbx, -16
  mov %rsp, %rbx
  .cfi_def_cfa %rbx, 16
  and $-64, %rsp
  sub $128, %rsp
  call *%rdi
  mov %rbx, %rsp
  .cfi_def_cfa %rsp, 16
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size ts_test_by_saved, .-ts_test_by_saved

  .type ts_test_by_expression, @function
ts_test_by_expression:
  .cfi_startproc
  sub $40, %rsp
  # CFA = rsp + 8 + 5 * 8
  .cfi_escape 0x0f, 0x06, 0x77, 0x08, 0x35, 0x38, 0x1e, 0x22
  call *%rdi
  add $40, %rsp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size ts_test_by_expression, .-ts_test_by_expression
)");
#else
asm(R"(
  .text
  .type ts_test_by_saved, %function
ts_test_by_saved:
  .cfi_startproc
  stp x19, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x19, -16
  .cfi_offset x30, -8
  mov x19, sp
  .cfi_def_cfa x19, 16
  sub x9, sp, #128
  and sp, x9, #-64
  blr x0
  mov sp, x19
  .cfi_def_cfa sp, 16
  ldp x19, x30, [sp], #16
  .cfi_def_cfa_offset 0
  .cfi_restore x19
  .cfi_restore x30
  ret
  .cfi_endproc
  .size ts_test_by_saved, .-ts_test_by_saved

  .type ts_test_by_expression, %function
ts_test_by_expression:
  .cfi_startproc
  str x30, [sp, #-48]!
  // CFA = sp + 8 + 5 * 8
  .cfi_escape 0x0f, 0x06, 0x8f, 0x08, 0x35, 0x38, 0x1e, 0x22
  .cfi_offset x30, -48
  blr x0
  ldr x30, [sp], #48
  .cfi_def_cfa sp, 0
  .cfi_restore x30
  ret
  .cfi_endproc
  .size ts_test_by_expression, .-ts_test_by_expression
)");
#endif

TEST_F(CallPathCacheTest, AssemblyWithRulesOfItsOwn) {
  expectExact([] { ts_test_by_saved(take); });
  expectExact([] { ts_test_by_expression(take); });
  EXPECT_GE(book_.cache().fullWalks(), 2u);
  // Inner frames are walked by rules; the way out is the same.
  expectExact([] { ts_test_by_saved([] { deep<6>(1); }); }, 12);
}

// --- Damage: the stack belongs to the program ---------------------------------------------------

TEST_F(CallPathCacheTest, ABrokenStackIsNoCrash) {
  std::mt19937_64 random(3);
  std::vector<uint64_t> fake(4096);
  const auto here = glibcBacktrace();
  for (int i = 0; i < 5'000; ++i) {
    for (uint64_t& word : fake) {
      switch (random() % 6) {
        case 0:
          word = random();
          break;
        case 1:
          word = reinterpret_cast<uint64_t>(&fake[random() % fake.size()]);
          break;
        case 2:
          word = here[random() % here.size()];
          break;
        case 3:
          word = random() % 4096;
          break;
        case 4:
          word = reinterpret_cast<uint64_t>(&word) + 8 * (random() % 16);
          break;
        default:
          word = 0;
      }
      if (i % 16 != 0 && &word - fake.data() > 64) break;
    }
    const StartPoint start{here[random() % here.size()],
                           reinterpret_cast<uint64_t>(&fake[random() % 64]),
                           random() % 2 == 0 ? fake[random() % 64] : random()};
    const uint32_t id = book_.cache().capture(start);
    ASSERT_LE(book_.addresses(id).size(), 128u);
  }
}

TEST_F(CallPathCacheTest, MemoryThatIsNotThereIsNotRead) {
  auto* const page = static_cast<uint8_t*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  memset(page, 0x41, 4096);
  mprotect(page + 4096, 4096, PROT_NONE);
  const auto here = glibcBacktrace();
  for (uint64_t offset = 4096 - 256; offset <= 4096 + 64; offset += 8) {
    const auto sp = reinterpret_cast<uint64_t>(page + offset);
    const uint32_t id = book_.cache().capture({here[1], sp, sp});
    EXPECT_NE(book_.endOf(id), WalkEnd::kOutermost);
  }
  munmap(page, 8192);
  EXPECT_FALSE(isReadable(reinterpret_cast<uint64_t>(page)));
  EXPECT_FALSE(isReadable(8));
  EXPECT_TRUE(isReadable(reinterpret_cast<uint64_t>(&here)));
}

#endif

}  // namespace
}  // namespace tracesmith::stacks

// SPDX-License-Identifier: Apache-2.0
// Walks copies of the test's own stack, and compares them with glibc's backtrace().
#include "tracesmith/stacks/sampled/copied_stack.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tracesmith/stacks/unwind/code_tables.hpp"

namespace tracesmith::stacks {
namespace {

/// What the kernel would copy when it interrupts the calling thread.
struct Copy {
  Registers registers;
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> expected;  // return addresses of the callers, innermost first
};

/// Excluded from AddressSanitizer: the bytes belong to objects of all callers.
__attribute__((noinline, no_sanitize("address"))) void copyStack(uint64_t from, size_t most,
                                                                 std::vector<uint8_t>& out) {
  const ThreadStack stack = findThreadStack();
  const size_t bytes = std::min<size_t>(most, stack.high - from);
  out.resize(bytes);
  const auto* const at = reinterpret_cast<const uint8_t*>(from);  // NOLINT: a stack pointer
  for (size_t i = 0; i < bytes; ++i) out[i] = at[i];
}

[[gnu::noinline]] Copy takeCopy(size_t most) {
  Copy copy;
  readRegisters(copy.registers);
  copyStack(copy.registers.value[kStackPointer], most, copy.bytes);
  std::vector<void*> frames(512);
  frames.resize(static_cast<size_t>(backtrace(frames.data(), static_cast<int>(frames.size()))));
  // From the caller on: sanitizers put frames of their own before it.
  const auto caller = std::find(frames.begin(), frames.end(), __builtin_return_address(0));
  for (auto frame = caller; frame != frames.end(); ++frame) {
    copy.expected.push_back(reinterpret_cast<uint64_t>(*frame));
  }
  return copy;
}

[[gnu::noinline]] int recurse(int depth, size_t most, Copy& out) {
  volatile char space[100] = {};
  if (depth == 0) {
    out = takeCopy(most);
  } else {
    recurse(depth - 1, most, out);
  }
  return space[0];
}

std::vector<uint64_t> addressesOf(std::span<const uint64_t> words) {
  std::vector<uint64_t> out;
  for (const uint64_t word : words) out.push_back(word & kFrameAddressMask);
  return out;
}

class CopiedStackTest : public ::testing::Test {
 protected:
  CopiedStackTest() {
    if (!kUnwinds) return;
    prepareCodeTables();
    EXPECT_TRUE(code_.readMap());
  }
  void SetUp() override {
    if (!kUnwinds) GTEST_SKIP() << "no unwinder for this machine";
  }
  CopiedStackWalker::Walk walk(const Copy& copy) {
    return walker_.walk({copy.registers, copy.bytes}, code_);
  }
  /// The walk has these callers, after the frame that was interrupted.
  void expectCallers(const Copy& copy) {
    const CopiedStackWalker::Walk walked = walk(copy);
    ASSERT_FALSE(walked.words.empty());
    EXPECT_NE(walked.words[0] & kExactFrame, 0u);
    const std::vector<uint64_t> callers = addressesOf(walked.words.subspan(1));
    EXPECT_EQ(callers, copy.expected);
    EXPECT_EQ(walked.end, WalkEnd::kOutermost);
    EXPECT_FALSE(walked.is_cut);
  }

  ProcessCode code_{getpid(), std::make_shared<CodeImages>()};
  CopiedStackWalker walker_{512};
};

constexpr size_t kWhole = SIZE_MAX;

TEST_F(CopiedStackTest, HasTheCallersThatBacktraceHas) {
  for (const int depth : {0, 1, 30, 100}) {
    Copy copy;
    recurse(depth, kWhole, copy);
    ASSERT_GT(copy.expected.size(), static_cast<size_t>(depth) + 1);
    expectCallers(copy);
  }
}

TEST_F(CopiedStackTest, OfAnotherThread) {
  Copy copy;
  std::thread([&] { recurse(5, kWhole, copy); }).join();
  expectCallers(copy);
}

TEST_F(CopiedStackTest, ThroughAFunctionOfALibrary) {
  static Copy copy;
  const auto compare = [](const void*, const void*) {
    recurse(1, kWhole, copy);
    return 0;
  };
  int two[] = {2, 1};
  qsort(two, 2, sizeof two[0], compare);
  expectCallers(copy);
}

TEST_F(CopiedStackTest, ThroughASignalHandler) {
  static Copy copy;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { recurse(1, kWhole, copy); };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
  expectCallers(copy);
}

TEST_F(CopiedStackTest, AShortCopyIsCut) {
  Copy copy;
  recurse(150, 16 << 10, copy);
  const CopiedStackWalker::Walk walked = walk(copy);
  EXPECT_TRUE(walked.is_cut);
  const std::vector<uint64_t> callers = addressesOf(walked.words.subspan(1));
  ASSERT_GT(callers.size(), 10u);
  ASSERT_LT(callers.size(), copy.expected.size());
  EXPECT_TRUE(std::equal(callers.begin(), callers.end(), copy.expected.begin()));
}

TEST_F(CopiedStackTest, NothingIsKnownWithoutTheStack) {
  Copy copy;
  recurse(3, 0, copy);
  const CopiedStackWalker::Walk walked = walk(copy);
  EXPECT_EQ(walked.words.size(), 1u);
  EXPECT_TRUE(walked.is_cut);
}

TEST_F(CopiedStackTest, EndsWhereThereAreMoreFramesThanAskedFor) {
  Copy copy;
  recurse(50, kWhole, copy);
  CopiedStackWalker short_walker(10);
  const CopiedStackWalker::Walk walked = short_walker.walk({copy.registers, copy.bytes}, code_);
  EXPECT_EQ(walked.words.size(), 10u);
  EXPECT_EQ(walked.end, WalkEnd::kTooDeep);
  EXPECT_FALSE(walked.is_cut);
}

TEST_F(CopiedStackTest, NamesTheFileOfAnAddress) {
  const ProcessCode::Place own =
      code_.placeOf(reinterpret_cast<uint64_t>(&takeCopy));  // NOLINT: a code address
  ASSERT_NE(own.image, nullptr);
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&takeCopy), &info), 0);
  EXPECT_EQ(own.address,
            reinterpret_cast<uint64_t>(&takeCopy) - reinterpret_cast<uint64_t>(info.dli_fbase));
  EXPECT_EQ(code_.placeOf(16).mapping, nullptr);
}

TEST_F(CopiedStackTest, LaterMappingsReplaceWhatTheyCover) {
  ProcessCode code(getpid(), std::make_shared<CodeImages>());
  const auto at = [&](uint64_t address) {
    const ProcessCode::Place place = code.placeOf(address);
    return place.mapping == nullptr
               ? std::string("none")
               : place.mapping->path + "+" +
                     std::to_string(place.mapping->file_offset + (address - place.mapping->begin));
  };
  code.add({.begin = 0x1000, .end = 0x9000, .file_offset = 0x1000, .path = "a"});
  code.add({.begin = 0x3000, .end = 0x5000, .path = "b"});
  EXPECT_EQ(at(0x2fff), "a+" + std::to_string(0x2fff));
  EXPECT_EQ(at(0x3000), "b+0");
  EXPECT_EQ(at(0x5000), "a+" + std::to_string(0x5000));
  code.add({.begin = 0x4000, .end = 0x6000, .path = "c"});
  EXPECT_EQ(at(0x3fff), "b+" + std::to_string(0xfff));
  EXPECT_EQ(at(0x5fff), "c+" + std::to_string(0x1fff));
  EXPECT_EQ(at(0x6000), "a+" + std::to_string(0x6000));
  code.add({.begin = 0, .end = 0x10000, .path = "d"});
  EXPECT_EQ(at(0x8000), "d+" + std::to_string(0x8000));
  EXPECT_EQ(at(0x10000), "none");
}

/// The vDSO: a whole file of a few KiB with unwind information, as it lies in this process.
std::vector<uint8_t> wholeSmallFile() {
  const auto begin = static_cast<uintptr_t>(getauxval(AT_SYSINFO_EHDR));
  if (begin == 0) return {};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(begin);  // NOLINT: the kernel's number
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(bytes);
  return {bytes, bytes + header->e_shoff + size_t{header->e_shnum} * header->e_shentsize};
}

Result<std::shared_ptr<CodeImage>> imageOf(const std::vector<uint8_t>& bytes) {
  OpenFile memory(memfd_create("image", MFD_CLOEXEC));
  if (!memory ||
      write(memory.fd(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorCode::kNoSpace, "no file in memory");
  return CodeImage::read(std::move(memory));
}

/// Asks an image about all of its addresses; how many have an entry.
size_t entriesOf(const CodeImage& image, size_t bytes) {
  size_t found = 0;
  for (uint64_t address = 0; address < bytes; address += 16) {
    CfiEntry entry;
    uint64_t place = 0, word = 0;
    found += image.find(address, entry, place) ? 1 : 0;
    image.readWord(address, word);
    (void)image.addressAt(address);
  }
  return found;
}

TEST(CodeImageTest, DamagedFilesAreReadWithoutHarm) {
  const std::vector<uint8_t> bytes = wholeSmallFile();
  if (bytes.empty()) GTEST_SKIP() << "the kernel maps no vDSO";
  const auto whole = imageOf(bytes);
  ASSERT_TRUE(whole);
  ASSERT_GT(entriesOf(**whole, bytes.size()), 10u);
  // Where the unwind information is: damage elsewhere would hardly be noticed.
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
  size_t unwind_begin = 0, unwind_end = 0;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    Elf64_Phdr part;
    memcpy(&part, bytes.data() + header->e_phoff + i * sizeof part, sizeof part);
    if (part.p_type != PT_GNU_EH_FRAME) continue;
    unwind_begin = part.p_offset;
    unwind_end = std::min(bytes.size(), unwind_begin + part.p_filesz + 2048);  // .eh_frame follows
  }
  ASSERT_GT(unwind_end, unwind_begin);
  uint32_t random = 1;
  const auto next = [&](size_t most) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % most;
  };
  size_t opened = 0, with_entries = 0;
  for (int i = 0; i < 600; ++i) {
    std::vector<uint8_t> damaged = bytes;
    for (int k = 0; k < 4; ++k) {
      const size_t at = i % 2 == 0 ? unwind_begin + next(unwind_end - unwind_begin)
                                   : next(sizeof(Elf64_Ehdr) + 8 * sizeof(Elf64_Phdr));
      damaged[at] = static_cast<uint8_t>(next(256));
    }
    if (i % 5 == 0) damaged.resize(next(damaged.size()));
    const auto image = imageOf(damaged);
    if (!image) continue;
    ++opened;
    with_entries += entriesOf(**image, bytes.size()) > 0 ? 1 : 0;
  }
  EXPECT_GT(opened, 200u);
  EXPECT_GT(with_entries, 100u);
}

/// lld puts the end of one segment and the beginning of the next one into one page of the file.
TEST(CodeImageTest, SegmentsThatShareAPageOfTheFileHaveTheirOwnAddresses) {
  std::vector<uint8_t> bytes(0x3000);
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
#if defined(__aarch64__)
  header.e_machine = EM_AARCH64;
#else
  header.e_machine = EM_X86_64;
#endif
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const auto segment = [](uint64_t offset, uint64_t address, uint64_t size, uint32_t flags) {
    Elf64_Phdr part{};
    part.p_type = PT_LOAD;
    part.p_offset = offset;
    part.p_vaddr = address;
    part.p_filesz = part.p_memsz = size;
    part.p_flags = flags;
    return part;
  };
  const Elf64_Phdr parts[2] = {segment(0, 0x10000, 0x1234, PF_R),
                               segment(0x1234, 0x22234, 0x800, PF_R | PF_X)};
  memcpy(bytes.data(), &header, sizeof header);
  memcpy(bytes.data() + sizeof header, parts, sizeof parts);
  const auto image = imageOf(bytes);
  ASSERT_TRUE(image);
  EXPECT_EQ((*image)->addressAt(0x1000), 0x22000u) << "the page, as it is mapped for the code";
  EXPECT_EQ((*image)->addressAt(0x1234), 0x22234u);
  EXPECT_EQ((*image)->addressAt(0x800), std::nullopt);
  EXPECT_EQ((*image)->addressAt(0x1a34), std::nullopt);
}

}  // namespace
}  // namespace tracesmith::stacks

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/sampled/python_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/stacks/python/python_lines.hpp"
#include "tracesmith/stacks/unwind/packed_frame.hpp"

namespace tracesmith::stacks {
namespace {

/// Prints addresses of code objects, one in a line, and replaces one when it is told to.
constexpr const char* kProgram = R"(
import gc, sys
print(sys.version_info[0] * 100 + sys.version_info[1], flush=True)
class Größe:
    def messen(self):
        return 1
    def 測定(self):
        return 2
exec("def replaced(): return 3")  # no other code refers to it
def show(*functions):
    for f in functions: print(id(f.__code__), len(f.__code__.co_code) // 2)
    print(flush=True)
show(Größe.messen, Größe.測定, replaced)
sys.stdin.readline()
code, del_me = id(replaced.__code__), replaced
kept = []
del replaced, del_me
gc.collect()
# What is allocated next has the place of what was freed.
for i in range(1000):
    exec(f"def other_{i}(): return {i}")
    kept.append(globals()[f"other_{i}"])
    if id(kept[-1].__code__) == code: break
show(kept[-1])
sys.stdin.readline()
)";

class PythonProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int in[2], out[2];
    ASSERT_EQ(pipe(in), 0);
    ASSERT_EQ(pipe(out), 0);
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execlp("python3", "python3", "-S", "-c", kProgram, static_cast<char*>(nullptr));
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = fdopen(out[0], "r");
    char line[100];
    if (fgets(line, sizeof line, from_) == nullptr) GTEST_SKIP() << "there is no python3";
    version_ = atoi(line);
    ASSERT_EQ(shown().size(), 3u);
    code_ = std::make_unique<ProcessCode>(pid_, std::make_shared<CodeImages>());
    ASSERT_TRUE(code_->readMap());
    python_ = PythonProcess::find(pid_, *code_);
    if (version_ < 311 || version_ > 313) GTEST_SKIP() << "python3 is another version";
    ASSERT_TRUE(python_);
  }
  void TearDown() override {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(to_);
    fclose(from_);
  }

  struct Code {
    uint64_t address = 0, units = 0;
  };
  /// What the program shows next.
  const std::vector<Code>& shown() {
    shown_.clear();
    char line[100];
    Code code;
    while (fgets(line, sizeof line, from_) != nullptr &&
           sscanf(line, "%lu %lu", &code.address, &code.units) == 2) {
      shown_.push_back(code);
    }
    return shown_;
  }
  RawPythonFrame frameAt(const Code& code, uint64_t unit, uint8_t owner = 0) const {
    return {.instruction = code.address + python_->layout().code_instructions + 2 * unit,
            .code = code.address,
            .owner = owner,
            .is_entry = false};
  }
  bool words(const std::vector<RawPythonFrame>& frames, bool is_cut = false) {
    return python_->wordsOf(frames, is_cut, codes_, words_);
  }
  const SampledPythonCode& codeOf(uint64_t word) const { return codes_.at(pythonCodeOf(word)); }

  pid_t pid_ = -1;
  int to_ = -1;
  int version_ = 0;
  FILE* from_ = nullptr;
  std::vector<Code> shown_;
  std::unique_ptr<ProcessCode> code_;
  std::optional<PythonProcess> python_;
  SampledPythonCodes codes_;
  std::vector<uint64_t> words_;
};

TEST_F(PythonProcessTest, NamesFilesAndLinesOfCodeObjects) {
  ASSERT_TRUE(words({frameAt(shown_[0], shown_[0].units - 1), frameAt(shown_[1], 0),
                     frameAt(shown_[1], shown_[1].units - 1)}));
  ASSERT_EQ(words_.size(), 3u);
  EXPECT_EQ(codeOf(words_[0]).name, "Größe.messen");
  EXPECT_EQ(codeOf(words_[1]).name, "Größe.測定");
  EXPECT_EQ(codeOf(words_[0]).file, "<string>");
  EXPECT_EQ(pythonCodeOf(words_[1]), pythonCodeOf(words_[2])) << "one code object, one number";
  if (python_->layout().frame_is_entry == PythonLayout::kAbsent) {
    EXPECT_TRUE(isPythonEntry(words_[2])) << "nothing ran the outermost one";
  }
  const SampledPythonCode& code = codeOf(words_[0]);
  EXPECT_EQ(code.first_line, 5);
  EXPECT_EQ(pythonLocationOf(code.line_table, code.first_line, pythonPlaceOf(words_[0])).line, 6);
  ASSERT_TRUE(words({frameAt(shown_[0], shown_[0].units - 1)}, true));
  ASSERT_EQ(words_.size(), 2u);
  EXPECT_EQ(kindOf(words_[1]), FrameWordKind::kCut);
  EXPECT_EQ(codes_.size(), 2u);
}

TEST_F(PythonProcessTest, WhatIsNoFrameIsRefused) {
  const Code& good = shown_[0];
  EXPECT_FALSE(words({frameAt(good, good.units + 100)})) << "behind the code";
  EXPECT_FALSE(words({{.instruction = frameAt(good, 1).instruction + 1, .code = good.address}}));
  EXPECT_FALSE(words({{.instruction = 8, .code = 8}})) << "nothing can be read there";
  EXPECT_FALSE(words({{.instruction = good.address + 16, .code = good.address + 16}}));
  EXPECT_FALSE(words({{.instruction = UINT64_MAX, .code = UINT64_MAX - 7}}));
  EXPECT_TRUE(words({{.instruction = 0, .code = 0, .owner = kOwnedByC}})) << "without code";
  EXPECT_TRUE(words_.empty());
  EXPECT_LE(codes_.size(), 1u);
}

TEST_F(PythonProcessTest, AnotherCodeObjectAtTheSameAddressIsAnotherOne) {
  const Code before = shown_[2];
  ASSERT_TRUE(words({frameAt(before, before.units - 1)}));
  const uint32_t number = pythonCodeOf(words_[0]);
  EXPECT_EQ(codeOf(words_[0]).name, "replaced");
  ASSERT_EQ(write(to_, "\n", 1), 1);
  ASSERT_EQ(shown().size(), 1u);
  if (shown_[0].address != before.address) GTEST_SKIP() << "its place was not used again";
  python_->doubt();
  ASSERT_TRUE(words({frameAt(shown_[0], shown_[0].units - 1)}));
  EXPECT_NE(pythonCodeOf(words_[0]), number);
  EXPECT_TRUE(codeOf(words_[0]).name.starts_with("other_")) << codeOf(words_[0]).name;
}

TEST(MayHavePython, ByTheNameOfTheFile) {
  EXPECT_TRUE(mayHavePython("/usr/bin/python3.11"));
  EXPECT_TRUE(mayHavePython("/opt/lib/libpython3.13.so.1.0"));
  EXPECT_FALSE(mayHavePython("/usr/lib/libc.so.6"));
  EXPECT_FALSE(mayHavePython(""));
}

}  // namespace
}  // namespace tracesmith::stacks

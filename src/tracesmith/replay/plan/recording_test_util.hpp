// SPDX-License-Identifier: Apache-2.0
// For tests: builds recordings call by call, including the data that the program would have read.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/base/sanitized.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/recording/recording_file.hpp"
#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith::test {

namespace rec = recording;

/// False with sanitizers: drivers are not instrumented and generate code of their own. Nothing is
/// executed then, and tests that need execution are skipped.
constexpr bool kRunsDrivers = !kIsSanitized;

class RecordingBuilder {
 public:
  RecordingBuilder() {
    auto made = RecordingWriter::create(path());
    EXPECT_TRUE(made);
    writer_.emplace(std::move(*made));
    EXPECT_TRUE(writer_->addProcess({1, 4711, 1, "by hand"}));
    const std::string name = "no such device";
    add(rec::Device{.handle = kDevice, .type = 2, .name = name}, rec::command_flags::kAddedByAgent);
    const rec::Handle devices[] = {kDevice};
    add(rec::CreateContext{.context = kContext, .devices = devices});
  }

  static constexpr rec::Handle kDevice = 0xd0, kContext = 0xc0;
  std::string path() const { return folder_.path("out.sbr"); }
  rec::Handle newHandle() { return next_handle_ += 0x10; }
  /// Sequence number of the latest command.
  uint64_t lastSequence() const { return next_sequence_ - 1; }

  /// Returns the sequence number.
  template <class Command>
  uint64_t add(Command command, uint16_t flags = 0, int32_t result = 0) {
    rec::CommandHeader header;
    header.flags = flags;
    header.result = result;
    header.thread = 1;
    header.sequence = next_sequence_++;
    header.start_ns = static_cast<int64_t>(header.sequence) * 1000;
    header.end_ns = header.start_ns + 100;
    Bytes bytes(rec::encodedBytes(command));
    rec::encode(header, command, bytes.data());
    EXPECT_TRUE(writer_->addCommands(1, bytes, 1));
    return header.sequence;
  }

  rec::Handle queue(uint64_t properties = 0) {
    const rec::Handle q = newHandle();
    add(rec::CreateQueue{
        .queue = q, .context = kContext, .device = kDevice, .properties = properties});
    return q;
  }
  template <class T>
  std::vector<rec::ContentHash> content(const std::vector<T>& values) {
    const ByteView bytes(reinterpret_cast<const uint8_t*>(values.data()),
                         values.size() * sizeof(T));
    std::vector<rec::ContentHash> hashes;
    for (size_t at = 0; at < bytes.size(); at += rec::kChunkBytes) {
      const ByteView part =
          bytes.subspan(at, std::min<size_t>(rec::kChunkBytes, bytes.size() - at));
      hashes.push_back(rec::hashOf(part));
      EXPECT_TRUE(writer_->addContent(hashes.back(), part));
    }
    return hashes;
  }
  /// A buffer without content.
  rec::Handle buffer(uint64_t bytes) {
    const rec::Handle b = newHandle();
    add(rec::CreateBuffer{.buffer = b, .context = kContext, .flags = 1, .bytes = bytes});
    return b;
  }
  template <class T>
  rec::Handle bufferWith(const std::vector<T>& values) {
    const rec::Handle b = newHandle();
    const auto hashes = content(values);
    const uint64_t bytes = values.size() * sizeof(T);
    constexpr uint64_t kCopyHostPointer = 1 << 5;
    add(rec::CreateBuffer{.buffer = b,
                          .context = kContext,
                          .flags = 1 | kCopyHostPointer,
                          .bytes = bytes,
                          .host = 1,
                          .content = {bytes, hashes}});
    return b;
  }
  /// Creates and builds a program from `source`.
  rec::Handle program(const std::string& source, const std::string& options = "") {
    const rec::Handle p = newHandle();
    const auto hashes = content(std::vector<char>(source.begin(), source.end()));
    add(rec::CreateProgram{.program = p, .context = kContext, .code = {source.size(), hashes}});
    add(rec::BuildProgram{.program = p, .options = options});
    return p;
  }
  rec::Handle kernel(rec::Handle program, const std::string& name) {
    const rec::Handle k = newHandle();
    add(rec::CreateKernel{.kernel = k, .program = program, .name = name});
    return k;
  }
  template <class T>
  void argument(rec::Handle kernel, uint64_t index, T value) {
    uint8_t bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof value);
    add(rec::SetArgument{.kernel = kernel, .index = index, .bytes = sizeof value, .value = bytes});
  }
  /// Adds an event if `event` is not 0.
  uint64_t launch(rec::Handle queue, rec::Handle kernel, uint64_t global,
                  std::vector<rec::Handle> waits = {}, rec::Handle event = 0, uint64_t local = 0) {
    const uint64_t globals[] = {global};
    const uint64_t locals[] = {local};
    rec::Launch c{.queue = queue, .kernel = kernel, .global = globals};
    if (local != 0) c.local = locals;
    c.waits = waits;
    c.event = event;
    return add(c);
  }
  /// A blocking read of a whole buffer that returned `values`.
  template <class T>
  uint64_t read(rec::Handle queue, rec::Handle buffer, const std::vector<T>& values,
                bool keep = false) {
    const uint64_t bytes = values.size() * sizeof(T);
    rec::Read c{.queue = queue, .memory = buffer, .host = 1};
    c.box.region[0] = bytes;
    const uint64_t of = add(c, rec::command_flags::kBlocking | rec::command_flags::kStarted);
    std::vector<rec::ContentHash> hashes;
    if (keep) {
      hashes = content(values);
    } else {
      const ByteView all(reinterpret_cast<const uint8_t*>(values.data()), bytes);
      for (size_t at = 0; at < bytes; at += rec::kChunkBytes) {
        hashes.push_back(
            rec::hashOf(all.subspan(at, std::min<size_t>(rec::kChunkBytes, bytes - at))));
      }
    }
    add(rec::Done{.of = of, .content = {bytes, hashes}, .kept = keep});
    return of;
  }

  /// Finishes the file and opens it.
  RecordingReader reader() {
    if (writer_) {
      EXPECT_TRUE(writer_->finish());
      writer_.reset();
    }
    auto opened = RecordingReader::open(path());
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }

 private:
  TempFolder folder_;
  std::optional<RecordingWriter> writer_;
  rec::Handle next_handle_ = 0x1000;
  uint64_t next_sequence_ = 0;
};

/// Commands of the first process of the recording.
inline Bytes commandsOf(RecordingBuilder& recording) {
  RecordingReader reader = recording.reader();
  return *reader.commands(1);
}

inline ReplayPlan planOf(RecordingBuilder& recording) {
  return std::move(*ReplayPlan::make(commandsOf(recording)));
}

}  // namespace tracesmith::test

// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as a recording: opens it, decodes its commands, fetches its contents, and
// continues it. Seeds are recordings of the writer. The mutator repairs checksums; otherwise no
// mutation would pass them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "tracesmith/format/trace_mutation_test_util.hpp"
#include "tracesmith/recording/recording_file.hpp"

using namespace tracesmith;             // NOLINT: a program of few functions
using namespace tracesmith::recording;  // NOLINT
using namespace tracesmith::test;       // NOLINT

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

Bytes recordingOf(uint64_t number) {
  std::mt19937_64 random(number);
  MemoryFile file;
  auto writer = RecordingWriter::create(file.path());
  if (!writer) std::abort();
  for (uint32_t process = 1; process <= 1 + random() % 2; ++process) {
    if (auto ok = writer->addProcess({process, 4711, 1, "program"}); !ok) {
      fprintf(stderr, "%s\n", ok.error().toString().c_str());
      std::abort();
    }
    for (uint64_t sequence = 0; sequence < random() % 8; ++sequence) {
      Bytes content(1 + random() % 600, static_cast<uint8_t>(random()));
      const ContentHash hashes[] = {hashOf(content)};
      if (!writer->addContent(hashes[0], content)) std::abort();
      Write write{.queue = 1, .memory = 2};
      write.content = {content.size(), hashes};
      CommandHeader header;
      header.sequence = sequence;
      Bytes bytes(encodedBytes(write));
      encode(header, write, bytes.data());
      if (!writer->addCommands(process, bytes, 1)) std::abort();
      if (random() % 3 == 0 && !writer->flush()) std::abort();
    }
  }
  if (random() % 4 != 0 && !writer->finish()) std::abort();
  return file.read();
}

void readInEveryWay(const std::string& path) {
  auto reader = RecordingReader::open(path);
  if (!reader) {
    if (reader.error().message.empty()) std::abort();
    return;
  }
  uint64_t fetched = 0;
  for (const Process& process : reader->processes()) {
    const auto commands = reader->commands(process.number);
    if (!commands) continue;
    forEachCommand(*commands, [&](const CommandHeader& header, ByteView fields) {
      Write write;
      if (header.kind == CommandKind::kWrite && decode(fields, write)) {
        const auto bytes = reader->content(write.content);
        if (bytes && bytes->size() != write.content.bytes) std::abort();
        if (bytes) fetched += bytes->size();
      }
      return fetched < 64u << 20;
    });
  }
  uint64_t bytes = 0;
  reader->forEachChunk([&](const ContentHash&, uint64_t size) { bytes += size; });
  if (bytes > reader->contentBytes()) std::abort();  // the same chunk may exist twice
  for (const DataLoss& loss : reader->losses()) {
    if (loss.reason.empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static MemoryFile file;
  file.write({data, size});
  readInEveryWay(file.path());
  if (size % 4 != 0) return 0;
  if (auto writer = RecordingWriter::resume(file.path())) {
    if (!writer->addProcess({9, 9, 9, "resumed"}) || !writer->finish()) std::abort();
    if (auto again = RecordingReader::open(file.path()); !again) {
      fprintf(stderr, "%s\n", again.error().toString().c_str());
      std::abort();
    }
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::mt19937_64 random(seed);
  if (size < sbt::kFileHeaderBytes || random() % 256 == 0) {
    const Bytes fresh = recordingOf(random() % 256);
    if (fresh.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::copy(fresh.begin(), fresh.end(), data);
    return fresh.size();
  }
  for (uint64_t n = 1 + random() % 3; n > 0; --n) {
    if (random() % 2 == 0) {
      mutateField(data, size, random);
    } else {
      size = LLVMFuzzerMutate(data, size, max_size);
    }
  }
  if (random() % 8 != 0) repair(data, size);
  return size;
}

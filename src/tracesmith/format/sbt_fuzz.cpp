// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a trace file: opened, read in every way, and continued. Seeds are real traces;
// the mutator repairs checksums, because otherwise no mutation would reach the decoders.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "tracesmith/format/trace_mutation_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

using namespace tracesmith;        // NOLINT: a program of few functions
using namespace tracesmith::test;  // NOLINT

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr uint64_t kMemory = 4u << 20;  // many empty rows only take time

void readInEveryWay(const std::string& path) {
  auto reader = TraceReader::open(path);
  if (!reader) {
    if (reader.error().message.empty()) std::abort();
    return;
  }
  const auto all = reader->read({.max_memory_bytes = kMemory});
  ReadOptions part;
  part.max_memory_bytes = kMemory;
  part.convert_clocks = false;
  part.tables = {TableId::kKernel, TableId::kAttribute};
  part.from_ns = 2;
  part.to_ns = 500;
  part.from_offset = 700;
  part.until_offset = 3000;
  const auto some = reader->read(part);
  if (all && some && some->kernel.size() > all->kernel.size()) std::abort();
  uint64_t rows = 0;
  for (const BlockInfo& block : reader->blocks()) rows += block.rows;
  if (rows < 1u << 14) {
    Trace trace;
    for (size_t i = 0; i < reader->blocks().size() && reader->readBlock(i, trace, kMemory); ++i) {
      if (trace.strings.size() > 1u << 14) break;
    }
  }
  for (const DataLoss& loss : reader->losses()) {
    if (loss.reason.empty() || loss.offset > reader->fileBytes()) std::abort();
  }
  (void)reader->skipped();
  if (!reader->refresh()) std::abort();
}

/// Does what a recovery does: keeps what is intact and appends to it. The result must be readable.
void continueIt(const std::string& path) {
  uint64_t keep = 0;
  uint32_t strings = 0;
  {
    auto reader = TraceReader::open(path);
    if (!reader || reader->blocks().empty()) return;
    const auto trace = reader->read({.max_memory_bytes = kMemory});
    if (!trace) return;
    keep = reader->endOfBlocks();
    strings = static_cast<uint32_t>(trace->strings.size());
  }
  auto writer = TraceWriter::resume(path, keep, strings);
  if (!writer) return;
  Trace delta;
  for (uint32_t i = 0; i < strings; ++i) delta.strings.append({});
  delta.kernel.push({.start_ns = 12345});
  if (!writer->write(delta) || !writer->finish()) std::abort();
  auto again = TraceReader::open(path);
  if (!again || !again->complete()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static MemoryFile file;
  file.write({data, size});
  readInEveryWay(file.path());
  if (size % 4 == 0) continueIt(file.path());  // slower than everything else
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::mt19937_64 random(seed);
  if (size < sbt::kFileHeaderBytes || random() % 256 == 0) {
    const Bytes fresh = makeSeed(random() % 256);
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

// SPDX-License-Identifier: Apache-2.0
// Breaks files at random, in every reader there is: traces, arenas, process logs. No crash; no file
// takes over 2 s; memory stays within twice the file and 100 MB; and of a trace, what was not
// touched is read, and what was touched is noticed. Usage: torture_mutations COUNT [SEED]
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/processes/process_log.hpp"
#include "tracesmith/capture/protocol/arena_test_util.hpp"
#include "tracesmith/format/trace_check.hpp"
#include "tracesmith/format/trace_mutation_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"

using namespace tracesmith;        // NOLINT: a program of few functions
using namespace tracesmith::test;  // NOLINT

namespace {

constexpr int64_t kMostNs = 2'000'000'000;
constexpr uint64_t kMostExtraBytes = 100'000'000;

uint64_t g_seed = 1;
uint64_t g_number = 0;  // of the mutation under way

[[noreturn]] void wrong(const std::string& why) {
  std::fprintf(stderr, "mutation %llu of seed %llu: %s\n",
               static_cast<unsigned long long>(g_number), static_cast<unsigned long long>(g_seed),
               why.c_str());
  std::abort();
}

// --- Memory ---------------------------------------------------------------------------------

uint64_t statusKib(const char* key) {
  static std::string text(8192, '\0');
  const int fd = open("/proc/self/status", O_RDONLY);
  const ssize_t n = read(fd, text.data(), text.size() - 1);
  close(fd);
  if (n <= 0) return 0;
  text[static_cast<size_t>(n)] = 0;
  const size_t at = text.find(key);
  return at == std::string::npos ? 0
                                 : std::strtoull(text.c_str() + at + std::strlen(key), nullptr, 10);
}

/// Sets the high-water mark of the process's memory to what it has now.
void forgetPeak() {
  const int fd = open("/proc/self/clear_refs", O_WRONLY);
  if (fd < 0 || write(fd, "5", 1) != 1) wrong("cannot reset the peak of memory");
  close(fd);
}

// --- What is done to files ------------------------------------------------------------------

struct Change {
  bool in_place = true;      // nothing was moved, nor mended
  std::set<size_t> touched;  // bytes, when in_place
};

void mutate(Bytes& bytes, std::mt19937_64& random, Change& change) {
  auto place = [&] { return static_cast<size_t>(random() % bytes.size()); };
  for (uint64_t n = 1 + random() % 4; n > 0 && !bytes.empty(); --n) {
    switch (random() % 8) {
      case 0:
      case 1:
      case 2: {
        const size_t at = place();
        bytes[at] ^= static_cast<uint8_t>(1u << random() % 8);
        change.touched.insert(at);
        break;
      }
      case 3: {
        const size_t at = place();
        const size_t end = std::min(bytes.size(), at + 1 + random() % 64);
        for (size_t i = at; i < end; ++i) {
          const auto value = static_cast<uint8_t>(random() % 4 == 0 ? 0xff : random());
          if (bytes[i] != value) change.touched.insert(i);
          bytes[i] = value;
        }
        break;
      }
      case 4: {  // cut, and perhaps written on from there
        bytes.resize(place());
        if (random() % 2 == 0) bytes.resize(bytes.size() + random() % 200);
        change.in_place = false;
        break;
      }
      case 5: {  // a piece is missing
        const size_t at = place();
        const size_t count = std::min<size_t>(bytes.size() - at, 1 + random() % 300);
        bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at),
                    bytes.begin() + static_cast<ptrdiff_t>(at + count));
        change.in_place = false;
        break;
      }
      case 6: {  // a piece is there twice
        const size_t at = place();
        const size_t count = std::min<size_t>(bytes.size() - at, 1 + random() % 300);
        const Bytes piece(bytes.begin() + static_cast<ptrdiff_t>(at),
                          bytes.begin() + static_cast<ptrdiff_t>(at + count));
        const auto to = static_cast<ptrdiff_t>(place());
        bytes.insert(bytes.begin() + to, piece.begin(), piece.end());
        change.in_place = false;
        break;
      }
      case 7:  // one field of a block says something else
        mutateField(bytes.data(), bytes.size(), random);
        change.in_place = false;
        break;
    }
  }
}

struct Tally {
  const char* what;
  uint64_t mutations = 0;
  uint64_t refused = 0;  // not opened at all
  uint64_t damaged = 0;  // read, with losses named
  uint64_t untouched_blocks = 0;
  int64_t slowest_ns = 0;
  uint64_t most_bytes = 0;

  void print() const {
    std::printf("%-14s %9llu mutations: %llu refused, %llu read with their losses named;", what,
                static_cast<unsigned long long>(mutations),
                static_cast<unsigned long long>(refused), static_cast<unsigned long long>(damaged));
    if (untouched_blocks > 0) {
      std::printf(" %llu untouched blocks read;",
                  static_cast<unsigned long long>(untouched_blocks));
    }
    std::printf(" slowest %.1f ms, most memory beyond twice the file %.1f MB\n",
                static_cast<double>(slowest_ns) / 1e6, static_cast<double>(most_bytes) / 1e6);
  }
};

/// Runs `read` and holds it to the limits.
template <class Read>
void limited(Tally& tally, size_t file_bytes, Read&& read) {
  ++tally.mutations;
  forgetPeak();
  const uint64_t before = statusKib("VmRSS:") * 1024;
  const int64_t begin = clockNs(CLOCK_THREAD_CPUTIME_ID);
  alarm(10);  // for what never ends
  read();
  alarm(0);
  const int64_t took = clockNs(CLOCK_THREAD_CPUTIME_ID) - begin;
  const uint64_t peak = statusKib("VmHWM:") * 1024;
  const uint64_t used = peak - std::min(peak, before);
  const uint64_t extra = used - std::min<uint64_t>(used, 2 * file_bytes);
  tally.slowest_ns = std::max(tally.slowest_ns, took);
  tally.most_bytes = std::max(tally.most_bytes, extra);
  if (took > kMostNs) wrong("took " + std::to_string(took / 1'000'000) + " ms");
  if (extra > kMostExtraBytes) wrong("took " + std::to_string(used) + " bytes of memory");
}

// --- Traces ---------------------------------------------------------------------------------

struct Seed {
  Bytes bytes;
  std::vector<BlockInfo> blocks;
};

Seed seedOf(Bytes bytes, const MemoryFile& file) {
  Seed seed{std::move(bytes), {}};
  file.write(seed.bytes);
  auto reader = TraceReader::open(file.path());
  if (!reader) wrong("a seed is no trace");
  seed.blocks = reader->blocks();
  return seed;
}

/// Larger than makeSeed()'s: some thousand rows in blocks of a few hundred.
Bytes largeSeed(uint64_t number) {
  std::mt19937_64 random(number);
  const MemoryFile file;
  auto writer = TraceWriter::create(file.path(), {.zstd_level = 1, .max_block_rows = 400});
  Trace delta;
  for (int i = 0; i < 3; ++i) {
    addRows(delta, random, 1000);
    // Attributes must not describe rows that are in the file already.
    if (i > 0) delta.attribute.clear();
    if (!writer->write(delta)) std::abort();
    forEachTable(delta, [](auto& table) { table.clear(); });
  }
  if (number % 4 != 0 && !writer->finish()) std::abort();
  return file.read();
}

void readTrace(const MemoryFile& file, const Seed& seed, const Change& change, bool differs,
               Tally& tally) {
  const uint64_t limit = 2 * seed.bytes.size() + 64'000'000;
  auto reader = TraceReader::open(file.path());
  if (!reader) {
    if (reader.error().toString().empty()) wrong("refused without a reason");
    ++tally.refused;
    return;
  }
  const auto all = reader->read({.max_memory_bytes = limit});
  if (!all && all.error().message.empty()) wrong("failed without a reason");
  for (const DataLoss& loss : reader->losses()) {
    if (loss.reason.empty()) wrong("a loss without a reason");
  }
  if (!reader->losses().empty()) ++tally.damaged;
  if (change.in_place) {
    // What nobody touched is still there, and read. (Its own bytes are whole, so it is a block.)
    for (const BlockInfo& block : seed.blocks) {
      const auto hit = change.touched.lower_bound(static_cast<size_t>(block.offset));
      if (hit != change.touched.end() && *hit < block.end) continue;
      const auto& blocks = reader->blocks();
      const bool there = std::any_of(blocks.begin(), blocks.end(), [&](const BlockInfo& b) {
        return b.offset == block.offset && b.end == block.end && b.rows == block.rows;
      });
      if (!there) wrong("an untouched block at " + std::to_string(block.offset) + " is not read");
      ++tally.untouched_blocks;
    }
    if (differs) {
      const auto check = checkTrace(file.path());
      if (check && check->intact()) wrong("a changed file passes for intact");
    }
  }
}

// --- Arenas ---------------------------------------------------------------------------------

constexpr uint32_t kTestPid = 4711;

Bytes arenaSeed(uint64_t number, const std::string& path) {
  std::mt19937_64 random(number);
  const TestArenaHeader header(kTestPid);
  writeArena(path, header, header.file_bytes);
  std::ifstream in(path, std::ios::binary);
  Bytes bytes(std::istreambuf_iterator<char>(in), {});
  for (uint32_t r = 0; r < arena::kRingsPerArena; ++r) {
    Bytes records = threadRecord(100 + r, "worker");
    for (uint64_t i = 0; i < 200; ++i) {
      const uint64_t id = r * 1000 + i;
      const Bytes record = random() % 2 == 0 ? kernelRecord(id, 7, static_cast<int64_t>(1000 + i))
                                             : completeRecord(id);
      records.insert(records.end(), record.begin(), record.end());
    }
    std::copy(records.begin(), records.end(),
              bytes.begin() + static_cast<ptrdiff_t>(header.data_offset + r * header.ring_bytes));
    const uint64_t head = records.size();
    std::memcpy(bytes.data() + arena::kHeaderBytes + r * sizeof(arena::RingHeader), &head,
                sizeof head);
  }
  return bytes;
}

/// As a collector would, twice over each ring.
void readArena(const std::string& path, Tally& tally) {
  const auto file = ArenaFile::open(path);
  if (!file) {
    if (file.error().toString().empty()) wrong("refused without a reason");
    ++tally.refused;
    return;
  }
  SharedRows shared;
  RecordJoiner joiner(shared, ProcessId{1}, file->header().stamp_clock);
  bool damaged = false;
  for (uint32_t r = 0; r < file->ringCount(); ++r) {
    const uint64_t tail = file->ring(r).tail.load();
    const uint64_t head = file->ring(r).head.load();
    RecordWalk define(file->ringData(r), file->ringBytes(), tail, head);
    for (ByteView record = define.next(); !record.empty(); record = define.next()) {
      joiner.define(record);
    }
    RecordWalk join(file->ringData(r), file->ringBytes(), tail, head);
    for (ByteView record = join.next(); !record.empty(); record = join.next()) {
      joiner.join(record, r);
    }
    damaged = damaged || join.damaged();
  }
  joiner.endPass();
  if (damaged || joiner.damagedRecords() > 0) ++tally.damaged;
}

// --- Process logs ---------------------------------------------------------------------------

Bytes logSeed(uint64_t number) {
  std::mt19937_64 random(number);
  Bytes log;
  for (int i = 0; i < 20; ++i) {
    const std::string command =
        std::string("program\0argument", 16) + std::string(random() % 100, 'x');
    const std::string executable = "/usr/bin/program";
    process_log::RecordHeader h{};
    h.magic = process_log::kMagic;
    h.version = process_log::kVersion;
    h.pid = 100 + static_cast<uint32_t>(i);
    h.kind = process_log::Kind::kExec;
    h.command_bytes = static_cast<uint16_t>(command.size());
    h.executable_bytes = static_cast<uint16_t>(executable.size());
    const size_t bytes = (sizeof h + command.size() + executable.size() + 7) / 8 * 8;
    h.bytes = static_cast<uint16_t>(bytes);
    Bytes record(sizeof h);
    std::memcpy(record.data(), &h, sizeof h);
    record.insert(record.end(), command.begin(), command.end());
    record.insert(record.end(), executable.begin(), executable.end());
    record.resize(bytes);
    const uint32_t sum = process_log::checksum(record.data(), bytes);
    std::memcpy(record.data() + offsetof(process_log::RecordHeader, checksum), &sum, sizeof sum);
    log.insert(log.end(), record.begin(), record.end());
  }
  return log;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
  if (argc > 2) g_seed = std::strtoull(argv[2], nullptr, 10);
  std::mt19937_64 random(g_seed);
  const MemoryFile file;
  std::vector<Seed> seeds;
  for (uint64_t i = 0; i < 200; ++i) seeds.push_back(seedOf(makeSeed(i), file));
  for (uint64_t i = 0; i < 20; ++i) seeds.push_back(seedOf(largeSeed(i), file));
  const TempDirectory directory;
  const std::string arena_path = directory / "1.1.0.arena";
  const Bytes arena_seed = arenaSeed(1, arena_path);
  const Bytes log_seed = logSeed(1);
  size_t whole_log = 0;
  uint64_t log_damage = 0;
  if (decodeProcessLog(
          log_seed, [](const LoggedProcess&) {}, whole_log, log_damage) != 20) {
    wrong("the seed of process logs is none");
  }

  Tally traces{"traces"};
  Tally arenas{"arenas"};
  Tally logs{"process logs"};
  for (g_number = 1; g_number <= count; ++g_number) {
    Change change;
    const uint64_t which = random() % 20;
    if (which < 17) {
      const Seed& seed = seeds[random() % 10 == 0 ? 200 + random() % 20 : random() % 200];
      Bytes bytes = seed.bytes;
      mutate(bytes, random, change);
      if (random() % 2 == 0 && !change.in_place) repair(bytes.data(), bytes.size());
      const bool differs = bytes != seed.bytes;
      file.write(bytes);
      limited(traces, bytes.size(), [&] { readTrace(file, seed, change, differs, traces); });
    } else if (which < 18) {
      // Mostly where something is: the headers, and the beginnings of the rings.
      Bytes bytes = arena_seed;
      Bytes part(bytes.begin(), bytes.begin() + 8192);
      const size_t ring = random() % arena::kRingsPerArena;
      const size_t at = random() % 2 == 0 ? 0
                                          : arena::dataOffset(arena::kRingsPerArena) +
                                                ring * arena::kMinRingBytes;
      part.assign(bytes.begin() + static_cast<ptrdiff_t>(at),
                  bytes.begin() + static_cast<ptrdiff_t>(at + 8192));
      mutate(part, random, change);
      part.resize(std::min<size_t>(part.size(), bytes.size() - at));
      std::copy(part.begin(), part.end(), bytes.begin() + static_cast<ptrdiff_t>(at));
      if (random() % 16 == 0) bytes.resize(random() % bytes.size());
      std::ofstream(arena_path, std::ios::binary | std::ios::trunc)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
      limited(arenas, bytes.size(), [&] { readArena(arena_path, arenas); });
    } else {
      Bytes bytes = log_seed;
      mutate(bytes, random, change);
      limited(logs, bytes.size(), [&] {
        size_t consumed = 0;
        uint64_t damaged = 0;
        const size_t got = decodeProcessLog(
            bytes, [](const LoggedProcess&) {}, consumed, damaged);
        if (consumed > bytes.size()) wrong("read beyond the log");
        if (damaged > 0) ++logs.damaged;
        // Each touched byte spoils one record at most.
        if (change.in_place && got + change.touched.size() < 20) wrong("lost an untouched record");
      });
    }
    if (isatty(2) && g_number % 10'000 == 0) {
      std::fprintf(stderr, "\r%llu of %llu", static_cast<unsigned long long>(g_number),
                   static_cast<unsigned long long>(count));
    }
  }
  if (isatty(2)) std::fprintf(stderr, "\r\033[K");
  traces.print();
  arenas.print();
  logs.print();
  return 0;
}

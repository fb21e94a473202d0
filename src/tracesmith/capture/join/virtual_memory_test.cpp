// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/virtual_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>

#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace tracesmith {
namespace {

using arena::VirtualMemoryCall;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kBytes = 2 << 20;
constexpr uint64_t kAt = 0x7000'0000'0000;
constexpr uint64_t kBit = VirtualMemory::kHandleBit;

/// An event as one line: "alloc 0x7000 2097152 by 1".
std::string line(const VirtualMemory::Event& e) {
  char text[96];
  std::snprintf(
      text, sizeof text, "%s 0x%llx %llu by %llu", e.kind == MemoryKind::kAlloc ? "alloc" : "free",
      static_cast<unsigned long long>(e.address), static_cast<unsigned long long>(e.bytes),
      static_cast<unsigned long long>(e.correlation));
  return text;
}

class VirtualMemoryTest : public ::testing::Test {
 protected:
  /// The next call; its correlation id is also its stamp.
  VirtualMemory::Operation op(VirtualMemoryCall call, uint64_t handle, uint64_t address = 0,
                              uint64_t bytes = 0) {
    ++correlation_;
    return {.call = call,
            .correlation = correlation_,
            .stamp = static_cast<int64_t>(correlation_),
            .time_ns = static_cast<int64_t>(correlation_),
            .handle = handle,
            .address = address,
            .bytes = bytes,
            .device = call == VirtualMemoryCall::kCreate ? 0 : arena::kNoDevice};
  }
  void create(uint64_t handle, uint64_t bytes = kBytes) {
    memory_.add(op(VirtualMemoryCall::kCreate, handle, 0, bytes));
  }
  void release(uint64_t handle) { memory_.add(op(VirtualMemoryCall::kRelease, handle)); }
  void map(uint64_t handle, uint64_t address, uint64_t bytes = kBytes) {
    memory_.add(op(VirtualMemoryCall::kMap, handle, address, bytes));
  }
  void unmap(uint64_t address, uint64_t bytes = kBytes) {
    memory_.add(op(VirtualMemoryCall::kUnmap, 0, address, bytes));
  }
  void retain(uint64_t handle, uint64_t address) {
    memory_.add(op(VirtualMemoryCall::kRetain, handle, address));
  }
  void import(uint64_t handle) { memory_.add(op(VirtualMemoryCall::kImport, handle)); }

  static std::vector<std::string> lines(const std::vector<VirtualMemory::Event>& events) {
    std::vector<std::string> out;
    for (const auto& e : events) out.push_back(line(e));
    return out;
  }
  std::vector<std::string> rest() { return lines(memory_.finish()); }

  VirtualMemory memory_;
  uint64_t correlation_ = 0;
};

TEST_F(VirtualMemoryTest, AnAllocationIsNamedByItsFirstAddress) {
  create(16);
  map(16, kAt);
  map(16, 2 * kAt);
  unmap(kAt);
  unmap(2 * kAt);
  release(16);
  EXPECT_THAT(rest(), ElementsAre("alloc 0x700000000000 2097152 by 1",  //
                                  "free 0x700000000000 2097152 by 6"));
  EXPECT_EQ(memory_.unmatched(), 0u);
}

TEST_F(VirtualMemoryTest, AMappingKeepsMemoryWhoseHandleIsReleased) {
  create(16);
  map(16, kAt);
  release(16);
  EXPECT_THAT(lines(memory_.endPass()), IsEmpty());
  EXPECT_THAT(lines(memory_.endPass()), ElementsAre("alloc 0x700000000000 2097152 by 1"));
  unmap(kAt);
  EXPECT_THAT(rest(), ElementsAre("free 0x700000000000 2097152 by 4"));
  EXPECT_EQ(memory_.unmatched(), 0u);
}

TEST_F(VirtualMemoryTest, OneCallUnmapsSeveralMappings) {
  for (uint64_t i = 0; i < 4; ++i) {
    create(16 + i);
    map(16 + i, kAt + i * kBytes);
    release(16 + i);
  }
  unmap(kAt + kBytes, 2 * kBytes);
  const auto all = memory_.finish();
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(line(all[4]), "free 0x700000200000 2097152 by 13");
  EXPECT_EQ(line(all[5]), "free 0x700000400000 2097152 by 13");
}

TEST_F(VirtualMemoryTest, ARetainedHandleKeepsMemoryToo) {
  create(16);
  map(16, kAt);
  release(16);
  retain(16, kAt + 4096);  // any address in the mapping
  unmap(kAt);
  release(16);
  EXPECT_THAT(rest(), ElementsAre("alloc 0x700000000000 2097152 by 1",  //
                                  "free 0x700000000000 2097152 by 6"));
  EXPECT_EQ(memory_.unmatched(), 0u);
}

TEST_F(VirtualMemoryTest, TwoHandlesOfTheSameMemory) {
  create(16);
  map(16, kAt);
  retain(17, kAt);
  retain(17, kAt);
  release(17);
  release(17);
  unmap(kAt);
  release(16);
  EXPECT_THAT(rest(), ElementsAre("alloc 0x700000000000 2097152 by 1",  //
                                  "free 0x700000000000 2097152 by 8"));
  EXPECT_EQ(memory_.unmatched(), 0u);
}

TEST_F(VirtualMemoryTest, MemoryThatIsNeverMappedIsNamedByItsHandle) {
  create(16);
  release(16);
  create(16);
  EXPECT_THAT(rest(), ElementsAre("alloc 0x4000000000000010 2097152 by 1",
                                  "free 0x4000000000000010 2097152 by 2",
                                  "alloc 0x4000000000000010 2097152 by 3"));
}

TEST_F(VirtualMemoryTest, MemoryThatIsNotMappedForLongIsTold) {
  create(16);
  memory_.endPass();
  EXPECT_THAT(memory_.endPass(), IsEmpty());
  EXPECT_THAT(memory_.endCommit(), IsEmpty());
  EXPECT_THAT(lines(memory_.endCommit()), ElementsAre("alloc 0x4000000000000010 2097152 by 1"));
  map(16, kAt);
  unmap(kAt);
  release(16);
  EXPECT_THAT(rest(), ElementsAre("free 0x4000000000000010 2097152 by 4"));
}

TEST_F(VirtualMemoryTest, TwoLiveAllocationsNeverHaveOneAddress) {
  create(16);
  map(16, kAt);
  unmap(kAt);  // the memory stays, without a mapping
  create(17);
  map(17, kAt);
  create(kBit | 17);  // a handle that has the bit already
  release(kBit | 17);
  unmap(kAt);
  release(17);
  release(16);
  EXPECT_THAT(
      rest(),
      ElementsAre("alloc 0x700000000000 2097152 by 1", "alloc 0x4000000000000011 2097152 by 4",
                  "alloc 0x4000000000000012 2097152 by 6", "free 0x4000000000000012 2097152 by 7",
                  "free 0x4000000000000011 2097152 by 9", "free 0x700000000000 2097152 by 10"));
}

TEST_F(VirtualMemoryTest, AnAddressThatAnotherAllocationHadLastIsNotTakenOver) {
  create(16);
  map(16, kAt);
  create(17);  // while the other memory still exists
  unmap(kAt);
  release(16);
  map(17, kAt);
  create(18);
  unmap(kAt);
  release(17);
  map(18, kAt);
  EXPECT_THAT(
      rest(),
      ElementsAre("alloc 0x700000000000 2097152 by 1", "free 0x700000000000 2097152 by 5",
                  "alloc 0x4000000000000011 2097152 by 3", "free 0x4000000000000011 2097152 by 9",
                  "alloc 0x700000000000 2097152 by 7"));
}

TEST_F(VirtualMemoryTest, ImportedMemoryIsNoAllocation) {
  import(16);
  map(16, kAt);
  release(16);
  unmap(kAt);
  create(17);
  import(17);  // its own memory, under the same handle
  release(17);
  release(17);
  EXPECT_THAT(rest(), ElementsAre("alloc 0x4000000000000011 2097152 by 5",
                                  "free 0x4000000000000011 2097152 by 8"));
  EXPECT_EQ(memory_.unmatched(), 0u);
}

TEST_F(VirtualMemoryTest, HandlesAndAddressesBeginAnewWithAnotherProgram) {
  create(16);
  map(16, kAt);
  correlation_ = cuda_file::kIdsOfLife;
  create(16, 2 * kBytes);
  map(16, kAt, 2 * kBytes);
  unmap(kAt, 2 * kBytes);
  release(16);
  const auto all = memory_.finish();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].kind, MemoryKind::kFree);
  EXPECT_EQ(all[2].bytes, 2 * kBytes);
  EXPECT_EQ(memory_.unmatched(), 0u);
}

TEST_F(VirtualMemoryTest, CallsOfOtherThreadsAreTakenInByTheirTimes) {
  // Thread A creates (1) and maps (2); thread B unmaps (3) and releases (4). B's ring is read
  // first, and A's record of the creation is seen a pass later.
  const auto created = op(VirtualMemoryCall::kCreate, 16, 0, kBytes);
  const auto mapped = op(VirtualMemoryCall::kMap, 16, kAt, kBytes);
  unmap(kAt);
  release(16);
  EXPECT_THAT(memory_.endPass(), IsEmpty());
  memory_.add(mapped);
  memory_.add(created);
  EXPECT_THAT(lines(memory_.endPass()),
              ElementsAre("alloc 0x700000000000 2097152 by 1", "free 0x700000000000 2097152 by 4"));
  EXPECT_EQ(memory_.unmatched(), 0u);
}

TEST_F(VirtualMemoryTest, MemoryFromBeforeTheCaptureIsCountedOnce) {
  release(15);
  map(16, kAt);
  unmap(kAt);
  release(16);
  unmap(2 * kAt);
  retain(17, 3 * kAt);
  release(17);
  EXPECT_THAT(rest(), IsEmpty());
  EXPECT_EQ(memory_.unmatched(), 4u);
}

TEST_F(VirtualMemoryTest, AMissedReleaseOrUnmapEndsWhenHandleOrAddressComeAgain) {
  create(16);
  create(16, 2 * kBytes);  // the driver reused the handle
  map(16, kAt, 2 * kBytes);
  release(16);
  create(17);
  map(17, kAt + kBytes);  // and so this address was reused
  EXPECT_THAT(
      rest(),
      ElementsAre("alloc 0x4000000000000010 2097152 by 1", "free 0x4000000000000010 2097152 by 0",
                  "alloc 0x700000000000 4194304 by 2", "free 0x700000000000 4194304 by 0",
                  "alloc 0x700000200000 2097152 by 5"));
  EXPECT_EQ(memory_.unmatched(), 2u);
}

TEST_F(VirtualMemoryTest, RangesAtTheEndOfTheAddressSpaceEndThere) {
  create(16);
  map(16, UINT64_MAX - 5, kBytes);
  map(16, UINT64_MAX - 9, UINT64_MAX);
  map(16, kAt, 0);
  unmap(0, UINT64_MAX);
  unmap(UINT64_MAX, 1);
  release(16);
  EXPECT_EQ(rest().size(), 2u);
}

/// Resumes with a file that has all operations, and the events written before the collector died.
std::vector<std::string> resumed(const std::vector<VirtualMemory::Operation>& operations,
                                 const std::vector<VirtualMemory::Event>& written,
                                 const std::vector<VirtualMemory::Operation>& later) {
  VirtualMemory next;
  for (const auto& e : written) {
    next.restoreEvent(
        {.kind = e.kind, .address = e.address, .bytes = e.bytes, .correlation_id = e.correlation});
  }
  for (const auto& o : operations) next.add(o);
  std::vector<std::string> out;
  for (const auto& o : later) {
    next.add(o);
    for (const auto& e : next.endPass()) out.push_back(line(e));
  }
  for (const auto& e : next.finish()) out.push_back(line(e));
  EXPECT_EQ(next.unmatched(), 0u);
  return out;
}

TEST_F(VirtualMemoryTest, ACollectorGoesOnWhereAnotherDied) {
  std::vector<VirtualMemory::Operation> all = {
      op(VirtualMemoryCall::kCreate, 16, 0, kBytes),
      op(VirtualMemoryCall::kCreate, 17, 0, kBytes),
      op(VirtualMemoryCall::kMap, 17, kAt, kBytes),
      op(VirtualMemoryCall::kMap, 16, kAt + kBytes, kBytes),
      op(VirtualMemoryCall::kRelease, 16),
      op(VirtualMemoryCall::kRelease, 17),
      op(VirtualMemoryCall::kUnmap, 0, kAt, 2 * kBytes),
      op(VirtualMemoryCall::kCreate, 16, 0, kBytes),
      op(VirtualMemoryCall::kRelease, 16),
      op(VirtualMemoryCall::kCreate, 18, 0, kBytes),
  };
  for (const auto& o : all) memory_.add(o);
  const std::vector<std::string> whole = rest();
  ASSERT_EQ(whole.size(), 7u);
  // Whenever the first collector dies, both together make each row exactly once.
  for (size_t killed = 0; killed <= all.size(); ++killed) {
    VirtualMemory first;
    std::vector<VirtualMemory::Event> written;
    const auto keep = [&](const std::vector<VirtualMemory::Event>& events) {
      written.insert(written.end(), events.begin(), events.end());
    };
    for (size_t i = 0; i < killed; ++i) {
      first.add(all[i]);
      keep(first.endPass());
      keep(first.endCommit());
    }
    const auto middle = all.begin() + static_cast<ptrdiff_t>(killed);
    std::vector<std::string> both = lines(written);
    for (std::string& text : resumed({all.begin(), middle}, written, {middle, all.end()})) {
      both.push_back(std::move(text));
    }
    std::vector<std::string> sorted = whole;
    // Memory that was not mapped soon is identified by its handle.
    for (auto* list : {&sorted, &both}) {
      for (std::string& text : *list) text.erase(text.find("0x"), text.find(' ', 6) - 5);
      std::sort(list->begin(), list->end());
    }
    EXPECT_EQ(both, sorted) << "killed after " << killed;
  }
}

TEST_F(VirtualMemoryTest, CallsThatMakeNoSenseNeverFreeWhatWasNotAllocated) {
  std::mt19937_64 random(3);
  const auto some = [&](uint64_t few) {
    const uint64_t edges[] = {0, 1, kBit, kBit | 1, UINT64_MAX, UINT64_MAX - 4096};
    return random() % 4 == 0 ? edges[random() % std::size(edges)] : random() % few;
  };
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> live;  // life and address: bytes
  const auto check = [&](const std::vector<VirtualMemory::Event>& events) {
    for (const auto& e : events) {
      const std::pair key(e.created_by / cuda_file::kIdsOfLife, e.address);
      if (e.kind == MemoryKind::kAlloc) {
        ASSERT_TRUE(live.emplace(key, e.bytes).second);
      } else {
        const auto at = live.find(key);
        ASSERT_NE(at, live.end());
        ASSERT_EQ(at->second, e.bytes);
        live.erase(at);
      }
    }
  };
  for (int i = 0; i < 20000; ++i) {
    VirtualMemory::Operation o =
        op(static_cast<VirtualMemoryCall>(random() % 9), some(8), some(16) * 4096, some(4) * 4096);
    if (random() % 8 == 0) o.stamp = static_cast<int64_t>(random());
    if (random() % 64 == 0) o.correlation = random();
    memory_.add(o);
    if (random() % 8 == 0) check(memory_.endPass());
    if (random() % 32 == 0) check(memory_.endCommit());
  }
  check(memory_.finish());
  EXPECT_GT(memory_.unmatched(), 0u);
}

/// Compares with the simplest model: memory with its references, applied in the calls' order.
TEST_F(VirtualMemoryTest, TotalsAreThoseOfASlowAccountWhateverTheOrderOfArrival) {
  std::mt19937 random(7);
  struct Physical {
    uint64_t bytes, references, mappings;
  };
  std::map<uint64_t, Physical> physical;                           // by handle
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> mapped;        // address: bytes, handle
  std::vector<std::pair<int64_t, uint64_t>> truth;                 // stamp, bytes at that time
  std::vector<std::pair<int64_t, VirtualMemory::Operation>> come;  // pass in which it is seen
  uint64_t now = 0, next_handle = 1;
  const auto drop = [&](uint64_t handle) {
    if (physical[handle].references + physical[handle].mappings != 0) return;
    now -= physical[handle].bytes;
    physical.erase(handle);
  };
  const auto any = [&](auto& of) {
    return std::next(of.begin(), static_cast<ptrdiff_t>(random() % of.size()));
  };
  const auto seen = [&](VirtualMemory::Operation o) {
    // Seven calls per pass; some are seen in the next one.
    come.emplace_back(o.stamp / 7 + static_cast<int64_t>(random() % 2), o);
    truth.emplace_back(o.stamp, now);
  };
  for (int i = 0; i < 4000; ++i) {
    switch (random() % 5) {
      case 0:
      case 1: {
        // Handles are reused as soon as they are free.
        uint64_t handle = random() % 4 != 0 ? 1 : next_handle++;
        while (physical.contains(handle)) ++handle;
        const uint64_t bytes = kBytes * (1 + random() % 10);
        physical[handle] = {bytes, 1, 0};
        now += bytes;
        seen(op(VirtualMemoryCall::kCreate, handle, 0, bytes));
        break;
      }
      case 2: {
        if (physical.empty()) break;
        const auto at = any(physical);
        if (at->second.references == 0) break;
        const uint64_t address = kAt + (random() % 64) * 64 * kBytes;
        if (mapped.contains(address)) break;
        mapped[address] = {at->second.bytes, at->first};
        ++at->second.mappings;
        seen(op(VirtualMemoryCall::kMap, at->first, address, at->second.bytes));
        break;
      }
      case 3: {
        if (mapped.empty()) break;
        const auto at = any(mapped);
        const auto [address, what] = *at;
        mapped.erase(at);
        --physical[what.second].mappings;
        drop(what.second);
        seen(op(VirtualMemoryCall::kUnmap, 0, address, what.first));
        break;
      }
      default: {
        if (physical.empty()) break;
        const uint64_t handle = any(physical)->first;
        if (physical[handle].references == 0) break;
        --physical[handle].references;
        drop(handle);
        seen(op(VirtualMemoryCall::kRelease, handle));
        break;
      }
    }
  }
  std::shuffle(come.begin(), come.end(), random);
  std::stable_sort(come.begin(), come.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<VirtualMemory::Event> events;
  const auto keep = [&](const std::vector<VirtualMemory::Event>& more) {
    events.insert(events.end(), more.begin(), more.end());
  };
  int64_t pass = 0;
  for (const auto& [in, o] : come) {
    for (; pass < in; ++pass) keep(memory_.endPass());
    if (pass % 13 == 0) keep(memory_.endCommit());
    memory_.add(o);
  }
  keep(memory_.finish());
  EXPECT_EQ(memory_.unmatched(), 0u);
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  std::map<uint64_t, uint64_t> live;  // by address, as a reader pairs them
  uint64_t sum = 0;
  size_t at = 0;
  for (const auto& [stamp, bytes] : truth) {
    for (; at < events.size() && events[at].time_ns <= stamp; ++at) {
      if (events[at].kind == MemoryKind::kAlloc) {
        ASSERT_TRUE(live.emplace(events[at].address, events[at].bytes).second) << stamp;
        sum += events[at].bytes;
      } else {
        ASSERT_EQ(live[events[at].address], events[at].bytes) << stamp;
        live.erase(events[at].address);
        sum -= events[at].bytes;
      }
    }
    ASSERT_EQ(sum, bytes) << "at " << stamp;
  }
  EXPECT_EQ(at, events.size());
  EXPECT_GT(events.size(), 1000u);
}

}  // namespace
}  // namespace tracesmith

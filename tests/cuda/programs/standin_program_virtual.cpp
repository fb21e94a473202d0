// SPDX-License-Identifier: Apache-2.0
// Modes of standin_program that manage memory by the virtual memory API, and those that have
// streams write and wait for values.
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "standin_program.hpp"

namespace program {
namespace {

constexpr size_t kSmall = size_t{2} << 20, kLarge = size_t{20} << 20;

// What the program knows of the physical memory that it has: of devices, and of all of them.
struct Account {
  std::mutex mutex;
  uint64_t now = 0;

  void add(size_t bytes) {
    const std::lock_guard lock(mutex);
    now += bytes;
    counts.virtual_peak_bytes = std::max<uint64_t>(counts.virtual_peak_bytes, now);
    ++counts.virtual_allocations;
  }
  void remove(size_t bytes) {
    const std::lock_guard lock(mutex);
    now -= bytes;
    ++counts.virtual_frees;
  }
} account;

// The driver's own count is the program's.
void checkAccount(uint64_t elsewhere = 0) {
  size_t available = 0, total = 0;
  CHECK(cuMemGetInfo(&available, &total));
  expect(total - available == account.now - elsewhere, "the driver has another count of memory");
}

CUmemAllocationProp properties(CUdevice device) {
  CUmemAllocationProp how{};
  how.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  how.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  how.location.id = device;
  return how;
}

CUmemGenericAllocationHandle create(size_t bytes, CUdevice device = 0) {
  const CUmemAllocationProp how = properties(device);
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemCreate(&handle, bytes, &how, 0));
  account.add(bytes);
  return handle;
}

CUdeviceptr reserve(size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
  ++counts.reserves;
  return address;
}

// Maps it, and uses its first and last byte.
void map(CUdeviceptr address, size_t bytes, CUmemGenericAllocationHandle handle,
         CUdevice device = 0) {
  CHECK(cuMemMap(address, bytes, 0, handle, 0));
  ++counts.maps;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(address, bytes, &access, 1));
  auto* const memory = reinterpret_cast<unsigned char*>(address);
  memory[0] = memory[bytes - 1] = 1;
}

void unmap(CUdeviceptr address, size_t bytes) {
  CHECK(cuMemUnmap(address, bytes));
  ++counts.unmaps;
}

void release(CUmemGenericAllocationHandle handle) { CHECK(cuMemRelease(handle)); }

// PyTorch's expandable segment: a range that is far larger than what is used of it, in which chunks
// of one size are mapped one after the other.
class Segment {
 public:
  explicit Segment(size_t chunk) : chunk_(chunk), begin_(reserve(kChunks * chunk)) {}
  void grow(unsigned chunks) {
    const size_t first = handles_.size();
    for (unsigned i = 0; i < chunks; ++i) handles_.push_back(create(chunk_));
    for (size_t i = first; i < handles_.size(); ++i) {
      map(begin_ + i * chunk_, chunk_, handles_[i]);
    }
  }
  void shrink(unsigned chunks) {
    for (unsigned i = 0; i < chunks; ++i) {
      unmap(begin_ + (handles_.size() - 1) * chunk_, chunk_);
      release(handles_.back());
      handles_.pop_back();
      account.remove(chunk_);
    }
  }

 private:
  static constexpr size_t kChunks = 50;
  size_t chunk_;
  CUdeviceptr begin_;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

void expandable(unsigned rounds, unsigned wait_ms) {
  Segment small(kSmall), large(kLarge);
  CUstream on = stream();
  for (unsigned i = 0; i < rounds; ++i) {
    small.grow(9);
    large.grow(3);
    for (unsigned k = 0; k < 10; ++k) launch(k, on);
    CHECK(cuStreamSynchronize(on));
    ++counts.stream_syncs;
    checkAccount();
    if (wait_ms != 0) usleep(wait_ms * 1000);
    small.shrink(7);
    large.shrink(3);
    checkAccount();
  }
}

// Several chunks beside each other, which one call unmaps.
void earlyRelease(unsigned rounds) {
  constexpr size_t kChunks = 4;
  const CUdeviceptr begin = reserve(kChunks * kSmall);
  for (unsigned round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < kChunks; ++i) {
      const CUmemGenericAllocationHandle handle = create(kSmall);
      map(begin + i * kSmall, kSmall, handle);
      release(handle);
    }
    checkAccount();
    unmap(begin, 2 * kSmall);
    account.remove(kSmall);
    account.remove(kSmall);
    checkAccount();
    unmap(begin + 2 * kSmall, 2 * kSmall);
    account.remove(kSmall);
    account.remove(kSmall);
    checkAccount();
  }
  CHECK(cuMemAddressFree(begin, kChunks * kSmall));
  // What is never mapped is memory as well.
  release(create(kLarge));
  account.remove(kLarge);
}

void hostMemory(CUdeviceptr at) {
#if CUDA_VERSION >= 12020
  CUmemAllocationProp how{};
  how.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  how.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemCreate(&handle, kLarge, &how, 0));
  counts.host_virtual_bytes += kLarge;
  map(at, kLarge, handle);
  release(handle);
  unmap(at, kLarge);
#else
  (void)at;
#endif
}

void retained() {
  const CUdeviceptr begin = reserve(2 * kLarge);
  CUmemGenericAllocationHandle handle = create(kLarge), again = 0;
  map(begin, kLarge, handle);
  release(handle);
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(begin + kSmall)));
  expect(again == handle, "another handle was retained");
  // The same memory a second time, and a part of it: it stays while one of these is there.
  map(begin + kLarge, kSmall, again);
  unmap(begin, kLarge);
  release(again);
  checkAccount();
  unmap(begin + kLarge, kSmall);
  account.remove(kLarge);
  checkAccount();
  hostMemory(begin);
  // Memory that another process might have exported.
  handle = create(kSmall);
  int file = -1;
  CHECK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  CHECK(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(intptr_t{file}),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(file);
  map(begin, kSmall, imported);
  release(imported);
  release(handle);
  account.remove(kSmall);
  unmap(begin, kSmall);
}

// Each creates and maps, and then gives back what its neighbour has made.
void onThreads(unsigned threads, unsigned rounds) {
  constexpr size_t kChunks = 3;
  const CUdeviceptr begin = reserve(threads * kChunks * kSmall);
  std::vector<CUmemGenericAllocationHandle> handles(threads * kChunks);
  std::barrier<> all(threads);
  const auto work = [&](unsigned own) {
    CHECK(cuCtxSetCurrent(context));
    for (unsigned round = 0; round < rounds; ++round) {
      for (size_t i = own * kChunks; i < (own + 1) * kChunks; ++i) {
        handles[i] = create(kSmall);
        map(begin + i * kSmall, kSmall, handles[i]);
      }
      all.arrive_and_wait();
      const size_t next = (own + 1) % threads * kChunks;
      for (size_t i = next; i < next + kChunks; ++i) {
        unmap(begin + i * kSmall, kSmall);
        // The account first: when the memory is there again it may be taken at once.
        account.remove(kSmall);
        release(handles[i]);
      }
      all.arrive_and_wait();
    }
  };
  std::vector<std::thread> running;
  for (unsigned own = 0; own < threads; ++own) running.emplace_back(work, own);
  for (std::thread& thread : running) thread.join();
  counts.threads += threads;
  checkAccount();
}

void twoDevices() {
  int devices = 0;
  CHECK(cuDeviceGetCount(&devices));
  expect(devices >= 2, "there are no two devices: STANDIN_SCRIPT=devices=2");
  const CUdeviceptr begin = reserve(2 * kLarge);
  map(begin, kLarge, create(kLarge, 0));
  map(begin + kLarge, kSmall, create(kSmall, 1));
  counts.second_device_bytes = kSmall;
  checkAccount(kSmall);  // the context is one of the first device
}

void values() {
  CUstream on = stream();
  alignas(8) static cuuint64_t memory = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(&memory);
  CHECK(cuStreamWriteValue32(on, address, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
  CHECK(cuStreamWaitValue32(on, address, 1, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK(cuStreamWriteValue64(on, address, 2, CU_STREAM_WRITE_VALUE_DEFAULT));
  CHECK(cuStreamWaitValue64(on, address, 2, CU_STREAM_WAIT_VALUE_EQ));
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  operation.waitValue.address = address;
  operation.waitValue.value64 = 2;
  CHECK(cuStreamBatchMemOp(on, 1, &operation, 0));
  counts.value_operations = 5;
}

}  // namespace

bool virtualMode(const char* name, unsigned first, unsigned second) {
  const std::string mode = name;
  if (mode == "expandable") {
    expandable(first, second);
  } else if (mode == "early_release") {
    earlyRelease(first);
  } else if (mode == "retained") {
    retained();
  } else if (mode == "virtual_threads") {
    onThreads(first, second);
  } else if (mode == "virtual_devices") {
    twoDevices();
  } else if (mode == "values") {
    values();
  } else {
    return false;
  }
  counts.virtual_left_bytes = account.now;
  return true;
}

}  // namespace program

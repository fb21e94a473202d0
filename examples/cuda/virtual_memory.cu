// SPDX-License-Identifier: Apache-2.0
// Allocates memory like PyTorch's expandable segments: reserves one range of addresses, and maps
// physical memory into it and out of it piece by piece. A piece is freed when it is neither mapped
// nor held by its handle. In each round, one piece is unmapped before its handle is released, and
// one after it. Usage: virtual_memory [ROUNDS]
#include <algorithm>

#include "driver.hpp"

constexpr const char* kName = "virtual_memory";
constexpr size_t kPieces = 8;
constexpr size_t kMostBytes = 128u << 20;

extern "C" __global__ void touch(unsigned* data, size_t n, unsigned value) {
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value;
}

struct Physical {
  uint64_t created = 0, created_bytes = 0, freed = 0, freed_bytes = 0, live = 0, peak = 0;
  void create(size_t bytes) {
    ++created, created_bytes += bytes, live += bytes;
    peak = std::max(peak, live);
  }
  void give(size_t bytes) { ++freed, freed_bytes += bytes, live -= bytes; }
};

int main(int argc, char** argv) {
  sample::start();
  CHECK(cudaFree(nullptr));  // creates the context
  const auto granularity_of = DRIVER_FUNCTION(kName, cuMemGetAllocationGranularity);
  const auto reserve = DRIVER_FUNCTION(kName, cuMemAddressReserve);
  const auto free_range = DRIVER_FUNCTION(kName, cuMemAddressFree);
  const auto create = DRIVER_FUNCTION(kName, cuMemCreate);
  const auto release = DRIVER_FUNCTION(kName, cuMemRelease);
  const auto map = DRIVER_FUNCTION(kName, cuMemMap);
  const auto unmap = DRIVER_FUNCTION(kName, cuMemUnmap);
  const auto set_access = DRIVER_FUNCTION(kName, cuMemSetAccess);

  const unsigned rounds = sample::number(argc, argv, 1, 4);
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = 0;
  size_t granularity = 0;
  CHECK_DRIVER(granularity_of(&granularity, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  if (granularity * kPieces * (kPieces + 1) / 2 > kMostBytes) {
    sample::sayAbsent(kName, "this device maps memory in large pieces only");
  }
  const size_t range = granularity * kPieces * (kPieces + 1) / 2;
  CUdeviceptr base = 0;
  CHECK_DRIVER(reserve(&base, range, 0, 0, 0));
  CUmemAccessDesc access{};
  access.location = kind.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  Physical physical;
  for (unsigned round = 0; round < rounds; ++round) {
    CUmemGenericAllocationHandle handles[kPieces] = {};
    size_t sizes[kPieces] = {}, mapped = 0;
    for (size_t i = 0; i < kPieces; ++i) {
      sizes[i] = granularity * (i % 4 + 1);
      CHECK_DRIVER(create(&handles[i], sizes[i], &kind, 0));
      physical.create(sizes[i]);
      CHECK_DRIVER(map(base + mapped, sizes[i], 0, handles[i], 0));
      CHECK_DRIVER(set_access(base + mapped, sizes[i], &access, 1));
      mapped += sizes[i];
    }
    auto* const data = reinterpret_cast<unsigned*>(base);
    const size_t items = mapped / sizeof(unsigned);
    sample::bracket("touch", 1, [&] {
      touch<<<static_cast<unsigned>((items + 255) / 256), 256>>>(data, items, round + 1);
    });
    std::vector<unsigned> last(1);
    sample::copyOut(last, data + items - 1);
    sample::require(last[0] == round + 1, "a number");
    for (size_t i = kPieces; i-- > 0;) {
      mapped -= sizes[i];
      if (i % 2 == 0) CHECK_DRIVER(release(handles[i]));
      CHECK_DRIVER(unmap(base + mapped, sizes[i]));
      if (i % 2 != 0) CHECK_DRIVER(release(handles[i]));
      physical.give(sizes[i]);
    }
  }
  CHECK_DRIVER(free_range(base, range));
  const auto member = [](const char* name, uint64_t value) {
    return std::string(", \"") + name + "\": " + std::to_string(value);
  };
  sample::say(kName, member("granularity", granularity) + member("reserved_bytes", range) +
                         member("physical_created", physical.created) +
                         member("physical_created_bytes", physical.created_bytes) +
                         member("physical_freed", physical.freed) +
                         member("physical_freed_bytes", physical.freed_bytes) +
                         member("physical_peak_bytes", physical.peak));
}

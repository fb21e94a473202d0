// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/driver_devices.hpp"

#include <dlfcn.h>

#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith::agent {
namespace {

// The driver's numbers for device attributes.
enum Attribute : int {
  kThreadsPerBlock = 1,
  kWarpSize = 10,
  kClockKhz = 13,
  kMultiprocessors = 16,
  kPciBus = 33,
  kPciDevice = 34,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kThreadsPerMultiprocessor = 39,
  kPciDomain = 50,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedBytesPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
};

struct Driver {
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*memory)(size_t*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*uuid)(uint8_t*, int) = nullptr;
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool findDriver(Driver& driver) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library != nullptr && find(library, "cuDeviceGetCount", driver.count) &&
         find(library, "cuDeviceGet", driver.device) &&
         find(library, "cuDeviceGetName", driver.name) &&
         find(library, "cuDeviceTotalMem_v2", driver.memory) &&
         find(library, "cuDeviceGetAttribute", driver.attribute) &&
         find(library, "cuDeviceGetUuid", driver.uuid);
}

uint32_t attributeOf(const Driver& driver, int device, Attribute attribute) {
  int value = 0;
  return driver.attribute(&value, attribute, device) == 0 && value > 0
             ? static_cast<uint32_t>(value)
             : 0;
}

uint32_t pciOf(const Driver& driver, int device) {
  int domain = 0, bus = 0, number = 0;
  const bool known = driver.attribute(&domain, kPciDomain, device) == 0 &&
                     driver.attribute(&bus, kPciBus, device) == 0 &&
                     driver.attribute(&number, kPciDevice, device) == 0;
  return known ? arena::pciLocation(static_cast<uint32_t>(domain), static_cast<uint32_t>(bus),
                                    static_cast<uint32_t>(number))
               : 0;
}

void define(const Driver& driver, int ordinal) {
  int device = 0;
  if (driver.device(&device, ordinal) != 0) return;
  arena::CudaDeviceRecord r{};
  r.header = {arena::RecordKind::kCudaDevice, 0, sizeof r / 8, static_cast<uint32_t>(ordinal)};
  size_t bytes = 0;
  if (driver.memory(&bytes, device) == 0) r.memory_bytes = bytes;
  r.multiprocessors = attributeOf(driver, device, kMultiprocessors);
  r.clock_mhz = attributeOf(driver, device, kClockKhz) / 1000;
  r.warp_size = attributeOf(driver, device, kWarpSize);
  r.threads_per_block = attributeOf(driver, device, kThreadsPerBlock);
  r.compute_major = attributeOf(driver, device, kComputeMajor);
  r.compute_minor = attributeOf(driver, device, kComputeMinor);
  r.threads_per_multiprocessor = attributeOf(driver, device, kThreadsPerMultiprocessor);
  r.registers_per_multiprocessor = attributeOf(driver, device, kRegistersPerMultiprocessor);
  r.shared_bytes_per_multiprocessor = attributeOf(driver, device, kSharedBytesPerMultiprocessor);
  r.memory_clock_mhz = attributeOf(driver, device, kMemoryClockKhz) / 1000;
  r.memory_bus_bits = attributeOf(driver, device, kMemoryBusBits);
  r.pci = pciOf(driver, device);
  (void)driver.uuid(r.uuid, device);
  char name[256] = {};
  if (driver.name(name, sizeof name - 1, device) == 0) {
    writeText(arena::CudaText::kDevice, static_cast<uint32_t>(ordinal), name);
  }
  writeDefinition(&r, sizeof r);
}

}  // namespace

void defineDevices() {
  static bool defined = false;
  Driver driver;
  int count = 0;
  if (defined || !findDriver(driver) || driver.count(&count) != 0) return;
  for (int ordinal = 0; ordinal < count; ++ordinal) define(driver, ordinal);
  defined = count > 0;  // definitions are kept for later captures
}

}  // namespace tracesmith::agent

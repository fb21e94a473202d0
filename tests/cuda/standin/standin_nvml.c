// SPDX-License-Identifier: Apache-2.0
// A stand-in for NVIDIA's management library: the two devices of the stand-in for the driver, in
// the other order, with four NVLinks of the fourth generation between them.
#include <stdio.h>
#include <string.h>

enum { kSuccess = 0, kInvalidArgument = 2 };
enum { kLinks = 4, kNvLink4 = 6, kRemoteIsGpu = 0, kFirstBus = 0x17, kGpus = 2 };

typedef struct {
  char legacy_address[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
} PciInfo;

static unsigned busOf(const void* device) { return (unsigned)(size_t)device; }

static int describe(PciInfo* pci, unsigned bus) {
  memset(pci, 0, sizeof *pci);
  pci->bus = bus;
  snprintf(pci->address, sizeof pci->address, "00000000:%02X:00.0", bus);
  return kSuccess;
}

int nvmlInit_v2(void) { return kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = kGpus;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= kGpus) return kInvalidArgument;
  *device = (void*)(size_t)(kFirstBus + kGpus - 1 - index);
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) { return describe(pci, busOf(device)); }
int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  snprintf(name, size, "stand-in at bus %02x", busOf(device));
  return kSuccess;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  // As standinUuid() has it.
  unsigned char bytes[16] = "stand-in device";
  bytes[15] = (unsigned char)(busOf(device) - kFirstBus);
  int at = snprintf(uuid, size, "GPU-");
  for (int i = 0; i < 16; ++i) {
    const char* dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    at += snprintf(uuid + at, size - (unsigned)at, "%s%02x", dash, bytes[i]);
  }
  return kSuccess;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  (void)device;
  *active = 1;
  return link < kLinks ? kSuccess : kInvalidArgument;
}
int nvmlDeviceGetNvLinkVersion(void* device, unsigned link, unsigned* version) {
  (void)device, (void)link;
  *version = kNvLink4;
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* pci) {
  (void)link;
  return describe(pci, 2 * kFirstBus + 1 - busOf(device));
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* kind) {
  (void)device, (void)link;
  *kind = kRemoteIsGpu;
  return kSuccess;
}

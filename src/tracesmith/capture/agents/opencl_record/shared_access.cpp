// SPDX-License-Identifier: Apache-2.0
// Shared memory that one thread reads while another thread frees it. The freeing thread must not
// wait: it may be a driver thread in a callback of the program, and the reading thread may be
// waiting for the driver.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

namespace tracesmith::record {

Looking::Looking() {
  StateLock lock;
  ++g_objects.looking;
}

Looking::~Looking() {
  List<FreedShared> freed;
  {
    StateLock lock;
    if (--g_objects.looking != 0) return;
    freed = g_objects.freed;
    g_objects.freed = {};
  }
  for (const FreedShared& f : freed) {
    next().clSVMFree(f.context, f.pointer);
    next().clReleaseContext(f.context);
  }
  freed.free();
}

bool somebodyLooks() { return g_objects.looking != 0; }

bool freedLater(cl_context context, void* p) {
  if (!somebodyLooks() || p == nullptr || !retainLocked(context)) return false;
  if (g_objects.freed.add({context, p})) return true;
  next().clReleaseContext(context);
  return false;
}

}  // namespace tracesmith::record

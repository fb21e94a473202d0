// SPDX-License-Identifier: Apache-2.0
// Shared memory that one thread reads while another thread frees it. The freeing thread must not
// wait: it may be a driver thread in a callback of the program, and the reading thread may be
// waiting for the driver.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

namespace tracesmith::record {

SharedAccess::SharedAccess() {
  StateLock lock;
  ++g_objects.shared_accesses;
}

SharedAccess::~SharedAccess() {
  List<FreedShared> freed;
  {
    StateLock lock;
    if (--g_objects.shared_accesses != 0) return;
    freed = g_objects.freed;
    g_objects.freed = {};
  }
  for (const FreedShared& f : freed) {
    next().clSVMFree(f.context, f.pointer);
    next().clReleaseContext(f.context);
  }
  freed.free();
}

bool isSharedBeingRead() { return g_objects.shared_accesses != 0; }

bool deferFree(cl_context context, void* p) {
  if (!isSharedBeingRead() || p == nullptr || !retainLocked(context)) return false;
  if (g_objects.freed.add({context, p})) return true;
  next().clReleaseContext(context);
  return false;
}

}  // namespace tracesmith::record

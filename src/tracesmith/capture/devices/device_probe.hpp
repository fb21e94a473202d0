// SPDX-License-Identifier: Apache-2.0
// Asks one vendor's library what devices there are, in the calling process. A vendor's library may
// crash or hang there: devices.hpp does it in a child process and is what everybody else calls.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/capture/devices/devices.hpp"

namespace tracesmith {

/// A backend's library, opened (and never closed again: vendors' threads may run on in it).
class VendorLibrary {
 public:
  /// Tries `names` in `directories`, then by the system's search, then in the vendor's own places,
  /// and notes in `report` what was found or where it was looked for.
  VendorLibrary(BackendReport& report, const std::vector<const char*>& names,
                const std::vector<std::string>& directories,
                const std::vector<std::string>& vendor_directories);
  explicit operator bool() const { return handle_ != nullptr; }
  /// nullptr when the library has no such function.
  template <class Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

/// Whether cuInit() has been called in this process.
bool cudaIsInUse();

/// Fills `report` (whose backend is set). `directories` are searched before the system's.
void probeBackend(BackendReport& report, const std::vector<std::string>& directories);

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
// Asks one vendor's library for its devices, in the calling process. A vendor's library may crash
// or hang while it is asked. Other code therefore calls devices.hpp, which does this in a child
// process.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/capture/devices/devices.hpp"

namespace tracesmith {

/// A backend's library, opened. It is never closed, because the vendor's threads may still run in
/// it.
class VendorLibrary {
 public:
  /// Tries `names` in `directories`, then by the system's search, then in the vendor's own
  /// directories. Notes in `report` what was found, or where it was looked for.
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

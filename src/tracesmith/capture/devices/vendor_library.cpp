// SPDX-License-Identifier: Apache-2.0
// Finds vendors' libraries as programs do, and notes where it searched.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "tracesmith/capture/devices/device_probe.hpp"

namespace tracesmith {
namespace {

/// The dynamic linker's search path: LD_LIBRARY_PATH, then the system's directories.
std::vector<std::string> linkerDirectories() {
  std::vector<std::string> found;
  void* self = ::dlopen(nullptr, RTLD_LAZY);
  if (self == nullptr) return found;
  Dl_serinfo size{};
  if (::dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0) {
    const auto buffer = std::make_unique<char[]>(size.dls_size);
    auto* info = reinterpret_cast<Dl_serinfo*>(buffer.get());
    info->dls_size = size.dls_size;
    info->dls_cnt = size.dls_cnt;
    if (::dlinfo(self, RTLD_DI_SERINFOSIZE, info) == 0 &&
        ::dlinfo(self, RTLD_DI_SERINFO, info) == 0)
      for (unsigned i = 0; i < info->dls_cnt; ++i)
        if (info->dls_serpath[i].dls_name != nullptr)
          found.emplace_back(info->dls_serpath[i].dls_name);
  }
  ::dlclose(self);
  return found;
}

void note(std::vector<std::string>& places, const std::string& place) {
  if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
}

}  // namespace

VendorLibrary::VendorLibrary(BackendReport& report, const std::vector<const char*>& names,
                             const std::vector<std::string>& directories,
                             const std::vector<std::string>& vendor_directories) {
  report.library = names.front();
  std::string trouble;  // the error of a library that exists but cannot be loaded
  const auto tryOpen = [&](const std::string& path) {
    ::dlerror();
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      report.library = path.substr(path.find_last_of('/') + 1);
    } else if (const char* said = ::dlerror(); said != nullptr) {
      // The message is "libX.so: cannot open shared object file: No such file or directory" only
      // when X itself is missing. When a dependency is missing, it names the dependency.
      const std::string text = said;
      if (text.rfind(path + ": cannot open shared object file: No such", 0) != 0) trouble = text;
    }
    return handle_ != nullptr;
  };
  const auto tryDirectories = [&](const std::vector<std::string>& places) {
    for (const std::string& place : places) {
      note(report.looked_in, place);
      for (const char* name : names)
        if (tryOpen(place + "/" + name)) return true;
    }
    return false;
  };

  bool found = tryDirectories(directories);
  for (size_t i = 0; i < names.size() && !found; ++i) found = tryOpen(names[i]);
  if (!found) {
    for (const std::string& place : linkerDirectories()) note(report.looked_in, place);
    note(report.looked_in, "/etc/ld.so.cache");
    found = tryDirectories(vendor_directories);
  }
  report.library_found = found;
  if (!found) {
    report.problem = trouble.empty() ? report.library + " is not installed"
                                     : report.library + " cannot be loaded: " + trouble;
    return;
  }
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) report.path = map->l_name;
}

void* VendorLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
// The part of NVTX's binary interface that the agent uses. It is the same in all versions from 2
// on; tests/cuda/programs/nvtx_layout_check.cpp checks it against NVIDIA's headers.
//
// NVTX consists of headers only. The first NVTX function that a program calls loads the library
// named by NVTX_INJECTION64_PATH and calls its InitializeInjectionNvtx2(). Each program and library
// compiled with the headers does so for itself. The function gets access to tables of function
// pointers to fill in; pointers that stay empty do nothing.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tracesmith::agent::nvtx {

/// Handles are opaque to the program: only the agent dereferences them.
struct Domain;
struct String;

enum MessageType : int32_t { kAscii = 1, kUnicode = 2, kRegistered = 3 };

constexpr int32_t kColorArgb = 1;
constexpr int32_t kLastPayload = 6;  // arena::NvtxPayload has the same numbers
constexpr int kNoTracking = -2;      // for push and pop: the level is unknown

struct EventAttributes {
  uint16_t version;
  uint16_t size;  // size of the program's version of the struct
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  uint64_t payload;  // or the bits of another type
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* unicode;
    const String* registered;
  } message;
};
static_assert(sizeof(EventAttributes) == 48);

// Table numbers for GetExportTable, and the functions in each module's table.
constexpr uint32_t kCallbacksTable = 1;
constexpr uint32_t kVersionTable = 3;
constexpr int32_t kCoreModule = 1;
constexpr int32_t kCore2Module = 5;
constexpr uint32_t kOurVersion = 3;

using Function = void (*)();
using GetExportTable = const void* (*)(uint32_t table);
struct Callbacks {
  size_t size;
  int (*get_module_functions)(int32_t module, Function*** table, unsigned* entries);
};
struct VersionInfo {
  size_t size;
  uint32_t version;
  uint32_t reserved;
  void (*set_injection_version)(uint32_t version);
};

enum Core : unsigned {
  kMarkEx = 1,
  kMarkA = 2,
  kMarkW = 3,
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeStartW = 6,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePushW = 10,
  kRangePop = 11,
  kNameCategoryA = 12,
  kNameCategoryW = 13,
  kNameOsThreadA = 14,
  kNameOsThreadW = 15,
};
enum Core2 : unsigned {
  kDomainMarkEx = 1,
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainNameCategoryA = 8,
  kDomainNameCategoryW = 9,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW = 11,
  kDomainCreateA = 12,
  kDomainCreateW = 13,
  kDomainDestroy = 14,
};

}  // namespace tracesmith::agent::nvtx

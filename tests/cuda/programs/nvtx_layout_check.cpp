// SPDX-License-Identifier: Apache-2.0
// What the agent declares of NVTX beside NVIDIA's own headers, checked by the compiler.
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <cstdio>

#include "tracesmith/capture/agents/cuda/nvtx.hpp"
#include "tracesmith/capture/protocol/nvtx_records.hpp"

namespace {

using namespace tracesmith::agent;  // NOLINT: a program of one function

#define AT(theirs, ours)                                                                  \
  static_assert(                                                                          \
      offsetof(nvtxEventAttributes_t, theirs) == offsetof(nvtx::EventAttributes, ours) && \
          sizeof(nvtxEventAttributes_t::theirs) == sizeof(nvtx::EventAttributes::ours),   \
      #theirs)
AT(version, version);
AT(size, size);
AT(category, category);
AT(colorType, color_type);
AT(color, color);
AT(payloadType, payload_type);
AT(payload, payload);
AT(messageType, message_type);
AT(message, message);
static_assert(sizeof(nvtxEventAttributes_t) == sizeof(nvtx::EventAttributes));

#define SAME(theirs, ours) \
  static_assert(static_cast<long long>(theirs) == static_cast<long long>(ours), #theirs)
SAME(NVTX_MESSAGE_TYPE_ASCII, nvtx::kAscii);
SAME(NVTX_MESSAGE_TYPE_UNICODE, nvtx::kUnicode);
SAME(NVTX_MESSAGE_TYPE_REGISTERED, nvtx::kRegistered);
SAME(NVTX_COLOR_ARGB, nvtx::kColorArgb);
SAME(NVTX_NO_PUSH_POP_TRACKING, nvtx::kNoTracking);
using tracesmith::arena::NvtxPayload;
SAME(NVTX_PAYLOAD_UNKNOWN, NvtxPayload::kNone);
SAME(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, NvtxPayload::kUint64);
SAME(NVTX_PAYLOAD_TYPE_INT64, NvtxPayload::kInt64);
SAME(NVTX_PAYLOAD_TYPE_DOUBLE, NvtxPayload::kDouble);
SAME(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, NvtxPayload::kUint32);
SAME(NVTX_PAYLOAD_TYPE_INT32, NvtxPayload::kInt32);
SAME(NVTX_PAYLOAD_TYPE_FLOAT, NvtxPayload::kFloat);
SAME(NVTX_PAYLOAD_TYPE_FLOAT, nvtx::kLastPayload);

SAME(NVTX_ETID_CALLBACKS, nvtx::kCallbacksTable);
SAME(NVTX_ETID_VERSIONINFO, nvtx::kVersionTable);
SAME(NVTX_CB_MODULE_CORE, nvtx::kCoreModule);
SAME(NVTX_CB_MODULE_CORE2, nvtx::kCore2Module);
SAME(NVTX_VERSION, nvtx::kOurVersion);
SAME(offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable),
     offsetof(nvtx::Callbacks, get_module_functions));
SAME(sizeof(NvtxExportTableCallbacks), sizeof(nvtx::Callbacks));
SAME(offsetof(NvtxExportTableVersionInfo, version), offsetof(nvtx::VersionInfo, version));
SAME(offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion),
     offsetof(nvtx::VersionInfo, set_injection_version));
SAME(sizeof(NvtxExportTableVersionInfo), sizeof(nvtx::VersionInfo));

#define CORE(name) SAME(NVTX_CBID_CORE_##name, nvtx::k##name)
CORE(MarkEx);
CORE(MarkA);
CORE(MarkW);
CORE(RangeStartEx);
CORE(RangeStartA);
CORE(RangeStartW);
CORE(RangeEnd);
CORE(RangePushEx);
CORE(RangePushA);
CORE(RangePushW);
CORE(RangePop);
CORE(NameCategoryA);
CORE(NameCategoryW);
CORE(NameOsThreadA);
CORE(NameOsThreadW);
#define CORE2(name) SAME(NVTX_CBID_CORE2_##name, nvtx::k##name)
CORE2(DomainMarkEx);
CORE2(DomainRangeStartEx);
CORE2(DomainRangeEnd);
CORE2(DomainRangePushEx);
CORE2(DomainRangePop);
CORE2(DomainNameCategoryA);
CORE2(DomainNameCategoryW);
CORE2(DomainRegisterStringA);
CORE2(DomainRegisterStringW);
CORE2(DomainCreateA);
CORE2(DomainCreateW);
CORE2(DomainDestroy);

}  // namespace

int main() { std::puts("what the agent knows of NVTX is so"); }

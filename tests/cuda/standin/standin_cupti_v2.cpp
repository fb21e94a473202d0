// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA 13's libcupti that name a subscriber: several of them at a time, each with
// its own kinds, buffers, clock and, if it wants so, its own selection of fields.
#include <algorithm>
#include <cstdio>

#include "standin_cupti.hpp"

using namespace standin;

namespace {

bool isKind(CUpti_ActivityKind kind) {
  return kind > CUPTI_ACTIVITY_KIND_INVALID && kind < CUPTI_ACTIVITY_KIND_COUNT;
}

// Fields lie in the order of the selection, each aligned to its size, the whole to 8.
CUptiResult makeLayout(CUpti_ActivityKind kind, const CUpti_ActivityFieldSelection& selection,
                       Layout** made) {
  const std::span<const Field> known = fieldsOf(kind);
  if (known.empty()) return CUPTI_ERROR_INVALID_KIND;
  if (selection.structSize == 0 || selection.numFields == 0 || selection.pFieldIds == nullptr ||
      selection.pFieldIds[0] != known[0].id) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  auto* layout = new Layout;
  auto* entries = new CUpti_ActivityFieldLayoutEntry[selection.numFields];
  for (size_t i = 0; i < selection.numFields; ++i) {
    const int id = selection.pFieldIds[i];
    const auto at = std::find_if(known.begin(), known.end(),
                                 [id](const Field& field) { return field.id == id; });
    if (at == known.end()) return CUPTI_ERROR_INVALID_PARAMETER;
    const size_t alignment = std::min<size_t>(at->wide, 8);
    layout->bytes = (layout->bytes + alignment - 1) / alignment * alignment;
    layout->fields.push_back(*at);
    layout->offsets.push_back(layout->bytes);
    entries[i] = {sizeof entries[i], id, layout->bytes, at->wide, alignment};
    layout->bytes += at->wide;
  }
  layout->bytes = (layout->bytes + 7) / 8 * 8;
  layout->reported = new CUpti_ActivityRecordLayout{sizeof(CUpti_ActivityRecordLayout), entries,
                                                    selection.numFields, layout->bytes};
  *made = layout;
  return CUPTI_SUCCESS;
}

bool same(const Layout& a, const Layout& b) {
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                    [](const Field& x, const Field& y) { return x.id == y.id; });
}

}  // namespace

#define CHECK_SUBSCRIBER() \
  if (!isSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER

extern "C" {

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber,
                                       CUpti_CallbackFunc callback, void* userdata,
                                       CUpti_SubscriberParams* params) {
  if (params != nullptr && params->structSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  // Who was built with the headers of CUDA 13.0 has no such field.
  const bool many =
      params != nullptr &&
      params->structSize > offsetof(CUpti_SubscriberParams, allowMultipleSubscribers) &&
      params->allowMultipleSubscribers == 1;
  std::string other;
  const CUptiResult result =
      subscribe(subscriber, callback, userdata,
                params != nullptr ? params->subscriberName : nullptr, many, &other);
  if (!other.empty() && params != nullptr && params->oldSubscriberName != nullptr &&
      params->oldSubscriberSize != 0) {
    std::snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", other.c_str());
  }
  return result;
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks_v2(
    CUpti_SubscriberHandle subscriber, CUpti_BuffersCallbackRequestFunc_v2 request,
    CUpti_BuffersCallbackCompleteFunc_v2 complete) {
  CHECK_SUBSCRIBER();
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  State& s = state();
  const std::lock_guard filling(s.filling);
  const std::lock_guard lock(s.mutex);
  clientOf(subscriber).request_with_info = reinterpret_cast<RequestWithInfo>(request);
  clientOf(subscriber).complete_with_info = reinterpret_cast<CompleteWithInfo>(complete);
  startWorker(s);
  return CUPTI_SUCCESS;
}

// A selection is changed by disabling the kind, a forced flush, and enabling it again.
CUptiResult CUPTIAPI cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber,
                                            CUpti_ActivityKind kind, CUpti_ActivityConfig* config) {
  CHECK_SUBSCRIBER();
  if (!isKind(kind)) return CUPTI_ERROR_INVALID_KIND;
  if (config != nullptr && config->structSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  Client& client = clientOf(subscriber);
  State& s = state();
  if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && s.many == 1 &&
      s.clients[0].attributes[CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE] == 0) {
    return CUPTI_ERROR_NOT_COMPATIBLE;
  }
  const bool selects = client.attributes[CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS] != 0;
  if (selects) {
    if (config == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    Layout* layout = nullptr;
    const CUptiResult result = makeLayout(kind, config->fieldSelection, &layout);
    if (result != CUPTI_SUCCESS) return result;
    const Layout* before = client.layouts[kind].load();
    if (before != nullptr && !same(*before, *layout)) {
      const std::lock_guard lock(s.mutex);
      const bool has_buffers = !client.retired.empty() || !client.active.empty();
      if (client.kinds[kind].load()) return CUPTI_ERROR_INVALID_OPERATION;
      if (has_buffers) misuse("fields are selected anew without a forced flush");
    }
    client.layouts[kind].store(layout);
  }
  return enableKind(client, kind);
}

CUptiResult CUPTIAPI cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber,
                                             CUpti_ActivityKind kind, CUpti_ActivityConfig*) {
  CHECK_SUBSCRIBER();
  if (!isKind(kind)) return CUPTI_ERROR_INVALID_KIND;
  clientOf(subscriber).kinds[kind].store(false);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber,
                                                   uint8_t* buffer, size_t valid_bytes,
                                                   CUpti_Activity** record) {
  CHECK_SUBSCRIBER();
  return nextRecord(clientOf(subscriber), buffer, valid_bytes, record);
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber,
                                                          CUcontext, uint32_t, size_t* dropped) {
  CHECK_SUBSCRIBER();
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(state().mutex);
  *dropped = std::exchange(clientOf(subscriber).dropped, 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                                  CUpti_ActivityAttribute attribute, size_t* bytes,
                                                  void* value) {
  CHECK_SUBSCRIBER();
  Client& client = clientOf(subscriber);
  if (attribute == CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const bool is_early = attribute == CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS ||
                        attribute == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK ||
                        attribute == CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE;
  // In CUDA 13.3 who shares has no clock of its own.
  if (attribute == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK && version() < 130400 &&
      state().many == 1) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  if (is_early && client.anyKind()) misuse("an attribute is set after a kind is enabled");
  if (attribute == CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE) {
    return setAttribute(first(), attribute, bytes, value);  // it holds for all
  }
  const CUptiResult result = setAttribute(client, attribute, bytes, value);
  if (result != CUPTI_SUCCESS) return result;
  const uint64_t set = client.attributes[attribute];
  if (attribute == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK) {
    client.clock.store(reinterpret_cast<CUpti_TimestampCallbackFunc>(set));
    client.first_reading = readClocks(client);
  } else if (attribute == CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS) {
    client.latency.store(set != 0);
  } else if (attribute == CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE) {
    client.system_thread_ids.store(set == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                                  CUpti_ActivityAttribute attribute, size_t* bytes,
                                                  void* value) {
  CHECK_SUBSCRIBER();
  if (attribute == CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE && value != nullptr) {
    *static_cast<uint8_t*>(value) = state().many;
    return CUPTI_SUCCESS;
  }
  if (attribute == CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE) {
    if (state().whole_graphs && value != nullptr) {
      *static_cast<uint8_t*>(value) = 1;
      return CUPTI_SUCCESS;
    }
    return getAttribute(first(), attribute, bytes, value);
  }
  return getAttribute(clientOf(subscriber), attribute, bytes, value);
}

CUptiResult CUPTIAPI cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t* ns) {
  CHECK_SUBSCRIBER();
  if (ns == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *ns = clientOf(subscriber).timestamp();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber,
                                                               CUpti_ExternalCorrelationKind kind,
                                                               uint64_t id) {
  CHECK_SUBSCRIBER();
  return pushExternal(clientOf(subscriber), kind, id);
}

CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber,
                                                              CUpti_ExternalCorrelationKind kind,
                                                              uint64_t* last) {
  CHECK_SUBSCRIBER();
  return popExternal(clientOf(subscriber), kind, last);
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/sharing.hpp"

#include <dlfcn.h>

#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/capture/agents/cuda/cupti_v2.hpp"
#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/agents/cuda/selection.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"

namespace tracesmith::agent {
namespace {

using cupti::kSelected;
using cupti::kSuccess;
constexpr size_t kSelectedKinds = sizeof kSelected / sizeof *kSelected;
static_assert(kSelectedKinds <= cuda_file::kSelections);
static_assert(kSelected[0].kind == cupti::kConcurrentKernel);

cupti::Functions2 g_functions;
constinit std::atomic<void*> g_sharing{nullptr};  // the subscriber

constexpr size_t indexOf(int kind) {
  size_t i = 0;
  while (i < kSelectedKinds && kSelected[i].kind != kind) ++i;
  return i;
}

// --- Layouts ------------------------------------------------------------------------------------

/// The layout of one kind's records in a buffer.
struct Plan {
  uint32_t count = 0;  // 0: not reported, or not for all fields
  uint32_t record_bytes = 0;
  cuda_file::Field fields[cuda_file::Selection::kMostFields];
};

const cupti::RecordLayout* layoutOf(const cupti::BufferDoneInfo* info, int kind) {
  if (info == nullptr || info->size < sizeof *info || info->layouts == nullptr) return nullptr;
  return static_cast<size_t>(kind) < info->count ? info->layouts[kind] : nullptr;
}

const cupti::FieldLayout* findField(const cupti::RecordLayout& layout, int number) {
  // Later versions may append to the description of a field.
  const size_t reported = layout.count > 0 ? layout.fields->size : 0;
  const size_t step = reported > sizeof *layout.fields ? reported : sizeof *layout.fields;
  const auto* at = reinterpret_cast<const uint8_t*>(layout.fields);
  for (size_t i = 0; i < layout.count; ++i, at += step) {
    const auto* field = reinterpret_cast<const cupti::FieldLayout*>(at);
    if (field->field == number) return field;
  }
  return nullptr;
}

void makePlan(const cupti::Selected& kind, const cupti::RecordLayout* layout, Plan& plan) {
  if (layout == nullptr || layout->fields == nullptr || layout->bytes > UINT16_MAX) return;
  uint32_t count = 0;
  for (size_t i = 1; i < kind.count; ++i) {  // the kind is always first
    const cupti::Field& f = kind.fields[i];
    const cupti::FieldLayout* const field = findField(*layout, f.number);
    if (field == nullptr || field->offset + field->bytes > layout->bytes) return;
    const size_t bytes = field->bytes < f.bytes ? field->bytes : f.bytes;
    plan.fields[count++] = {static_cast<uint16_t>(field->offset), f.offset,
                            static_cast<uint16_t>(bytes)};
  }
  plan.count = count;
  plan.record_bytes = static_cast<uint32_t>(layout->bytes);
}

void write(size_t index, const Plan& plan) {
  cuda_file::Header& h = sharedHeader();
  cuda_file::Selection& s = h.selections[index];
  s.kind.store(0, std::memory_order_seq_cst);
  s.count = plan.count;
  memcpy(s.fields, plan.fields, plan.count * sizeof *plan.fields);
  const int kind = kSelected[index].kind;
  h.record_bytes[kind].store(plan.record_bytes, std::memory_order_relaxed);
  s.kind.store(static_cast<uint32_t>(kind), std::memory_order_release);
}

std::atomic_flag g_publishing = ATOMIC_FLAG_INIT;
std::atomic<bool> g_layout_reported[kSelectedKinds];  // reported by CUPTI

/// Publishes a layout for the collector. A reported layout is final: a selection does not change.
void publish(size_t index, const Plan& plan, bool reported) {
  while (g_publishing.test_and_set(std::memory_order_acquire)) {
  }
  const bool is_new = !g_layout_reported[index].load(std::memory_order_relaxed);
  if (is_new) write(index, plan);
  if (reported) g_layout_reported[index].store(true, std::memory_order_relaxed);
  g_publishing.clear(std::memory_order_release);
}

/// Until CUPTI reports the layout of its records, publishes the documented one: a struct of the
/// fields in the order of the selection. Only if its length is the one that CUPTI uses.
void publishExpected(void* subscriber, size_t index) {
  const cupti::Selected& kind = kSelected[index];
  Plan plan;
  size_t end = 0;
  for (size_t n = 0; n < kind.count; ++n) {
    const cupti::Field& f = kind.fields[n];
    const size_t alignment = f.selected_bytes < 8 ? f.selected_bytes : 8;
    const size_t at = (end + alignment - 1) / alignment * alignment;
    end = at + f.selected_bytes;
    if (n == 0) continue;
    plan.fields[plan.count++] = {static_cast<uint16_t>(at), f.offset, f.bytes};
  }
  plan.record_bytes = static_cast<uint32_t>((end + 7) / 8 * 8);
  const size_t bytes =
      recordBytes(kind.kind, [=](uint8_t* memory, size_t size, cupti::Activity** record) {
        return g_functions.cuptiActivityGetNextRecord_v2(subscriber, memory, size, record);
      });
  if (bytes == plan.record_bytes) publish(index, plan, false);
}

/// Makes plans for all kinds, even for those that are not in this buffer, because a later buffer
/// may stay behind. False: there is no layout.
bool makePlans(const cupti::BufferDoneInfo* info, Plan* plans) {
  bool any = false;
  for (size_t i = 0; i < kSelectedKinds; ++i) {
    const cupti::RecordLayout* const layout = layoutOf(info, kSelected[i].kind);
    makePlan(kSelected[i], layout, plans[i]);
    any = any || plans[i].count != 0;
    if (plans[i].count == 0 || g_layout_reported[i].load(std::memory_order_relaxed)) continue;
    publish(i, plans[i], true);
  }
  return any;
}

void reportMissingLayout() {
  static std::atomic_flag reported = ATOMIC_FLAG_INIT;
  if (reported.test_and_set(std::memory_order_relaxed)) return;
  reportProblem(false, "CUPTI does not report the layout of all of its records: some are not read");
}

// --- Buffers ------------------------------------------------------------------------------------

void requestBuffer2(uint8_t** buffer, size_t* size, size_t* most_records,
                    const cupti::BufferRequestInfo*) {
  requestBuffer(buffer, size, most_records);
}

/// The records of one buffer, read by the layouts that came with it.
class Records {
 public:
  Records(uint8_t* buffer, size_t valid, void* subscriber)
      : buffer_(buffer), valid_(valid), subscriber_(subscriber) {}

  /// False: there is no layout.
  bool learn(const cupti::BufferDoneInfo* info) { return makePlans(info, plans_); }

  /// As cuptiActivityGetNextRecord, which uses CUPTI's internal layouts. These are gone if CUPTI is
  /// being shut down on another thread, so the result must be the record that follows the previous
  /// one.
  int next(cupti::Activity** record) const {
    const cupti::Activity* const before = *record;
    const int code =
        g_functions.cuptiActivityGetNextRecord_v2(subscriber_, buffer_, valid_, record);
    const size_t index = before != nullptr ? indexOf(before->kind) : kSelectedKinds;
    if (index == kSelectedKinds || plans_[index].count == 0) return code;
    const size_t after = placeOf(before) + (plans_[index].record_bytes + 7) / 8 * 8;
    const bool follows = code == kSuccess              ? placeOf(*record) == after
                         : code == cupti::kInvalidKind ? kindAt(after) == 0
                                                       : after >= valid_;
    return follows ? code : kLost;
  }

  void writeRecord(const cupti::Activity& record, size_t bytes) const {
    const size_t index = indexOf(record.kind);
    if (index == kSelectedKinds || plans_[index].count == 0) return reportMissingLayout();
    cupti::AnyRecord whole;
    cupti::gather(record.kind, reinterpret_cast<const uint8_t*>(&record), bytes,
                  plans_[index].fields, plans_[index].count, whole);
    writeActivity(whole.activity(), sizeof whole);
  }

 private:
  static constexpr int kLost = -1;
  size_t placeOf(const cupti::Activity* record) const {
    return static_cast<size_t>(reinterpret_cast<const uint8_t*>(record) - buffer_);
  }
  int32_t kindAt(size_t place) const {
    int32_t kind = 0;
    if (place + sizeof kind <= valid_) memcpy(&kind, buffer_ + place, sizeof kind);
    return kind;
  }

  uint8_t* const buffer_;
  const size_t valid_;
  void* const subscriber_;
  Plan plans_[kSelectedKinds];
};

void bufferDone2(uint8_t* buffer, size_t, size_t valid, const cupti::BufferDoneInfo* info) {
  if (isDead() || buffer == nullptr) return;
  void* const subscriber = g_sharing.load(std::memory_order_acquire);
  if (subscriber == nullptr) return returnBuffer(buffer, valid);
  Records records(buffer, valid, subscriber);
  if (!records.learn(info)) return;  // CUPTI is being shut down: the collector reads the buffer
  readBuffer(
      buffer, valid, [&](cupti::Activity** record) { return records.next(record); },
      [&](const cupti::Activity& record, size_t bytes) { records.writeRecord(record, bytes); });
}

// --- Subscribing --------------------------------------------------------------------------------

bool findFunctions(void* library) {
  bool all = true;
#define TS_X(name, optional, parameters)                                                  \
  g_functions.name = reinterpret_cast<decltype(g_functions.name)>(dlsym(library, #name)); \
  all = all && (g_functions.name != nullptr || (optional));
  TS_CUPTI_FUNCTIONS_2(TS_X)
#undef TS_X
  return all;
}

template <class Value>
bool set(void* subscriber, int attribute, Value value) {
  size_t bytes = sizeof value;
  return g_functions.cuptiActivitySetAttribute_v2(subscriber, attribute, &bytes, &value) ==
         kSuccess;
}

/// CUDA 13.3 does not let a sharing subscriber have its own clock, although setting it succeeds. So
/// read it back.
bool takesClock(void* subscriber, uint64_t (*clock)()) {
  if (!set(subscriber, cupti::kAttributeTimestampCallback, clock)) return false;
  uint64_t time = 0;
  if (g_functions.cuptiGetTimestamp_v2(subscriber, &time) != kSuccess) return false;
  const auto ahead = static_cast<int64_t>(clock() - time);
  return ahead > -1'000'000 && ahead < 1'000'000'000;
}

/// Returns CUPTI's code, also for a kind whose fields are unknown here.
int enableKind(void* subscriber, int kind) {
  const size_t index = indexOf(kind);
  if (index == kSelectedKinds) return cupti::kNotSupported;
  const cupti::Selected& selected = kSelected[index];
  int fields[cuda_file::Selection::kMostFields];
  static_assert(sizeof cupti::kKernelFields / sizeof(cupti::Field) <=
                cuda_file::Selection::kMostFields);
  for (size_t i = 0; i < selected.count; ++i) fields[i] = selected.fields[i].number;
  cupti::ActivityConfig config{sizeof config, {sizeof config.selection, selected.count, fields}};
  const int code = g_functions.cuptiActivityEnable_v2(subscriber, kind, &config);
  if (code == kSuccess) publishExpected(subscriber, index);
  return code;
}

/// If there is no other tool, refused kinds may work without sharing: returns false.
bool enableKinds(void* subscriber, bool is_alone) {
  for (const CapturedKind& captured : kCapturedKinds) {
    const int code = enableKind(subscriber, captured.kind);
    if (code == kSuccess) continue;
    if (is_alone && code != cupti::kInsufficientPrivileges) return false;
    reportKindProblem(captured.name, code);
  }
  return true;
}

/// Once set, it holds for all subscribers of the process, for its whole life.
bool traceWholeGraphs(void* subscriber) {
  uint8_t whole = 1;
  size_t bytes = sizeof whole;
  const bool is_set = set(subscriber, cupti::kAttributeGraphTrace, whole);
  whole = 0;
  if (is_set && (g_functions.cuptiActivityGetAttribute_v2 == nullptr ||
                 (g_functions.cuptiActivityGetAttribute_v2(subscriber, cupti::kAttributeGraphTrace,
                                                           &bytes, &whole) == kSuccess &&
                  whole == 1))) {
    return true;
  }
  reportProblem(false,
                "graphs are traced by their nodes: another tool of this process requires it");
  return false;
}

bool enter(void* subscriber, uint64_t (*clock)(), bool is_alone, const CaptureOptions& options) {
  if (!set(subscriber, cupti::kAttributeUserDefinedRecords, uint8_t{1}) ||
      !takesClock(subscriber, clock)) {
    return false;
  }
  (void)set(subscriber, cupti::kAttributeZeroedBuffer, uint8_t{1});
  if (options.latency) (void)set(subscriber, cupti::kAttributeLatencyTimestamps, uint8_t{1});
  const bool whole = options.whole_graphs && traceWholeGraphs(subscriber);
  if (g_functions.cuptiActivityRegisterCallbacks_v2(subscriber, requestBuffer2, bufferDone2) !=
          kSuccess ||
      !enableKinds(subscriber, is_alone)) {
    return false;
  }
  const int code = whole ? enableKind(subscriber, cupti::kGraphTrace) : kSuccess;
  if (code != kSuccess) reportKindProblem("graphs as wholes", code);
  return true;
}

void disableKinds(void* subscriber) {
  for (const CapturedKind& captured : kCapturedKinds) {
    (void)g_functions.cuptiActivityDisable_v2(subscriber, captured.kind, nullptr);
  }
  (void)g_functions.cuptiActivityDisable_v2(subscriber, cupti::kUnifiedMemory, nullptr);
  (void)g_functions.cuptiActivityDisable_v2(subscriber, cupti::kGraphTrace, nullptr);
}

void leave(void* subscriber) {
  g_sharing.store(nullptr, std::memory_order_release);
  disableKinds(subscriber);
  (void)set(subscriber, cupti::kAttributeUserDefinedRecords, uint8_t{0});
  if (g_cupti.cuptiUnsubscribe != nullptr) (void)g_cupti.cuptiUnsubscribe(subscriber);
  abandonBuffers();
  sharedHeader().selects.store(0, std::memory_order_release);
}

/// Reports if another tool has chosen it earlier, for all subscribers.
void reportWholeGraphs(void* subscriber) {
  uint8_t whole = 0;
  size_t bytes = sizeof whole;
  if (g_functions.cuptiActivityGetAttribute_v2 == nullptr ||
      g_functions.cuptiActivityGetAttribute_v2(subscriber, cupti::kAttributeGraphTrace, &bytes,
                                               &whole) != kSuccess ||
      whole != 1) {
    return;
  }
  reportProblem(false, "another tool has CUPTI report graphs as wholes: their kernels are missing");
}

}  // namespace

bool enterSharing(void* library, uint32_t version, cupti::Callback callback, uint64_t (*clock)(),
                  const CaptureOptions& options, void** subscriber) {
  if (version < cupti::kFirstWithLayouts || !findFunctions(library)) return false;
  for (auto& reported : g_layout_reported) reported.store(false, std::memory_order_relaxed);
  char other[cupti::kOtherNameBytes] = {};
  cupti::SubscriberParams params{sizeof params, "TraceSmith", other, sizeof other, 1, {}};
  void* mine = nullptr;
  if (g_functions.cuptiSubscribe_v2(&mine, callback, nullptr, &params) != kSuccess) return false;
  g_sharing.store(mine, std::memory_order_release);
  sharedHeader().selects.store(1, std::memory_order_release);
  if (!enter(mine, clock, other[0] == 0, options)) {
    leave(mine);
    return false;
  }
  if (other[0] != 0 && !options.whole_graphs) reportWholeGraphs(mine);
  *subscriber = mine;
  return true;
}

void disableSharing() { disableKinds(g_sharing.load(std::memory_order_relaxed)); }

void leaveSharing() {
  if (void* const subscriber = g_sharing.load(std::memory_order_relaxed)) leave(subscriber);
}

int enableSharing(cupti::Kind kind) {
  return enableKind(g_sharing.load(std::memory_order_relaxed), kind);
}

bool timestampOfSharing(uint64_t* time) {
  void* const subscriber = g_sharing.load(std::memory_order_relaxed);
  return subscriber != nullptr && g_functions.cuptiGetTimestamp_v2(subscriber, time) == kSuccess;
}

bool isSharing() { return g_sharing.load(std::memory_order_relaxed) != nullptr; }

bool areLayoutsReported() { return g_layout_reported[0].load(std::memory_order_relaxed); }

size_t droppedOfSharing() {
  size_t dropped = 0;
  void* const subscriber = g_sharing.load(std::memory_order_relaxed);
  const int code =
      g_functions.cuptiActivityGetNumDroppedRecords_v2(subscriber, nullptr, 0, &dropped);
  return code == kSuccess ? dropped : 0;
}

}  // namespace tracesmith::agent

// SPDX-License-Identifier: Apache-2.0
// How the agent records NVTX ranges and marks: it replaces their functions. Each range start and
// each range end is one record, written on the program's own thread without taking a lock or
// allocating memory. The collector pairs them. Neither CUDA nor CUPTI is needed, and a forked child
// is treated like any other process.
//
// Measured by bench/nvtx_cost.sh: 33 to 73 ns for a push and its pop.
#include "tracesmith/capture/agents/cuda/nvtx.hpp"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/cuda/controlled.hpp"
#include "tracesmith/capture/agents/cuda/nvtx_names.hpp"
#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"
#include "tracesmith/capture/protocol/nvtx_records.hpp"

namespace tracesmith::agent::nvtx {
namespace {

using arena::NvtxEvent;

constexpr uint32_t kNearDomains = 16;
constexpr size_t kMostInline = 512;  // of a text that is written with its event

/// Number of open ranges of a thread, by domain.
struct Thread {
  uint32_t levels[kNearDomains] = {};
  uint32_t* more = nullptr;  // a page for the other domains
  uint64_t next_id = 0, end_id = 0;
};
constinit thread_local Thread t_thread __attribute__((tls_model("initial-exec")));
constinit pthread_key_t g_page_key = 0;
constinit bool g_has_page_key = false;
constexpr size_t kPageBytes = kMostDomains * sizeof(uint32_t);

uint32_t* distantLevel(uint32_t domain) {
  if (t_thread.more == nullptr) {
    if (!g_has_page_key) return nullptr;
    void* const page =
        mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    t_thread.more = static_cast<uint32_t*>(page);
    pthread_setspecific(g_page_key, page);
  }
  return &t_thread.more[domain];
}

/// Null: unknown.
inline uint32_t* levelOf(uint32_t domain) {
  if (__builtin_expect(domain < kNearDomains, 1)) return &t_thread.levels[domain];
  const int before = errno;
  uint32_t* const level = distantLevel(domain);
  errno = before;
  return level;
}

uint64_t newId() {
  constexpr uint64_t kBatch = 64;
  constinit static std::atomic<uint64_t> ids{1};
  Thread& t = t_thread;
  if (t.next_id == t.end_id) {
    t.next_id = ids.fetch_add(kBatch, std::memory_order_relaxed);
    t.end_id = t.next_id + kBatch;
  }
  return t.next_id++;
}

/// The file of this process exists; in a forked child the first caller creates it.
inline bool canWriteDefinitions() {
  if (sharedFileIsOpen()) return true;
  const int before = errno;
  const NoCancel whole;
  const bool open =
      armed() && g_epoch->load() != 0 && !DefinitionLock::isInterrupted() && openSharedFile();
  errno = before;
  return open;
}

/// A name as the program passes it.
struct Message {
  uint32_t number = 0;
  const char* text = nullptr;  // if it has no number
  const wchar_t* wide = nullptr;
};

inline Message messageOf(const char* text) {
  if (text == nullptr) return {};
  const uint32_t number = nameNumber(text);
  return {number, number == 0 ? text : nullptr, nullptr};
}
inline Message messageOf(const wchar_t* text) {
  if (text == nullptr) return {};
  const uint32_t number = nameNumber(text);
  return {number, nullptr, number == 0 ? text : nullptr};
}
Message messageOf(const EventAttributes& a) {
  switch (a.message_type) {
    case kAscii:
      return messageOf(a.message.ascii);
    case kUnicode:
      return messageOf(a.message.unicode);
    case kRegistered:
      return {numberOf(a.message.registered), nullptr, nullptr};
    default:
      return {};
  }
}

/// False: there is only a message.
bool readAttributes(const EventAttributes& a, arena::NvtxAttributes& out) {
  out.category = a.category;
  out.has_color = a.color_type == kColorArgb ? 1 : 0;
  out.color = out.has_color != 0 ? a.color : 0;
  out.payload_type = a.payload_type == 0 ? arena::NvtxPayload::kNone
                     : a.payload_type > 0 && a.payload_type <= kLastPayload
                         ? static_cast<arena::NvtxPayload>(a.payload_type)
                         : arena::NvtxPayload::kOther;
  out.payload = a.payload;
  return a.category != 0 || out.has_color != 0 || a.payload_type != 0;
}

struct Event {
  NvtxEvent kind;
  uint16_t domain = 0;
  uint32_t level = arena::kNvtxNoLevel;
  uint64_t id = 0;
  int64_t time = 0;
  uint32_t aux = 0;  // used if the message has no number
  bool hasId() const { return kind == NvtxEvent::kStart || kind == NvtxEvent::kEnd; }
};

/// Writes the parts of a record one after the other.
class Parts {
 public:
  template <class Part>
  void add(const Part& part) {
    memcpy(bytes_ + used_, &part, sizeof part);
    used_ += sizeof part;
  }
  void addText(const Message& message) {
    char* const text = reinterpret_cast<char*>(bytes_ + used_ + sizeof(uint32_t));
    size_t length = 0;
    if (message.wide != nullptr) {
      length = toUtf8(message.wide, text, kMostInline);
    } else {
      length = strnlen(message.text, kMostInline);
      memcpy(text, message.text, length);
    }
    const auto stored_length = static_cast<uint32_t>(length);
    memcpy(bytes_ + used_, &stored_length, sizeof stored_length);
    used_ += sizeof stored_length + length;
    for (; used_ % 8 != 0; ++used_) bytes_[used_] = 0;
  }
  uint8_t* bytes() { return bytes_; }
  size_t used() const { return used_; }

 private:
  alignas(8) uint8_t
      bytes_[sizeof(arena::NvtxRecord) + 8 + sizeof(arena::NvtxAttributes) + 8 + kMostInline];
  size_t used_ = 0;
};

/// Writes an event with attributes, an id, or a text; put() handles the usual ones.
__attribute__((noinline)) void putParts(const Event& e, arena::NvtxRecord& r,
                                        const Message& message,
                                        const arena::NvtxAttributes* attributes) {
  Parts parts;
  parts.add(r);
  if (e.hasId()) parts.add(e.id);
  if (attributes != nullptr) {
    r.header.flags |= arena::kNvtxAttributes;
    parts.add(*attributes);
  }
  if (message.text != nullptr || message.wide != nullptr) {
    r.header.flags |= arena::kNvtxText;
    parts.addText(message);
  }
  r.header.words = static_cast<uint16_t>(parts.used() / 8);
  memcpy(parts.bytes(), &r.header, sizeof r.header);
  putRecord(parts.bytes(), parts.used(), e.kind != NvtxEvent::kThreadName);
}

/// [hot]
inline void put(const Event& e, const Message& message = {},
                const arena::NvtxAttributes* attributes = nullptr) {
  const uint64_t first = sharedHeader().first_correlation;
  arena::NvtxRecord r;
  r.header = {arena::RecordKind::kNvtx, static_cast<uint8_t>(e.kind), sizeof r / 8,
              message.number != 0 ? message.number : e.aux};
  r.time = e.time != 0 ? e.time : stamp();
  r.life = static_cast<uint16_t>(first / cuda_file::kIdsOfLife);
  r.domain = e.domain;
  r.level = e.level;
  if (attributes == nullptr && !e.hasId() && message.text == nullptr && message.wide == nullptr) {
    putRecord(&r, sizeof r, true);
    return;
  }
  putParts(e, r, message, attributes);
}

inline bool wanted() {
  if (!ready() || !capturing()) return false;
  if (canWriteDefinitions()) return true;
  bump(t_state.ring->emitted);
  bump(t_state.ring->dropped);
  return false;
}

template <class Text>
inline void begin(const Event& e, Text text) {
  if (!wanted()) return;
  put(e, messageOf(text));
}

inline void begin(const Event& e, const EventAttributes* a) {
  if (!wanted()) return;
  if (a == nullptr || a->size < sizeof *a) return put(e);
  arena::NvtxAttributes attributes;
  const bool any = readAttributes(*a, attributes);
  put(e, messageOf(*a), any ? &attributes : nullptr);
}

template <class Given>
inline int push(uint16_t domain, Given given) {
  uint32_t* const level = levelOf(domain);
  if (__builtin_expect(level == nullptr, 0)) {
    begin({NvtxEvent::kPush, domain}, given);
    return kNoTracking;
  }
  const uint32_t here = (*level)++;
  begin({NvtxEvent::kPush, domain, here}, given);
  return static_cast<int>(here);
}

inline int pop(uint16_t domain) {
  const int64_t time = stamp();
  uint32_t* const level = levelOf(domain);
  Event e{NvtxEvent::kPop, domain, arena::kNvtxNoLevel, 0, time};
  int result = kNoTracking;
  if (__builtin_expect(level != nullptr, 1)) {
    result = -1;  // there is no range to end
    if (*level > 0) {
      e.level = --*level;
      result = static_cast<int>(e.level);
    }
  }
  if (wanted()) put(e);
  return result;
}

template <class Given>
inline uint64_t start(uint16_t domain, Given given) {
  const uint64_t id = newId();
  begin({NvtxEvent::kStart, domain, arena::kNvtxNoLevel, id}, given);
  return id;
}

inline void end(uint64_t id) {
  const int64_t time = stamp();
  if (id != 0 && wanted()) put({NvtxEvent::kEnd, 0, arena::kNvtxNoLevel, id, time});
}

template <class Given>
inline void mark(uint16_t domain, Given given) {
  begin({NvtxEvent::kMark, domain}, given);
}

// --- NVTX callbacks -----------------------------------------------------------------------------

using Attributes = const EventAttributes*;

void markEx(Attributes a) { mark(0, a); }
void markA(const char* text) { mark(0, text); }
void markW(const wchar_t* text) { mark(0, text); }
uint64_t startEx(Attributes a) { return start(0, a); }
uint64_t startA(const char* text) { return start(0, text); }
uint64_t startW(const wchar_t* text) { return start(0, text); }
void rangeEnd(uint64_t id) { end(id); }
int pushEx(Attributes a) { return push(0, a); }
int pushA(const char* text) { return push(0, text); }
int pushW(const wchar_t* text) { return push(0, text); }
int rangePop() { return pop(0); }

void domainMark(const Domain* d, Attributes a) { mark(numberOf(d), a); }
uint64_t domainStart(const Domain* d, Attributes a) { return start(numberOf(d), a); }
void domainEnd(const Domain*, uint64_t id) { end(id); }
int domainPush(const Domain* d, Attributes a) { return push(numberOf(d), a); }
int domainPop(const Domain* d) { return pop(numberOf(d)); }

/// Definitions may come before the first event of their thread.
bool canDefine() {
  ready();  // even without a ring for this thread, the file exists
  const uint64_t epoch = g_epoch->load();
  // Without a capture, definitions are kept for a later one.
  if (epoch == kIdleEpoch) return !DefinitionLock::isInterrupted();
  return epoch != 0 && t_state.epoch == epoch && canWriteDefinitions();
}

/// Calls `take` with a text of either kind, converted to UTF-8.
template <class Take>
void withText(const char* text, Take&& take) {
  if (text != nullptr) take(text);
}
template <class Take>
void withText(const wchar_t* text, Take&& take) {
  if (text == nullptr) return;
  char utf8[kMostInline];
  toUtf8(text, utf8, sizeof utf8);
  take(utf8);
}

template <class Text>
void domainNameCategory(const Domain* d, uint32_t category, Text text) {
  if (!canDefine()) return;
  withText(text, [&](const char* name) { nameCategory(d, category, name); });
}
template <class Text>
void coreNameCategory(uint32_t category, Text text) {
  domainNameCategory(nullptr, category, text);
}

template <class Text>
const String* domainRegisterString(const Domain*, Text text) {
  const String* handle = reinterpret_cast<const String*>(uintptr_t{1});
  if (!canDefine()) return handle;
  withText(text, [&](const char* name) { handle = registerString(name); });
  return handle;
}

template <class Text>
const Domain* domainCreate(Text text) {
  const Domain* domain = defaultDomain();
  if (!canDefine()) return domain;
  withText(text, [&](const char* name) { domain = makeDomain(name); });
  return domain;
}
/// There may be other domains with that name.
void domainDestroy(const Domain*) {}

template <class Text>
void nameOsThread(uint32_t tid, Text text) {
  if (!ready() || !canWriteDefinitions()) return;
  withText(text, [&](const char* name) {
    put({NvtxEvent::kThreadName, 0, arena::kNvtxNoLevel, 0, 0, tid}, {0, name, nullptr});
  });
}

// --- Initialization -----------------------------------------------------------------------------

/// Puts a function into its slot in a table.
class Table {
 public:
  Table(const Callbacks& callbacks, int32_t module) {
    if (callbacks.get_module_functions(module, &table_, &entries_) != 1) entries_ = 0;
  }
  template <class F>
  void set(unsigned number, F* function) {
    if (table_ == nullptr || number >= entries_ || table_[number] == nullptr) return;
    *table_[number] = reinterpret_cast<Function>(function);
  }

 private:
  Function** table_ = nullptr;
  unsigned entries_ = 0;
};

void takeCore(Table table) {
  table.set(kMarkEx, markEx);
  table.set(kMarkA, markA);
  table.set(kMarkW, markW);
  table.set(kRangeStartEx, startEx);
  table.set(kRangeStartA, startA);
  table.set(kRangeStartW, startW);
  table.set(kRangeEnd, rangeEnd);
  table.set(kRangePushEx, pushEx);
  table.set(kRangePushA, pushA);
  table.set(kRangePushW, pushW);
  table.set(kRangePop, rangePop);
  table.set(kNameCategoryA, coreNameCategory<const char*>);
  table.set(kNameCategoryW, coreNameCategory<const wchar_t*>);
  table.set(kNameOsThreadA, nameOsThread<const char*>);
  table.set(kNameOsThreadW, nameOsThread<const wchar_t*>);
}

void takeCore2(Table table) {
  table.set(kDomainMarkEx, domainMark);
  table.set(kDomainRangeStartEx, domainStart);
  table.set(kDomainRangeEnd, domainEnd);
  table.set(kDomainRangePushEx, domainPush);
  table.set(kDomainRangePop, domainPop);
  table.set(kDomainNameCategoryA, domainNameCategory<const char*>);
  table.set(kDomainNameCategoryW, domainNameCategory<const wchar_t*>);
  table.set(kDomainRegisterStringA, domainRegisterString<const char*>);
  table.set(kDomainRegisterStringW, domainRegisterString<const wchar_t*>);
  table.set(kDomainCreateA, domainCreate<const char*>);
  table.set(kDomainCreateW, domainCreate<const wchar_t*>);
  table.set(kDomainDestroy, domainDestroy);
}

void makePageKey() {
  const DefinitionLock alone;
  if (g_has_page_key) return;
  g_has_page_key = pthread_key_create(&g_page_key, [](void* page) {
                     t_thread.more = nullptr;
                     munmap(page, kPageBytes);
                   }) == 0;
}

void enter(GetExportTable get_export_table) {
  const auto* const callbacks = static_cast<const Callbacks*>(get_export_table(kCallbacksTable));
  if (callbacks == nullptr || callbacks->size < sizeof *callbacks) return;
  if (!armOnce()) return;
  if (waitsForControl()) {
    if (!startControlled()) return;
  } else if (!ready()) {
    return;
  } else if (!openSharedFile()) {
    reportProblem(false, "no room beside the trace for the names of NVTX's ranges");
    return;
  }
  makePageKey();
  const auto* const version = static_cast<const VersionInfo*>(get_export_table(kVersionTable));
  if (version != nullptr && version->size >= sizeof *version) {
    version->set_injection_version(kOurVersion);
  }
  takeCore({*callbacks, kCoreModule});
  takeCore2({*callbacks, kCore2Module});
}

}  // namespace
}  // namespace tracesmith::agent::nvtx

/// Called by NVTX's headers, once for each program or library compiled with them, possibly on
/// several threads. Returns 1 (success) always; if nothing can be captured, it does not replace
/// functions.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    tracesmith::agent::nvtx::GetExportTable get_export_table) {
  const int before = errno;
  const tracesmith::agent::NoCancel whole;
  if (get_export_table != nullptr) tracesmith::agent::nvtx::enter(get_export_table);
  errno = before;
  return 1;
}

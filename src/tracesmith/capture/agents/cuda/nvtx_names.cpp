// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/nvtx_names.hpp"

#include <errno.h>
#include <string.h>
#include <wchar.h>

#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith::agent::nvtx {

/// By number; 0 is the default domain, which has no name.
struct Domain {
  uint64_t hash;  // of its name
};

namespace {

constexpr uint32_t kNames = 1u << 17;
constexpr uint64_t kWide = 0x8ebc6af09c88c6e3u;  // distinguishes hashes of wide texts

struct Name {
  std::atomic<uint64_t> hash;  // 0: none; stored last
  std::atomic<uint32_t> number;
};
constinit Name g_names[kNames];
uint32_t g_name_count = 0;  // numbers assigned
uint32_t g_slot_count = 0;  // a wide text has its own place
Domain g_domains[kMostDomains];
uint32_t g_domain_count = 1;

Name& placeOf(uint64_t hash) {
  for (uint64_t i = hash;; ++i) {  // a quarter is always free
    Name& place = g_names[i % kNames];
    const uint64_t there = place.hash.load(std::memory_order_acquire);
    if (there == hash || there == 0) return place;
  }
}

uint32_t find(uint64_t hash) {
  const Name& place = placeOf(hash);
  if (place.hash.load(std::memory_order_relaxed) == 0) return 0;
  return place.number.load(std::memory_order_relaxed);
}

bool keep(uint64_t hash, uint32_t number) {
  if (g_slot_count >= kNames / 4 * 3) return false;
  ++g_slot_count;
  Name& place = placeOf(hash);
  place.number.store(number, std::memory_order_relaxed);
  place.hash.store(hash, std::memory_order_release);
  return true;
}

/// The caller holds DefinitionLock.
uint32_t defineName(uint64_t hash, const char* text) {
  if (const uint32_t known = find(hash); known != 0) return known;
  static TextRecord record;
  if (g_slot_count >= kNames / 4 * 3) return 0;
  const size_t bytes = fillText(record, arena::CudaText::kNvtxName, g_name_count + 1, text, 0);
  if (!appendDefinition(&record, bytes, false)) return 0;
  keep(hash, ++g_name_count);
  return g_name_count;
}

template <class Define>
uint32_t tryDefine(Define&& define) {
  const int before = errno;
  const NoHandlers uninterrupted;
  const NoCancel whole;
  if (!DefinitionLock::tryBegin()) return 0;
  const uint32_t number = define();
  DefinitionLock::end();
  errno = before;
  return number;
}

uint64_t hashOfWide(const wchar_t* text) {
  const uint64_t hash =
      hashOf(reinterpret_cast<const char*>(text), wcslen(text) * sizeof *text) ^ kWide;
  return hash == 0 ? 1 : hash;
}

}  // namespace

uint32_t nameNumber(const char* text) {
  const uint64_t hash = hashOf(text, strlen(text));
  const uint32_t known = find(hash);
  if (__builtin_expect(known != 0, 1)) return known;
  return tryDefine([&] { return defineName(hash, text); });
}

uint32_t nameNumber(const wchar_t* text) {
  const uint64_t hash = hashOfWide(text);
  const uint32_t known = find(hash);
  if (__builtin_expect(known != 0, 1)) return known;
  return tryDefine([&] {
    static char utf8[kMostText];
    const uint32_t number = defineName(hashOf(utf8, toUtf8(text, utf8, sizeof utf8)), utf8);
    if (number != 0 && find(hash) == 0) keep(hash, number);
    return number;
  });
}

const Domain* defaultDomain() { return g_domains; }

const Domain* makeDomain(const char* name) {
  const NoHandlers uninterrupted;
  const NoCancel whole;
  if (DefinitionLock::isInterrupted()) return g_domains;
  const DefinitionLock alone;
  const uint64_t hash = hashOf(name, strlen(name));
  for (uint32_t i = 1; i < g_domain_count; ++i) {
    if (g_domains[i].hash == hash) return &g_domains[i];
  }
  static TextRecord record;
  if (g_domain_count == kMostDomains) {
    sharedHeader().log_lost.fetch_add(1, std::memory_order_relaxed);
    return g_domains;
  }
  const size_t bytes = fillText(record, arena::CudaText::kNvtxDomain, g_domain_count, name, 0);
  appendDefinition(&record, bytes);
  g_domains[g_domain_count].hash = hash;
  return &g_domains[g_domain_count++];
}

// The handle is the number plus 1, because it must not be null.
const String* registerString(const char* text) {
  uint32_t number = 0;
  if (!DefinitionLock::isInterrupted()) {
    const NoHandlers uninterrupted;
    const NoCancel whole;
    const DefinitionLock alone;
    number = defineName(hashOf(text, strlen(text)), text);
    if (number == 0) sharedHeader().log_lost.fetch_add(1, std::memory_order_relaxed);
  }
  return reinterpret_cast<const String*>(uintptr_t{number} + 1);
}

void nameCategory(const Domain* domain, uint32_t category, const char* name) {
  if (DefinitionLock::isInterrupted()) return;
  static TextRecord record;
  const NoHandlers uninterrupted;
  const NoCancel whole;
  const DefinitionLock alone;
  // A program may repeat the same name.
  const uint64_t which[] = {hashOf(name, strlen(name)), numberOf(domain), category};
  const uint64_t hash = hashOf(reinterpret_cast<const char*>(which), sizeof which);
  if (find(hash) != 0) return;
  keep(hash, 1);
  appendDefinition(
      &record, fillText(record, arena::CudaText::kNvtxCategory, category, name, numberOf(domain)));
}

uint16_t numberOf(const Domain* domain) {
  const auto bytes = reinterpret_cast<uintptr_t>(domain) - reinterpret_cast<uintptr_t>(g_domains);
  return bytes < sizeof g_domains ? static_cast<uint16_t>(bytes / sizeof *domain) : 0;
}

uint32_t numberOf(const String* string) {
  const auto handle = reinterpret_cast<uintptr_t>(string);
  return handle == 0 || handle > UINT32_MAX ? 0 : static_cast<uint32_t>(handle - 1);
}

size_t toUtf8(const wchar_t* text, char* out, size_t room) {
  constexpr uint32_t kUnknown = 0xfffd;
  size_t at = 0;
  for (; *text != 0; ++text) {
    auto c = static_cast<uint32_t>(*text);
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = kUnknown;
    const size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (at + bytes >= room) break;
    if (bytes == 1) {
      out[at] = static_cast<char>(c);
    } else {
      constexpr uint8_t kFirst[] = {0, 0, 0xc0, 0xe0, 0xf0};
      for (size_t i = bytes; i-- > 1; c >>= 6) out[at + i] = static_cast<char>(0x80 | (c & 0x3f));
      out[at] = static_cast<char>(kFirst[bytes] | c);
    }
    at += bytes;
  }
  out[at] = 0;
  return at;
}

}  // namespace tracesmith::agent::nvtx

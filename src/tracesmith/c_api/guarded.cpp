// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/c_api/guarded.hpp"

#include <cstdlib>
#include <memory>

#include "tracesmith/base/version.hpp"
#include "tracesmith/query/columns/utf8.hpp"

namespace tracesmith::c_api {
namespace {

/// Only a pointer, because a library loaded by dlopen() has little thread-local storage.
thread_local std::unique_ptr<std::string> t_last_error;

static_assert(static_cast<int>(ErrorCode::kInvalidArgument) + 1 == TRACESMITH_INVALID_ARGUMENT);
static_assert(static_cast<int>(ErrorCode::kNotFound) + 1 == TRACESMITH_NOT_FOUND);
static_assert(static_cast<int>(ErrorCode::kPermission) + 1 == TRACESMITH_PERMISSION);
static_assert(static_cast<int>(ErrorCode::kNoSpace) + 1 == TRACESMITH_NO_SPACE);
static_assert(static_cast<int>(ErrorCode::kIo) + 1 == TRACESMITH_IO);
static_assert(static_cast<int>(ErrorCode::kNotATrace) + 1 == TRACESMITH_NOT_A_TRACE);
static_assert(static_cast<int>(ErrorCode::kTooNew) + 1 == TRACESMITH_TOO_NEW);
static_assert(static_cast<int>(ErrorCode::kDamaged) + 1 == TRACESMITH_DAMAGED);
static_assert(static_cast<int>(ErrorCode::kUnsupported) + 1 == TRACESMITH_UNSUPPORTED);
static_assert(static_cast<int>(ErrorCode::kInternal) + 1 == TRACESMITH_INTERNAL);

}  // namespace

tracesmith_status failed(ErrorCode code, std::string_view message) noexcept {
  try {
    if (t_last_error == nullptr) t_last_error = std::make_unique<std::string>();
    *t_last_error = message;
  } catch (...) {
    t_last_error.reset();
    code = ErrorCode::kNoSpace;
  }
  return static_cast<tracesmith_status>(code) + 1;
}

Result<std::vector<std::string>> textsOf(const char* const* texts, size_t count) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) {
    if (texts == nullptr || texts[i] == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "one of the names is NULL");
    }
    all.emplace_back(texts[i]);
  }
  return all;
}

char* textFor(const std::string& text) {
  std::vector<char> bytes;
  appendUtf8(bytes, text);
  bytes.push_back('\0');
  auto* const copy = static_cast<char*>(std::malloc(bytes.size()));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

}  // namespace tracesmith::c_api

const char* tracesmith_last_error(void) {
  const auto& kept = tracesmith::c_api::t_last_error;
  return kept == nullptr ? "" : kept->c_str();
}

uint32_t tracesmith_abi(void) { return TRACESMITH_ABI; }

const char* tracesmith_version(void) {
  static const std::string version = tracesmith::getVersionString();
  return version.c_str();
}

void tracesmith_string_free(char* text) { std::free(text); }

void tracesmith_text_free(char* text) { tracesmith_string_free(text); }

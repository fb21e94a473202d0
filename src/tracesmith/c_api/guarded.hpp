// SPDX-License-Identifier: Apache-2.0
// Shared by all functions of the C API: no exception escapes, errors are stored for
// tracesmith_last_error(), and structs are accessed only up to the size that the caller declared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/c_api/c_api.h"

namespace tracesmith::c_api {

/// Stores the message for tracesmith_last_error() and returns the status for `code`.
tracesmith_status failed(ErrorCode code, std::string_view message) noexcept;

/// Runs f(), which returns a Status.
template <class F>
tracesmith_status guarded(F&& f) noexcept {
  try {
    const Status status = f();
    return status ? TRACESMITH_OK : failed(status.error().code, status.error().toString());
  } catch (const std::bad_alloc&) {
    return failed(ErrorCode::kNoSpace, "out of memory");
  } catch (const std::exception& error) {
    return failed(ErrorCode::kInternal, error.what());
  } catch (...) {
    return failed(ErrorCode::kInternal, "unknown exception");
  }
}

inline Status nullArgument(const char* name) {
  return fail(ErrorCode::kInvalidArgument, "must not be NULL", name);
}
/// Returns an error from this function if the argument is NULL.
#define TS_NOT_NULL(argument) \
  if ((argument) == nullptr) return ::tracesmith::c_api::nullArgument(#argument)

/// A larger struct_size means that the caller did not set it.
constexpr size_t kLargestStruct = 4096;
inline Status checkSize(size_t bytes) {
  if (bytes >= sizeof(uint32_t) && bytes <= kLargestStruct) return {};
  return fail(ErrorCode::kInvalidArgument, "struct_size is not set (TRACESMITH_INIT)");
}

/// Writes the members that fit into the caller's struct; members unknown to this version become 0.
template <class T>
Status give(T* out, T value) {
  TS_NOT_NULL(out);
  const size_t room = out->struct_size;
  TS_CHECK_OK(checkSize(room));
  value.struct_size = out->struct_size;
  auto* const bytes = reinterpret_cast<std::byte*>(out);
  std::memcpy(bytes, &value, std::min(room, sizeof(T)));
  if (room > sizeof(T)) std::memset(bytes + sizeof(T), 0, room - sizeof(T));
  return {};
}

/// Copies the caller's struct; missing members are 0, and so are all members if `in` is NULL.
/// kUnsupported: a member unknown to this version is not 0.
template <class T>
Result<T> take(const T* in) {
  T value{};
  if (in == nullptr) return value;
  const size_t given = in->struct_size;
  TS_CHECK_OK(checkSize(given));
  const auto* const bytes = reinterpret_cast<const std::byte*>(in);
  std::memcpy(&value, bytes, std::min(given, sizeof(T)));
  if (given > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + given,
                                       [](std::byte byte) { return byte != std::byte{0}; })) {
    return fail(ErrorCode::kUnsupported,
                "the program uses a feature that this version of the library does not have");
  }
  return value;
}

/// kInvalidArgument: one of the texts is NULL.
Result<std::vector<std::string>> textsOf(const char* const* texts, size_t count);

/// A copy of `text` that the caller must free. Throws std::bad_alloc.
char* textFor(const std::string& text);

}  // namespace tracesmith::c_api

// SPDX-License-Identifier: Apache-2.0
// What all functions of the C API do: no exception leaves them, errors are kept for who asks, and
// structs are no larger than the caller says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/c_api/c_api.h"

namespace tracesmith::c_api {

/// Keeps it for tracesmith_last_error(), and says which status it is.
tracesmith_status failed(ErrorCode code, const char* message) noexcept;

/// Runs f(), which gives a Status.
template <class F>
tracesmith_status guarded(F&& f) noexcept {
  try {
    const Status status = f();
    return status ? TRACESMITH_OK : failed(status.error().code, status.error().toString().c_str());
  } catch (const std::bad_alloc&) {
    return failed(ErrorCode::kNoSpace, "there is no room for it in memory");
  } catch (const std::exception& error) {
    return failed(ErrorCode::kInternal, error.what());
  } catch (...) {
    return failed(ErrorCode::kInternal, "unknown exception");
  }
}

inline Status nullArgument(const char* name) {
  return fail(ErrorCode::kInvalidArgument, "it is NULL", name);
}
/// Fails from this function where the argument is NULL.
#define TS_NOT_NULL(argument) \
  if ((argument) == nullptr) return ::tracesmith::c_api::nullArgument(#argument)

/// Writes what the caller's struct has room for; members that this version does not have become 0.
template <class T>
Status give(T* out, T value) {
  TS_NOT_NULL(out);
  const size_t room = out->struct_size;
  if (room < sizeof(value.struct_size)) {
    return fail(ErrorCode::kInvalidArgument, "struct_size is not set (TRACESMITH_INIT)");
  }
  value.struct_size = out->struct_size;
  auto* const bytes = reinterpret_cast<std::byte*>(out);
  std::memcpy(bytes, &value, std::min(room, sizeof(T)));
  if (room > sizeof(T)) std::memset(bytes + sizeof(T), 0, room - sizeof(T));
  return {};
}

/// What the caller's struct has; members that it does not have are 0. NULL: all are. kUnsupported:
/// it asks for what this version does not know.
template <class T>
Result<T> take(const T* in) {
  T value{};
  if (in == nullptr) return value;
  const size_t given = in->struct_size;
  if (given < sizeof(value.struct_size)) {
    return fail(ErrorCode::kInvalidArgument, "struct_size is not set (TRACESMITH_INIT)");
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(in);
  std::memcpy(&value, bytes, std::min(given, sizeof(T)));
  if (given > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + given,
                                       [](std::byte byte) { return byte != std::byte{0}; })) {
    return fail(ErrorCode::kUnsupported,
                "the program asks for what this version of the library does not have");
  }
  return value;
}

/// kInvalidArgument: one of them is NULL.
Result<std::vector<std::string>> textsOf(const char* const* texts, size_t count);

/// A text for the caller, who frees it. Throws std::bad_alloc.
char* textFor(const std::string& text);

}  // namespace tracesmith::c_api

// SPDX-License-Identifier: Apache-2.0
// Result<T>: how functions report failure across rooms. No exception crosses a room's boundary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace tracesmith {

/// The kind of a failure; the command line maps these to exit codes.
enum class ErrorCode : uint8_t {
  kInvalidArgument,  ///< the request makes no sense
  kNotFound,         ///< a file, command, name or library is missing
  kPermission,       ///< the system refused
  kNoSpace,          ///< a disk, memory or quota is full
  kIo,               ///< the system failed to read or write
  kNotATrace,        ///< the bytes are not a TraceSmith trace
  kTooNew,           ///< written by a newer major version than this one can read
  kDamaged,          ///< a TraceSmith trace, but broken
  kUnsupported,      ///< known, but not possible with this build or on this machine
  kInternal,         ///< a bug in TraceSmith
};

/// A failure. `message` says what happened and what to do; `where` is a path, an offset or an
/// option.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string where;

  /// "where: message", or the message alone if `where` is empty.
  std::string toString() const { return where.empty() ? message : where + ": " + message; }
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string where = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(where)});
}

/// An Error from `errno_value`, e.g. failErrno(errno, "cannot write", path).
tl::unexpected<Error> failErrno(int errno_value, std::string_view what, std::string where = {});

}  // namespace tracesmith

#define TS_CONCAT_INNER(a, b) a##b
#define TS_CONCAT(a, b) TS_CONCAT_INNER(a, b)
/// Evaluates `expression` (a Result); returns its error from this function or binds its value.
#define TS_TRY(declaration, expression)                      \
  auto TS_CONCAT(ts_result_, __LINE__) = (expression);       \
  if (!TS_CONCAT(ts_result_, __LINE__))                      \
    return tl::unexpected<::tracesmith::Error>(              \
        std::move(TS_CONCAT(ts_result_, __LINE__)).error()); \
  declaration = std::move(*TS_CONCAT(ts_result_, __LINE__))
/// The same for a Status.
#define TS_CHECK_OK(expression)                                                               \
  do {                                                                                        \
    auto ts_status = (expression);                                                            \
    if (!ts_status) return tl::unexpected<::tracesmith::Error>(std::move(ts_status).error()); \
  } while (false)

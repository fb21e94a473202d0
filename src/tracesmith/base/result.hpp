// SPDX-License-Identifier: Apache-2.0
// Result<T>: the one way a room reports failure to another. No exception crosses a room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace tracesmith {

/// What kind of failure happened; the command line maps these to its exit codes.
enum class ErrorCode : uint8_t {
  kInvalidArgument,  ///< the caller asked for something that makes no sense
  kNotFound,         ///< a file, command, name or library is missing
  kPermission,       ///< the system refused
  kNoSpace,          ///< a disk, memory or quota is full
  kIo,               ///< the system failed to read or write
  kNotATrace,        ///< the bytes are not a trace of ours
  kTooNew,           ///< written by a newer major version than this one reads
  kDamaged,          ///< a trace of ours, but broken
  kUnsupported,      ///< known, but not possible with this build or on this machine
  kInternal,         ///< a defect of TraceSmith
};

/// A failure: what happened, where (a path, an offset, an option), and in `message` what to do.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string where;

  /// "where: message", or the message alone when there is no place.
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

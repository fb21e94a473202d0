// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/result.hpp"

#include <cerrno>
#include <system_error>

namespace tracesmith {

tl::unexpected<Error> failErrno(int errno_value, std::string_view what, std::string where) {
  ErrorCode code = ErrorCode::kIo;
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      code = ErrorCode::kNotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = ErrorCode::kPermission;
      break;
    case ENOSPC:
#ifdef EDQUOT
    case EDQUOT:
#endif
    case ENOMEM:
    case EFBIG:
      code = ErrorCode::kNoSpace;
      break;
    default:
      break;
  }
  // std::generic_category is thread-safe where strerror is not.
  return fail(code, std::string(what) + ": " + std::generic_category().message(errno_value),
              std::move(where));
}

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/flight/window_requests.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kLookEveryNs = 50'000'000;
constexpr std::string_view kSaved = "saved ", kFailed = "failed ";

std::string requestIn(const std::string& directory) { return directory + "/window.request"; }
std::string answerIn(const std::string& directory) { return directory + "/window.answer"; }

std::optional<std::string> contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Under another name first, so that a reader sees all of it or nothing. `replaces` false: fails
/// with EEXIST if the file is there.
Status writeWhole(const std::string& path, const std::string& text, bool replaces) {
  const std::string made = path + "." + std::to_string(getpid());
  const int fd = open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failErrno(errno, "cannot create", made);
  const bool all = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int error = all ? 0 : (errno != 0 ? errno : ENOSPC);
  close(fd);
  if (all && replaces && std::rename(made.c_str(), path.c_str()) != 0) error = errno;
  if (all && !replaces && link(made.c_str(), path.c_str()) != 0) error = errno;
  unlink(made.c_str());
  if (error != 0) return failErrno(error, "cannot write", path);
  return {};
}

void pause() {
  constexpr timespec kPause{0, 10'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &kPause, nullptr);
}

}  // namespace

Result<std::string> requestWindow(const std::string& session_dir, const std::string& reason,
                                  int64_t patience_ns) {
  const int64_t until = monotonicNs() + patience_ns;
  const std::string request = requestIn(session_dir), answer = answerIn(session_dir);
  for (;;) {  // one request at a time
    const bool is_other = access(request.c_str(), F_OK) == 0;
    if (!is_other) {
      unlink(answer.c_str());  // of a request that was given up
      const Status asked = writeWhole(request, reason, false);
      if (asked) break;
      if (access(request.c_str(), F_OK) != 0) return tl::unexpected<Error>(asked.error());
    }
    if (monotonicNs() > until) {
      return fail(ErrorCode::kUnsupported, "another request is still not answered", session_dir);
    }
    pause();
  }
  for (;;) {
    if (const auto text = contentOf(answer)) {
      unlink(answer.c_str());
      unlink(request.c_str());
      if (text->starts_with(kSaved)) return text->substr(kSaved.size());
      return fail(ErrorCode::kUnsupported,
                  text->substr(text->starts_with(kFailed) ? kFailed.size() : 0), session_dir);
    }
    if (access(request.c_str(), F_OK) != 0) {
      return fail(ErrorCode::kNotFound, "the recording has ended", session_dir);
    }
    if (monotonicNs() > until) {
      unlink(request.c_str());
      return fail(ErrorCode::kUnsupported, "the recorder does not answer", session_dir);
    }
    pause();
  }
}

std::string WindowRequests::take(int64_t now_ns) {
  if (isWaiting() || now_ns - looked_ns_ < kLookEveryNs) return {};
  looked_ns_ = now_ns;
  if (access(answerIn(directory_).c_str(), F_OK) == 0) return {};  // not read yet
  const auto reason = contentOf(requestIn(directory_));
  if (!reason) return {};
  return reason->empty() ? "tracesmith trigger" : *reason;
}

void WindowRequests::follow(uint32_t number) {
  number_ = number;
  if (number == 0) {
    reply(std::string(kFailed) +
          "the window was saved as often as --trigger-most allows, or rows cannot be written");
  }
}

void WindowRequests::answer(const std::vector<SavedWindow>& saved) {
  const auto its = std::find_if(saved.begin(), saved.end(),
                                [&](const SavedWindow& s) { return s.number == number_; });
  if (number_ == 0 || its == saved.end()) return;
  number_ = 0;
  reply(its->status ? std::string(kSaved) + its->path
                    : std::string(kFailed) + its->status.error().toString());
}

void WindowRequests::reply(const std::string& text) const {
  (void)writeWhole(answerIn(directory_), text, true);
}

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/flight/window_requests.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/session_directory/session_info.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kLookEveryNs = 50'000'000;
constexpr int64_t kAnswerKeptNs = 300'000'000'000;
constexpr std::string_view kSaved = "saved ", kFailed = "failed ";

std::string requestIn(const std::string& directory) { return directory + "/window.request"; }
std::string answerIn(const std::string& directory, const std::string& client) {
  return directory + "/window.answer." + client;
}

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
  const std::string client = makeSessionId();
  const std::string request = requestIn(session_dir), answer = answerIn(session_dir, client);
  // The recorder takes a request at once, so a file that is there is another's, just made.
  for (;;) {
    const Status asked = writeWhole(request, client + " " + reason, false);
    if (asked) break;
    if (access(request.c_str(), F_OK) != 0) return tl::unexpected<Error>(asked.error());
    if (monotonicNs() > until) {
      return fail(ErrorCode::kUnsupported, "the recorder does not answer", session_dir);
    }
    pause();
  }
  for (;;) {
    if (const auto text = contentOf(answer)) {
      unlink(answer.c_str());
      if (text->starts_with(kSaved)) return text->substr(kSaved.size());
      return fail(ErrorCode::kUnsupported,
                  text->substr(text->starts_with(kFailed) ? kFailed.size() : 0), session_dir);
    }
    if (access(session_dir.c_str(), F_OK) != 0) {
      return fail(ErrorCode::kNotFound, "the recording has ended", session_dir);
    }
    if (monotonicNs() > until) {
      if (contentOf(request).value_or("").starts_with(client)) unlink(request.c_str());
      return fail(ErrorCode::kUnsupported, "the recorder does not answer", session_dir);
    }
    pause();
  }
}

std::string WindowRequests::take(int64_t now_ns) {
  if (now_ns - looked_ns_ < kLookEveryNs) return {};
  looked_ns_ = now_ns;
  while (!answered_.empty() && answered_.front().second < now_ns - kAnswerKeptNs) {
    unlink(answerIn(directory_, answered_.front().first).c_str());  // its client has gone
    answered_.pop_front();
  }
  const auto text = contentOf(requestIn(directory_));
  if (!text) return {};
  unlink(requestIn(directory_).c_str());
  const size_t end = text->find(' ');
  client_ = text->substr(0, end);
  // It becomes part of a file's name.
  if (client_.find_first_not_of("0123456789abcdef") != std::string::npos) client_.clear();
  const std::string reason = end == std::string::npos ? std::string() : text->substr(end + 1);
  return reason.empty() ? "tracesmith trigger" : reason;
}

void WindowRequests::follow(uint32_t number, int64_t now_ns) {
  if (client_.empty()) return;
  if (number != 0) {
    waiting_[number] = std::exchange(client_, {});
    return;
  }
  reply(std::exchange(client_, {}),
        std::string(kFailed) +
            "the window was saved as often as --trigger-most allows, or rows cannot be written",
        now_ns);
}

void WindowRequests::answer(const std::vector<SavedWindow>& saved, int64_t now_ns) {
  for (const SavedWindow& each : saved) {
    const auto waits = waiting_.find(each.number);
    if (waits == waiting_.end()) continue;
    reply(waits->second,
          each.status ? std::string(kSaved) + each.path
                      : std::string(kFailed) + each.status.error().toString(),
          now_ns);
    waiting_.erase(waits);
  }
}

void WindowRequests::reply(const std::string& client, const std::string& text, int64_t now_ns) {
  (void)writeWhole(answerIn(directory_, client), text, true);
  answered_.emplace_back(client, now_ns);
}

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/runs/tool_folder.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/base/files/free_name.hpp"

namespace tracesmith::cli {
namespace {

namespace fs = std::filesystem;
constexpr auto kCheckForEnd = std::chrono::milliseconds(10);

bool isExecutable(const std::string& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<ToolFolder> ToolFolder::beside(const std::string& file) {
  std::error_code ec;
  std::string pattern = fs::absolute(file, ec).lexically_normal().string() + ".XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) {
    return failErrno(errno, "cannot create a folder beside it", file);
  }
  return ToolFolder(std::move(pattern));
}

ToolFolder::ToolFolder(ToolFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ToolFolder::~ToolFolder() {
  std::error_code ec;
  if (!path_.empty()) fs::remove_all(path_, ec);
}

Result<std::string> ToolFolder::keepAs(const std::string& part, const std::string& name) {
  const std::string from = part.empty() ? path_ : path_ + "/" + part;
  auto kept = moveToNumberedName(from, name);
  if (!kept) {
    const std::string left = std::exchange(path_, {});
    kept.error().message += "; it remains in " + left;
    return kept;
  }
  if (part.empty()) path_.clear();
  return kept;
}

std::string findExecutable(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    if (place.find('/') != std::string::npos) {
      if (isExecutable(place)) return place;
      continue;
    }
    const char* const variable = ::getenv("PATH");
    std::string_view rest = variable != nullptr ? variable : "";
    while (!rest.empty()) {
      const size_t colon = rest.find(':');
      std::string path = std::string(rest.substr(0, colon)) + "/" + place;
      if (isExecutable(path)) return path;
      rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
  }
  return {};
}

Result<ExitStatus> runToTheEnd(const std::vector<std::string>& command) {
  SignalRelay relay;
  TS_TRY(Launcher program, Launcher::start(command, {}));
  relay.follow(program);
  for (;;) {
    if (const std::optional<ExitStatus> status = program.poll()) return *status;
    std::this_thread::sleep_for(kCheckForEnd);
  }
}

Status runSilently(const std::vector<std::string>& command, const std::string& log) {
  std::vector<std::string> words = {"/bin/sh", "-c", "exec \"$@\" </dev/null >\"$0\" 2>&1", log};
  words.insert(words.end(), command.begin(), command.end());
  TS_TRY(const ExitStatus status, runToTheEnd(words));
  if (status.exit_code == 0) return {};
  std::string said = readFileText(log).value_or("");
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  constexpr size_t kLastWords = 400;
  if (said.size() > kLastWords) said.erase(0, said.size() - kLastWords);
  return fail(ErrorCode::kIo, fmt::format("ended with {}: {}", status.exit_code, said), command[0]);
}

}  // namespace tracesmith::cli

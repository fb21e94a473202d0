// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/recording/publish_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "tracesmith/base/files/free_name.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {

Status keepOldRecording(const std::string& path, Published& published) {
  const std::string extension = std::filesystem::path(path).extension().string();
  const std::string stem = path.substr(0, path.size() - extension.size());
  TS_TRY(const std::string to, moveToNumberedName(path, stem + ".old" + extension));
  published.note = "the recording of the trace that was replaced is now " + to;
  return {};
}

Result<Published> publishFile(TargetFile& made, const std::string& output, bool force) {
  Published published;
  const bool replaces =
      force || !inspectFile(output).has_events || inspectFile(made.place()).has_events;
  if (replaces) {
    const std::string recording = recording::recordingPathFor(output);
    if (inspectFile(recording).kind == ExistingFile::Kind::kTrace) {
      TS_CHECK_OK(keepOldRecording(recording, published));
    }
    TS_CHECK_OK(made.finish());
    published.trace = output;
    return published;
  }
  for (int i = 2; i < kMostNumberedNames; ++i) {
    const std::string to = numberedName(output, i);
    if (isThere(recording::recordingPathFor(to))) continue;
    const Status named = made.finishAs(to);
    if (!named && named.error().code == ErrorCode::kInvalidArgument) continue;
    if (!named) return tl::unexpected<Error>(named.error());
    published.trace = to;
    published.note = fmt::format(
        "{} holds events, and the new trace holds none: it stays as it was, and the new trace is "
        "{} (--force replaces it)",
        output, to);
    return published;
  }
  return fail(ErrorCode::kIo, "no name is free for the new trace", output);
}

}  // namespace tracesmith

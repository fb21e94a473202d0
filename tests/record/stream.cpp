// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace tracesmith::test {

using namespace recording;  // NOLINT: their words are ours here

size_t Stream::count(CommandKind kind) const {
  return static_cast<size_t>(std::count_if(
      commands.begin(), commands.end(), [&](const Recorded& c) { return c.header.kind == kind; }));
}

const Recorded* Stream::doneOf(uint64_t sequence) const {
  for (size_t i = sequence + 1; i < commands.size(); ++i) {
    if (commands[i].header.kind != CommandKind::kDone) continue;
    if (commands[i].as<Done>().of == sequence) return &commands[i];
  }
  return nullptr;
}

namespace {

/// Payloads whose bytes a replay needs.
void expectContents(RecordingReader& reader, const Recorded& c) {
  const auto readable = [&](const Payload& payload) {
    if (payload.bytes == 0) return;
    auto content = reader.content(payload);
    EXPECT_TRUE(content) << "command " << c.header.sequence << ": " << content.error().toString();
  };
  switch (c.header.kind) {
    case CommandKind::kCreateBuffer:
      return readable(c.as<CreateBuffer>().content);
    case CommandKind::kCreateImage:
      return readable(c.as<CreateImage>().content);
    case CommandKind::kCreateProgram:
      return readable(c.as<CreateProgram>().code);
    case CommandKind::kWrite:
      if (c.as<Write>().content.known()) readable(c.as<Write>().content);  // else in its Done
      return;
    case CommandKind::kUnmap:
      return readable(c.as<Unmap>().content);
    case CommandKind::kSvmCopy:
      if (c.as<SvmCopy>().content.known()) readable(c.as<SvmCopy>().content);
      return;
    case CommandKind::kSnapshot:
      if (c.as<Snapshot>().kept != 0) readable(c.as<Snapshot>().content);
      return;
    case CommandKind::kDone:
      if (c.as<Done>().kept != 0) readable(c.as<Done>().content);
      return;
    default:
      return;
  }
}

/// What commands name must be there: made, and not yet released as often as it was retained.
class Lifetimes {
 public:
  void see(const Recorded& c) {
    if (c.header.result != 0) return;
    switch (c.header.kind) {
      case CommandKind::kCreateQueue:
        return made(c.as<CreateQueue>().queue);
      case CommandKind::kCreateBuffer:
        return made(c.as<CreateBuffer>().buffer);
      case CommandKind::kCreateSubBuffer:
        return made(c.as<CreateSubBuffer>().buffer);
      case CommandKind::kCreateImage:
        return made(c.as<CreateImage>().image);
      case CommandKind::kCreateKernel:
        return made(c.as<CreateKernel>().kernel);
      case CommandKind::kCloneKernel:
        return made(c.as<CloneKernel>().kernel);
      case CommandKind::kRetain:
        ++references_[c.as<Retain>().object];
        return;
      case CommandKind::kRelease:
        --references_[c.as<Release>().object];
        return;
      case CommandKind::kLaunch:
        alive(c, c.as<Launch>().queue);
        return alive(c, c.as<Launch>().kernel);
      case CommandKind::kWrite:
        alive(c, c.as<Write>().queue);
        return alive(c, c.as<Write>().memory);
      case CommandKind::kSetArgument:
        return alive(c, c.as<SetArgument>().kernel);
      default:
        return;
    }
  }

 private:
  void made(Handle h) { references_[h] = 1; }
  void alive(const Recorded& c, Handle h) {
    EXPECT_GT(references_[h], 0) << "command " << c.header.sequence << " names what is not there";
  }
  std::map<Handle, int> references_;
};

}  // namespace

std::vector<Stream> streamsOf(RecordingReader& reader) {
  std::vector<Stream> out;
  EXPECT_TRUE(reader.losses().empty());
  for (const Process& process : reader.processes()) {
    Stream& stream = out.emplace_back();
    stream.process = process;
    auto bytes = reader.commands(process.number);
    EXPECT_TRUE(bytes);
    if (!bytes) continue;
    stream.bytes = std::move(*bytes);
    Lifetimes lifetimes;
    EXPECT_TRUE(forEachCommand(stream.bytes, [&](const CommandHeader& header, ByteView fields) {
      EXPECT_EQ(header.sequence, stream.commands.size());
      stream.commands.push_back({header, fields});
      expectContents(reader, stream.commands.back());
      // Whether it succeeded is in its Done.
      if ((header.flags & command_flags::kStarted) == 0) lifetimes.see(stream.commands.back());
      return true;
    }));
    EXPECT_EQ(stream.count(CommandKind::kEnd), 1u);
    EXPECT_FALSE(stream.commands.empty());
    if (!stream.commands.empty() && stream.commands.back().header.kind == CommandKind::kEnd) {
      const End end = stream.commands.back().as<End>();
      stream.end_reason.assign(end.reason.begin(), end.reason.end());
    } else {
      ADD_FAILURE() << "the stream has no end";
    }
  }
  return out;
}

std::vector<std::string> traffic(const Stream& stream) {
  std::vector<std::string> out;
  const uint32_t thread = stream.commands.front().header.thread;
  const auto tell = [&](const char* what, const Payload& p) {
    const ContentHash hash = p.chunks.empty() ? hashOf({}) : p.chunks[0];
    out.push_back(fmt::format("{} {} {:016x}{:016x}", what, p.bytes, hash.high, hash.low));
  };
  const auto shown = [&](const char* what, const Recorded& c) {
    const Recorded* done = stream.doneOf(c.header.sequence);
    ASSERT_NE(done, nullptr) << what << " " << c.header.sequence;
    if (done->header.result == 0) tell(what, done->as<Done>().content);
  };
  for (const Recorded& c : stream.commands) {
    if (c.header.thread != thread || c.header.result != 0) continue;
    switch (c.header.kind) {
      case CommandKind::kCreateBuffer:
        if (c.as<CreateBuffer>().content.bytes > 0) tell("create", c.as<CreateBuffer>().content);
        break;
      case CommandKind::kCreateImage:
        if (c.as<CreateImage>().content.bytes > 0) tell("create", c.as<CreateImage>().content);
        break;
      case CommandKind::kWrite:
        if (const Recorded* done = stream.doneOf(c.header.sequence);
            done == nullptr || done->header.result == 0) {
          const Payload content = c.as<Write>().content;
          tell("write", content.known() || done == nullptr ? content : done->as<Done>().content);
        }
        break;
      case CommandKind::kRead:
        shown("read", c);
        break;
      case CommandKind::kMap:
        shown("map", c);
        break;
      case CommandKind::kUnmap:
        tell("unmap", c.as<Unmap>().content);
        break;
      case CommandKind::kSnapshot:
        tell("shared", c.as<Snapshot>().content);
        break;
      case CommandKind::kSvmCopy:
        if (stream.doneOf(c.header.sequence) != nullptr) shown("copied", c);
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace tracesmith::test

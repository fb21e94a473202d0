// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/sbt_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/model/event_appender.hpp"

namespace tracesmith {
namespace {

/// Events buffered until they form a block worth compressing.
constexpr size_t kBatch = 65536;

/// Copies the events to `to` and returns `result`.
SBTResult copied(std::span<const TraceEvent> events, std::vector<TraceEvent>& to,
                 const SBTResult& result) {
  to.clear();
  to.reserve(events.size());
  for (const TraceEvent& event : events) {
    if (isCancelledAt(to.size())) return SBTResult::error(checkCancelled().error());
    to.push_back(event);
  }
  return result;
}

}  // namespace

struct SBTWriter::Impl {
  std::optional<TraceWriter> writer;
  Trace trace;
  EventAppender appender{trace};
  std::string error;
  Error not_open;  // the reason, if there is no `writer`
  uint64_t events = 0;
  size_t waiting = 0;
  bool finished = false;

  SBTResult check() const {
    if (!writer) return SBTResult::error(not_open);
    if (finished) {
      return SBTResult::error(
          Error{ErrorCode::kInvalidArgument, "the trace is finished", writer->path()});
    }
    return SBTResult::ok();
  }

  SBTResult failed(const Error& reason) {
    if (error.empty()) error = reason.toString();
    return SBTResult::error(reason);
  }

  SBTResult flush() {
    // A failed write leaves nothing in the file, so keep the rows for another attempt.
    if (Status status = writer->write(trace); !status) return failed(status.error());
    appender.rowsWritten();
    waiting = 0;
    return SBTResult::ok();
  }

  SBTResult add(const TraceEvent* begin, size_t count) {
    if (SBTResult open = check(); !open) return open;
    for (size_t i = 0; i < count; ++i) {
      if (isCancelledAt(i)) return SBTResult::error(checkCancelled().error());
      appender.append(begin[i]);
      ++events;
      if (++waiting < kBatch) continue;
      if (SBTResult result = flush(); !result) return result;
    }
    return SBTResult::ok();
  }
};

SBTWriter::SBTWriter(const std::string& path) : impl_(std::make_unique<Impl>()) {
  auto writer = TraceWriter::create(path);
  if (writer) {
    impl_->writer.emplace(std::move(*writer));
  } else {
    impl_->not_open = writer.error();
    impl_->error = impl_->not_open.toString();
  }
}

SBTWriter::~SBTWriter() {
  if (impl_ && impl_->writer && !impl_->finished) finalize();
}
SBTWriter::SBTWriter(SBTWriter&&) noexcept = default;
SBTWriter& SBTWriter::operator=(SBTWriter&& other) noexcept {
  std::swap(impl_, other.impl_);  // the previous state is finalized when `other` is destroyed
  return *this;
}

bool SBTWriter::isOpen() const { return impl_->writer.has_value() && !impl_->finished; }
const std::string& SBTWriter::lastError() const { return impl_->error; }
uint64_t SBTWriter::eventCount() const { return impl_->events; }
uint64_t SBTWriter::fileSize() const { return impl_->writer ? impl_->writer->bytesWritten() : 0; }

SBTResult SBTWriter::writeMetadata(const TraceMetadata& metadata) {
  if (SBTResult open = impl_->check(); !open) return open;
  impl_->appender.setMetadata(metadata);
  return SBTResult::ok();
}

SBTResult SBTWriter::writeDeviceInfo(const std::vector<DeviceInfo>& devices) {
  if (SBTResult open = impl_->check(); !open) return open;
  for (const DeviceInfo& info : devices) impl_->appender.setDevice(info);
  return SBTResult::ok();
}

SBTResult SBTWriter::writeEvent(const TraceEvent& event) { return impl_->add(&event, 1); }
SBTResult SBTWriter::writeEvents(const std::vector<TraceEvent>& events) {
  return impl_->add(events.data(), events.size());
}

SBTResult SBTWriter::writeCounters(const std::vector<CounterEvent>& counters) {
  if (SBTResult open = impl_->check(); !open) return open;
  for (const CounterEvent& counter : counters) {
    impl_->appender.append(counter);
    if (++impl_->waiting < kBatch) continue;
    if (SBTResult result = impl_->flush(); !result) return result;
  }
  return SBTResult::ok();
}

SBTResult SBTWriter::flush() {
  if (SBTResult open = impl_->check(); !open) return open;
  return impl_->flush();
}

SBTResult SBTWriter::finalize() {
  if (impl_->writer && impl_->finished) return SBTResult::ok();
  if (SBTResult flushed = flush(); !flushed) return flushed;
  if (Status status = impl_->writer->finish(); !status) return impl_->failed(status.error());
  impl_->finished = true;
  return SBTResult::ok();
}

struct SBTReader::Impl {
  std::optional<TraceReader> reader;
  std::string error;
  Error not_open;  // the reason, if there is no `reader`
  SBTHeader header;
  std::optional<Trace> trace;
  std::optional<std::vector<TraceEvent>> events;
  std::string warning;

  SBTResult load() {
    if (!reader) return SBTResult::error(not_open);
    if (trace) return {true, warning};
    auto read = reader->read();
    if (!read) return SBTResult::error(read.error());
    trace = std::move(*read);
    const std::vector<DataLoss>& losses = reader->losses();
    if (!losses.empty()) {
      warning = fmt::format("the trace is damaged in {} places, the first at byte {}: {}",
                            losses.size(), losses[0].offset, losses[0].reason);
    } else if (reader->cutBytes() != 0) {
      warning = fmt::format("the trace was cut; its last {} bytes are not a whole block",
                            reader->cutBytes());
    }
    return {true, warning};
  }

  SBTResult loadEvents() {
    SBTResult result = load();
    if (!result || events) return result;
    std::vector<TraceEvent> all = toEvents(*trace);
    if (const Status wanted = checkCancelled(); !wanted) return SBTResult::error(wanted.error());
    events = std::move(all);
    header.event_count = events->size();
    return result;
  }
};

SBTReader::SBTReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  auto reader = TraceReader::open(path);
  if (!reader) {
    impl_->not_open = reader.error();
    impl_->error = impl_->not_open.toString();
    return;
  }
  impl_->header.version_major = reader->versionMajor();
  impl_->header.version_minor = reader->versionMinor();
  impl_->header.flags = reader->flags();
  impl_->header.header_size = reader->headerBytes();
  impl_->reader.emplace(std::move(*reader));
}
SBTReader::~SBTReader() = default;
SBTReader::SBTReader(SBTReader&&) noexcept = default;
SBTReader& SBTReader::operator=(SBTReader&&) noexcept = default;

bool SBTReader::isOpen() const { return impl_->reader.has_value(); }
bool SBTReader::isValid() const { return impl_->reader.has_value(); }
const std::string& SBTReader::lastError() const { return impl_->error; }
const SBTHeader& SBTReader::header() const { return impl_->header; }

SBTResult SBTReader::readAll(TraceRecord& record) {
  SBTResult result = impl_->loadEvents();
  if (!result) return result;
  record.clear();
  record.metadata() = traceMetadata(*impl_->trace);
  return copied(*impl_->events, record.events(), result);
}

SBTResult SBTReader::readMetadata(TraceMetadata& metadata) {
  SBTResult result = impl_->load();
  if (result) metadata = traceMetadata(*impl_->trace);
  return result;
}

SBTResult SBTReader::readEvents(std::vector<TraceEvent>& events, size_t offset, size_t count) {
  SBTResult result = impl_->loadEvents();
  if (!result) return result;
  const std::vector<TraceEvent>& all = *impl_->events;
  const size_t begin = std::min(offset, all.size());
  const size_t wanted = count == 0 ? all.size() - begin : std::min(count, all.size() - begin);
  return copied(std::span(all).subspan(begin, wanted), events, result);
}

SBTResult SBTReader::readCounters(std::vector<CounterEvent>& counters) {
  SBTResult result = impl_->load();
  if (!result) return result;
  counters = toCounterEvents(*impl_->trace);
  if (const Status wanted = checkCancelled(); !wanted) return SBTResult::error(wanted.error());
  return result;
}

uint64_t SBTReader::eventCount() {
  impl_->loadEvents();
  return impl_->header.event_count;
}

}  // namespace tracesmith

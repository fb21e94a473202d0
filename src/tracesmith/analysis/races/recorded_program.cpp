// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/recorded_program.hpp"

#include <algorithm>
#include <unordered_map>

#include "tracesmith/analysis/races/recorded_kernels.hpp"
#include "tracesmith/analysis/races/recorded_memory.hpp"

namespace tracesmith::races {

using namespace recording;  // NOLINT: uses the recording vocabulary

namespace {

constexpr uint64_t kOutOfOrder = 1;  // CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
constexpr uint64_t kMapRead = 1, kMapWrite = 2, kMapWriteInvalidate = 4;  // CL_MAP_*

class Translation {
 public:
  explicit Translation(const RecordedKernels::Content& content) : kernels_(content) {}

  RecordedProgram run(ByteView commands) {
    findResults(commands);
    const bool whole = forEachCommand(commands, [&](const CommandHeader& header, ByteView fields) {
      header_ = &header;
      const auto refused = results_.find(header.sequence);
      const bool failed = header.result != 0 || (refused != results_.end() && refused->second != 0);
      if (!failed || header.kind == CommandKind::kDone) {
        withCommand(header.kind, fields, [&](const auto& command) { on(command); });
      }
      return true;
    });
    out_.damaged = !whole;
    out_.allocations = memory_.takeAllocations();
    out_.guessed.assign(kernels_.guessed().begin(), kernels_.guessed().end());
    return std::move(out_);
  }

 private:
  struct Mapped {
    uint64_t flags = 0;
    uint64_t bytes = 0;  // size of shared memory
  };

  /// Results of commands follow the commands in the stream.
  void findResults(ByteView commands) {
    forEachCommand(commands, [&](const CommandHeader& header, ByteView fields) {
      Done done;
      if (header.kind == CommandKind::kDone && header.result != 0 && decode(fields, done)) {
        results_[done.of] = header.result;
      }
      return true;
    });
  }

  template <class Command>
  void on(const Command&) {}  // irrelevant for order and memory
  void on(const CreateQueue& c) {
    queues_[c.queue] = out_.program.addStream((c.properties & kOutOfOrder) != 0);
  }
  void on(const CreateBuffer& c) { memory_.create(c, header_->sequence); }
  void on(const CreateSubBuffer& c) { memory_.create(c); }
  void on(const CreateImage& c) { memory_.create(c, header_->sequence); }
  void on(const SvmAlloc& c) { memory_.create(c, header_->sequence); }
  void on(const CreateProgram& c) { kernels_.create(c); }
  void on(const IncludedFile& c) { kernels_.include(c); }
  void on(const BuildProgram& c) { kernels_.build(c); }
  void on(const CreateKernel& c) { kernels_.create(c); }
  void on(const CloneKernel& c) { kernels_.clone(c); }
  void on(const SetArgument& c) { kernels_.set(c); }
  void on(const SetExecInfo& c) { kernels_.set(c); }
  void on(const Release& c) {
    if (c.object_class == ObjectClass::kMemory) memory_.release(c.object);
  }

  void on(const CreateUserEvent& c) {
    events_[c.event] = add({.kind = StepKind::kUserEvent}, "user event", {}, {});
  }
  void on(const SetUserEventStatus& c) {
    const auto it = events_.find(c.event);
    if (it == events_.end()) return;
    add({.kind = StepKind::kSetUserEvent, .target = it->second}, "user event set", {}, {});
  }

  void on(const Launch& c) {
    std::vector<Access> accesses;
    const std::string* name = kernels_.addLaunch(c.kernel, memory_, accesses);
    ++out_.launches;
    const StepId id = enqueue(c, name != nullptr ? *name : std::string("unknown kernel"), accesses);
    out_.steps[id].launch = out_.launches;
  }
  void on(const Write& c) {
    std::vector<Access> accesses;
    memory_.addBox(c.memory, c.box, true, Grade::kProven, accesses);
    addHost(c.host, c.box, false, accesses);
    enqueue(c, "write", accesses);
  }
  void on(const Read& c) {
    std::vector<Access> accesses;
    memory_.addBox(c.memory, c.box, false, Grade::kProven, accesses);
    addHost(c.host, c.box, true, accesses);
    enqueue(c, "read", accesses);
  }
  void on(const Copy& c) {
    std::vector<Access> accesses;
    memory_.addBox(c.destination, c.to, true, Grade::kProven, accesses);
    memory_.addBox(c.source, c.from, false, Grade::kProven, accesses);
    enqueue(c, "copy", accesses);
  }
  void on(const Fill& c) {
    std::vector<Access> accesses;
    memory_.addBox(c.memory, c.box, true, Grade::kProven, accesses);
    enqueue(c, "fill", accesses);
  }
  void on(const Map& c) {
    std::vector<Access> accesses;
    if ((c.flags & kMapWriteInvalidate) == 0) {
      memory_.addBox(c.memory, c.box, false, Grade::kProven, accesses);
    }
    const StepId id = enqueue(c, "map", accesses);
    if (c.pointer != 0) maps_[c.pointer] = {c.flags, 0};
    if (isStarted()) started_maps_[header_->sequence] = {id, {c.flags, 0}};
  }
  void on(const Unmap& c) {
    const Mapped mapped = takeMapped(c.pointer);
    std::vector<Access> host, device;
    const bool writes = (mapped.flags & (kMapWrite | kMapWriteInvalidate)) != 0;
    // Without a change, the driver may or may not write back the previous content.
    const Grade grade = c.content.bytes > 0 ? Grade::kProven : Grade::kPossible;
    if (writes) {
      memory_.addBox(c.memory, c.box, true, std::max(grade, Grade::kLikely), host);
      memory_.addBox(c.memory, c.box, true, grade, device);
    }
    if ((mapped.flags & kMapRead) != 0) {
      memory_.addBox(c.memory, c.box, false, Grade::kLikely, host);
    }
    if (!host.empty()) add({.kind = StepKind::kHostAccess}, "host, mapped", {}, host);
    enqueue(c, "unmap", device);
  }
  void on(const Migrate& c) { enqueue(c, "migrate", {}); }
  void on(const SvmCopy& c) {
    std::vector<Access> accesses;
    memory_.addAddress(c.destination, c.bytes, true, Grade::kProven, accesses);
    memory_.addAddress(c.source, c.bytes, false, Grade::kProven, accesses);
    enqueue(c, "copy", accesses);
  }
  void on(const SvmFill& c) {
    std::vector<Access> accesses;
    memory_.addAddress(c.pointer, c.bytes, true, Grade::kProven, accesses);
    enqueue(c, "fill", accesses);
  }
  void on(const SvmMap& c) {
    std::vector<Access> accesses;
    if ((c.flags & kMapWriteInvalidate) == 0) {
      memory_.addAddress(c.pointer, c.bytes, false, Grade::kProven, accesses);
    }
    enqueue(c, "map", accesses);
    maps_[c.pointer] = {c.flags, c.bytes};
  }
  void on(const SvmUnmap& c) {
    const Mapped mapped = takeMapped(c.pointer);
    std::vector<Access> host, device;
    if ((mapped.flags & (kMapWrite | kMapWriteInvalidate)) != 0) {
      memory_.addAddress(c.pointer, mapped.bytes, true, Grade::kLikely, host);
      memory_.addAddress(c.pointer, mapped.bytes, true, Grade::kLikely, device);
    }
    if ((mapped.flags & kMapRead) != 0) {
      memory_.addAddress(c.pointer, mapped.bytes, false, Grade::kLikely, host);
    }
    if (!host.empty()) add({.kind = StepKind::kHostAccess}, "host, mapped", {}, host);
    enqueue(c, "unmap", device);
  }
  void on(const SvmFree& c) {
    std::vector<Access> accesses;
    for (const Handle pointer : c.pointers) {
      memory_.addAddress(pointer, memory_.sharedBytes(pointer), true, Grade::kProven, accesses);
    }
    if (c.queue != 0) {
      enqueue(c, "free", accesses);
    } else {
      add({.kind = StepKind::kHostAccess}, "free", {}, accesses);
    }
    for (const Handle pointer : c.pointers) memory_.free(pointer);
  }

  void on(const Marker& c) {
    const bool barrier = c.is_barrier != 0;
    enqueue(c, barrier ? "barrier" : "marker", {},
            barrier ? StepKind::kBarrier : StepKind::kMarker);
  }
  void on(const Finish& c) {
    add({.kind = StepKind::kHostWait, .stream = streamOf(c.queue)}, "finish", {}, {});
  }
  void on(const WaitForEvents& c) {
    std::vector<StepId> waits = waitsOf(c.events);
    if (c.queue == 0) {
      add({.kind = StepKind::kHostWait}, "wait", waits, {});
    } else {
      keepNotEmpty(c.events, waits);
      add({.kind = StepKind::kBarrier, .stream = streamOf(c.queue)}, "wait", waits, {});
    }
  }
  void on(const Unsupported& c) {
    ++out_.unsupported;
    if (c.queue == 0) return;
    const std::string name(c.function.begin(), c.function.end());
    const StepId id = add({.stream = streamOf(c.queue)}, name, {}, {});
    if (c.event != 0) events_[c.event] = id;
  }
  void on(const Done& c) {
    if (const auto it = started_.find(c.of); it != started_.end()) {
      if (c.event != 0) events_[c.event] = it->second;
      started_.erase(it);
    }
    if (const auto it = started_maps_.find(c.of); it != started_maps_.end()) {
      if (c.pointer != 0) maps_[c.pointer] = it->second.second;
      started_maps_.erase(it);
    }
  }

  bool isStarted() const { return (header_->flags & command_flags::kStarted) != 0; }

  Mapped takeMapped(Handle pointer) {
    const auto it = maps_.find(pointer);
    if (it == maps_.end()) return {};
    const Mapped mapped = it->second;
    maps_.erase(it);
    return mapped;
  }

  /// The host side of a transfer. The pitch of its rows is not recorded.
  void addHost(Handle host, const Box& box, bool write, std::vector<Access>& out) const {
    if (box.is_image != 0 || box.region[1] > 1 || box.region[2] > 1) return;
    memory_.addAddress(host, box.region[0], write, Grade::kProven, out);
  }

  uint32_t streamOf(Handle queue) {
    const auto it = queues_.find(queue);
    if (it != queues_.end()) return it->second;
    return queues_[queue] = out_.program.addStream(false);
  }

  std::vector<StepId> waitsOf(Handles events) {
    std::vector<StepId> waits;
    for (const Handle event : events) {
      const auto it = events_.find(event);
      if (it == events_.end()) {
        ++out_.unknown_events;
      } else {
        waits.push_back(it->second);
      }
    }
    return waits;
  }
  /// A wait list of unknown events only must not become an empty list, which waits for everything.
  void keepNotEmpty(Handles events, std::vector<StepId>& waits) {
    if (events.empty() || !waits.empty()) return;
    if (nothing_ == kNone) nothing_ = add({.kind = StepKind::kHostWait}, "", {}, {});
    waits.push_back(nothing_);
  }

  template <class Command>
  StepId enqueue(const Command& c, const std::string& label, const std::vector<Access>& accesses,
                 StepKind kind = StepKind::kOperation) {
    std::vector<StepId> waits = waitsOf(c.waits);
    if (kind != StepKind::kOperation) keepNotEmpty(c.waits, waits);
    const Step step{.kind = kind,
                    .blocking = (header_->flags & command_flags::kBlocking) != 0,
                    .stream = streamOf(c.queue)};
    const StepId id = add(step, label, waits, accesses);
    if (c.event != 0) events_[c.event] = id;
    if (isStarted()) started_[header_->sequence] = id;
    return id;
  }

  StepId add(Step step, const std::string& label, std::span<const StepId> waits,
             std::span<const Access> accesses) {
    const auto [thread, is_new] =
        threads_.try_emplace(header_->thread, static_cast<uint32_t>(threads_.size()));
    if (is_new) out_.threads.push_back(header_->thread);
    step.thread = thread->second;
    const auto [number, is_new_label] =
        labels_.try_emplace(label, static_cast<uint32_t>(labels_.size()));
    if (is_new_label) out_.labels.push_back(label);
    step.label = number->second;
    out_.steps.push_back({header_->sequence, header_->start_ns, 0, header_->kind});
    return out_.program.add(step, waits, accesses);
  }

  RecordedProgram out_;
  RecordedMemory memory_;
  RecordedKernels kernels_;
  const CommandHeader* header_ = nullptr;
  std::unordered_map<uint64_t, int32_t> results_;  // results of failed commands
  std::unordered_map<Handle, uint32_t> queues_;
  std::unordered_map<Handle, StepId> events_;
  std::unordered_map<uint64_t, StepId> started_;
  std::unordered_map<uint64_t, std::pair<StepId, Mapped>> started_maps_;
  std::unordered_map<Handle, Mapped> maps_;
  std::unordered_map<uint32_t, uint32_t> threads_;
  std::unordered_map<std::string, uint32_t> labels_;
  StepId nothing_ = kNone;
};

}  // namespace

RecordedProgram programOfRecording(ByteView commands,
                                   const std::function<Result<Bytes>(const Payload&)>& content) {
  return Translation(content).run(commands);
}

}  // namespace tracesmith::races

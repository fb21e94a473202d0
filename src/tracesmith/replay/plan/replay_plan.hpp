// SPDX-License-Identifier: Apache-2.0
// A recording prepared for execution in any legal order: every handle is resolved to the object it
// named at that point, every launch has its arguments, and every wait has the events it waited for.
// Time and memory grow linearly with the number of commands.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {

using StepIndex = uint32_t;    ///< in ReplayPlan::steps()
using ObjectIndex = uint32_t;  ///< in ReplayPlan::objects(); 0: none or unknown
constexpr StepIndex kNoStep = UINT32_MAX;

/// An object that the program created. It exists from its step on and has its own index, even if
/// the driver reused its handle for other objects.
struct PlannedObject {
  recording::ObjectClass object_class = recording::ObjectClass::kContext;
  recording::Handle handle = 0;
  StepIndex made_by = kNoStep;
  uint64_t bytes = 0;  ///< size of a buffer or of shared memory
  /// Sub-buffer: its buffer. Buffer or image created from shared memory: that memory. Kernel: its
  /// program.
  ObjectIndex parent = 0;
  bool is_svm = false;
  bool is_image = false;
  /// The number shown to people, counted per class. From 1; queues from 0, as traces number
  /// streams.
  uint32_t ordinal = 0;
};

/// One command.
struct ReplayStep {
  recording::CommandHeader header;
  ByteView fields;  ///< lives as long as the plan
  recording::CommandKind kind() const { return header.kind; }

  ObjectIndex object = 0;  ///< the object it creates or uses
  ObjectIndex other = 0;   ///< the second object it uses: context, program, source
  ObjectIndex queue = 0;
  ObjectIndex event = 0;    ///< the event it creates
  uint32_t first_wait = 0;  ///< start of the events it waits for, in the plan's lists
  uint32_t waits = 0;
  /// Start in the plan's lists: a launch's arguments (steps); devices, inputs, memory (objects).
  uint32_t first_list = 0;
  uint32_t list = 0;
  StepIndex of = kNoStep;    ///< for Done: its command; for Unmap and SvmUnmap: the map
  StepIndex done = kNoStep;  ///< for a command: its Done
  uint32_t launch = 0;       ///< number of launches up to and including this step
};

/// A note on something that the plan lacks.
struct PlanNote {
  StepIndex step = kNoStep;
  std::string text;
};

class ReplayPlan {
 public:
  /// Plans the commands of one process. A stream that ends within a command is not an error: it is
  /// planned up to there, with a note.
  static Result<ReplayPlan> make(Bytes commands);

  std::span<const ReplayStep> steps() const { return steps_; }
  const ReplayStep& step(StepIndex i) const { return steps_[i]; }
  std::span<const PlannedObject> objects() const { return objects_; }
  const PlannedObject& object(ObjectIndex i) const { return objects_[i]; }
  std::span<const ObjectIndex> waitsOf(const ReplayStep& s) const {
    return part(s.first_wait, s.waits);
  }
  std::span<const uint32_t> listOf(const ReplayStep& s) const { return part(s.first_list, s.list); }
  /// The step of the launch with this number, from 1; kNoStep: no such launch.
  StepIndex launch(uint32_t number) const {
    return number == 0 || number > launches_.size() ? kNoStep : launches_[number - 1];
  }
  /// The step of the command with this sequence number in the recording; kNoStep: no such command.
  StepIndex bySequence(uint64_t sequence) const;
  uint32_t launches() const { return static_cast<uint32_t>(launches_.size()); }
  /// True when programs include files of the host.
  bool includesFiles() const { return includes_files_; }
  /// False when the stream ends within a command.
  bool whole() const { return whole_; }
  /// If there are too many, the last note states how many are left out.
  const std::vector<PlanNote>& notes() const { return notes_; }

  std::string kernelName(const ReplayStep& launch) const;
  /// "buffer 3", "image 1", "buffer 4 (in buffer 3)".
  std::string objectName(ObjectIndex object) const;
  /// Size of a memory object's whole content in bytes; 0: unknown (an image of an unknown format).
  uint64_t contentBytes(ObjectIndex object) const;

 private:
  friend class PlanMaker;
  std::span<const uint32_t> part(uint32_t first, uint32_t count) const {
    return std::span(lists_).subspan(first, count);
  }
  Bytes commands_;
  std::vector<ReplayStep> steps_;
  std::vector<PlannedObject> objects_;
  std::vector<uint32_t> lists_;
  std::vector<StepIndex> launches_;
  bool includes_files_ = false;
  bool whole_ = true;
  std::vector<PlanNote> notes_;
};

/// Bytes of a pixel; 0 for an unknown format. The numbers are those of cl_channel_order and
/// cl_channel_type (OpenCL 3.0, tables 5.6 and 5.7).
uint64_t pixelBytes(uint64_t channel_order, uint64_t channel_type);

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/plan/replay_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace tracesmith {

using namespace recording;

namespace {
constexpr size_t kMostNotes = 1000;
}  // namespace

class PlanMaker {
 public:
  explicit PlanMaker(ReplayPlan& plan) : plan_(plan) {}

  Status run();

  // One overload for each kind of command; `step_` is the step being planned.
  void plan(const Device& c) { step_->object = make(ObjectClass::kDevice, c.handle); }
  void plan(const CreateContext& c) {
    list(c.devices, ObjectClass::kDevice);
    step_->object = made(ObjectClass::kContext, c.context);
  }
  void plan(const CreateQueue& c) {
    step_->other = find(ObjectClass::kContext, c.context);
    const uint64_t devices[] = {c.device};
    list(devices, ObjectClass::kDevice);
    step_->object = made(ObjectClass::kQueue, c.queue);
  }
  void plan(const CreateBuffer& c) {
    step_->other = find(ObjectClass::kContext, c.context);
    step_->object = madeMemory(c.buffer, c.bytes, sharedUnder(c.flags, c.host, c.bytes));
  }
  void plan(const CreateSubBuffer& c) {
    step_->other = find(ObjectClass::kMemory, c.parent);
    step_->object = madeMemory(c.buffer, c.bytes, step_->other);
  }
  void plan(const CreateImage& c) {
    step_->other = find(ObjectClass::kContext, c.context);
    const ObjectIndex of =
        c.buffer == 0 ? sharedUnder(c.flags, c.host, 1) : find(ObjectClass::kMemory, c.buffer);
    const uint64_t bytes = pixelBytes(c.channel_order, c.channel_type);
    uint64_t pixels = 1;
    bool fits = true;
    for (const uint64_t extent : {c.width, c.height, c.depth, c.array_size}) {
      fits = fits && !__builtin_mul_overflow(pixels, std::max<uint64_t>(1, extent), &pixels);
    }
    fits = fits && !__builtin_mul_overflow(pixels, bytes, &pixels);
    step_->object = madeMemory(c.image, fits ? pixels : 0, of);
    if (step_->object == 0) addList({of});  // a failed call gets its recorded arguments
    if (step_->object != 0) plan_.objects_[step_->object].is_image = true;
  }
  void plan(const CreateSampler& c) {
    step_->other = find(ObjectClass::kContext, c.context);
    step_->object = made(ObjectClass::kSampler, c.sampler);
  }
  void plan(const CreateProgram& c) {
    step_->other = find(ObjectClass::kContext, c.context);
    if (c.form == ProgramForm::kLinked) {
      list(c.inputs, ObjectClass::kProgram);
    } else {
      list(c.devices, ObjectClass::kDevice);
    }
    step_->object = made(ObjectClass::kProgram, c.program);
  }
  void plan(const BuildProgram& c) {
    step_->object = find(ObjectClass::kProgram, c.program);
    list(c.headers, ObjectClass::kProgram);
  }
  void plan(const CreateKernel& c) {
    step_->other = find(ObjectClass::kProgram, c.program);
    step_->object = made(ObjectClass::kKernel, c.kernel);
    if (step_->object != 0) plan_.objects_[step_->object].parent = step_->other;
  }
  void plan(const CloneKernel& c) {
    step_->other = find(ObjectClass::kKernel, c.source);
    step_->object = made(ObjectClass::kKernel, c.kernel);
    if (step_->object == 0 || step_->other == 0) return;
    plan_.objects_[step_->object].parent = plan_.objects_[step_->other].parent;
    const Kernel source = kernels_[step_->other];
    kernels_[step_->object] = source;
  }
  void plan(const SetArgument& c) {
    step_->object = find(ObjectClass::kKernel, c.kernel);
    if (c.form == ArgumentForm::kValue && c.value.size() == sizeof(Handle)) {
      Handle handle;
      std::memcpy(&handle, c.value.data(), sizeof handle);
      step_->other = liveArgument(handle);
    }
    if (c.form == ArgumentForm::kSvm && c.value.size() == sizeof(Handle)) {
      Handle address;
      std::memcpy(&address, c.value.data(), sizeof address);
      step_->other = svmAt(address);
    }
    if (step_->object != 0 && step_->header.result == 0) setArgument(c.index);
  }
  void plan(const SetExecInfo& c) {
    constexpr uint64_t kSvmPointers = 0x11B6;  // CL_KERNEL_EXEC_INFO_SVM_PTRS
    step_->object = find(ObjectClass::kKernel, c.kernel);
    if (c.name != kSvmPointers) return;
    std::vector<uint32_t> memory;
    for (size_t at = 0; at + sizeof(Handle) <= c.value.size(); at += sizeof(Handle)) {
      memory.push_back(svmAt(loadFixed<Handle>(c.value.data() + at)));
    }
    addList(memory);
  }
  void plan(const CreateUserEvent& c) {
    step_->other = find(ObjectClass::kContext, c.context);
    step_->event = step_->object = made(ObjectClass::kEvent, c.event);
  }
  void plan(const SetUserEventStatus& c) { step_->object = find(ObjectClass::kEvent, c.event); }
  void plan(const Retain& c) { step_->object = find(c.object_class, c.object); }
  void plan(const Release& c) { step_->object = find(c.object_class, c.object); }
  void plan(const SvmAlloc& c) {
    step_->other = find(ObjectClass::kContext, c.context);
    if (c.pointer == 0 || step_->header.result != 0) return;
    step_->object = make(ObjectClass::kMemory, c.pointer);
    plan_.objects_[step_->object].bytes = c.bytes;
    plan_.objects_[step_->object].is_svm = true;
    svm_[c.pointer] = step_->object;
  }
  void plan(const SvmFree& c) {
    step_->other = find(ObjectClass::kContext, c.context);
    std::vector<uint32_t> freed;
    for (const Handle pointer : c.pointers) freed.push_back(svmAt(pointer));
    addList(freed);
    if (c.queue != 0) command(c.queue, c.waits, c.event);
    for (const Handle pointer : c.pointers) svm_.erase(pointer);
  }
  void plan(const Launch& c) {
    command(c.queue, c.waits, c.event);
    step_->object = find(ObjectClass::kKernel, c.kernel);
    if (step_->object != 0) {
      Kernel& kernel = kernels_[step_->object];
      if (kernel.changed) {
        kernel.changed = false;
        kernel.first = static_cast<uint32_t>(plan_.lists_.size());
        plan_.lists_.insert(plan_.lists_.end(), kernel.arguments.begin(), kernel.arguments.end());
        kernel.count = static_cast<uint32_t>(kernel.arguments.size());
      }
      step_->first_list = kernel.first;
      step_->list = kernel.count;
    }
    // Failed launches do not count as launches.
    if (step_->header.result == 0) plan_.launches_.push_back(index());
  }
  void plan(const Write& c) { transfer(c.queue, c.memory, c.waits, c.event); }
  void plan(const Read& c) { transfer(c.queue, c.memory, c.waits, c.event); }
  void plan(const Copy& c) {
    transfer(c.queue, c.destination, c.waits, c.event);
    step_->other = find(ObjectClass::kMemory, c.source);
  }
  void plan(const Fill& c) { transfer(c.queue, c.memory, c.waits, c.event); }
  void plan(const Map& c) {
    transfer(c.queue, c.memory, c.waits, c.event);
    if (step_->header.result == 0 && c.pointer != 0) {
      maps_[mapKey(c.pointer, step_->object)] = index();
    }
  }
  void plan(const Unmap& c) {
    transfer(c.queue, c.memory, c.waits, c.event);
    unmaps(c.pointer);
  }
  void plan(const Migrate& c) {
    command(c.queue, c.waits, c.event);
    std::vector<uint32_t> objects;
    for (const Handle h : c.objects) {
      objects.push_back(c.is_svm != 0 ? svmAt(h) : find(ObjectClass::kMemory, h));
    }
    addList(objects);
  }
  void plan(const SvmCopy& c) {
    command(c.queue, c.waits, c.event);
    step_->object = svmAt(c.destination);
    step_->other = svmAt(c.source);
  }
  void plan(const SvmFill& c) { svmCommand(c.queue, c.pointer, c.waits, c.event); }
  void plan(const SvmMap& c) {
    svmCommand(c.queue, c.pointer, c.waits, c.event);
    if (step_->header.result == 0) maps_[mapKey(c.pointer, step_->object)] = index();
  }
  void plan(const SvmUnmap& c) {
    svmCommand(c.queue, c.pointer, c.waits, c.event);
    unmaps(c.pointer);
  }
  void plan(const Marker& c) { command(c.queue, c.waits, c.event); }
  void plan(const Finish& c) { step_->queue = find(ObjectClass::kQueue, c.queue); }
  void plan(const Flush& c) { step_->queue = find(ObjectClass::kQueue, c.queue); }
  void plan(const WaitForEvents& c) {
    waits(c.events);
    if (c.queue != 0) step_->queue = find(ObjectClass::kQueue, c.queue);
  }
  void plan(const Done& c) {
    const auto of = plan_.bySequence(c.of);
    if (of == kNoStep || of == index()) return note("ends a command that is not in the recording");
    step_->of = of;
    ReplayStep& command = plan_.steps_[of];
    command.done = index();
    step_->queue = command.queue;
    // For a call recorded when it started, the result is known now.
    if (step_->header.result != 0) command.header.result = step_->header.result;
    if (c.event != 0 && step_->header.result == 0) {
      command.event = make(ObjectClass::kEvent, c.event);
    }
    if (c.pointer != 0 && command.kind() == CommandKind::kMap && step_->header.result == 0) {
      maps_[mapKey(c.pointer, command.object)] = of;
    }
  }
  void plan(const Snapshot& c) {
    step_->object = c.is_svm != 0 ? svmAt(c.memory) : find(ObjectClass::kMemory, c.memory);
  }
  void plan(const RangeEdge&) {}
  void plan(const IncludedFile& c) {
    step_->object = find(ObjectClass::kProgram, c.program);
    plan_.includes_files_ = true;
  }
  void plan(const Unsupported& c) {
    if (step_->header.result != 0) return;  // it had no effect
    if (c.queue != 0) step_->queue = find(ObjectClass::kQueue, c.queue);
    if (c.event != 0) step_->event = make(ObjectClass::kEvent, c.event);
    note("called " + std::string(c.function.begin(), c.function.end()) +
         ", which cannot be replayed");
  }
  void plan(const End& c) {
    if (!c.reason.empty()) {
      note("the recording ends here: " + std::string(c.reason.begin(), c.reason.end()));
    }
  }

 private:
  struct Kernel {
    std::vector<StepIndex> arguments;  // the SetArgument of each, kNoStep: never set
    uint32_t first = 0;
    uint32_t count = 0;
    bool changed = true;
  };

  static uint64_t mapKey(Handle pointer, ObjectIndex memory) {
    return pointer ^ (uint64_t{memory} << 48);  // addresses have 48 bits
  }
  StepIndex index() const { return static_cast<StepIndex>(plan_.steps_.size() - 1); }

  ObjectIndex make(ObjectClass object_class, Handle handle) {
    PlannedObject object;
    object.object_class = object_class;
    object.handle = handle;
    object.made_by = index();
    uint32_t& count = counts_[static_cast<size_t>(object_class) % counts_.size()];
    ++count;
    object.ordinal = object_class == ObjectClass::kQueue ? count - 1 : count;
    plan_.objects_.push_back(object);
    const auto made = static_cast<ObjectIndex>(plan_.objects_.size() - 1);
    handles_[handle] = made;
    return made;
  }
  /// The object created by a call that may have failed.
  ObjectIndex made(ObjectClass object_class, Handle handle) {
    return handle == 0 || step_->header.result != 0 ? 0 : make(object_class, handle);
  }
  ObjectIndex madeMemory(Handle handle, uint64_t bytes, ObjectIndex parent) {
    const ObjectIndex object = made(ObjectClass::kMemory, handle);
    if (object == 0) return 0;
    plan_.objects_[object].bytes = bytes;
    plan_.objects_[object].parent = parent;
    return object;
  }
  ObjectIndex find(ObjectClass object_class, Handle handle) {
    if (handle == 0) return 0;
    const auto it = handles_.find(handle);
    if (it != handles_.end() && plan_.objects_[it->second].object_class == object_class) {
      return it->second;
    }
    // A failed call may have used a handle that never existed.
    if (step_->header.result == 0) note("uses an object whose creation was not recorded");
    return 0;
  }
  ObjectIndex liveArgument(Handle handle) const {
    const auto it = handles_.find(handle);
    if (it == handles_.end()) return 0;
    const ObjectClass is = plan_.objects_[it->second].object_class;
    const bool can_be =
        is == ObjectClass::kMemory || is == ObjectClass::kSampler || is == ObjectClass::kQueue;
    return can_be ? it->second : 0;
  }
  /// The shared memory that a memory object uses as its storage.
  ObjectIndex sharedUnder(uint64_t flags, Handle host, uint64_t bytes) const {
    constexpr uint64_t kUseHostPointer = 1 << 3;  // CL_MEM_USE_HOST_PTR
    const ObjectIndex shared = (flags & kUseHostPointer) == 0 ? 0 : svmAt(host);
    if (shared == 0) return 0;
    const PlannedObject& object = plan_.objects_[shared];
    const uint64_t offset = host - object.handle;
    return offset <= object.bytes && bytes <= object.bytes - offset ? shared : 0;
  }
  ObjectIndex svmAt(Handle address) const {
    auto it = svm_.upper_bound(address);
    if (it == svm_.begin()) return 0;
    --it;
    return address - it->first <= plan_.objects_[it->second].bytes ? it->second : 0;
  }
  void unmaps(Handle pointer) {
    const auto map = maps_.find(mapKey(pointer, step_->object));
    if (map == maps_.end() || step_->header.result != 0) return;
    step_->of = map->second;
    maps_.erase(map);
  }
  void setArgument(uint64_t argument) {
    constexpr uint64_t kMostArguments = 1024;
    if (argument >= kMostArguments) return note("sets an argument with an impossible index");
    Kernel& kernel = kernels_[step_->object];
    if (kernel.arguments.size() <= argument) kernel.arguments.resize(argument + 1, kNoStep);
    kernel.arguments[argument] = index();
    kernel.changed = true;
  }
  void addList(const std::vector<uint32_t>& values) {
    step_->first_list = static_cast<uint32_t>(plan_.lists_.size());
    step_->list = static_cast<uint32_t>(values.size());
    plan_.lists_.insert(plan_.lists_.end(), values.begin(), values.end());
  }
  void list(Handles handles, ObjectClass object_class) {
    std::vector<uint32_t> objects;
    for (const Handle h : handles) objects.push_back(find(object_class, h));
    addList(objects);
  }
  void waits(Handles events) {
    step_->first_wait = static_cast<uint32_t>(plan_.lists_.size());
    for (const Handle h : events) {
      // Events created before the range started have ended within it.
      const auto it = handles_.find(h);
      const bool known =
          it != handles_.end() && plan_.objects_[it->second].object_class == ObjectClass::kEvent;
      plan_.lists_.push_back(known ? it->second : 0);
    }
    step_->waits = static_cast<uint32_t>(events.size());
  }
  void command(Handle queue, Handles wait_list, Handle event) {
    step_->queue = find(ObjectClass::kQueue, queue);
    waits(wait_list);
    if (event != 0 && step_->header.result == 0) step_->event = make(ObjectClass::kEvent, event);
  }
  void transfer(Handle queue, Handle memory, Handles wait_list, Handle event) {
    command(queue, wait_list, event);
    step_->object = find(ObjectClass::kMemory, memory);
  }
  void svmCommand(Handle queue, Handle pointer, Handles wait_list, Handle event) {
    command(queue, wait_list, event);
    step_->object = svmAt(pointer);
  }
  void note(std::string text) {
    if (plan_.notes_.size() < kMostNotes) {
      plan_.notes_.push_back({index(), std::move(text)});
    } else if (notes_left_out_++ == 0) {
      first_left_out_ = index();
    }
  }

  ReplayPlan& plan_;
  ReplayStep* step_ = nullptr;
  uint64_t notes_left_out_ = 0;
  StepIndex first_left_out_ = kNoStep;
  std::unordered_map<Handle, ObjectIndex> handles_;
  std::map<Handle, ObjectIndex> svm_;  // live ranges by start address
  std::unordered_map<ObjectIndex, Kernel> kernels_;
  std::unordered_map<uint64_t, StepIndex> maps_;
  std::array<uint32_t, 16> counts_{};
};

Status PlanMaker::run() {
  plan_.objects_.emplace_back();  // 0: none
  size_t commands = 0;
  forEachCommand(plan_.commands_, [&](const CommandHeader&, ByteView) {
    ++commands;
    return true;
  });
  if (commands >= kNoStep) {
    return fail(ErrorCode::kUnsupported, "has more commands than a plan can number (2^32)");
  }
  plan_.steps_.reserve(commands);
  uint64_t next_sequence = 0;
  plan_.whole_ = forEachCommand(plan_.commands_, [&](const CommandHeader& header, ByteView fields) {
    ReplayStep step;
    step.header = header;
    step.fields = fields;
    plan_.steps_.push_back(step);
    step_ = &plan_.steps_.back();
    if (header.sequence < next_sequence) note("has a sequence number that is not its position");
    next_sequence = header.sequence + 1;
    if (!withCommand(header.kind, fields, [&](const auto& command) { plan(command); })) {
      note("is damaged, or of a kind that this version does not know");
    }
    plan_.steps_.back().launch = plan_.launches();
    return true;
  });
  if (!plan_.whole_) note("is the last complete one: the stream ends within a command");
  if (notes_left_out_ > 0) {
    plan_.notes_.push_back(
        {first_left_out_,
         "is the last one with notes: " + std::to_string(notes_left_out_) + " more are left out"});
  }
  return {};
}

Result<ReplayPlan> ReplayPlan::make(Bytes commands) {
  ReplayPlan plan;
  plan.commands_ = std::move(commands);
  TS_CHECK_OK(PlanMaker(plan).run());
  return plan;
}

StepIndex ReplayPlan::bySequence(uint64_t sequence) const {
  const auto it = std::lower_bound(
      steps_.begin(), steps_.end(), sequence,
      [](const ReplayStep& step, uint64_t wanted) { return step.header.sequence < wanted; });
  if (it == steps_.end() || it->header.sequence != sequence) return kNoStep;
  return static_cast<StepIndex>(it - steps_.begin());
}

std::string ReplayPlan::kernelName(const ReplayStep& launch) const {
  ObjectIndex kernel = launch.object;
  // A clone has the name of its source.
  for (int clones = 0; kernel != 0 && clones < 100; ++clones) {
    const ReplayStep& made = steps_[objects_[kernel].made_by];
    if (made.kind() == CommandKind::kCreateKernel) {
      CreateKernel create;
      if (!decode(made.fields, create)) break;
      return {create.name.begin(), create.name.end()};
    }
    kernel = made.other;
  }
  return "(unknown kernel)";
}

std::string ReplayPlan::objectName(ObjectIndex object) const {
  if (object == 0 || object >= objects_.size()) return "(unknown object)";
  const PlannedObject& o = objects_[object];
  const char* what = "object";
  switch (o.object_class) {
    case ObjectClass::kContext:
      what = "context";
      break;
    case ObjectClass::kQueue:
      what = "queue";
      break;
    case ObjectClass::kMemory:
      what = o.is_svm ? "shared memory" : o.is_image ? "image" : "buffer";
      break;
    case ObjectClass::kSampler:
      what = "sampler";
      break;
    case ObjectClass::kProgram:
      what = "program";
      break;
    case ObjectClass::kKernel:
      what = "kernel";
      break;
    case ObjectClass::kEvent:
      what = "event";
      break;
    case ObjectClass::kDevice:
      what = "device";
      break;
  }
  std::string name = fmt::format("{} {}", what, o.ordinal);
  if (o.object_class == ObjectClass::kMemory && o.parent != 0) {
    const PlannedObject& parent = objects_[o.parent];
    const char* in = parent.is_svm ? "shared memory" : parent.is_image ? "image" : "buffer";
    name += fmt::format(" (in {} {})", in, parent.ordinal);
  }
  return name;
}

uint64_t ReplayPlan::contentBytes(ObjectIndex object) const { return objects_[object].bytes; }

namespace {

/// Channels of a pixel; 0 for an unknown order. Numbers from CL/cl.h.
uint64_t channelsOf(uint64_t channel_order) {
  switch (channel_order) {
    case 0x10B0:  // R
    case 0x10B1:  // A
    case 0x10B8:  // INTENSITY
    case 0x10B9:  // LUMINANCE
    case 0x10BA:  // Rx
    case 0x10BD:  // DEPTH
      return 1;
    case 0x10B2:  // RG
    case 0x10B3:  // RA
    case 0x10BB:  // RGx
      return 2;
    case 0x10B4:  // RGB
    case 0x10BC:  // RGBx
    case 0x10BF:  // sRGB
      return 3;
    case 0x10B5:  // RGBA
    case 0x10B6:  // BGRA
    case 0x10B7:  // ARGB
    case 0x10C0:  // sRGBx
    case 0x10C1:  // sRGBA
    case 0x10C2:  // sBGRA
    case 0x10C3:  // ABGR
      return 4;
    default:
      return 0;
  }
}

}  // namespace

uint64_t pixelBytes(uint64_t channel_order, uint64_t channel_type) {
  const uint64_t channels = channelsOf(channel_order);
  if (channels == 0) return 0;
  switch (channel_type) {
    case 0x10D0:  // SNORM_INT8
    case 0x10D2:  // UNORM_INT8
    case 0x10D7:  // SIGNED_INT8
    case 0x10DA:  // UNSIGNED_INT8
      return channels;
    case 0x10D1:  // SNORM_INT16
    case 0x10D3:  // UNORM_INT16
    case 0x10D8:  // SIGNED_INT16
    case 0x10DB:  // UNSIGNED_INT16
    case 0x10DD:  // HALF_FLOAT
      return 2 * channels;
    case 0x10D9:  // SIGNED_INT32
    case 0x10DC:  // UNSIGNED_INT32
    case 0x10DE:  // FLOAT
      return 4 * channels;
    case 0x10D4:  // UNORM_SHORT_565
    case 0x10D5:  // UNORM_SHORT_555: a pixel as a whole
      return 2;
    case 0x10D6:  // UNORM_INT_101010
    case 0x10E0:  // UNORM_INT_101010_2
      return 4;
    default:
      return 0;
  }
}

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
// Repeats the calls of a plan on a real OpenCL device. opencl_objects.cpp creates objects,
// opencl_commands.cpp enqueues commands, opencl_memory.cpp reads and writes memory, and
// opencl_concurrent.cpp lets the device wait where the host did.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/replay/opencl/box_rows.hpp"
#include "tracesmith/replay/opencl/opencl_library.hpp"
#include "tracesmith/replay/run/buffer_pool.hpp"
#include "tracesmith/replay/run/executor.hpp"

namespace tracesmith {

class OpenClExecutor final : public Executor {
 public:
  OpenClExecutor(const OpenClLibrary& library, const ReplayPlan& plan, RecordingReader& reader,
                 ExecutorOptions options)
      : cl_(library),
        plan_(plan),
        reader_(reader),
        options_(std::move(options)),
        objects_(plan.objects().size()),
        references_(plan.objects().size()) {
    if (options_.drops_unrecorded_reads) findUnrecordedReads();
  }
  ~OpenClExecutor() override;

  /// Chooses the devices that replace the recorded ones.
  Status chooseDevices();

  StepOutcome perform(StepIndex step, StepMode mode) override;
  void skipCommand(StepIndex command) override;
  StepOutcome performPermuted(StepIndex launch, uint64_t seed) override;
  StepOutcome finish() override;
  bool waitForOldest() override;
  Result<ByteView> shown(StepIndex step) override;
  Result<Bytes> contents(ObjectIndex memory) override;
  Status setContents(ObjectIndex memory, ByteView bytes) override;
  bool has(ObjectIndex object) const override { return objects_[object] != nullptr; }
  void keepObjects() override { keep_objects_ = true; }
  std::string argumentType(StepIndex launch, uint32_t argument) const override;
  std::string deviceName() const override { return device_name_; }
  bool sameDevice() const override { return same_device_; }

 private:
  struct Shown {
    Buffer<uint8_t> bytes;    // for a read
    bool is_dropped = false;  // for a read: see ExecutorOptions
    void* mapped = nullptr;   // for a map
    bool is_old = false;      // mapped to be overwritten: its content is undefined
    size_t row_pitch = 0;     // for a mapped image
    size_t slice_pitch = 0;
    cl_event event = nullptr;  // for a command that was not waited for
    recording::Box box;
    uint64_t row_bytes = 0;  // size of one row (box.region[0])
    BoxRows rows() const { return {box, row_bytes, row_pitch, slice_pitch}; }
  };

  template <class Handle>
  Handle live(ObjectIndex object) const {
    return static_cast<Handle>(objects_[object]);
  }
  cl_int markerFor(std::vector<cl_event> list, cl_event* event);
  cl_command_queue queue() const { return live<cl_command_queue>(step_->queue); }
  void findUnrecordedReads();
  /// Destination of a read whose result is not used.
  uint8_t* discardBuffer(uint64_t bytes);
  void keep(ObjectIndex object, void* handle);
  void giveUp(ObjectIndex object);
  void destroy(ObjectIndex object);
  void problem(std::string text);
  /// False if `object` names an object that does not exist; reports a problem that starts with
  /// `what`.
  bool exists(ObjectIndex object, const std::string& what = "");
  bool argumentsExist();
  Result<Bytes> content(const recording::Payload& payload, uint64_t bytes);
  /// As content(), for data that a command reads while it runs. The view is valid until the next
  /// call, and until the commands passed to readsUpload() have ended.
  Result<ByteView> upload(const recording::Payload& payload, uint64_t bytes);
  void readsUpload(cl_event event);
  recording::Payload knownOf(const recording::Payload& payload, recording::Done& done) const;
  std::vector<cl_event> waits() const;
  /// True if the current call waits for its command: because it was recorded as blocking, or
  /// because it runs alone.
  bool isBlocking() const;
  /// True if the current call need not wait because later commands wait on the device.
  bool defersWait() const;
  void hostWaitsFor(std::vector<cl_event> events);
  void follow(cl_event event);
  std::vector<cl_device_id> devicesOf(const ReplayStep& step) const;
  uint64_t pixelBytesOf(ObjectIndex image) const;
  uint64_t rowBytes(const recording::Box& box, ObjectIndex memory) const;
  Result<cl_command_queue> helperQueue(ObjectIndex memory);
  /// As setContents(), for memory that nothing uses yet.
  Status fill(ObjectIndex memory, ByteView bytes);
  Result<cl_command_queue> helperQueueOf(ObjectIndex context);
  Bytes undefinedContent(uint64_t bytes, ObjectIndex object) const;
  /// Which size queries the kernel of the current launch makes that would return other values if
  /// the launch were split.
  enum class SizeQueries : uint8_t { kNothing, kWholeLaunch, kUnknown };
  SizeQueries findSizeQueries(ObjectIndex kernel, bool without_local_size);
  /// A kernel compiled so that its size queries return the values of the whole launch when it runs
  /// in parts. No kernel: this is not possible.
  struct CutKernel {
    cl_program program = nullptr;
    cl_kernel kernel = nullptr;
  };
  CutKernel cutKernel(ObjectIndex kernel, const std::string& lines);
  struct LaunchSizes;
  cl_int enqueueParts(cl_kernel kernel, const LaunchSizes& whole, uint64_t seed);
  void releaseCutKernels();
  cl_int applyArgument(cl_kernel kernel, StepIndex argument);
  cl_int applyArguments();
  cl_int applyExecInfo(StepIndex info);
  cl_int applyExecInfos();
  void* svmAddress(recording::Handle address, ObjectIndex memory) const;
  void dropUploads(size_t most_bytes);
  /// Runs a command: `enqueue(wait count, waits, event*)`. Keeps its event where it is needed.
  template <class Enqueue>
  cl_int command(Enqueue&& enqueue, cl_event* own = nullptr);
  /// Waits until the shown data is available.
  cl_int await(Shown& shown);
  /// The content of a mapped or read box, packed.
  Buffer<uint8_t> packed(const Shown& shown);

  // Calls that create objects; each returns the result of its OpenCL call.
  cl_int call(const recording::Device&) { return CL_SUCCESS; }
  cl_int call(const recording::CreateContext& c);
  cl_int call(const recording::CreateQueue& c);
  cl_int call(const recording::CreateBuffer& c);
  cl_int call(const recording::CreateSubBuffer& c);
  cl_int call(const recording::CreateImage& c);
  cl_int call(const recording::CreateSampler& c);
  cl_int call(const recording::CreateProgram& c);
  cl_int call(const recording::BuildProgram& c);
  cl_int call(const recording::IncludedFile& c);
  cl_int call(const recording::CreateKernel& c);
  cl_int call(const recording::CloneKernel& c);
  cl_int call(const recording::SetArgument& c);
  cl_int call(const recording::SetExecInfo& c);
  cl_int call(const recording::CreateUserEvent& c);
  cl_int call(const recording::SetUserEventStatus& c);
  cl_int call(const recording::Retain& c);
  cl_int call(const recording::Release& c);
  cl_int call(const recording::SvmAlloc& c);
  cl_int call(const recording::SvmFree& c);
  // Commands.
  cl_int call(const recording::Launch& c);
  cl_int call(const recording::Write& c);
  cl_int call(const recording::Read& c);
  cl_int call(const recording::Copy& c);
  cl_int call(const recording::Fill& c);
  cl_int call(const recording::Map& c);
  cl_int call(const recording::Unmap& c);
  cl_int call(const recording::Migrate& c);
  cl_int call(const recording::SvmCopy& c);
  cl_int call(const recording::SvmFill& c);
  cl_int call(const recording::SvmMap& c);
  cl_int call(const recording::SvmUnmap& c);
  cl_int call(const recording::Marker& c);
  cl_int call(const recording::Finish& c);
  cl_int call(const recording::Flush& c);
  cl_int call(const recording::WaitForEvents& c);
  cl_int call(const recording::Done&) { return CL_SUCCESS; }
  cl_int call(const recording::Snapshot& c);
  cl_int call(const recording::RangeEdge&) { return CL_SUCCESS; }
  cl_int call(const recording::Unsupported& c);
  cl_int call(const recording::End&) { return CL_SUCCESS; }
  cl_int failImage(const recording::CreateImage& c, const cl_image_format& format,
                   cl_image_desc description);
  /// For a call that failed when it was recorded: releases the object that it creates now and
  /// returns the result.
  cl_int released(cl_mem memory, cl_int result);
  /// Keeps host memory that an object uses as its storage (CL_MEM_USE_HOST_PTR) as long as the
  /// object lives.
  void keepHostMemory(cl_mem memory, Bytes bytes);
  void recreate(ObjectIndex program);
  cl_program linked(const recording::CreateProgram& c, cl_int& result);
  cl_program fromBinary(ByteView code, const recording::CreateProgram& c, cl_int& result);

  const OpenClLibrary& cl_;
  const ReplayPlan& plan_;
  RecordingReader& reader_;
  ExecutorOptions options_;
  std::vector<void*> objects_;                           // by ObjectIndex; nullptr: does not exist
  std::vector<uint32_t> references_;                     // references held by the program
  std::set<ObjectIndex> queues_;                         // existing queues
  std::unordered_map<ObjectIndex, std::string> absent_;  // why an object was not created
  bool keep_objects_ = false;
  std::set<ObjectIndex> built_;                           // programs, while objects are kept
  std::unordered_map<ObjectIndex, std::string> folders_;  // for programs that include files
  std::string device_name_;
  bool same_device_ = false;

  const ReplayStep* step_ = nullptr;  // the step being performed
  StepIndex index_ = kNoStep;
  StepMode mode_ = StepMode::kAsRecorded;
  std::string problem_;
  bool called_ = false;  // the step's call was issued

  std::unordered_map<ObjectIndex, std::vector<StepIndex>> arguments_;  // current values
  struct ExecInfo {
    std::set<StepIndex> calls;  // all calls so far that set it
    StepIndex now = kNoStep;    // the current setting
  };
  std::unordered_map<ObjectIndex, std::map<uint64_t, ExecInfo>> exec_infos_;  // by kernel and name
  std::unordered_map<ObjectIndex, cl_command_queue> helper_queues_;           // by context
  std::unordered_map<StepIndex, Shown> shown_;
  // Shared memory currently mapped to the host.
  std::unordered_map<ObjectIndex, StepIndex> svm_maps_;
  /// Data read by commands that may still be running. The last upload is kept, for programs that
  /// upload the same data repeatedly. When the others exceed kMostUploadBytes, the oldest are
  /// waited for.
  struct Upload {
    std::vector<recording::ContentHash> chunks;
    Bytes bytes;
    std::deque<cl_event> readers;
  };
  static constexpr size_t kMostUploadBytes = 64u << 20;
  std::deque<Upload> uploads_;
  size_t old_upload_bytes_ = 0;   // of all uploads but the last
  size_t next_upload_check_ = 0;  // number of uploads at which finished ones are looked for next
  BufferPool buffers_;            // for data read back
  ObjectIndex context_ = 0;       // the most recent context
  uint32_t contexts_ = 0;
  // Events of commands that may still be running, the oldest first.
  std::deque<cl_event> in_flight_;
  cl_event host_wait_ = nullptr;                    // covers everything the host has waited for
  cl_int failed_in_flight_ = CL_SUCCESS;            // status of the first command that failed
  bool host_events_ = false;                        // the program created user events
  std::unordered_map<uint64_t, SizeQueries> asks_;  // findSizeQueries() by kernel
  std::map<std::pair<ObjectIndex, std::string>, CutKernel> cut_kernels_;  // by their added lines
  std::unordered_map<ObjectIndex, std::string> built_with_;               // options, by program
  Buffer<uint8_t> last_shown_;
  std::vector<bool> is_unrecorded_;  // by step: a read without content in the recording
  std::vector<Buffer<uint8_t>> dropped_;
};

}  // namespace tracesmith

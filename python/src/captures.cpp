// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/unique_ptr.h>

#include "calls.hpp"
#include "device_feed.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/capture/profiler.hpp"
#include "tracesmith/format/sbt_file.hpp"
#include "tracesmith/stacks/stack_capture.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

using Events = std::vector<TraceEvent>;

/// A profiler of this process.
struct Profiler {
  std::unique_ptr<IPlatformProfiler> it;
  CallLock lock;
};

/// Runs f(profiler) under its lock, and returns the result.
template <class F>
auto of(Profiler& profiler, F&& f) {
  return alone(profiler.lock, [&] { return f(*profiler.it); });
}

/// Returns true, or throws the profiler's error.
template <class F>
bool did(Profiler& profiler, F&& call) {
  check(of(profiler, [&](IPlatformProfiler& it) -> Status {
    if (call(it)) return {};
    return fail(it.lastErrorCode(), it.lastError(), platformTypeToString(it.platformType()));
  }));
  return true;
}

/// The events that read(reader, list) finds in the trace so far; none before the first start().
template <class Event, class Read>
std::vector<Event> recorded(Own<TracingSession>& session, Read&& read) {
  std::vector<Event> events;
  std::string path;
  const SBTResult result = alone(session.lock, [&] {
    path = session.tracePath();
    if (path.empty()) return SBTResult::ok();
    if (const Status flushed = session.flush(); !flushed) return SBTResult::error(flushed.error());
    SBTReader reader(path);
    return read(reader, events);
  });
  done(result, path);
  return events;
}

}  // namespace

void bindCaptures(nb::module_& m) {
  nb::class_<ProfilerConfig>(m, "ProfilerConfig", "Settings of a profiler.")
      .def(nb::init<>())
      .def_rw("buffer_size", &ProfilerConfig::buffer_size,
              "maximal number of events that wait for get_events()")
      .def_rw("overflow_policy", &ProfilerConfig::overflow_policy)
      .def_rw("capture_callstacks", &ProfilerConfig::capture_callstacks)
      .def_rw("callstack_depth", &ProfilerConfig::callstack_depth, "frames")
      .def_rw("capture_kernel_params", &ProfilerConfig::capture_kernel_params)
      .def_rw("capture_memory_params", &ProfilerConfig::capture_memory_params)
      .def_rw("capture_kernels", &ProfilerConfig::capture_kernels)
      .def_rw("capture_memcpy", &ProfilerConfig::capture_memcpy)
      .def_rw("capture_memset", &ProfilerConfig::capture_memset)
      .def_rw("capture_sync", &ProfilerConfig::capture_sync)
      .def_rw("capture_alloc", &ProfilerConfig::capture_alloc);
  using It = IPlatformProfiler;
  nb::class_<Profiler>(
      m, "Profiler",
      "Captures the device work of this process on one platform; see create_profiler(). A failure "
      "raises UnsupportedError with the reason, or InvalidArgumentError for a call at the wrong "
      "time, such as starting twice.")
      .def("platform_type", [](const Profiler& self) { return self.it->platformType(); })
      .def("is_available",
           [](Profiler& self) { return of(self, [](It& it) { return it.isAvailable(); }); })
      .def(
          "initialize",
          [](Profiler& self, ProfilerConfig config) {
            return did(self, [&](It& it) { return it.initialize(config); });
          },
          nb::arg("config") = ProfilerConfig())
      .def(
          "finalize", [](Profiler& self) { of(self, [](It& it) { it.finalize(); }); },
          "Stops, and drops events that were not taken.")
      .def("start_capture",
           [](Profiler& self) { return did(self, [](It& it) { return it.startCapture(); }); })
      .def("stop_capture",
           [](Profiler& self) { return did(self, [](It& it) { return it.stopCapture(); }); })
      .def("is_capturing", [](const Profiler& self) { return self.it->isCapturing(); })
      .def(
          "get_events",
          [](Profiler& self, size_t max_count) {
            return of(self, [&](It& it) {
              Events events;
              it.getEvents(events, max_count);
              return events;
            });
          },
          nb::arg("max_count") = 0,
          "Removes and returns up to max_count events, the oldest first; 0: all.")
      .def("get_device_info",
           [](Profiler& self) { return of(self, [](It& it) { return it.getDeviceInfo(); }); })
      .def("events_captured",
           [](Profiler& self) { return of(self, [](It& it) { return it.eventsCaptured(); }); })
      .def("events_dropped",
           [](Profiler& self) { return of(self, [](It& it) { return it.eventsDropped(); }); })
      .def("last_error",
           [](Profiler& self) { return of(self, [](It& it) { return it.lastError(); }); });
  m.def(
      "create_profiler",
      [](PlatformType platform) {
        auto made = std::make_unique<Profiler>();
        made->it = createProfiler(platform);
        return made;
      },
      nb::arg("platform"), Released(),
      "A profiler for this platform; its is_available() says whether this machine has such a "
      "device.");
  m.def("detect_platform", &detectPlatform, Released(),
        "The platform of this machine's devices; PlatformType.Unknown: none.");
  m.def("is_cuda_available", &isCUDAAvailable, Released());
  m.def("is_rocm_available", &isROCmAvailable, Released());
  m.def("is_metal_available", &isMetalAvailable, Released());
  m.def("is_maca_available", &isMACAAvailable, Released());
  m.def("is_ascend_available", &isAscendAvailable, Released());
  m.def("is_opencl_available", &isOpenCLAvailable, Released());
  m.def("get_cuda_device_count", &getCUDADeviceCount, Released());
  m.def("get_rocm_device_count", &getROCmDeviceCount, Released());
  m.def("get_metal_device_count", &getMetalDeviceCount, Released());
  m.def("get_maca_device_count", &getMACADeviceCount, Released());
  m.def("get_ascend_device_count", &getAscendDeviceCount, Released());
  m.def("get_cuda_driver_version", &getCUDADriverVersion, Released(), "12040 for 12.4; 0: none.");
  m.def("get_device_infos", &deviceInfosOf, nb::arg("platform"), Released());

  using Session = Own<TracingSession>;
  nb::class_<TracingConfig>(m, "TracingConfig", "Settings of a TracingSession.")
      .def(nb::init<>())
      .def_rw("buffer_size_kb", &TracingConfig::buffer_size_kb, "size of each thread's ring")
      .def_rw("max_threads", &TracingConfig::max_threads)
      .def_rw("overflow", &TracingConfig::overflow)
      .def_prop_rw(
          "output_file",
          [](const TracingConfig& c) {
            return nb::steal(PyUnicode_DecodeFSDefaultAndSize(
                c.output_file.data(), static_cast<Py_ssize_t>(c.output_file.size())));
          },
          [](TracingConfig& c, const nb::object& path) { c.output_file = pathOf(path); },
          "path of the trace; \"\": the trace is kept, compressed, in memory")
      .def_rw("flush_interval_ms", &TracingConfig::flush_interval_ms)
      .def_rw("duration_ms", &TracingConfig::duration_ms,
              "stops the session after this time; 0: never")
      .def_rw(
          "flight_recorder_ms", &TracingConfig::flight_recorder_ms,
          "above 0: keep at least the events of this time before the end, and a summary of all; "
          "needs output_file")
      .def_rw("slow_step_factor", &TracingConfig::slow_step_factor,
              "of a flight recorder: save the window when a step takes more than this times the "
              "median of the steps before it; 0: never for that")
      .def_rw("most_saved_windows", &TracingConfig::most_saved_windows,
              "of a flight recorder, before stop()")
      .def_rw("enable_gpu_tracks", &TracingConfig::enable_gpu_tracks)
      .def_rw("enable_counter_tracks", &TracingConfig::enable_counter_tracks)
      .def_rw("enable_flow_events", &TracingConfig::enable_flow_events)
      .def_rw("all_frames", &TracingConfig::all_frames,
              "stacks include the frames of the interpreter, libffi and the loader");
  nb::enum_<Session::State>(m, "TracingState", "State of a session.")
      .value("Stopped", Session::State::Stopped)
      .value("Starting", Session::State::Starting)
      .value("Running", Session::State::Running)
      .value("Stopping", Session::State::Stopping);
  nb::enum_<Session::Mode>(m, "TracingMode", "Place of a session's trace.")
      .value("InProcess", Session::Mode::InProcess)
      .value("File", Session::Mode::File);
  nb::class_<Session::Statistics>(m, "TracingStatistics", "Counts of a session; times in ns.")
      .def_ro("events_emitted", &Session::Statistics::events_emitted)
      .def_ro("events_dropped", &Session::Statistics::events_dropped)
      .def_ro("counters_emitted", &Session::Statistics::counters_emitted)
      .def_ro("start_time", &Session::Statistics::start_time)
      .def_ro("stop_time", &Session::Statistics::stop_time)
      .def("duration_ms", &Session::Statistics::duration_ms);
  nb::class_<Session>(
      m, "TracingSession",
      "Records spans, markers, counters and events of this program, from any number "
      "of threads and from the children that it forks (docs/sessions.md).")
      .def(nb::init<>())
      .def(
          "start",
          [](Session& self, TracingConfig config) {
            check(alone(self.lock, [&] { return self.start(config); }));
            return true;
          },
          nb::arg("config") = TracingConfig())
      .def("stop",
           [](Session& self) {
             check(alone(self.lock, [&] { return self.stop(); }));
             return true;
           })
      .def("flush", [](Session& self) { check(alone(self.lock, [&] { return self.flush(); })); })
      .def(
          "save_window",
          [](Session& self, const std::string& reason) {
            const std::string path =
                valueOf(alone(self.lock, [&] { return self.saveWindow(reason); }));
            return nb::steal(PyUnicode_DecodeFSDefaultAndSize(
                path.data(), static_cast<Py_ssize_t>(path.size())));
          },
          nb::arg("reason") = "", nb::sig("def save_window(self, reason: str = '') -> str"),
          "Of a flight recorder: saves the events of the last flight_recorder_ms beside the trace, "
          "as OUTPUT.trigger-N.sbt, and returns that path.")
      .def("clear", [](Session& self) { check(alone(self.lock, [&] { return self.clear(); })); })
      .def("get_events",
           [](Session& self) {
             return listOf(recorded<TraceEvent>(
                 self, [](SBTReader& trace, auto& events) { return trace.readEvents(events); }));
           })
      .def("get_counters",
           [](Session& self) {
             return listOf(recorded<CounterEvent>(self, [](SBTReader& trace, auto& counters) {
               return trace.readCounters(counters);
             }));
           })
      .def(
          "export_to_file",
          [](Session& self, const nb::object& path) {
            const std::string to = pathOf(path);
            check(alone(self.lock, [&] { return self.exportToFile(to); }));
            return true;
          },
          nb::arg("path"),
          "The extension selects the format: .sbt, .json, else Perfetto's protobuf.")
      .def("is_active", &Session::isActive)
      .def("get_state", &Session::getState)
      .def("get_mode",
           [](Session& self) { return alone(self.lock, [&] { return self.getMode(); }); })
      .def("get_statistics", &Session::getStatistics)
      .def(
          "trace_path",
          [](Session& self) {
            const std::string path = alone(self.lock, [&] { return self.tracePath(); });
            return nb::steal(PyUnicode_DecodeFSDefaultAndSize(
                path.data(), static_cast<Py_ssize_t>(path.size())));
          },
          nb::sig("def trace_path(self) -> str"))
      .def("event_buffer_size", &Session::eventBufferSize)
      .def("event_buffer_capacity", &Session::eventBufferCapacity)
      .def("events_dropped", &Session::eventsDropped)
      .def("emit", &Session::emit, nb::arg("event"),
           "False: the event was dropped, or the session does not run.")
      .def(
          "emit_counter",
          [](Session& self, const std::string& name, double value, const std::string& unit) {
            return self.emitCounter(name, value, unit);
          },
          nb::arg("name"), nb::arg("value"), nb::arg("unit") = "")
      .def("span_name",
           [](Session& self, const std::string& name) {
             return static_cast<uint32_t>(self.spanName(name));
           })
      .def("stamp", &Session::stamp)
      .def("span", [](Session& self, uint32_t name, int64_t begin,
                      int64_t end) { return self.span(static_cast<SpanName>(name), begin, end); })
      .def("marker",
           [](Session& self, uint32_t name) { return self.marker(static_cast<SpanName>(name)); });

  nb::class_<DeviceFeed>(m, "DeviceFeed",
                         "Moves the events of a profiler into a session, until stop().")
      .def(
          "__init__",
          [](DeviceFeed* self, Profiler& profiler, Session& session) {
            new (self) DeviceFeed(*profiler.it, session);
          },
          nb::arg("profiler"), nb::arg("session"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("start", [](DeviceFeed& self) { check(interruptible([&] { return self.start(); })); })
      .def("stop", &DeviceFeed::stop, Released());

  nb::class_<StackCaptureConfig>(m, "StackCaptureConfig", "Settings of a StackCapture.")
      .def(nb::init<>())
      .def_rw("max_depth", &StackCaptureConfig::max_depth, "frames, 1 to 512")
      .def_rw("skip_frames", &StackCaptureConfig::skip_frames)
      .def_rw("async_signal_safe", &StackCaptureConfig::async_signal_safe)
      .def_rw("resolve_symbols", &StackCaptureConfig::resolve_symbols)
      .def_rw("demangle", &StackCaptureConfig::demangle);
  nb::class_<StackCapture>(m, "StackCapture", "Captures the native call stack of the calling code.")
      .def(nb::init<>())
      .def(nb::init<StackCaptureConfig>(), nb::arg("config"))
      .def("capture",
           [](StackCapture& self) {
             CallStack stack;
             self.capture(stack);
             return stack;
           })
      .def(
          "capture_with_thread_id",
          [](StackCapture& self, uint64_t thread_id) {
            CallStack stack;
            self.captureWithThreadId(stack, thread_id);
            return stack;
          },
          nb::arg("thread_id"))
      .def(
          "resolve_symbols",
          [](StackCapture& self, CallStack& stack) { self.resolveSymbols(stack); },
          nb::arg("stack"))
      .def_static("get_current_thread_id", &StackCapture::getCurrentThreadId)
      .def_static("is_available", &StackCapture::isAvailable);
}

}  // namespace tracesmith::python

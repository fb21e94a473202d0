// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "trace_file.hpp"
#include "tracesmith/api/perfetto_exporter.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/format/sbt_file.hpp"
#include "tracesmith/import/xray/xray_importer.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

using Events = std::vector<TraceEvent>;
using Counters = std::vector<CounterEvent>;

/// A writer or reader with its path for messages.
template <class File>
struct Named {
  explicit Named(const std::string& of) : path(of), file(of) {}
  std::string path;
  File file;
  CallLock lock;
};
using Writer = Named<SBTWriter>;
using Reader = Named<SBTReader>;

/// Runs f on a copy of `exporter`, so that concurrent calls do not share one. Returns its result.
template <class Exporter, class F>
auto exporting(Exporter exporter, F&& f) {
  return interruptible([&] { return f(exporter); });
}

template <class Exporter>
bool toFile(const Exporter& self, const Events& events, const Counters& counters,
            const nb::object& path) {
  const std::string to = pathOf(path);
  check(exporting(self, [&](Exporter& exporter) -> Status {
    (void)exporter.exportToFile(events, counters, to);
    return exporter.lastStatus();
  }));
  return true;
}

std::string toText(const PerfettoExporter& self, const Events& events, const Counters& counters) {
  return valueOf(exporting(self, [&](PerfettoExporter& exporter) -> Result<std::string> {
    std::string text = exporter.exportToString(events, counters);
    TS_CHECK_OK(exporter.lastStatus());
    return text;
  }));
}

/// The two methods that write a file, for Perfetto's protobuf and Chrome's JSON alike.
template <class Exporter, class... Base>
void defineExports(nb::class_<Exporter, Base...>& of) {
  of.def(
        "export_to_file",
        [](const Exporter& self, const Events& events, const nb::object& path) {
          return toFile(self, events, {}, path);
        },
        nb::arg("events"), nb::arg("path"))
      .def(
          "export_to_file_with_counters",
          [](const Exporter& self, const Events& events, const Counters& counters,
             const nb::object& path) { return toFile(self, events, counters, path); },
          nb::arg("events"), nb::arg("counters"), nb::arg("path"));
}

/// The events that import() returns.
template <class F>
Events imported(Own<XRayImporter>& importer, F&& import) {
  return valueOf(alone(importer.lock, [&]() -> Result<Events> {
    Events events = import();
    TS_CHECK_OK(importer.lastStatus());
    if (!events.empty() || importer.lastError().empty()) return events;
    return fail(ErrorCode::kDamaged, importer.lastError());
  }));
}

}  // namespace

void bindFiles(nb::module_& m) {
  nb::class_<Writer>(
      m, "SBTWriter",
      "Writes a trace of TraceEvents. Replaces an existing file. Written events can be "
      "read at once, and stay readable if the program dies.")
      .def(
          "__init__",
          [](Writer* self, const nb::object& path) {
            new (self) Writer(pathOf(path));
            if (!self->file.isOpen()) {
              const Error error = self->file.flush().failure;
              self->~Writer();
              raise(error);
            }
          },
          nb::arg("path"))
      .def("is_open", [](Writer& w) { return briefly(w.lock, [&] { return w.file.isOpen(); }); })
      .def(
          "write_metadata",
          [](Writer& w, TraceMetadata metadata) {
            return done(alone(w.lock, [&] { return w.file.writeMetadata(metadata); }), w.path);
          },
          nb::arg("metadata"))
      .def(
          "write_device_info",
          [](Writer& w, std::vector<DeviceInfo> devices) {
            return done(alone(w.lock, [&] { return w.file.writeDeviceInfo(devices); }), w.path);
          },
          nb::arg("devices"))
      .def(
          "write_event",
          [](Writer& w, TraceEvent event) {
            return done(alone(w.lock, [&] { return w.file.writeEvent(event); }), w.path);
          },
          nb::arg("event"))
      .def(
          "write_events",
          [](Writer& w, const Events& events) {
            return done(alone(w.lock, [&] { return w.file.writeEvents(events); }), w.path);
          },
          nb::arg("events"))
      .def(
          "write_counters",
          [](Writer& w, const Counters& counters) {
            return done(alone(w.lock, [&] { return w.file.writeCounters(counters); }), w.path);
          },
          nb::arg("counters"))
      .def("flush",
           [](Writer& w) { return done(alone(w.lock, [&] { return w.file.flush(); }), w.path); })
      .def("finalize",
           [](Writer& w) { return done(alone(w.lock, [&] { return w.file.finalize(); }), w.path); })
      .def("event_count",
           [](Writer& w) { return briefly(w.lock, [&] { return w.file.eventCount(); }); })
      .def("file_size",
           [](Writer& w) { return briefly(w.lock, [&] { return w.file.fileSize(); }); })
      .def(
          "__enter__", [](const nb::object& self) { return self; },
          nb::sig("def __enter__(self) -> SBTWriter"))
      .def(
          "__exit__",
          [](Writer& w, nb::handle, nb::handle, nb::handle) {
            done(alone(w.lock, [&] { return w.file.finalize(); }), w.path);
          },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none());

  nb::class_<Reader>(m, "SBTReader",
                     "Reads a trace as TraceEvents. For large traces use tracesmith.open(), which "
                     "gives columns.")
      .def(
          "__init__", [](Reader* self, const nb::object& path) { new (self) Reader(pathOf(path)); },
          nb::arg("path"))
      .def("is_open", [](const Reader& r) { return r.file.isOpen(); })
      .def(
          "is_valid", [](const Reader& r) { return r.file.isValid(); },
          "Whether the file is a trace that this version can read.")
      .def(
          "last_error", [](const Reader& r) { return r.file.lastError(); },
          "The reason why is_valid() is False.")
      .def("event_count",
           [](Reader& r) { return alone(r.lock, [&] { return r.file.eventCount(); }); })
      .def(
          "read_all",
          [](Reader& r) {
            TraceRecord record;
            done(alone(r.lock, [&] { return r.file.readAll(record); }), r.path);
            return listOf(std::move(record.events()));
          },
          "All events in order of time.")
      .def(
          "read_events",
          [](Reader& r, size_t offset, size_t count) {
            Events events;
            done(alone(r.lock, [&] { return r.file.readEvents(events, offset, count); }), r.path);
            return listOf(std::move(events));
          },
          nb::arg("offset") = 0, nb::arg("count") = 0,
          "`count` events in order of time, from event number `offset` on; 0: all.")
      .def("read_counters",
           [](Reader& r) {
             Counters counters;
             done(alone(r.lock, [&] { return r.file.readCounters(counters); }), r.path);
             return listOf(std::move(counters));
           })
      .def("read_metadata", [](Reader& r) {
        TraceMetadata metadata;
        done(alone(r.lock, [&] { return r.file.readMetadata(metadata); }), r.path);
        return metadata;
      });

  nb::enum_<PerfettoProtoExporter::Format>(m, "PerfettoFormat", "Format of the output.")
      .value("JSON", PerfettoProtoExporter::Format::JSON)
      .value("PROTOBUF", PerfettoProtoExporter::Format::PROTOBUF);
  nb::class_<PerfettoExporter> chrome(m, "PerfettoExporter", "TraceEvents as Chrome's JSON.");
  defineExports(chrome);
  chrome.def(nb::init<>())
      .def(
          "export_to_string",
          [](const PerfettoExporter& self, const Events& events) {
            return toText(self, events, {});
          },
          nb::arg("events"))
      .def("export_to_string_with_counters", &toText, nb::arg("events"), nb::arg("counters"))
      .def("set_enable_gpu_tracks", &PerfettoExporter::setEnableGPUTracks, nb::arg("enable"))
      .def("set_enable_flow_events", &PerfettoExporter::setEnableFlowEvents, nb::arg("enable"))
      .def("set_enable_counter_tracks", &PerfettoExporter::setEnableCounterTracks,
           nb::arg("enable"))
      .def("set_all_frames", &PerfettoExporter::setAllFrames, nb::arg("all"),
           "True: stacks include the frames of the interpreter, libffi and the loader.");
  nb::class_<PerfettoProtoExporter, PerfettoExporter> perfetto(
      m, "PerfettoProtoExporter", "TraceEvents as Perfetto's protobuf, or as Chrome's JSON.");
  defineExports(perfetto);
  perfetto
      .def(nb::init<PerfettoProtoExporter::Format>(),
           nb::arg("format") = PerfettoProtoExporter::Format::PROTOBUF)
      .def("get_format", &PerfettoProtoExporter::getFormat)
      .def_static("is_sdk_available", &PerfettoProtoExporter::isSDKAvailable,
                  "False: Perfetto's SDK is not included, and not needed.");

  m.def(
      "export_trace",
      [](TraceFile& file, const nb::bytes& path, bool all_frames) {
        const std::string to(path.c_str(), path.size());
        const auto loaded = file.whole();
        const bool json = to.size() >= 5 && to.compare(to.size() - 5, 5, ".json") == 0;
        check(interruptible([&] {
          const PerfettoOptions options{.all_frames = all_frames};
          return json ? exportChromeJson(loaded->trace, to, options)
                      : exportPerfetto(loaded->trace, to, options);
        }));
      },
      nb::arg("file"), nb::arg("path"), nb::arg("all_frames"));

  m.def(
      "format_duration", [](int64_t ns) { return formatDuration(ns); }, nb::arg("ns"),
      "\"1.50 ms\" for 1500000.");
  m.def("format_bytes", &formatBytes, nb::arg("bytes"), "\"1.00 KiB\" for 1024.");

  nb::enum_<XRayEntryType>(m, "XRayEntryType", "Kind of an XRay record.")
      .value("FunctionEnter", XRayEntryType::FunctionEnter)
      .value("FunctionExit", XRayEntryType::FunctionExit)
      .value("TailExit", XRayEntryType::TailExit)
      .value("CustomEvent", XRayEntryType::CustomEvent)
      .value("TypedEvent", XRayEntryType::TypedEvent);
  nb::class_<XRayFunctionRecord>(m, "XRayFunctionRecord", "One record of an LLVM XRay log.")
      .def(nb::init<>())
      .def_rw("function_id", &XRayFunctionRecord::function_id)
      .def_rw("timestamp", &XRayFunctionRecord::timestamp)
      .def_rw("type", &XRayFunctionRecord::type)
      .def_rw("thread_id", &XRayFunctionRecord::thread_id)
      .def_rw("cpu_id", &XRayFunctionRecord::cpu_id)
      .def_rw("function_name", &XRayFunctionRecord::function_name)
      .def_rw("file_name", &XRayFunctionRecord::file_name)
      .def_rw("line_number", &XRayFunctionRecord::line_number);
  nb::class_<XRayFileHeader>(m, "XRayFileHeader", "Header of an XRay log.")
      .def(nb::init<>())
      .def_rw("version", &XRayFileHeader::version)
      .def_rw("type", &XRayFileHeader::type, "0: basic, 1: FDR")
      .def_rw("cycle_frequency", &XRayFileHeader::cycle_frequency)
      .def_rw("num_records", &XRayFileHeader::num_records);
  nb::class_<XRayImporter::Config>(m, "XRayImporterConfig", "Settings of an XRayImporter.")
      .def(nb::init<>())
      .def_rw("resolve_symbols", &XRayImporter::Config::resolve_symbols)
      .def_rw("include_custom_events", &XRayImporter::Config::include_custom_events)
      .def_rw("filter_short_calls", &XRayImporter::Config::filter_short_calls)
      .def_rw("min_duration_ns", &XRayImporter::Config::min_duration_ns)
      .def_rw("symbol_file", &XRayImporter::Config::symbol_file);
  nb::class_<XRayImporter::Statistics>(m, "XRayStatistics", "Counts of the last import.")
      .def_ro("records_read", &XRayImporter::Statistics::records_read)
      .def_ro("records_converted", &XRayImporter::Statistics::records_converted)
      .def_ro("records_filtered", &XRayImporter::Statistics::records_filtered)
      .def_ro("custom_events", &XRayImporter::Statistics::custom_events)
      .def_ro("functions_identified", &XRayImporter::Statistics::functions_identified)
      .def_ro("total_duration_ms", &XRayImporter::Statistics::total_duration_ms);
  using Importer = Own<XRayImporter>;
  nb::class_<Importer>(m, "XRayImporter",
                       "Reads LLVM XRay logs as TraceEvents; tracesmith.open() reads them, too.")
      .def(nb::init<>())
      .def(nb::init<XRayImporter::Config>(), nb::arg("config"))
      .def_static("is_available", &XRayImporter::isAvailable)
      .def(
          "import_file",
          [](Importer& self, const nb::object& path) {
            const std::string from = pathOf(path);
            return listOf(imported(self, [&] { return self.importFile(from); }));
          },
          nb::arg("path"))
      .def(
          "import_buffer",
          [](Importer& self, const nb::bytes& data) {
            const auto* const bytes = static_cast<const uint8_t*>(data.data());
            return listOf(imported(self, [&] { return self.importBuffer(bytes, data.size()); }));
          },
          nb::arg("data"))
      .def("get_raw_records",
           [](Importer& self) {
             return alone(self.lock, [&] { return std::vector(self.getRawRecords()); });
           })
      .def("get_statistics",
           [](Importer& self) { return alone(self.lock, [&] { return self.getStatistics(); }); })
      .def("get_header",
           [](Importer& self) { return alone(self.lock, [&] { return self.getHeader(); }); })
      .def(
          "set_symbol_file",
          [](Importer& self, const std::string& path) {
            alone(self.lock, [&] { self.setSymbolFile(path); });
          },
          nb::arg("path"))
      .def(
          "set_config",
          [](Importer& self, const XRayImporter::Config& config) {
            alone(self.lock, [&, config] { self.setConfig(config); });
          },
          nb::arg("config"));
}

}  // namespace tracesmith::python

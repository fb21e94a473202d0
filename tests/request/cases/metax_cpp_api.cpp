//: from: package page
//: fragment
//: platform: MACA
//: leaves: metax_trace.json: 3 kernel
#include <tracesmith/tracesmith.hpp>
// Check MetaX GPU availability
if (tracesmith::isMACAAvailable()) {
    std::cout << "MetaX devices: " << tracesmith::getMACADeviceCount() << std::endl;
}
// Create MCPTI profiler
auto profiler = tracesmith::createProfiler(tracesmith::PlatformType::MACA);
// Configure
tracesmith::ProfilerConfig config;
config.capture_kernels = true;
config.capture_memcpy = true;
profiler->initialize(config);
// Capture events
profiler->startCapture();
// ... GPU code using MACA runtime ...
profiler->stopCapture();
// Get events
std::vector<tracesmith::TraceEvent> events;
profiler->getEvents(events);
// Export to Perfetto
tracesmith::PerfettoExporter exporter;
exporter.exportToFile(events, "metax_trace.json");

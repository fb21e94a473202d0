//: from: getting started / C++ API
//: leaves: trace.sbt: some kernel
#include <tracesmith/tracesmith.hpp>

using namespace tracesmith;

int main() {
    // Create profiler
    auto profiler = createProfiler(PlatformType::Simulation);
    
    ProfilerConfig config;
    profiler->initialize(config);
    
    // Capture events
    profiler->startCapture();
    // ... GPU operations ...
    profiler->stopCapture();
    
    // Get events
    std::vector<TraceEvent> events;
    profiler->getEvents(events, 0);
    
    // Save to file
    SBTWriter writer("trace.sbt");
    writer.writeEvents(events);
    writer.finalize();
    
    return 0;
}

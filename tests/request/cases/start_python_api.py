#: from: getting started / Python API
#: shows: Replay success: True
#: leaves: trace.json: some kernel
import tracesmith as ts

# Capture events
events = ts.capture_trace(duration_ms=1000)

# Build timeline
timeline = ts.build_timeline(events)
print(f"GPU utilization: {timeline.gpu_utilization * 100:.1f}%")

# Export to Perfetto
ts.export_perfetto(events, "trace.json")

# Replay trace
result = ts.replay_trace(events)
print(f"Replay success: {result.success}")

#: from: summary / Python Usage
#: shows: GPU Utilization: 
#: leaves: trace.json: some kernel
import tracesmith as ts

# Capture and analyze
events = ts.capture_trace(1000)
timeline = ts.build_timeline(events)

print(f"GPU Utilization: {timeline.gpu_utilization * 100:.1f}%")

# Export and replay
ts.export_perfetto(events, "trace.json")
result = ts.replay_trace(events)

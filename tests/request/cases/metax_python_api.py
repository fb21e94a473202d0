#: from: package page
#: platform: MACA
#: leaves: metax_trace.sbt: some kernel
import tracesmith as ts
# Check MetaX availability
if ts.is_maca_available():
    print(f"MetaX devices: {ts.get_maca_device_count()}")
# Create profiler
profiler = ts.create_profiler(ts.PlatformType.MACA)
profiler.initialize(ts.ProfilerConfig())
profiler.start_capture()
# ... GPU code ...
profiler.stop_capture()
events = profiler.get_events()
# Save trace
writer = ts.SBTWriter("metax_trace.sbt")
writer.write_events(events)
writer.finalize()

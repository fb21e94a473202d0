from collections.abc import Iterable, Iterator, Sequence
import enum
from typing import Any, overload


version: str = '1.0.0'

class TraceFile:
    def __init__(self, path: bytes) -> None: ...

    def rows(self, table: str) -> int: ...

    def column(self, table: str, name: str) -> tuple[Any, bytes | None, list[str] | None]: ...

    def arrow(self, table: str, columns: Sequence[str]) -> object: ...

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]: ...

    def query_arrow(self, sql: str) -> object: ...

    def analyze(self, parts: Sequence[str], limit: int) -> list[tuple[str, str, str, list[tuple[str, str]], list[tuple[Any, ...]]]]: ...

    def tables(self) -> list[tuple[str, str, list[tuple[str, str, str]]]]: ...

    def about(self) -> dict[str, Any]: ...

class TextMap:
    """Texts by name."""

    @overload
    def __init__(self) -> None:
        """Default constructor"""

    @overload
    def __init__(self, arg: TextMap) -> None:
        """Copy constructor"""

    @overload
    def __init__(self, arg: dict[str, str], /) -> None:
        """Construct from a dictionary"""

    def __len__(self) -> int: ...

    def __bool__(self) -> bool:
        """Check whether the map is nonempty"""

    def __repr__(self) -> str: ...

    @overload
    def __contains__(self, arg: str, /) -> bool: ...

    @overload
    def __contains__(self, arg: object, /) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def __getitem__(self, arg: str, /) -> str: ...

    def __delitem__(self, arg: str, /) -> None: ...

    def clear(self) -> None:
        """Remove all items"""

    def __setitem__(self, arg0: str, arg1: str, /) -> None: ...

    def update(self, arg: TextMap, /) -> None:
        """Update the map with element from ``arg``"""

    def __eq__(self, arg: object, /) -> bool: ...

    def __ne__(self, arg: object, /) -> bool: ...

    class ItemView:
        def __len__(self) -> int: ...

        def __iter__(self) -> Iterator[tuple[str, str]]: ...

    class KeyView:
        @overload
        def __contains__(self, arg: str, /) -> bool: ...

        @overload
        def __contains__(self, arg: object, /) -> bool: ...

        def __len__(self) -> int: ...

        def __iter__(self) -> Iterator[str]: ...

    class ValueView:
        def __len__(self) -> int: ...

        def __iter__(self) -> Iterator[str]: ...

    def keys(self) -> KeyView:
        """Returns an iterable view of the map's keys."""

    def values(self) -> ValueView:
        """Returns an iterable view of the map's values."""

    def items(self) -> ItemView:
        """Returns an iterable view of the map's items."""

class StackFrameList:
    @overload
    def __init__(self) -> None:
        """Default constructor"""

    @overload
    def __init__(self, arg: StackFrameList) -> None:
        """Copy constructor"""

    @overload
    def __init__(self, arg: Iterable[StackFrame], /) -> None:
        """Construct from an iterable object"""

    def __len__(self) -> int: ...

    def __bool__(self) -> bool:
        """Check whether the vector is nonempty"""

    def __repr__(self) -> str: ...

    def __iter__(self) -> Iterator[StackFrame]: ...

    @overload
    def __getitem__(self, arg: int, /) -> StackFrame: ...

    @overload
    def __getitem__(self, arg: slice, /) -> StackFrameList: ...

    def clear(self) -> None:
        """Remove all items from list."""

    def append(self, arg: StackFrame, /) -> None:
        """Append ``arg`` to the end of the list."""

    def insert(self, arg0: int, arg1: StackFrame, /) -> None:
        """Insert object ``arg1`` before index ``arg0``."""

    def pop(self, index: int = -1) -> StackFrame:
        """Remove and return item at ``index`` (default last)."""

    def extend(self, arg: StackFrameList, /) -> None:
        """Extend ``self`` by appending elements from ``arg``."""

    @overload
    def __setitem__(self, arg0: int, arg1: StackFrame, /) -> None: ...

    @overload
    def __setitem__(self, arg0: slice, arg1: StackFrameList, /) -> None: ...

    @overload
    def __delitem__(self, arg: int, /) -> None: ...

    @overload
    def __delitem__(self, arg: slice, /) -> None: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __ne__(self, arg: object, /) -> bool: ...

    @overload
    def __contains__(self, arg: StackFrame, /) -> bool: ...

    @overload
    def __contains__(self, arg: object, /) -> bool: ...

    def count(self, arg: StackFrame, /) -> int:
        """Return number of occurrences of ``arg``."""

    def remove(self, arg: StackFrame, /) -> None:
        """Remove first occurrence of ``arg``."""

class DeviceInfoList:
    @overload
    def __init__(self) -> None:
        """Default constructor"""

    @overload
    def __init__(self, arg: DeviceInfoList) -> None:
        """Copy constructor"""

    @overload
    def __init__(self, arg: Iterable[DeviceInfo], /) -> None:
        """Construct from an iterable object"""

    def __len__(self) -> int: ...

    def __bool__(self) -> bool:
        """Check whether the vector is nonempty"""

    def __repr__(self) -> str: ...

    def __iter__(self) -> Iterator[DeviceInfo]: ...

    @overload
    def __getitem__(self, arg: int, /) -> DeviceInfo: ...

    @overload
    def __getitem__(self, arg: slice, /) -> DeviceInfoList: ...

    def clear(self) -> None:
        """Remove all items from list."""

    def append(self, arg: DeviceInfo, /) -> None:
        """Append ``arg`` to the end of the list."""

    def insert(self, arg0: int, arg1: DeviceInfo, /) -> None:
        """Insert object ``arg1`` before index ``arg0``."""

    def pop(self, index: int = -1) -> DeviceInfo:
        """Remove and return item at ``index`` (default last)."""

    def extend(self, arg: DeviceInfoList, /) -> None:
        """Extend ``self`` by appending elements from ``arg``."""

    @overload
    def __setitem__(self, arg0: int, arg1: DeviceInfo, /) -> None: ...

    @overload
    def __setitem__(self, arg0: slice, arg1: DeviceInfoList, /) -> None: ...

    @overload
    def __delitem__(self, arg: int, /) -> None: ...

    @overload
    def __delitem__(self, arg: slice, /) -> None: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __ne__(self, arg: object, /) -> bool: ...

    @overload
    def __contains__(self, arg: DeviceInfo, /) -> bool: ...

    @overload
    def __contains__(self, arg: object, /) -> bool: ...

    def count(self, arg: DeviceInfo, /) -> int:
        """Return number of occurrences of ``arg``."""

    def remove(self, arg: DeviceInfo, /) -> None:
        """Remove first occurrence of ``arg``."""

class EventType(enum.Enum):
    """What a TraceEvent is about."""

    Unknown = 0

    KernelLaunch = 1

    KernelComplete = 2

    MemcpyH2D = 3

    MemcpyD2H = 4

    MemcpyD2D = 5

    MemsetDevice = 6

    StreamSync = 7

    DeviceSync = 8

    EventRecord = 9

    EventSync = 10

    StreamCreate = 11

    StreamDestroy = 12

    ContextCreate = 13

    ContextDestroy = 14

    MemAlloc = 15

    MemFree = 16

    Marker = 17

    RangeStart = 18

    RangeEnd = 19

    NCCLStart = 20

    NCCLComplete = 21

    Custom = 22

class FlowType(enum.Enum):
    """What an arrow between events means."""

    NoFlow = 0

    FwdBwd = 1

    AsyncCpuGpu = 2

    Custom = 3

class MemoryCategory(enum.Enum):
    """What memory is for."""

    Unknown = 0

    Activation = 1

    Gradient = 2

    Parameter = 3

    Temporary = 4

    Cached = 5

class PlatformType(enum.Enum):
    """The API through which a device is used."""

    Unknown = 0

    CUDA = 1

    ROCm = 2

    Metal = 3

    MACA = 4

    Ascend = 5

    OpenCL = 6

    Vulkan = 7

    Simulation = 8

class OverflowPolicy(enum.Enum):
    """What a full buffer does; what is lost is counted."""

    DropOldest = 0

    DropNewest = 1

    Block = 2

class StackFrame:
    """A frame of a call stack; "" and 0 are not known."""

    def __init__(self, address: int = 0, function_name: str = '', file_name: str = '', line_number: int = 0) -> None: ...

    @property
    def address(self) -> int: ...

    @address.setter
    def address(self, arg: int, /) -> None: ...

    @property
    def function_name(self) -> str: ...

    @function_name.setter
    def function_name(self, arg: str, /) -> None: ...

    @property
    def file_name(self) -> str: ...

    @file_name.setter
    def file_name(self, arg: str, /) -> None: ...

    @property
    def line_number(self) -> int: ...

    @line_number.setter
    def line_number(self, arg: int, /) -> None: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __repr__(self) -> str: ...

class CallStack:
    """A host call stack, innermost frame first."""

    def __init__(self) -> None: ...

    @property
    def frames(self) -> StackFrameList: ...

    @frames.setter
    def frames(self, arg: StackFrameList, /) -> None: ...

    @property
    def thread_id(self) -> int: ...

    @thread_id.setter
    def thread_id(self, arg: int, /) -> None: ...

    def empty(self) -> bool: ...

    def depth(self) -> int: ...

    def __len__(self) -> int: ...

    def __eq__(self, arg: object, /) -> bool: ...

class KernelParams:
    """How a kernel was launched: groups, work-items of a group, bytes."""

    def __init__(self) -> None: ...

    @property
    def grid_x(self) -> int: ...

    @grid_x.setter
    def grid_x(self, arg: int, /) -> None: ...

    @property
    def grid_y(self) -> int: ...

    @grid_y.setter
    def grid_y(self, arg: int, /) -> None: ...

    @property
    def grid_z(self) -> int: ...

    @grid_z.setter
    def grid_z(self, arg: int, /) -> None: ...

    @property
    def block_x(self) -> int: ...

    @block_x.setter
    def block_x(self, arg: int, /) -> None: ...

    @property
    def block_y(self) -> int: ...

    @block_y.setter
    def block_y(self, arg: int, /) -> None: ...

    @property
    def block_z(self) -> int: ...

    @block_z.setter
    def block_z(self, arg: int, /) -> None: ...

    @property
    def shared_mem_bytes(self) -> int: ...

    @shared_mem_bytes.setter
    def shared_mem_bytes(self, arg: int, /) -> None: ...

    @property
    def registers_per_thread(self) -> int: ...

    @registers_per_thread.setter
    def registers_per_thread(self, arg: int, /) -> None: ...

    def __eq__(self, arg: object, /) -> bool: ...

class MemoryParams:
    """What a copy, set or allocation was about: bytes."""

    def __init__(self) -> None: ...

    @property
    def src_address(self) -> int: ...

    @src_address.setter
    def src_address(self, arg: int, /) -> None: ...

    @property
    def dst_address(self) -> int: ...

    @dst_address.setter
    def dst_address(self, arg: int, /) -> None: ...

    @property
    def size_bytes(self) -> int: ...

    @size_bytes.setter
    def size_bytes(self, arg: int, /) -> None: ...

    def __eq__(self, arg: object, /) -> bool: ...

class FlowInfo:
    """One end of an arrow; both ends have the same id."""

    def __init__(self) -> None: ...

    @property
    def id(self) -> int: ...

    @id.setter
    def id(self, arg: int, /) -> None: ...

    @property
    def type(self) -> FlowType: ...

    @type.setter
    def type(self, arg: FlowType, /) -> None: ...

    @property
    def is_start(self) -> bool: ...

    @is_start.setter
    def is_start(self, arg: bool, /) -> None: ...

    def __eq__(self, arg: object, /) -> bool: ...

class TraceEvent:
    """
    One event. Times are ns of the host's monotonic clock, as get_current_timestamp() gives them.
    """

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, type: EventType) -> None: ...

    @overload
    def __init__(self, type: EventType, timestamp: int) -> None: ...

    @property
    def type(self) -> EventType: ...

    @type.setter
    def type(self, arg: EventType, /) -> None: ...

    @property
    def timestamp(self) -> int: ...

    @timestamp.setter
    def timestamp(self, arg: int, /) -> None: ...

    @property
    def duration(self) -> int:
        """ns; 0 for an instant"""

    @duration.setter
    def duration(self, arg: int, /) -> None: ...

    @property
    def device_id(self) -> int: ...

    @device_id.setter
    def device_id(self, arg: int, /) -> None: ...

    @property
    def stream_id(self) -> int: ...

    @stream_id.setter
    def stream_id(self, arg: int, /) -> None: ...

    @property
    def correlation_id(self) -> int:
        """the same for a launch and its kernel; 0: none"""

    @correlation_id.setter
    def correlation_id(self, arg: int, /) -> None: ...

    @property
    def name(self) -> str: ...

    @name.setter
    def name(self, arg: str, /) -> None: ...

    @property
    def thread_id(self) -> int:
        """the system's number; 0: not known"""

    @thread_id.setter
    def thread_id(self, arg: int, /) -> None: ...

    @property
    def metadata(self) -> TextMap: ...

    @metadata.setter
    def metadata(self, arg: TextMap, /) -> None: ...

    @property
    def flow_info(self) -> FlowInfo: ...

    @flow_info.setter
    def flow_info(self, arg: FlowInfo, /) -> None: ...

    @property
    def kernel_params(self) -> KernelParams | None: ...

    @kernel_params.setter
    def kernel_params(self, value: KernelParams | None) -> None: ...

    @property
    def memory_params(self) -> MemoryParams | None: ...

    @memory_params.setter
    def memory_params(self, value: MemoryParams | None) -> None: ...

    @property
    def call_stack(self) -> CallStack | None: ...

    @call_stack.setter
    def call_stack(self, value: CallStack | None) -> None: ...

    @property
    def custom_data(self) -> bytes: ...

    @custom_data.setter
    def custom_data(self, arg: bytes, /) -> None: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __repr__(self) -> str: ...

class MemoryEvent:
    """An allocation or a release."""

    def __init__(self) -> None: ...

    @property
    def timestamp(self) -> int: ...

    @timestamp.setter
    def timestamp(self, arg: int, /) -> None: ...

    @property
    def device_id(self) -> int: ...

    @device_id.setter
    def device_id(self, arg: int, /) -> None: ...

    @property
    def thread_id(self) -> int: ...

    @thread_id.setter
    def thread_id(self, arg: int, /) -> None: ...

    @property
    def bytes(self) -> int: ...

    @bytes.setter
    def bytes(self, arg: int, /) -> None: ...

    @property
    def ptr(self) -> int: ...

    @ptr.setter
    def ptr(self, arg: int, /) -> None: ...

    @property
    def is_allocation(self) -> bool: ...

    @is_allocation.setter
    def is_allocation(self, arg: bool, /) -> None: ...

    @property
    def allocator_name(self) -> str: ...

    @allocator_name.setter
    def allocator_name(self, arg: str, /) -> None: ...

    @property
    def category(self) -> MemoryCategory: ...

    @category.setter
    def category(self, arg: MemoryCategory, /) -> None: ...

class CounterEvent:
    """A counter's value from a time on."""

    def __init__(self) -> None: ...

    @property
    def timestamp(self) -> int: ...

    @timestamp.setter
    def timestamp(self, arg: int, /) -> None: ...

    @property
    def device_id(self) -> int: ...

    @device_id.setter
    def device_id(self, arg: int, /) -> None: ...

    @property
    def track_id(self) -> int: ...

    @track_id.setter
    def track_id(self, arg: int, /) -> None: ...

    @property
    def counter_name(self) -> str: ...

    @counter_name.setter
    def counter_name(self, arg: str, /) -> None: ...

    @property
    def value(self) -> float: ...

    @value.setter
    def value(self, arg: float, /) -> None: ...

    @property
    def unit(self) -> str: ...

    @unit.setter
    def unit(self, arg: str, /) -> None: ...

class DeviceInfo:
    """A device: bytes, MHz, bits; 0 is not known."""

    def __init__(self) -> None: ...

    @property
    def device_id(self) -> int: ...

    @device_id.setter
    def device_id(self, arg: int, /) -> None: ...

    @property
    def name(self) -> str: ...

    @name.setter
    def name(self, arg: str, /) -> None: ...

    @property
    def vendor(self) -> str: ...

    @vendor.setter
    def vendor(self, arg: str, /) -> None: ...

    @property
    def compute_major(self) -> int: ...

    @compute_major.setter
    def compute_major(self, arg: int, /) -> None: ...

    @property
    def compute_minor(self) -> int: ...

    @compute_minor.setter
    def compute_minor(self, arg: int, /) -> None: ...

    @property
    def total_memory(self) -> int: ...

    @total_memory.setter
    def total_memory(self, arg: int, /) -> None: ...

    @property
    def memory_clock_rate(self) -> int: ...

    @memory_clock_rate.setter
    def memory_clock_rate(self, arg: int, /) -> None: ...

    @property
    def memory_bus_width(self) -> int: ...

    @memory_bus_width.setter
    def memory_bus_width(self, arg: int, /) -> None: ...

    @property
    def multiprocessor_count(self) -> int: ...

    @multiprocessor_count.setter
    def multiprocessor_count(self, arg: int, /) -> None: ...

    @property
    def max_threads_per_mp(self) -> int: ...

    @max_threads_per_mp.setter
    def max_threads_per_mp(self, arg: int, /) -> None: ...

    @property
    def clock_rate(self) -> int: ...

    @clock_rate.setter
    def clock_rate(self, arg: int, /) -> None: ...

    @property
    def warp_size(self) -> int: ...

    @warp_size.setter
    def warp_size(self, arg: int, /) -> None: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __repr__(self) -> str: ...

class TraceMetadata:
    """What a trace says of itself."""

    def __init__(self) -> None: ...

    @property
    def application_name(self) -> str: ...

    @application_name.setter
    def application_name(self, arg: str, /) -> None: ...

    @property
    def command_line(self) -> str: ...

    @command_line.setter
    def command_line(self, arg: str, /) -> None: ...

    @property
    def start_time(self) -> int: ...

    @start_time.setter
    def start_time(self, arg: int, /) -> None: ...

    @property
    def end_time(self) -> int: ...

    @end_time.setter
    def end_time(self, arg: int, /) -> None: ...

    @property
    def hostname(self) -> str: ...

    @hostname.setter
    def hostname(self, arg: str, /) -> None: ...

    @property
    def process_id(self) -> int: ...

    @process_id.setter
    def process_id(self, arg: int, /) -> None: ...

    @property
    def devices(self) -> DeviceInfoList: ...

    @devices.setter
    def devices(self, arg: DeviceInfoList, /) -> None: ...

def event_type_to_string(type: EventType) -> str: ...

def platform_type_to_string(platform: PlatformType) -> str: ...

def get_current_timestamp() -> int:
    """CLOCK_MONOTONIC in ns: "now" in traces."""

class SBTWriter:
    """
    Writes a trace of TraceEvents, replacing a file that is there. What was written can be read at once, and stays readable if the program dies.
    """

    def __init__(self, path: object) -> None: ...

    def is_open(self) -> bool: ...

    def write_metadata(self, metadata: TraceMetadata) -> bool: ...

    def write_device_info(self, devices: DeviceInfoList) -> bool: ...

    def write_event(self, event: TraceEvent) -> bool: ...

    def write_events(self, events: Sequence[TraceEvent]) -> bool: ...

    def write_counters(self, counters: Sequence[CounterEvent]) -> bool: ...

    def flush(self) -> bool: ...

    def finalize(self) -> bool: ...

    def event_count(self) -> int: ...

    def file_size(self) -> int: ...

    def __enter__(self) -> object: ...

    def __exit__(self, type: object | None, value: object | None, traceback: object | None) -> None: ...

class SBTReader:
    """
    Reads a trace as TraceEvents. tracesmith.open() gives its columns, which is what large traces are read with.
    """

    def __init__(self, path: object) -> None: ...

    def is_open(self) -> bool: ...

    def is_valid(self) -> bool:
        """Whether it is a trace that this version reads."""

    def last_error(self) -> str:
        """Why is_valid() is False."""

    def event_count(self) -> int: ...

    def read_all(self) -> list[TraceEvent]:
        """All events, by time."""

    def read_events(self, offset: int = 0, count: int = 0) -> list[TraceEvent]:
        """`count` events by time, from the one with number `offset` on; 0: all."""

    def read_counters(self) -> list[CounterEvent]: ...

    def read_metadata(self) -> TraceMetadata: ...

class PerfettoFormat(enum.Enum):
    """What is written."""

    JSON = 0

    PROTOBUF = 1

class PerfettoExporter:
    """TraceEvents as Chrome's JSON."""

    def __init__(self) -> None: ...

    def export_to_file(self, events: Sequence[TraceEvent], path: object) -> bool: ...

    def export_to_file_with_counters(self, events: Sequence[TraceEvent], counters: Sequence[CounterEvent], path: object) -> bool: ...

    def export_to_string(self, events: Sequence[TraceEvent]) -> str: ...

    def export_to_string_with_counters(self, events: Sequence[TraceEvent], counters: Sequence[CounterEvent]) -> str: ...

    def set_enable_gpu_tracks(self, enable: bool) -> None: ...

    def set_enable_flow_events(self, enable: bool) -> None: ...

    def set_enable_counter_tracks(self, enable: bool) -> None: ...

class PerfettoProtoExporter(PerfettoExporter):
    """TraceEvents as Perfetto's protobuf, or as Chrome's JSON."""

    def __init__(self, format: PerfettoFormat = PerfettoFormat.PROTOBUF) -> None: ...

    def export_to_file(self, events: Sequence[TraceEvent], path: object) -> bool: ...

    def export_to_file_with_counters(self, events: Sequence[TraceEvent], counters: Sequence[CounterEvent], path: object) -> bool: ...

    def get_format(self) -> PerfettoFormat: ...

    @staticmethod
    def is_sdk_available() -> bool:
        """False: Perfetto's SDK is no part of this, and not needed."""

def export_trace(file: TraceFile, path: bytes) -> None: ...

def format_duration(ns: int) -> str:
    """"1.50 ms" for 1500000."""

def format_bytes(bytes: int) -> str:
    """"1.00 KiB" for 1024."""

class XRayEntryType(enum.Enum):
    """What a record of XRay is."""

    FunctionEnter = 0

    FunctionExit = 1

    TailExit = 2

    CustomEvent = 3

    TypedEvent = 4

class XRayFunctionRecord:
    """One record of a log of LLVM's XRay."""

    def __init__(self) -> None: ...

    @property
    def function_id(self) -> int: ...

    @function_id.setter
    def function_id(self, arg: int, /) -> None: ...

    @property
    def timestamp(self) -> int: ...

    @timestamp.setter
    def timestamp(self, arg: int, /) -> None: ...

    @property
    def type(self) -> XRayEntryType: ...

    @type.setter
    def type(self, arg: XRayEntryType, /) -> None: ...

    @property
    def thread_id(self) -> int: ...

    @thread_id.setter
    def thread_id(self, arg: int, /) -> None: ...

    @property
    def cpu_id(self) -> int: ...

    @cpu_id.setter
    def cpu_id(self, arg: int, /) -> None: ...

    @property
    def function_name(self) -> str: ...

    @function_name.setter
    def function_name(self, arg: str, /) -> None: ...

    @property
    def file_name(self) -> str: ...

    @file_name.setter
    def file_name(self, arg: str, /) -> None: ...

    @property
    def line_number(self) -> int: ...

    @line_number.setter
    def line_number(self, arg: int, /) -> None: ...

class XRayFileHeader:
    """What a log of XRay says of itself."""

    def __init__(self) -> None: ...

    @property
    def version(self) -> int: ...

    @version.setter
    def version(self, arg: int, /) -> None: ...

    @property
    def type(self) -> int:
        """0: basic, 1: FDR"""

    @type.setter
    def type(self, arg: int, /) -> None: ...

    @property
    def cycle_frequency(self) -> int: ...

    @cycle_frequency.setter
    def cycle_frequency(self, arg: int, /) -> None: ...

    @property
    def num_records(self) -> int: ...

    @num_records.setter
    def num_records(self, arg: int, /) -> None: ...

class XRayImporterConfig:
    """How logs of XRay are read."""

    def __init__(self) -> None: ...

    @property
    def resolve_symbols(self) -> bool: ...

    @resolve_symbols.setter
    def resolve_symbols(self, arg: bool, /) -> None: ...

    @property
    def include_custom_events(self) -> bool: ...

    @include_custom_events.setter
    def include_custom_events(self, arg: bool, /) -> None: ...

    @property
    def filter_short_calls(self) -> bool: ...

    @filter_short_calls.setter
    def filter_short_calls(self, arg: bool, /) -> None: ...

    @property
    def min_duration_ns(self) -> int: ...

    @min_duration_ns.setter
    def min_duration_ns(self, arg: int, /) -> None: ...

    @property
    def symbol_file(self) -> str: ...

    @symbol_file.setter
    def symbol_file(self, arg: str, /) -> None: ...

class XRayStatistics:
    """What was read of a log."""

    @property
    def records_read(self) -> int: ...

    @property
    def records_converted(self) -> int: ...

    @property
    def records_filtered(self) -> int: ...

    @property
    def custom_events(self) -> int: ...

    @property
    def functions_identified(self) -> int: ...

    @property
    def total_duration_ms(self) -> float: ...

class XRayImporter:
    """Logs of LLVM's XRay as TraceEvents; tracesmith.open() reads them, too."""

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, config: XRayImporterConfig) -> None: ...

    @staticmethod
    def is_available() -> bool: ...

    def import_file(self, path: object) -> list[TraceEvent]: ...

    def import_buffer(self, data: bytes) -> list[TraceEvent]: ...

    def get_raw_records(self) -> list[XRayFunctionRecord]: ...

    def get_statistics(self) -> XRayStatistics: ...

    def get_header(self) -> XRayFileHeader: ...

    def set_symbol_file(self, path: str) -> None: ...

    def set_config(self, config: XRayImporterConfig) -> None: ...

class TimelineSpan:
    """A piece of device work; times in ns."""

    @property
    def correlation_id(self) -> int: ...

    @property
    def device_id(self) -> int: ...

    @property
    def stream_id(self) -> int: ...

    @property
    def type(self) -> EventType: ...

    @property
    def name(self) -> str: ...

    @property
    def start_time(self) -> int: ...

    @property
    def end_time(self) -> int: ...

class TimelineDevice:
    """A device that did anything; times in ns."""

    @property
    def device_id(self) -> int: ...

    @property
    def begin_ns(self) -> int: ...

    @property
    def end_ns(self) -> int: ...

    @property
    def busy_ns(self) -> int:
        """union of all its work"""

    @property
    def kernel_ns(self) -> int:
        """union of its kernels"""

    @property
    def utilization(self) -> float:
        """kernel_ns / (end_ns - begin_ns)"""

    @property
    def most_concurrent(self) -> int: ...

class Timeline:
    """Device work over time."""

    @property
    def spans(self) -> list[TimelineSpan]:
        """By device and stream, then start: a new list each time."""

    @property
    def total_duration(self) -> int:
        """ns from the first start to the last end"""

    @property
    def gpu_utilization(self) -> float:
        """0 to 1: the mean of the devices' utilization"""

    @property
    def max_concurrent_ops(self) -> int: ...

    @property
    def devices(self) -> list[TimelineDevice]: ...

    @property
    def time_at_concurrency(self) -> list[int]:
        """[n]: ns in which exactly n pieces of work ran"""

class TimelineBuilder:
    """Makes a Timeline of events."""

    def __init__(self) -> None: ...

    def add_event(self, event: TraceEvent) -> None: ...

    def add_events(self, events: Sequence[TraceEvent]) -> None: ...

    def build(self) -> Timeline: ...

    def clear(self) -> None: ...

def timeline_of(file: TraceFile) -> Timeline: ...

class TimelineViewConfig:
    """How a timeline is drawn."""

    def __init__(self) -> None: ...

    @property
    def width(self) -> int:
        """columns of the picture, at least 20"""

    @width.setter
    def width(self, arg: int, /) -> None: ...

    @property
    def max_rows(self) -> int:
        """streams; the busiest are shown"""

    @max_rows.setter
    def max_rows(self, arg: int, /) -> None: ...

    @property
    def show_timestamps(self) -> bool: ...

    @show_timestamps.setter
    def show_timestamps(self, arg: bool, /) -> None: ...

    @property
    def show_duration(self) -> bool: ...

    @show_duration.setter
    def show_duration(self, arg: bool, /) -> None: ...

    @property
    def fill_char(self) -> str: ...

    @fill_char.setter
    def fill_char(self, arg: str, /) -> None: ...

class TimelineViewer:
    """A timeline as text."""

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, config: TimelineViewConfig) -> None: ...

    def render(self, timeline: Timeline) -> str: ...

    def render_stream(self, timeline: Timeline, stream_id: int, device_id: int = 0) -> str: ...

    def render_stats(self, timeline: Timeline) -> str: ...

class GPUState(enum.Enum):
    """What a stream is doing."""

    Idle = 0

    Queued = 1

    Running = 2

    Waiting = 3

    Complete = 4

class StateTransition:
    """A change of a stream's state; times in ns."""

    @property
    def from_state(self) -> GPUState: ...

    @property
    def to_state(self) -> GPUState: ...

    @property
    def when(self) -> int: ...

    @property
    def correlation_id(self) -> int: ...

    @property
    def reason(self) -> str: ...

class GPUStateHistory:
    """A stream's transitions."""

    @property
    def device_id(self) -> int: ...

    @property
    def stream_id(self) -> int: ...

    @property
    def transitions(self) -> list[StateTransition]: ...

class GPUStreamState:
    """One stream's states."""

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, device_id: int, stream_id: int) -> None: ...

    @property
    def device_id(self) -> int: ...

    @property
    def stream_id(self) -> int: ...

    def current_state(self) -> GPUState: ...

    def state_at(self, when: int) -> GPUState: ...

    def transitions(self) -> list[StateTransition]: ...

    def time_in_states(self) -> dict[GPUState, int]:
        """ns by state, from the first transition to the last"""

    def utilization(self) -> float: ...

    def transition_to(self, to: GPUState, when: int, correlation_id: int = 0, reason: str = '') -> bool: ...

    def reset(self) -> None: ...

class GPUStateMachineStatistics:
    """Counts, and ns by state."""

    @property
    def total_events(self) -> int: ...

    @property
    def total_transitions(self) -> int: ...

    @property
    def transitions_per_stream(self) -> dict[int, int]: ...

    @property
    def total_time_per_state(self) -> dict[GPUState, int]: ...

    @property
    def overall_utilization(self) -> float: ...

class GPUStateMachine:
    """What each stream was doing at any time."""

    def __init__(self) -> None: ...

    def process_event(self, event: TraceEvent) -> None: ...

    def process_events(self, events: Sequence[TraceEvent]) -> None: ...

    def get_stream_state(self, stream_id: int, device_id: int = 0) -> GPUStreamState | None:
        """None: it is not in the trace."""

    def get_all_streams(self) -> list[GPUStreamState]: ...

    def get_statistics(self) -> GPUStateMachineStatistics: ...

    def export_history(self) -> list[GPUStateHistory]: ...

    def reset(self) -> None: ...

class DependencyType(enum.Enum):
    """Why an operation had to wait for another."""

    Sequential = 1

    Synchronization = 2

    HostBarrier = 3

    Memory = 4

class OperationDependency:
    """An operation that had to wait for another."""

    @property
    def from_correlation_id(self) -> int: ...

    @property
    def to_correlation_id(self) -> int: ...

    @property
    def type(self) -> DependencyType: ...

    @property
    def description(self) -> str: ...

    @property
    def exact(self) -> bool:
        """the trace says so; else it was inferred"""

class InstructionNode:
    """An operation of the dependency graph."""

    @property
    def correlation_id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def stream_id(self) -> int: ...

    @property
    def device_id(self) -> int: ...

    @property
    def start_time(self) -> int: ...

    @property
    def end_time(self) -> int: ...

    @property
    def dependencies(self) -> list[int]: ...

    @property
    def dependents(self) -> list[int]: ...

class InstructionStreamStatistics:
    """Counts of operations and dependencies."""

    @property
    def total_operations(self) -> int: ...

    @property
    def kernel_launches(self) -> int: ...

    @property
    def memory_operations(self) -> int: ...

    @property
    def synchronizations(self) -> int: ...

    @property
    def total_dependencies(self) -> int: ...

    @property
    def operations_per_stream(self) -> dict[int, int]: ...

class InstructionStreamBuilder:
    """Finds what each operation had to wait for. analyze() first."""

    def __init__(self) -> None: ...

    def add_event(self, event: TraceEvent) -> None: ...

    def add_events(self, events: Sequence[TraceEvent]) -> None: ...

    def analyze(self) -> None: ...

    def get_execution_order(self) -> list[int]: ...

    def get_nodes(self) -> list[InstructionNode]: ...

    def get_dependencies(self) -> list[OperationDependency]: ...

    def get_stream_operations(self, stream_id: int) -> list[int]: ...

    def has_dependency(self, from_correlation_id: int, to_correlation_id: int) -> bool: ...

    def get_call_chain(self, correlation_id: int) -> list[int]: ...

    def get_statistics(self) -> InstructionStreamStatistics: ...

    def export_to_dot(self) -> str: ...

    def clear(self) -> None: ...

class ReplayMode(enum.Enum):
    """What of a recording is replayed."""

    Full = 0

    Partial = 1

    DryRun = 2

    StreamSpecific = 3

class SchedulingPolicy(enum.Enum):
    """Which of several operations goes first."""

    RoundRobin = 0

    Priority = 1

    OriginalTiming = 2

class ReplayConfig:
    """What is asked of a replay (docs/replay.md)."""

    def __init__(self) -> None: ...

    @property
    def mode(self) -> ReplayMode: ...

    @mode.setter
    def mode(self, arg: ReplayMode, /) -> None: ...

    @property
    def scheduling(self) -> SchedulingPolicy: ...

    @scheduling.setter
    def scheduling(self, arg: SchedulingPolicy, /) -> None: ...

    @property
    def start_time(self) -> int | None:
        """of Partial: ns since the first recorded call"""

    @start_time.setter
    def start_time(self, value: int | None) -> None: ...

    @property
    def end_time(self) -> int | None: ...

    @end_time.setter
    def end_time(self, value: int | None) -> None: ...

    @property
    def start_operation_id(self) -> int | None: ...

    @start_operation_id.setter
    def start_operation_id(self, value: int | None) -> None: ...

    @property
    def end_operation_id(self) -> int | None: ...

    @end_operation_id.setter
    def end_operation_id(self, value: int | None) -> None: ...

    @property
    def stream_id(self) -> int | None:
        """of StreamSpecific"""

    @stream_id.setter
    def stream_id(self, value: int | None) -> None: ...

    @property
    def validate_order(self) -> bool: ...

    @validate_order.setter
    def validate_order(self, arg: bool, /) -> None: ...

    @property
    def validate_dependencies(self) -> bool: ...

    @validate_dependencies.setter
    def validate_dependencies(self, arg: bool, /) -> None: ...

    @property
    def validate_timing(self) -> bool:
        """of simulated replays alone"""

    @validate_timing.setter
    def validate_timing(self, arg: bool, /) -> None: ...

    @property
    def compute_checksums(self) -> bool: ...

    @compute_checksums.setter
    def compute_checksums(self, arg: bool, /) -> None: ...

    @property
    def verbose(self) -> bool: ...

    @verbose.setter
    def verbose(self, arg: bool, /) -> None: ...

    @property
    def pause_on_error(self) -> bool:
        """errors after the first are left out"""

    @pause_on_error.setter
    def pause_on_error(self, arg: bool, /) -> None: ...

    @property
    def time_scale(self) -> float:
        """
        0: as fast as the device goes; 1: at the recorded times; 0.5: twice as fast
        """

    @time_scale.setter
    def time_scale(self, arg: float, /) -> None: ...

    @property
    def device(self) -> str:
        """number or part of the name; "simulated": none is asked for"""

    @device.setter
    def device(self, arg: str, /) -> None: ...

    @property
    def step_limit_s(self) -> float: ...

    @step_limit_s.setter
    def step_limit_s(self, arg: float, /) -> None: ...

class ReplayResult:
    """What a replay did; durations in ns."""

    @property
    def success(self) -> bool: ...

    @property
    def deterministic(self) -> bool:
        """
        executed, and all that was read back equal; never of what was simulated
        """

    @property
    def simulated(self) -> bool:
        """nothing was executed: times are virtual"""

    @property
    def operations_executed(self) -> int: ...

    @property
    def operations_simulated(self) -> int: ...

    @property
    def operations_skipped(self) -> int: ...

    @property
    def operations_total(self) -> int: ...

    @property
    def operations_failed(self) -> int: ...

    @property
    def replay_duration(self) -> int: ...

    @property
    def original_duration(self) -> int: ...

    @property
    def order_violations(self) -> int: ...

    @property
    def dependency_violations(self) -> int: ...

    @property
    def timing_violations(self) -> int: ...

    @property
    def read_backs(self) -> int: ...

    @property
    def read_backs_equal(self) -> int: ...

    @property
    def device(self) -> str: ...

    @property
    def errors(self) -> list[str]: ...

    @property
    def warnings(self) -> list[str]: ...

    def summary(self) -> str: ...

    def __repr__(self) -> str: ...

class ReplayEngine:
    """Executes recordings again, and times other traces on a virtual clock."""

    def __init__(self) -> None: ...

    def load_trace(self, path: object) -> bool:
        """A recording (.sbr), a trace, or another tool's trace."""

    def load_events(self, events: Sequence[TraceEvent]) -> bool:
        """InvalidArgumentError: none of them is an operation."""

    def replay(self, config: ReplayConfig = ...) -> ReplayResult: ...

    def has_recording(self) -> bool:
        """Whether what is loaded can be executed, given a device."""

class ProfilerConfig:
    """What a profiler captures."""

    def __init__(self) -> None: ...

    @property
    def buffer_size(self) -> int:
        """events that wait for get_events() at most"""

    @buffer_size.setter
    def buffer_size(self, arg: int, /) -> None: ...

    @property
    def overflow_policy(self) -> OverflowPolicy: ...

    @overflow_policy.setter
    def overflow_policy(self, arg: OverflowPolicy, /) -> None: ...

    @property
    def capture_callstacks(self) -> bool: ...

    @capture_callstacks.setter
    def capture_callstacks(self, arg: bool, /) -> None: ...

    @property
    def callstack_depth(self) -> int:
        """frames"""

    @callstack_depth.setter
    def callstack_depth(self, arg: int, /) -> None: ...

    @property
    def capture_kernel_params(self) -> bool: ...

    @capture_kernel_params.setter
    def capture_kernel_params(self, arg: bool, /) -> None: ...

    @property
    def capture_memory_params(self) -> bool: ...

    @capture_memory_params.setter
    def capture_memory_params(self, arg: bool, /) -> None: ...

    @property
    def capture_kernels(self) -> bool: ...

    @capture_kernels.setter
    def capture_kernels(self, arg: bool, /) -> None: ...

    @property
    def capture_memcpy(self) -> bool: ...

    @capture_memcpy.setter
    def capture_memcpy(self, arg: bool, /) -> None: ...

    @property
    def capture_memset(self) -> bool: ...

    @capture_memset.setter
    def capture_memset(self, arg: bool, /) -> None: ...

    @property
    def capture_sync(self) -> bool: ...

    @capture_sync.setter
    def capture_sync(self, arg: bool, /) -> None: ...

    @property
    def capture_alloc(self) -> bool: ...

    @capture_alloc.setter
    def capture_alloc(self, arg: bool, /) -> None: ...

class Profiler:
    """
    Captures what this process does on a platform's devices; see create_profiler(). What can not be done is raised as UnsupportedError, with the reason.
    """

    def platform_type(self) -> PlatformType: ...

    def is_available(self) -> bool: ...

    def initialize(self, config: ProfilerConfig = ...) -> bool: ...

    def finalize(self) -> None:
        """Stops, and forgets what has not been taken."""

    def start_capture(self) -> bool: ...

    def stop_capture(self) -> bool: ...

    def is_capturing(self) -> bool: ...

    def get_events(self, max_count: int = 0) -> list[TraceEvent]:
        """Takes events out, the oldest first; 0: all."""

    def get_device_info(self) -> DeviceInfoList: ...

    def events_captured(self) -> int: ...

    def events_dropped(self) -> int: ...

    def last_error(self) -> str: ...

def create_profiler(platform: PlatformType) -> Profiler:
    """
    A profiler of this platform; is_available() says whether this machine has it.
    """

def detect_platform() -> PlatformType:
    """
    The platform whose devices this machine has; PlatformType.Unknown: none.
    """

def is_cuda_available() -> bool: ...

def is_rocm_available() -> bool: ...

def is_metal_available() -> bool: ...

def is_maca_available() -> bool: ...

def is_ascend_available() -> bool: ...

def is_opencl_available() -> bool: ...

def get_cuda_device_count() -> int: ...

def get_rocm_device_count() -> int: ...

def get_metal_device_count() -> int: ...

def get_maca_device_count() -> int: ...

def get_ascend_device_count() -> int: ...

def get_cuda_driver_version() -> int:
    """12040 for 12.4; 0: none."""

def get_device_infos(platform: PlatformType) -> DeviceInfoList: ...

class TracingConfig:
    """How a TracingSession records."""

    def __init__(self) -> None: ...

    @property
    def buffer_size_kb(self) -> int:
        """ring of each thread"""

    @buffer_size_kb.setter
    def buffer_size_kb(self, arg: int, /) -> None: ...

    @property
    def max_threads(self) -> int: ...

    @max_threads.setter
    def max_threads(self, arg: int, /) -> None: ...

    @property
    def overflow(self) -> OverflowPolicy: ...

    @overflow.setter
    def overflow(self, arg: OverflowPolicy, /) -> None: ...

    @property
    def output_file(self) -> str:
        """the trace; "": it is kept, compressed, in memory"""

    @output_file.setter
    def output_file(self, arg: str, /) -> None: ...

    @property
    def flush_interval_ms(self) -> int: ...

    @flush_interval_ms.setter
    def flush_interval_ms(self, arg: int, /) -> None: ...

    @property
    def duration_ms(self) -> int:
        """stop by itself after so long; 0: never"""

    @duration_ms.setter
    def duration_ms(self, arg: int, /) -> None: ...

    @property
    def enable_gpu_tracks(self) -> bool: ...

    @enable_gpu_tracks.setter
    def enable_gpu_tracks(self, arg: bool, /) -> None: ...

    @property
    def enable_counter_tracks(self) -> bool: ...

    @enable_counter_tracks.setter
    def enable_counter_tracks(self, arg: bool, /) -> None: ...

    @property
    def enable_flow_events(self) -> bool: ...

    @enable_flow_events.setter
    def enable_flow_events(self, arg: bool, /) -> None: ...

class TracingState(enum.Enum):
    """Whether a session runs."""

    Stopped = 0

    Starting = 1

    Running = 2

    Stopping = 3

class TracingMode(enum.Enum):
    """Where a session's trace is kept."""

    InProcess = 0

    File = 1

class TracingStatistics:
    """What a session has taken in; times in ns."""

    @property
    def events_emitted(self) -> int: ...

    @property
    def events_dropped(self) -> int: ...

    @property
    def counters_emitted(self) -> int: ...

    @property
    def start_time(self) -> int: ...

    @property
    def stop_time(self) -> int: ...

    def duration_ms(self) -> float: ...

class TracingSession:
    """
    Records what this program says of itself, from any number of threads and from the children it forks (docs/sessions.md).
    """

    def __init__(self) -> None: ...

    def start(self, config: TracingConfig = ...) -> bool: ...

    def stop(self) -> bool: ...

    def flush(self) -> None: ...

    def clear(self) -> None: ...

    def get_events(self) -> list[TraceEvent]: ...

    def get_counters(self) -> list[CounterEvent]: ...

    def export_to_file(self, path: object) -> bool:
        """The end of the name says which format: .sbt, .json, else Perfetto's."""

    def is_active(self) -> bool: ...

    def get_state(self) -> TracingState: ...

    def get_mode(self) -> TracingMode: ...

    def get_statistics(self) -> TracingStatistics: ...

    def trace_path(self) -> str: ...

    def event_buffer_size(self) -> int: ...

    def event_buffer_capacity(self) -> int: ...

    def events_dropped(self) -> int: ...

    def emit(self, event: TraceEvent) -> bool:
        """False: it was dropped, or the session does not run."""

    def emit_counter(self, name: str, value: float, unit: str = '') -> bool: ...

    def span_name(self, arg: str, /) -> int: ...

    def stamp(self) -> int: ...

    def span(self, arg0: int, arg1: int, arg2: int, /) -> bool: ...

    def marker(self, arg: int, /) -> bool: ...

class StackCaptureConfig:
    """How stacks are taken."""

    def __init__(self) -> None: ...

    @property
    def max_depth(self) -> int:
        """frames, 1 to 512"""

    @max_depth.setter
    def max_depth(self, arg: int, /) -> None: ...

    @property
    def skip_frames(self) -> int: ...

    @skip_frames.setter
    def skip_frames(self, arg: int, /) -> None: ...

    @property
    def async_signal_safe(self) -> bool: ...

    @async_signal_safe.setter
    def async_signal_safe(self, arg: bool, /) -> None: ...

    @property
    def resolve_symbols(self) -> bool: ...

    @resolve_symbols.setter
    def resolve_symbols(self, arg: bool, /) -> None: ...

    @property
    def demangle(self) -> bool: ...

    @demangle.setter
    def demangle(self, arg: bool, /) -> None: ...

class StackCapture:
    """The native call stack of the code that asks."""

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, config: StackCaptureConfig) -> None: ...

    def capture(self) -> CallStack: ...

    def capture_with_thread_id(self, thread_id: int) -> CallStack: ...

    def resolve_symbols(self, stack: CallStack) -> None: ...

    @staticmethod
    def get_current_thread_id() -> int: ...

    @staticmethod
    def is_available() -> bool: ...

class Annotation:
    """A range of the program, from enter to exit."""

    def __init__(self, name: str) -> None: ...

    @property
    def name(self) -> str: ...

    def __enter__(self) -> object: ...

    def __exit__(self, type: object | None, value: object | None, traceback: object | None) -> None: ...

def set_active_session(session: object | None) -> None: ...

def has_active_session() -> bool: ...

def mark(name: str) -> None: ...

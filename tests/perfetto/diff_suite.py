#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `tracesmith import` with Perfetto's trace_processor, over the traces of the diff tests in
a checkout of Perfetto.

Usage: diff_suite.py --perfetto CHECKOUT --trace-processor PROGRAM --tracesmith PROGRAM [--work DIR]

Needs protoc, and the Python packages protobuf and those the suite's generators import. Traces whose
files are not in the checkout (test/data) are left out and counted.

Compared are the rows that docs/importing.md claims: slices and instants (name, start, duration,
process, thread), counters (time, value, name), flows (start and end of each arrow). Everything else in
a file must be named by a row of TraceSmith's table `loss`. The outcome of each trace is one of:
  agrees     every claimed row is equal; "nothing" if the trace has none, and all of it is told in `loss`
  refused    TraceSmith refuses the file
  differs    at least one row differs, or a loss is not told; "explained": on purpose, see EXPLAINED
  failed     a crash, an exit status that is not documented, or no end within the time limit
Writes WORK/results.json, prints the differences, and ends with 1 if any trace differs or failed."""
import argparse
import collections
import contextlib
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import types

SUITE = "test/trace_processor/diff_tests"


def descriptors(checkout, folder):
    """Every message of a trace with all its extensions, and those of simpleperf, as protoc has them."""
    protos = checkout / "protos"
    extends = re.compile(r"^\s*extend\s+\w", re.MULTILINE)
    extensions = [p for part in ("third_party", "perfetto/trace") for p in (protos / part).rglob("*.proto")
                  if extends.search(p.read_text())]
    extensions += (protos / "third_party/chromium").glob("chrome_enums.proto")  # of its generators
    made = {}
    for name, roots in {"trace": [protos / "perfetto/trace/trace.proto", *extensions],
                        "simpleperf": sorted((protos / "third_party/simpleperf").rglob("*.proto"))}.items():
        made[name] = folder / f"{name}.descriptor"
        subprocess.run(["protoc", "--include_imports", f"--descriptor_set_out={made[name]}", "-I", checkout,
                        *sorted(set(roots))], check=True, stderr=subprocess.DEVNULL)
    return made


def make_traces(checkout, folder):
    """Writes the suite's traces, each content once, as FOLDER/NUMBER-NAME; says of each what it is."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / "traces.json"
    if listed.exists():
        return json.loads(listed.read_text())
    sys.path[:0] = [str(checkout), str(checkout / SUITE), str(checkout / "test")]
    # The suite's own loader and generator, from the checkout.
    from include_index import fetch_all_diff_tests
    from python.generators.diff_tests import trace_generator
    made = descriptors(checkout, folder)
    traces, seen, left_out = [], set(), {}

    def leave_out(why):
        left_out[why] = left_out.get(why, 0) + 1

    for name, blueprint in fetch_all_diff_tests(str(checkout / SUITE)):
        trace = blueprint.trace
        kind = type(trace).__name__
        path = None
        if kind in ("Path", "DataPath"):
            path = pathlib.Path(blueprint.test_data_dir if kind == "DataPath" else blueprint.index_dir,
                                trace.filename)
            if not path.exists():
                leave_out("its file is not in the checkout")
                continue
        key = (kind, str(path) if path else repr(trace), repr(vars(blueprint.trace_modifier))
               if blueprint.trace_modifier else "")
        if key in seen:
            leave_out("the same trace again")
            continue
        seen.add(key)
        test = types.SimpleNamespace(blueprint=blueprint, trace_path=str(path) if path else None)
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                file = trace_generator.generate_trace_file(test, str(made["trace"]), [], str(made["simpleperf"]))
        except Exception as error:  # whatever its generators raise, the others are to be compared
            leave_out(f"cannot be made ({type(error).__name__})")
            print(f"{name}: {error}", file=sys.stderr)
            continue
        content = pathlib.Path(file.name).read_bytes() if file else path.read_bytes()
        if file:
            os.unlink(file.name)
        digest = hashlib.sha256(content).hexdigest()
        if digest in seen:
            leave_out("the same trace again")
            continue
        seen.add(digest)
        suffix = path.suffix.lstrip(".") if path else kind.lower()
        target = folder / f"{len(traces):04}-{re.sub(r'[^A-Za-z0-9]+', '_', name)}.{suffix}"
        target.write_bytes(content)
        traces.append({"test": name, "file": target.name, "kind": suffix})
    for why, count in left_out.items():
        print(f"left out, {count}: {why}")
    listed.write_text(json.dumps(traces, indent=1))
    return traces

# Kinds of tracks whose slices and counters come from packets that TraceSmith reads.
SLICE_TRACKS = {
    "thread_execution", "thread_track_event", "process_track_event", "global_track_event",
    "thread_merged_track_event", "process_merged_track_event", "global_merged_track_event",
    "thread_overlapping_slice", "legacy_async_process_slice", "legacy_async_global_slice",
    "legacy_chrome_global_instants", "chrome_process_instant", "gpu_render_stage", "vulkan_events"}
COUNTER_TRACKS = {
    "thread_counter_track_event", "process_counter_track_event", "global_counter_track_event",
    "thread_time", "thread_instructions", "json_counter", "json_counter_thread_fallback",
    "gpu_counter", "gpu_memory", "process_gpu_memory", "gpu_frequency"}
JSON_ASYNC = {"legacy_async_process_slice", "legacy_async_global_slice"}  # in no table, says importing.md
COUNTER_NAMES = {"gpufreq": "GPU frequency", "GPU Memory": "GPU memory"}  # trace_processor's own, and TraceSmith's
# Packets that TraceSmith reads, or that say nothing by themselves.
READ_PACKETS = {
    "track_event", "track_descriptor", "process_tree", "process_descriptor", "thread_descriptor",
    "gpu_render_stage_event", "gpu_counter_event", "gpu_mem_total_event", "vulkan_api_event", "gpu_info",
    "generic_gpu_frequency_event", "trace_attributes", "clock_snapshot", "synchronization_marker", "trace_uuid",
    "compressed_packets", "zstd_compressed_packets"}

# Tests whose traces TraceSmith reads otherwise on purpose.
_KERNEL = "device work has the name of its kernel; trace_processor shows that of the stage or of the event"
_LENGTH = "trace_processor drops an X event without a usable dur; TraceSmith shows it without length, and says so"
_THREAD = "trace_processor puts an event without tid on the thread whose tid is the pid; TraceSmith on none"
_PHASE = "trace_processor takes the first letter of a ph of several"
_CHILD = "the child of a thread's track is a thread by itself (importing.md)"
_SPEC = "trace_processor drops values of a counter without a description; TraceSmith keeps them"
EXPLAINED = {
    "ChromeParser:chrome_thread_is_sandboxed_tid":
        "trace_processor drops an event that names neither track nor thread; TraceSmith keeps it",
    "GraphicsGpuTrace:gpu_counters": _SPEC, "GraphicsGpuTrace:gpu_table_machine_id": _SPEC,
    "GraphicsGpuTrace:gpu_compute_kernel": _KERNEL, "GraphicsGpuTrace:gpu_compute_launch": _KERNEL,
    "GraphicsGpuTrace:gpu_counter_duplicate_ids_different_sequences":
        "trace_processor cannot tell equal counter ids of two GPUs apart (its stats say so)",
    "GraphicsGpuTrace:gpu_render_stages": "names that come later in the file are found, too",
    "GraphicsGpuTrace:gpu_render_stages_interned_spec": "trace_processor drops work of a queue without a name",
    "JsonParser:invalid_string_ts_and_dur": _LENGTH, "JsonParser:json_extreme_vals": _LENGTH,
    "JsonParser:string_ts_trailing_chars": _LENGTH,
    "JsonParser:json_metadata": _THREAD, "JsonParser:json_trailing_comma": _THREAD,
    "JsonParser:x_event_order": _THREAD,
    "JsonParser:string_pid_tid": _PHASE, "Parsing:decimal_timestamp_slices": _PHASE,
    "TrackEvent:track_event_descriptions": _CHILD, "TrackEvent:track_event_tracks_machine_id": _CHILD}

# Texts in hexadecimal: trace_processor's CSV does not escape them.
PROCESSOR_SQL = """
SELECT s.ts, s.dur, hex(s.name), t.type, hex(s.category), ifnull(tp.pid, pp.pid), th.tid, s.depth
FROM slice s JOIN track t ON t.id = s.track_id LEFT JOIN thread_track tt ON tt.id = t.id
LEFT JOIN process_track pt ON pt.id = t.id LEFT JOIN thread th ON th.utid = tt.utid
LEFT JOIN process tp ON tp.upid = th.upid LEFT JOIN process pp ON pp.upid = pt.upid;
SELECT c.ts, printf('%!.17g', c.value), hex(t.name), t.type FROM counter c JOIN track t ON t.id = c.track_id;
SELECT o.ts, hex(o.name), ot.type, i.ts, hex(i.name), it.type FROM flow f JOIN slice o ON o.id = f.slice_out
JOIN slice i ON i.id = f.slice_in JOIN track ot ON ot.id = o.track_id JOIN track it ON it.id = i.track_id;
SELECT name, ifnull(idx, ''), severity, value FROM stats WHERE severity != 'info' AND value != 0;
SELECT th.tid, p.pid, hex(th.name) FROM thread th LEFT JOIN process p USING (upid);
SELECT pid, hex(name) FROM process;
"""
OWN_SQL = {
    "slices": "SELECT start_ns AS ts, duration_ns AS dur, name, kind, category, pid, tid FROM range "
              + "".join(f"UNION ALL SELECT start_ns, duration_ns, name, '{t}', NULL, pid, tid FROM {t} "
                        for t in ("host_call", "kernel", "copy", "fill", "sync"))
              + "UNION ALL SELECT start_ns, duration_ns, kind, 'program_build', NULL, pid, tid FROM program_build",
    "counters": "SELECT time_ns AS ts, value, name FROM counter_sample",
    "flows": "SELECT flow_id, name, category, \"end\", time_ns AS ts, pid, tid FROM flow_event",
    "links": "SELECT kind, from_correlation_id, to_correlation_id FROM flow",
    "loss": "SELECT source, emitted, written, dropped, unresolved, reason FROM loss",
    "threads": "SELECT tid, pid, name FROM thread",
    "processes": "SELECT pid, command_line, executable FROM process"}


def text(hexadecimal):
    return bytes.fromhex(hexadecimal).decode("utf-8", "replace")


def ask_processor(program, file, question, limit):
    """What trace_processor has, as lists of rows; or why it has nothing."""
    try:
        done = subprocess.run([program, "-q", question, file], capture_output=True, text=True, errors="replace",
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None, "no end within the time limit"
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip() and "Loading trace" not in line]
        return None, " ".join(lines[-3:])[-400:] or f"exit {done.returncode}"
    # Each result is a header and rows; an empty line stands between two.
    results = [list(csv.reader(part.splitlines()))[1:] for part in done.stdout.strip("\n").split("\n\n")]
    keys = ("slices", "counters", "flows", "stats", "threads", "processes")
    assert len(results) == len(keys), done.stdout[:500]
    def number(cell):
        return None if cell in ("[NULL]", "") else int(cell)
    raw = dict(zip(keys, results))
    return {
        "slices": [{"ts": int(r[0]), "dur": int(r[1]), "name": text(r[2]), "track": r[3], "category": text(r[4]),
                    "pid": number(r[5]), "tid": number(r[6]), "depth": number(r[7])} for r in raw["slices"]],
        "counters": [{"ts": int(r[0]), "value": float(r[1]), "name": text(r[2]), "track": r[3]}
                     for r in raw["counters"]],
        "flows": [{"out": int(r[0]), "out_name": text(r[1]), "out_track": r[2], "in": int(r[3]),
                   "in_name": text(r[4]), "in_track": r[5]} for r in raw["flows"]],
        "stats": raw["stats"],
        "threads": {(number(r[1]), number(r[0])): text(r[2]) for r in raw["threads"]},
        "processes": {number(r[0]): text(r[1]) for r in raw["processes"]},
    }, None


class Own:
    """What TraceSmith makes of a file."""

    def __init__(self, program, file, target, limit):
        self.status, self.said, self.rows = None, "", {}
        target.unlink(missing_ok=True)
        try:
            done = subprocess.run([program, "import", "--force", file, "-o", target], capture_output=True, text=True,
                                  errors="replace", timeout=limit, check=False)
            self.status = done.returncode
            self.said = done.stderr.replace(str(file), file.name).strip()
            if target.exists():
                for name, sql in OWN_SQL.items():
                    asked = subprocess.run([program, "query", "--json", target, sql], capture_output=True, text=True,
                                           timeout=limit, check=True)
                    self.rows[name] = json.loads(asked.stdout)
        except subprocess.TimeoutExpired:
            self.said = "no end within the time limit"
        except subprocess.CalledProcessError as error:
            self.status, self.said = error.returncode, f"query: {error.stderr}"

    @property
    def loss(self):
        return "; ".join(r["reason"] for r in self.rows.get("loss", []) if r["reason"])

    def arrows(self, end_closes):
        """(start, end) of each arrow, each as (pid, tid, time, kind): an end of a flow belongs to the one before it.
        `end_closes`: what follows an end is another flow, as with terminating_flow_ids; of bind_id several ends
        belong to one beginning."""
        last, arrows = {}, []
        for row in sorted(self.rows["flows"], key=lambda r: (r["ts"], ["begin", "step", "end"].index(r["end"]))):
            flow = (row["flow_id"], row["name"], row["category"])
            here = (row["pid"], row["tid"], row["ts"], row["end"])
            if row["end"] != "begin" and flow in last:
                arrows.append((last[flow], here))
            if row["end"] != "end":
                last[flow] = here
            elif end_closes:
                last.pop(flow, None)
        return arrows


class Packets:
    """The packets of a Perfetto trace; `trace` is None if a file is none."""

    def __init__(self, messages, content):
        self.trace = messages["perfetto.protos.Trace"]()
        try:
            self.trace.ParseFromString(content)
        except Exception:  # protobuf's DecodeError, of whichever implementation
            self.trace = None

    def unread(self):
        """How many packets TraceSmith does not read, by the field (name, number) that says what they are."""
        kinds = collections.Counter()
        for _, field in self._fields():
            kinds[(field.name, field.number)] += 1
        return dict(kinds)

    def without_unread(self):
        """The trace with nothing but what TraceSmith reads."""
        for packet, field in self._fields():
            packet.ClearExtension(field) if field.is_extension else packet.ClearField(field.name)
        return self.trace.SerializeToString()

    def _fields(self):
        for packet in self.trace.packet if self.trace else []:
            for field, _ in packet.ListFields():
                says_kind = field.is_extension or (field.containing_oneof and field.containing_oneof.name == "data")
                if says_kind and field.name not in READ_PACKETS:
                    yield packet, field


def only_in(theirs, ours):
    """Rows that one side alone has: [processor's], [own]."""
    theirs, ours = collections.Counter(theirs), collections.Counter(ours)
    return sorted((theirs - ours).elements(), key=repr), sorted((ours - theirs).elements(), key=repr)


def unmatched_arrows(theirs, ours, slices):
    """trace_processor's arrows go from slice to slice, TraceSmith's from time to time on a thread: an end
    at a time fits the slices around it, and where an arrow ends the next one of its thread."""
    by_thread = collections.defaultdict(list)
    for s in slices:
        by_thread[(s["pid"], s["tid"])].append(s)

    def fits(end, start_ns):
        pid, tid, ts, kind = end
        if ts == start_ns:
            return True
        own = by_thread[(pid, tid)]
        around = {s["ts"] for s in own if s["ts"] <= ts <= s["ts"] + max(s["dur"], 0) or s["dur"] < 0 and s["ts"] <= ts}
        after = min((s["ts"] for s in own if s["ts"] > ts), default=None)
        return start_ns in around or (kind == "end" and start_ns == after)

    left = list(ours)
    missing = []
    for arrow in theirs:  # the slice that starts earlier is the start of it, for trace_processor
        found = next((a for a in left for b in (arrow, arrow[::-1]) if fits(a[0], b[0]) and fits(a[1], b[1])), None)
        left.remove(found) if found else missing.append(arrow)
    return missing, left


def compare(theirs, own, unread, is_json):
    """What differs, in words, and how many rows were compared. `theirs` has nothing of unread packets."""
    differences = []

    def differ(what, pair):
        for side, rows in zip(("trace_processor", "TraceSmith"), pair):
            if rows:
                differences.append(f"{what} only in {side}, {len(rows)}: " + ", ".join(map(str, rows[:4])))

    claimed = SLICE_TRACKS - (JSON_ASYNC if is_json else set())
    slices = [s for s in theirs["slices"] if s["track"] in claimed]
    def key(s):
        return (s["ts"], s["dur"], s["name"])
    halves = [r for r in own.rows["slices"] if r["kind"] == "end"]
    rows = [{**r, "dur": -1 if r["kind"] == "begin" else r["dur"], "name": r["name"] or ""}
            for r in own.rows["slices"] if r["kind"] != "end"]
    wrong = only_in(map(key, slices), map(key, rows))
    differ("slice", wrong)
    if not any(wrong):
        def place(s):
            return (*key(s), s["pid"], s["tid"])
        differ("thread of a slice", (only_in([place(s) for s in slices if s["tid"] is not None],
                                             [place(r) for r in rows])[0], []))
    samples = [c for c in theirs["counters"] if c["track"] in COUNTER_TRACKS]
    wrong = only_in([(c["ts"], c["value"]) for c in samples],
                    [(c["ts"], float(c["value"])) for c in own.rows["counters"]])
    differ("value of a counter", wrong)
    if not any(wrong):
        def name(c):
            return (c["ts"], c["value"], COUNTER_NAMES.get(
                    c["name"], re.sub(r", thread -?\d+$|(?<= )id: ", "", c["name"] or "")))
        differ("name of a counter", only_in(map(name, samples), map(name, own.rows["counters"])))
    threads = {(r["pid"], r["tid"]): r["name"] for r in own.rows["threads"] if r["name"]}
    named = {k: n for k, n in theirs["threads"].items() if n and None not in k and k[1] != 0}
    # trace_processor leaves the work's name out of those of the kernel's workers.
    def bare(n):
        return re.sub(r"^(kworker/[^-+]*)[-+].*", r"\1", n)
    wrong = [(k, n, threads[k]) for k, n in named.items() if bare(threads.get(k, n)) != bare(n)]
    differ("name of a thread", (wrong, []))
    arrows = [(f["out"], f["in"]) for f in theirs["flows"] if f["out_track"] in claimed and f["in_track"] in claimed]
    # Arrows of device work are rows of `flow`, and correlation ids, instead.
    if not any(f["out_track"] == "gpu_render_stage" or f["in_track"] == "gpu_render_stage" for f in theirs["flows"]):
        readings = [unmatched_arrows(arrows, own.arrows(closes), rows) for closes in (True, False)]
        differ("arrow", min(readings, key=lambda pair: len(pair[0]) + len(pair[1])))
    others = collections.Counter(s["track"] for s in theirs["slices"] if s["track"] not in claimed)
    others.update(c["track"] for c in theirs["counters"] if c["track"] not in COUNTER_TRACKS)
    for (kind, number), count in unread.items():
        # Extensions of the packet have numbers alone: their names are in files of other projects. Those in want of
        # a lost packet are told together.
        told = re.search(rf"(\d+) (?:{kind}|field {number})\b", own.loss)
        stateless = re.search(r"(\d+) packets refer to names", own.loss)
        if sum(int(m[1]) for m in (told, stateless) if m) < count or told and int(told[1]) > count:
            differences.append(f"loss does not tell of {count} {kind}: {own.loss!r}")
    return differences, {"slices": len(slices), "counters": len(samples), "arrows": len(arrows),
                         "own ends": len(halves), "rows of other tracks": dict(others),
                         "unread": {kind: count for (kind, _), count in unread.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--perfetto", required=True, type=pathlib.Path, help="a checkout of Perfetto")
    parser.add_argument("--trace-processor", required=True, help="trace_processor_shell, v58 or later")
    parser.add_argument("--tracesmith", required=True, help="the program tracesmith")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("perfetto_suite"))
    parser.add_argument("--only", default="", help="a regular expression that the test's name has to contain")
    parser.add_argument("--limit", type=int, default=30, help="seconds for one program (default: %(default)s)")
    options = parser.parse_args()
    work = options.work.resolve()
    traces = make_traces(options.perfetto.resolve(), work / "traces")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    pool = descriptor_pool.DescriptorPool()
    files = descriptor_pb2.FileDescriptorSet.FromString((work / "traces/trace.descriptor").read_bytes()).file
    messages = message_factory.GetMessages(list(files), pool)
    question = work / "question.sql"
    question.write_text(PROCESSOR_SQL)
    (work / "sbt").mkdir(exist_ok=True)
    results, outcomes = [], collections.Counter()
    for trace in traces:
        if not re.search(options.only, trace["test"]):
            continue
        file = work / "traces" / trace["file"]
        own = Own(options.tracesmith, file, work / "sbt" / f"{trace['file']}.sbt", options.limit)
        theirs, refusal = ask_processor(options.trace_processor, file, question, options.limit)
        result = {**trace, "status": own.status, "said": own.said, "loss": own.loss, "processor": refusal or "read",
                  "stats": theirs["stats"] if theirs else []}
        if own.status not in (0, 1, 3):
            result["outcome"] = "failed"
        elif not own.rows:
            result["outcome"] = "refused"
        elif theirs is None:
            result["outcome"] = "processor refuses"
        else:
            unread = {}
            if "(Perfetto)" in own.said:
                packets = Packets(messages, file.read_bytes())
                unread = packets.unread()
                if unread:  # the kernel's events, Android's and others give slices and counters as well
                    (work / "read.pb").write_bytes(packets.without_unread())
                    theirs, refusal = ask_processor(options.trace_processor, work / "read.pb", question,
                                                    options.limit)
            if theirs is None:
                theirs = {"slices": [], "counters": [], "flows": [], "threads": {}}
            differences, compared = compare(theirs, own, unread, "(Chrome JSON)" in own.said)
            some = compared["slices"] or compared["counters"] or compared["arrows"]
            outcome = "agrees" if some else "agrees: nothing"
            if differences:
                outcome = "differs, explained" if trace["test"] in EXPLAINED else "differs"
            result |= {"outcome": outcome, "differences": differences, "compared": compared}
        outcomes[result["outcome"]] += 1
        results.append(result)
        if result["outcome"] in ("failed", "differs"):
            print(f"{trace['file']}: {result['outcome']}", *result.get("differences", [own.said]), sep="\n    ")
    (work / "results.json").write_text(json.dumps(results, indent=1))
    for outcome, count in outcomes.most_common():
        print(f"{count:5} {outcome}")
    return 1 if outcomes["differs"] or outcomes["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())

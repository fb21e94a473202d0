// SPDX-License-Identifier: Apache-2.0
// Writes the rows of `loss`: what a session has lost and why, as counted by agents, rings and
// joiners.
#include <algorithm>
#include <cstring>

#include "tracesmith/capture/collect/collector.hpp"

namespace tracesmith {

void Collector::addRings(const Arena& arena, CollectorTotals& t) {
  const bool damaged = arena.file.isDamaged();
  for (uint32_t i = 0; i < arena.rings.size(); ++i) {
    const arena::RingHeader& ring = arena.file.ring(i);
    const Ring& seen = arena.rings[i];
    uint64_t emitted = std::max(seen.emitted, ring.emitted.load(std::memory_order_relaxed));
    uint64_t dropped = std::max(seen.dropped, ring.dropped.load(std::memory_order_relaxed));
    if (damaged) {
      emitted = std::max(emitted, seen.records + dropped);
      t.damaged += emitted - seen.records - dropped;
      dropped = emitted - seen.records;
    }
    t.emitted += emitted;
    t.dropped += dropped;
    t.blocked_ns += ring.blocked_ns.load(std::memory_order_relaxed);
    t.written += arena.rings[i].records;
  }
  const arena::ArenaHeader& header = arena.file.header();
  const uint64_t reentrant = header.dropped_reentrant.load(std::memory_order_relaxed);
  const uint64_t without_ring = header.dropped_without_ring.load(std::memory_order_relaxed);
  t.command_buffers += header.command_buffers.load(std::memory_order_relaxed);
  t.reentrant += reentrant;
  t.without_ring += without_ring;
  t.emitted += without_ring + reentrant;
  t.dropped += without_ring + reentrant;
}

std::string Collector::sourceOf(const arena::ArenaHeader& header) {
  const std::string_view agent(header.agent, strnlen(header.agent, sizeof header.agent));
  return std::string(agent == "xray"   ? kXRayRecords
                     : agent == "cuda" ? kCudaRecords
                     : agent == "mpi"  ? kMpiRecords
                     : agent == "nccl" ? kNcclRecords
                                       : kOpenClRecords);
}

CollectorTotals Collector::totalsOf(const Process& process, const Share& share) const {
  CollectorTotals t = share.closed;
  for (const auto& arena : arenas_) {
    if (arena->share == &share) addRings(*arena, t);
  }
  // Records that a thread was writing when it was killed were never committed to the ring.
  if (finished_ && !process.alive && t.emitted > t.written + t.dropped) {
    t.cut = t.emitted - t.written - t.dropped;
    t.dropped += t.cut;
  }
  return t;
}

CollectorTotals Collector::totals() const {
  CollectorTotals sum;
  for (const auto& [key, process] : processes_) {
    for (const auto& [source, share] : process->shares) {
      const CollectorTotals t = totalsOf(*process, share);
      sum.emitted += t.emitted;
      sum.written += t.written;
      sum.dropped += t.dropped;
      sum.without_ring += t.without_ring;
      sum.blocked_ns += t.blocked_ns;
      sum.command_buffers += t.command_buffers;
    }
    sum.unresolved += unresolvedOf(*process);
  }
  return sum;
}

void Collector::pushLoss(LossId& id, std::string_view source, const Process& process, LossRow row,
                         std::string_view reason) {
  StringTable& strings = shared_.delta.strings;
  if (id == LossId::kNone) id = static_cast<LossId>(++shared_.losses);
  row.id = id;
  row.source = strings.intern(source);
  row.process_id = process.joiner.process();
  row.reason = strings.intern(reason);
  shared_.delta.loss.push(row);
}

uint64_t Collector::unresolvedOf(const Process& process) {
  return process.joiner.pendingCount() + process.joiner.completionsWithoutCommand();
}

void Collector::writeLosses() {
  for (auto& [key, process] : processes_) {
    for (auto& [source, share] : process->shares) writeRecordLoss(*process, source, share);
    if (const uint64_t unknown = process->joiner.unknownWaits(); unknown > 0) {
      pushLoss(process->wait_loss, "waits for events", *process,
               {.emitted = unknown, .dropped = unknown}, "events that no recorded command made");
    }
    writeStackLoss(*process);
    writeCallLoss(*process);
    writeCudaLoss(*process);
    writeNvtxLoss(*process);
    if (const std::string unseen = unwrappedLoadersOf(*process); !unseen.empty()) {
      pushLoss(process->library_loss, kOpenClLibraries, *process, {}, unseen);
    }
  }
}

/// Describes OpenCL libraries whose calls cannot be seen; the number of missed calls is unknown.
std::string Collector::unwrappedLoadersOf(const Process& process) {
  std::string all;
  for (const auto& [path, why] : process.joiner.unwrappedLoaders()) {
    all += all.empty() ? "" : "; ";
    const std::string library = path.empty() ? "the program itself" : path;
    switch (why) {
      case arena::UnwrappedLoader::kTooMany:
        all += "calls through " + library +
               " were not recorded: the agent supports no more OpenCL loaders in one process";
        break;
      case arena::UnwrappedLoader::kWithoutLayers:
        if (path.empty()) {  // its functions take precedence over those of any library
          all +=
              "calls to functions of OpenCL that the program itself defines, if there were any, "
              "were not recorded";
          break;
        }
        all += "calls through " + library +
               ", if there were any, were not recorded: it does not know OPENCL_LAYERS; try "
               "--inject preload";
        break;
      case arena::UnwrappedLoader::kInFront:
        if (path.empty()) {
          all +=
              "calls to functions of OpenCL that the program itself defines, if there were any, "
              "were not recorded";
          break;
        }
        all += "calls to " + library +
               ", if there were any, were not recorded: it comes before the agent; if it is an "
               "OpenCL driver, let the loader load it (OCL_ICD_VENDORS=PATH) instead of LD_PRELOAD";
        break;
      default:
        all += "calls through " + library + " were not recorded";
        break;
    }
  }
  return all;
}

void Collector::writeRecordLoss(Process& process, const std::string& source, Share& share) {
  const CollectorTotals t = totalsOf(process, share);
  const bool commands = source == kOpenClRecords;  // commands, which expect a completion
  const bool events = source == kNcclRecords;      // of which some belong to others
  const uint64_t unresolved = commands ? unresolvedOf(process)
                              : events ? process.joiner.nccl().withoutParent()
                                       : 0;
  std::vector<std::string> reasons;
  if (t.damaged > 0) {
    reasons.push_back(
        std::to_string(t.damaged) +
        " records lay in a file that was cut short, or whose disk failed; later calls "
        "were not recorded");
  }
  if (t.dropped > t.cut + t.reentrant + t.without_ring + t.damaged) {
    reasons.emplace_back("the ring of the calling thread was full (larger rings: -b BYTES)");
  }
  if (t.without_ring > 0) {
    reasons.push_back(std::to_string(t.without_ring) + " calls came from threads without a ring");
  }
  if (t.reentrant > 0) {
    reasons.push_back(std::to_string(t.reentrant) +
                      " calls came from a signal handler that had interrupted a record");
  }
  if (t.cut > 0) {
    reasons.push_back(std::to_string(t.cut) +
                      " records were being written when it was killed, or when a signal "
                      "handler jumped out of them");
  }
  if (t.blocked_ns > 0) {
    reasons.emplace_back("threads waited " + std::to_string(t.blocked_ns) +
                         " ns for space in a ring");
  }
  if (const uint64_t n = process.joiner.damagedRecords(); commands && n > 0) {
    reasons.push_back(std::to_string(n) + " records were invalid");
  }
  if (unresolved > 0 && finished_) {
    reasons.emplace_back(commands ? "commands whose completion never came"
                                  : "events of operations whose start was not recorded");
  }
  std::string reason;
  for (const std::string& r : reasons) reason += (reason.empty() ? "" : "; ") + r;
  pushLoss(
      share.loss, source, process,
      {.emitted = t.emitted, .written = t.written, .dropped = t.dropped, .unresolved = unresolved},
      reason);
  if (t.command_buffers > 0) {
    pushLoss(share.command_buffer_loss, kCommandBuffers, process,
             {.emitted = t.command_buffers, .dropped = t.command_buffers},
             "calls of clEnqueueCommandBufferKHR: the commands that a command buffer holds are not "
             "recorded");
  }
}

void Collector::writeCallLoss(Process& process) {
  const RecordedCalls& calls = process.joiner.calls();
  const CallTotals& t = calls.totals();
  // Open calls may still end, until the session is finished.
  const uint64_t open = finished_ ? t.open : 0;
  const uint64_t guessed = t.with_caller + t.without_start + open;
  if (!calls.any() || (guessed + t.too_short == 0 && calls.problem().empty())) return;
  std::string reason = calls.problem();
  const auto add = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    reason += (reason.empty() ? "" : "; ") + std::to_string(count) + " " + what;
  };
  add(t.too_short, "calls are shorter than was asked for");
  add(open, "calls had not returned when the thread ended, and end there");
  add(t.with_caller, "calls have no exit, and end with their caller");
  add(t.without_start, "exits have no entry");
  pushLoss(process.call_loss, "function calls", process,
           {.emitted = t.calls + t.without_start,
            .written = t.kept,
            .dropped = t.too_short + t.without_start},
           reason);
}

void Collector::writeStackLoss(Process& process) {
  const StackTotals& t = process.joiner.stacks().totals();
  const uint64_t cut = t.without + t.too_deep + t.no_information + t.broken + t.not_merged;
  if (!process.joiner.stacks().any() || cut == 0) return;
  std::string reason;
  const auto add = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    reason += (reason.empty() ? "" : "; ") + std::to_string(count) + " " + what;
  };
  add(t.without, "calls have no stack");
  add(t.too_deep, "are cut: there are more frames than --max-depth");
  add(t.no_information, "end where there is no unwind information");
  add(t.broken, "end at an invalid frame");
  add(t.not_merged, "have Python frames that do not match the native ones and come before them");
  pushLoss(process.stack_loss, "call stacks", process,
           {.emitted = t.calls, .written = t.calls - cut, .dropped = cut}, reason);
}

uint64_t Collector::functionCalls() const {
  uint64_t calls = 0;
  for (const auto& [key, process] : processes_) calls += process->joiner.calls().totals().kept;
  return calls;
}

uint64_t Collector::annotations() const {
  uint64_t rows = 0;
  for (const auto& [key, process] : processes_) rows += process->joiner.nvtx().totals().rows;
  return rows;
}

bool Collector::sawTraceableProgram() const {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& entry) {
    const RecordedCalls& calls = entry.second->joiner.calls();
    return calls.any() || !calls.problem().empty();
  });
}

std::vector<std::string> Collector::agentProblems(bool whole) const {
  std::vector<std::string> problems;
  const auto add = [&](const char* agent, const std::string& problem) {
    if (problem.empty()) return;
    const std::string text = std::string(agent) + ": " + problem;
    if (std::find(problems.begin(), problems.end(), text) == problems.end())
      problems.push_back(text);
  };
  for (const auto& [key, process] : processes_) {
    const RecordedCuda& cuda = process->joiner.cuda();
    if (!whole) add("--xray", process->joiner.calls().problem());
    if (!whole || cuda.capturesNothing()) add("CUDA", cuda.problem());
    if (!whole) add("OpenCL", unwrappedLoadersOf(*process));
  }
  return problems;
}

void Collector::writeNvtxLoss(Process& process) {
  const NvtxTotals& t = process.joiner.nvtx().totals();
  if (t.without_start + t.unnamed + t.open == 0) return;
  std::string reason;
  const auto add = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    reason += (reason.empty() ? "" : "; ") + std::to_string(count) + " " + what;
  };
  add(t.open, "had not ended when their thread or the program ended; only their start is shown");
  add(t.without_start, "ends have no start");
  add(t.unnamed, "have no name: the agent had no space for it");
  pushLoss(process.nvtx_loss, "NVTX ranges", process,
           {.emitted = t.begun + t.without_start, .written = t.begun, .dropped = t.without_start},
           reason);
}

/// What the agent could not get from CUPTI, in addition to its rings' losses.
void Collector::writeCudaLoss(Process& process) {
  const RecordedCuda::Losses losses = process.joiner.cuda().losses();
  if (losses.reason.empty()) return;
  pushLoss(process.cuda_loss, kCudaActivity, process,
           {.emitted = losses.lost, .dropped = losses.lost}, losses.reason);
}

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/run_result_codec.hpp"

#include <type_traits>

namespace tracesmith {

namespace {

// One list of fields for both directions.
template <class V>
void visit(V& v, ShownDifference& d) {
  v(d.step), v(d.first_chunk), v(d.first_byte), v(d.differing_bytes);
}
template <class V>
void visit(V& v, LaunchDifference& d) {
  v(d.step), v(d.memory), v(d.first_chunk);
}
template <class V>
void visit(V& v, StepProblem& p) {
  v(p.step), v(p.text);
}
template <class V>
void visit(V& v, recording::ContentHash& h) {
  v(h.low), v(h.high);
}
template <class V>
void visit(V& v, DifferenceExample& e) {
  v(e.launch), v(e.memory), v(e.argument_type), v(e.one), v(e.other);
}
template <class V>
void visit(V& v, UninitialisedUse& u) {
  v(u.step), v(u.memory), v(u.first_byte), v(u.bytes);
}
template <class V>
void visit(V& v, PairOutcome& p) {
  v(p.pair.first), v(p.pair.second), v(p.pair.root), v(p.tried), v(p.unsteady), v(p.bytes),
      v(p.first_byte), v(p.memory), v(p.shown_by);
}
template <class V>
void visit(V& v, ShownHash& h) {
  v(h.step), v(h.hash);
}
template <class V>
void visit(V& v, MemoryHash& h) {
  v(h.memory), v(h.hash);
}
template <class V>
void visit(V& v, StepIndex& i) {
  v(i);
}
template <class V>
void visit(V& v, LaunchHash::Output& o) {
  v(o.memory), v(o.chunks);
}
template <class V>
void visit(V& v, LaunchHash& h) {
  v(h.launch), v(h.input), v(h.outputs), v(h.repeats), v(h.permuted), v(h.permuted_runs),
      v(h.runs_again), v(h.recorded), v(h.unlike_recorded);
}
template <class V>
void visit(V& v, Observation& s) {
  v(s.step), v(s.after), v(s.memory), v(s.chunks), v(s.bytes);
}
template <class V>
void visit(V& v, Dump& d) {
  v(d.request.memory), v(d.request.launch), v(d.request.before), v(d.memory), v(d.bytes);
  v(d.argument_type);
}
template <class V>
void visit(V& v, RunResult& r) {
  v(r.device), v(r.same_device), v(r.executed), v(r.failed_alike), v(r.skipped), v(r.launches);
  v(r.shown), v(r.shown_equal), v(r.not_comparable), v(r.differences), v(r.problems);
  v(r.launches_compared), v(r.launches_equal), v(r.launch_differences);
  v(r.problem_count), v(r.launch_hashes), v(r.examples), v(r.uninitialised), v(r.pairs),
      v(r.shown_hashes), v(r.left), v(r.order), v(r.seen), v(r.not_executed), v(r.dumps),
      v(r.duration_ns), v(r.building_ns);
}

class Encoder {
 public:
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      putFixed(out, value);
    } else if constexpr (requires { value.c_str(); } || std::is_same_v<T, Bytes>) {
      putFixed(out, uint64_t{value.size()});
      out.insert(out.end(), value.begin(), value.end());
    } else {
      putFixed(out, uint64_t{value.size()});
      for (auto& element : value) visit(*this, element);
    }
  }
  Bytes out;
};

class Decoder {
 public:
  explicit Decoder(ByteView bytes) : in(bytes) {}
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = in.fixed<uint8_t>() != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = in.fixed<T>();
    } else if constexpr (requires { value.c_str(); } || std::is_same_v<T, Bytes>) {
      const ByteView bytes = in.take(static_cast<size_t>(in.fixed<uint64_t>()));
      value.assign(bytes.begin(), bytes.end());
    } else {
      const auto count = in.fixed<uint64_t>();
      for (uint64_t i = 0; i < count && in.ok(); ++i) visit(*this, value.emplace_back());
    }
  }
  ByteReader in;
};

}  // namespace

Bytes encodeRunResult(const RunResult& result) {
  Encoder encoder;
  RunResult copy = result;
  visit(encoder, copy);
  return std::move(encoder.out);
}

bool decodeRunResult(ByteView bytes, RunResult& result) {
  Decoder decoder(bytes);
  visit(decoder, result);
  return decoder.in.ok() && decoder.in.remaining() == 0;
}

}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
// annotate(): ranges and markers of a Python program. They go to the active session, and to a tool
// that records the process from outside. Cheap enough for inner loops: a name is looked up once for
// each session.
#include <nanobind/nanobind.h>
#include <nanobind/typing.h>

#include <unordered_map>

#include "calls.hpp"
#include "events.hpp"
#include "outside_recorder.hpp"
#include "text.hpp"
#include "tracesmith/api/tracing_session.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

/// The active session and the names that it knows. Guarded by the GIL.
struct Active {
  nb::object holder;  // keeps the session alive
  TracingSession* session = nullptr;
  /// By the Python object of the text, because programs use the same object again and again. Holds
  /// a reference to it, so that no other text can get its address.
  std::unordered_map<PyObject*, SpanName> names;

  void set(nb::object of) {
    for (const auto& [text, name] : names) Py_DECREF(text);
    names.clear();
    session = of.is_none() ? nullptr : nb::cast<Own<TracingSession>*>(of);
    holder = std::move(of);
  }
  SpanName nameOf(PyObject* text) {
    if (const auto at = names.find(text); at != names.end()) return at->second;
    Py_ssize_t bytes = 0;
    const char* const chars = PyUnicode_AsUTF8AndSize(text, &bytes);
    if (chars == nullptr) {  // a lone surrogate
      PyErr_Clear();
      return SpanName::kNone;
    }
    const SpanName name = session->spanName({chars, static_cast<size_t>(bytes)});
    constexpr size_t kMostHeld = 1 << 16;  // a program may create new names each time
    if (names.size() < kMostHeld) {
      Py_INCREF(text);
      names.emplace(text, name);
    }
    return name;
  }
};

/// Never destroyed: Python has ended before static destructors run.
Active& active() {
  static auto* const one = new Active;
  return *one;
}

/// Null: the text has a lone surrogate.
const char* utf8Of(PyObject* text) {
  const char* const chars = PyUnicode_AsUTF8AndSize(text, nullptr);
  if (chars == nullptr) PyErr_Clear();
  return chars;
}

class Annotation {
 public:
  explicit Annotation(nb::str name) : name_(std::move(name)) {}
  nb::str name() const { return name_; }
  void enter() {
    if (const OutsideRecorder* const outside = OutsideRecorder::find()) {
      if (const char* const name = utf8Of(name_.ptr())) range_ = outside->begin(name);
    }
    if (active().session != nullptr) begin_ = active().session->stamp();
  }
  void exit() {
    if (range_ != 0) {
      OutsideRecorder::find()->end(range_);
      range_ = 0;
    }
    if (active().session == nullptr || begin_ == kNever) return;
    TracingSession& session = *active().session;
    session.span(active().nameOf(name_.ptr()), begin_, session.stamp());
    begin_ = kNever;
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  nb::str name_;
  int64_t begin_ = kNever;
  uint64_t range_ = 0;  // of the outside recorder
};

}  // namespace

void bindAnnotations(nb::module_& m) {
  const nb::module_ typing = nb::module_::import_("typing");
  m.attr("Function") = nb::type_var(
      "Function", nb::arg("bound") =
                      typing.attr("Callable")[nb::make_tuple(nb::ellipsis(), typing.attr("Any"))]);
  nb::class_<Annotation>(
      m, "annotate",
      "Names a part of the program: `with annotate(\"step\"):`, or `@annotate(\"forward\")` above "
      "a function. The part is recorded as a range while a profile() is active, or while "
      "`tracesmith profile` runs the program; otherwise it costs next to nothing. Use a new object "
      "for each `with`. A decorated function may be called by many threads, and recursively.")
      .def(nb::init<nb::str>(), nb::arg("name"))
      .def_prop_ro("name", &Annotation::name)
      .def(
          "__call__",
          [](const Annotation& self, const nb::object& function) {
            return nb::module_::import_("tracesmith._profile")
                .attr("annotated")(self.name(), function);
          },
          nb::arg("function"), nb::sig("def __call__(self, function: Function) -> Function"))
      .def(
          "__enter__",
          [](nb::handle_t<Annotation> self) {
            nb::inst_ptr<Annotation>(self)->enter();
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> annotate"))
      .def(
          "__exit__", [](Annotation& self, nb::handle, nb::handle, nb::handle) { self.exit(); },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none());
  m.def(
      "set_active_session", [](nb::object session) { active().set(std::move(session)); },
      nb::arg("session").none());
  m.def(
      "end_active_session",
      [](const Own<TracingSession>* session) {
        if (active().session != session) return false;
        active().set(nb::none());
        return true;
      },
      nb::arg("session"), "False, and no change: another session is active, or none.");
  m.def("has_active_session", [] { return active().session != nullptr; });
  m.def(
      "mark",
      [](nb::str name) {
        if (const OutsideRecorder* const outside = OutsideRecorder::find()) {
          if (const char* const text = utf8Of(name.ptr())) outside->mark(text);
        }
        if (active().session != nullptr) active().session->marker(active().nameOf(name.ptr()));
      },
      nb::arg("name"));
}

}  // namespace tracesmith::python

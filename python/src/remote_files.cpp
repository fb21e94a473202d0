// SPDX-License-Identifier: Apache-2.0
// Remote files through a Python object: _remote.RemoteFiles, which uses fsspec.
#include "tracesmith/base/files/remote_files.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events.hpp"
#include "text.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

/// With the GIL.
std::optional<nb::python_error> g_raised;

class PythonFiles : public RemoteFiles {
 public:
  explicit PythonFiles(nb::object files) : files_(std::move(files)) {}
  ~PythonFiles() override {
    const nb::gil_scoped_acquire acquire;
    files_.reset();
  }

  Result<uint64_t> size(const std::string& url) override {
    return call(url, [&] { return nb::cast<uint64_t>(files_.attr("size")(url)); });
  }
  Result<Bytes> read(const std::string& url, uint64_t offset, uint64_t bytes) override {
    return call(url, [&] {
      const auto read = nb::cast<nb::bytes>(files_.attr("read")(url, offset, bytes));
      const auto* const begin = reinterpret_cast<const uint8_t*>(read.c_str());
      return Bytes(begin, begin + read.size());
    });
  }
  Status write(const std::string& url, ByteView bytes) override {
    const auto done = call(url, [&] {
      files_.attr("write")(url, nb::bytes(bytes.data(), bytes.size()));
      return true;
    });
    if (!done) return tl::unexpected(done.error());
    return {};
  }
  Result<std::vector<std::string>> list(const std::string& url) override {
    return call(url, [&] { return nb::cast<std::vector<std::string>>(files_.attr("list")(url)); });
  }

 private:
  /// The result of f(), which runs Python code, or its exception as an error.
  template <class F>
  auto call(const std::string& url, F&& f) -> Result<decltype(f())> {
    const nb::gil_scoped_acquire acquire;
    if (g_raised) return fail(ErrorCode::kUnsupported, "interrupted", url);
    try {
      return f();
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) {  // of a signal handler: for the program
        g_raised.emplace(std::move(error));
        return fail(ErrorCode::kUnsupported, "interrupted", url);
      }
      const bool is_missing = error.matches(PyExc_FileNotFoundError);
      const std::string type = nb::cast<std::string>(error.type().attr("__name__"));
      return fail(is_missing ? ErrorCode::kNotFound : ErrorCode::kIo,
                  is_missing ? "does not exist"
                             : "cannot be read or written: " + type + ": " +
                                   nb::cast<std::string>(nb::str(error.value())),
                  url);
    } catch (const nb::cast_error&) {
      return fail(ErrorCode::kIo, "its library answered with something else than was asked for",
                  url);
    }
  }

  nb::object files_;
};

}  // namespace

void raiseFromRemoteFiles() {
  if (!g_raised) return;
  nb::python_error error = std::move(*g_raised);
  g_raised.reset();
  throw error;
}

void bindRemoteFiles(nb::module_& m) {
  m.def(
      "set_remote_files",
      [](nb::object files) {
        auto made = files.is_none() ? nullptr : std::make_shared<PythonFiles>(std::move(files));
        const nb::gil_scoped_release release;  // what was there before may need it
        setRemoteFiles(std::move(made));
      },
      nb::arg("files").none(), nb::sig("def set_remote_files(files: object | None) -> None"));
}

}  // namespace tracesmith::python

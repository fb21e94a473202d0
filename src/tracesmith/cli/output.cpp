// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/output.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <streambuf>
#include <vector>

#include "tracesmith/cli/exit_code.hpp"
#include "tracesmith/cli/messages.hpp"

namespace tracesmith::cli {

class Output::Buffer : public std::streambuf {
 public:
  Buffer() : bytes_(64 << 10) { reset(); }

  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override {
    if (!flushAll()) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }

  int sync() override { return flushAll() ? 0 : -1; }

 private:
  void reset() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  bool flushAll() {
    if (error_ != 0) return false;  // after a gap, more output would only mislead
    const char* p = pbase();
    while (p < pptr()) {
      const ssize_t n = ::write(STDOUT_FILENO, p, static_cast<size_t>(pptr() - p));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        error_ = errno;
        break;
      }
      p += n;
    }
    reset();
    return error_ == 0;
  }

  std::vector<char> bytes_;
  int error_ = 0;
};

Output::Output() : std::ostream(nullptr), buffer_(std::make_unique<Buffer>()) {
  rdbuf(buffer_.get());
}

Output::~Output() { flush(); }

Status Output::finish() {
  flush();
  if (buffer_->error() != 0) {
    return failErrno(buffer_->error(), "cannot write", "standard output");
  }
  return {};
}

void endQuietlyWhenReaderLeaves() { signal(SIGPIPE, SIG_DFL); }

int finishOutput(Output& out, int code) {
  const Status status = out.finish();
  if (status) return code;
  sayError(status.error());
  return kExitFailed;
}

}  // namespace tracesmith::cli

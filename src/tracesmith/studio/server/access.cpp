// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/access.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tracesmith::studio {
namespace {

constexpr size_t kTokenBytes = 16;

/// Takes the same time wherever the texts differ.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return different == 0;
}

bool hasCookie(std::string_view cookies, std::string_view wanted) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    if (same(one, wanted)) return true;
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return false;
}

HttpResponse refusal(int status, std::string why) {
  return {
      .status = status, .type = "text/plain; charset=utf-8", .body = std::move(why), .headers = {}};
}

}  // namespace

Access::Access(std::string address, uint16_t port, std::string token)
    : address_(std::move(address)), port_(port), token_(std::move(token)) {
  // Cookies do not differ by port, so the name has it.
  cookie_ = fmt::format("tracesmith_{}={}", port_, token_);
}

Result<Access> Access::create(const std::string& address, uint16_t port) {
  std::array<unsigned char, kTokenBytes> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return fail(ErrorCode::kInternal, "the system gives no random numbers", "getrandom");
  }
  std::string token;
  for (const unsigned char byte : random) token += fmt::format("{:02x}", byte);
  return Access(address, port, std::move(token));
}

bool Access::isLocal() const { return address_.starts_with("127.") || address_ == "::1"; }

std::string Access::url() const {
  const bool v6 = address_.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/?token={}", v6 ? "[" : "", address_, v6 ? "]" : "", port_,
                     token_);
}

bool Access::isHost(std::string_view host) const {
  for (const std::string& name : {address_, "[" + address_ + "]", std::string("localhost")}) {
    if (host == fmt::format("{}:{}", name, port_)) return true;
  }
  return false;
}

std::optional<HttpResponse> Access::respond(const HttpRequest& request) const {
  // A name that was made to resolve to this machine does not get here (DNS rebinding).
  if (!isHost(request.host)) {
    return refusal(403, "This server answers only at the address that it printed.\n");
  }
  if (!request.origin.empty() &&
      !(request.origin.starts_with("http://") && isHost(request.origin.substr(7)))) {
    return refusal(403, "Pages of other servers may not use this one.\n");
  }
  constexpr std::string_view kToken = "/?token=";
  if (request.method == "GET" && request.target.starts_with(kToken) &&
      same(std::string_view(request.target).substr(kToken.size()), token_)) {
    // No redirect: after a link on another site, browsers would follow it without the cookie.
    return HttpResponse{
        .status = 200,
        .type = "text/html; charset=utf-8",
        .body =
            "<!doctype html><link rel=icon href='data:,'><meta http-equiv=refresh "
            "content='0;url=/'>"
            "<a href='/'>Studio</a>\n",
        .headers = {{"Set-Cookie", cookie_ + "; HttpOnly; SameSite=Strict; Path=/"}}};
  }
  if (!hasCookie(request.cookie, cookie_)) {
    return refusal(403,
                   "Open the address that 'tracesmith studio' printed: it has the token without "
                   "which nobody may see the trace.\n");
  }
  if (request.method == "POST" && request.content_type != "application/json") {
    return refusal(415, "The body must be application/json.\n");
  }
  if (request.method != "GET" && request.method != "POST") {
    return refusal(405, "Only GET and POST are answered.\n");
  }
  return std::nullopt;
}

}  // namespace tracesmith::studio

// SPDX-License-Identifier: Apache-2.0
// Who may talk to the server: whoever got the address with its token, from a page of this server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/server/http_server.hpp"

namespace tracesmith::studio {

class Access {
 public:
  /// Makes a new token. `address`: on which the server listens.
  static Result<Access> create(const std::string& address, uint16_t port);

  /// "http://127.0.0.1:8080/?token=…": opens the page.
  std::string url() const;
  /// Whether only this machine reaches the server.
  bool isLocal() const;
  /// What a request gets instead of an answer: a refusal, or the page that sets the cookie.
  /// nullopt: the request may be answered.
  std::optional<HttpResponse> respond(const HttpRequest& request) const;

 private:
  Access(std::string address, uint16_t port, std::string token);
  bool isHost(std::string_view host) const;

  std::string address_;
  uint16_t port_;
  std::string token_;
  std::string cookie_;  ///< "name=value"
};

}  // namespace tracesmith::studio

// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 server on one address, over Boost.Beast. Nothing of Beast is seen outside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::studio {

struct HttpRequest {
  std::string method;
  std::string target;  ///< path and query, as sent: "/api/item?lane=1"
  std::string host, origin, cookie, content_type;
  std::string body;
  std::function<bool()> gone;  ///< whether the client has left, so that nobody waits for the answer
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// Answers requests on several threads at the same time.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

class HttpServer {
 public:
  /// Listens on `address`, an IP address. `port` 0: any free one. Fails with kPermission if
  /// another program has the port, and with kInvalidArgument if this is no address of this machine.
  static Result<HttpServer> listen(const std::string& address, uint16_t port);
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  ~HttpServer();

  uint16_t port() const;
  /// Serves until stop() is called. Connections of clients that send or take nothing for 30 s are
  /// closed.
  void run(HttpHandler handler);
  /// Any thread may call this.
  void stop();

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith::studio

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/http_server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <chrono>
#include <thread>

namespace tracesmith::studio {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using ErrorOf = boost::system::error_code;

constexpr auto kPatience = std::chrono::seconds(30);
constexpr uint64_t kMostBody = 1 << 20;
constexpr uint32_t kMostHeader = 64 << 10;
constexpr unsigned kLeastThreads = 4;
using Clock = std::chrono::steady_clock;
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

std::string textOf(beast::string_view text) { return {text.data(), text.size()}; }

/// One connection. It lives as long as an operation of it is pending.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const HttpHandler& handler)
      : stream_(std::move(socket)), handler_(handler) {
    ErrorOf ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }

  void read() {
    parser_.emplace();
    parser_->body_limit(kMostBody);
    parser_->header_limit(kMostHeader);
    stream_.expires_after(kPatience);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](ErrorOf error, size_t) {
                       if (error == http::error::body_limit || error == http::error::header_limit) {
                         self->write({.status = 413,
                                      .type = "text/plain",
                                      .body = "the request is too large\n",
                                      .headers = {}},
                                     false);
                       } else if (!error) {
                         self->answer();
                       }
                     });
  }

 private:
  void answer() {
    const auto& message = parser_->get();
    HttpRequest request;
    request.method = textOf(message.method_string());
    request.target = textOf(message.target());
    request.host = textOf(message[http::field::host]);
    request.origin = textOf(message[http::field::origin]);
    request.cookie = textOf(message[http::field::cookie]);
    request.content_type = textOf(message[http::field::content_type]);
    request.body = std::move(parser_->get().body());
    request.gone = [fd = stream_.socket().native_handle(), asked = Clock::time_point()]() mutable {
      const Clock::time_point now = Clock::now();
      if (now - asked < kBetweenLooks) return false;
      asked = now;
      char next = 0;
      const ssize_t there = ::recv(fd, &next, 1, MSG_PEEK | MSG_DONTWAIT);
      return there == 0 || (there < 0 && errno != EAGAIN && errno != EINTR);
    };
    write(handler_(request), message.keep_alive());
  }

  void write(HttpResponse response, bool keep_alive) {
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(response.status));
    response_.set(http::field::content_type, response.type);
    for (const auto& [name, value] : response.headers) response_.set(name, value);
    response_.body() = std::move(response.body);
    response_.keep_alive(keep_alive);
    response_.prepare_payload();
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_,
                      [self = shared_from_this(), keep_alive](ErrorOf error, size_t) {
                        if (error) return;
                        if (keep_alive) return self->read();
                        ErrorOf ignored;
                        self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                      });
  }

  beast::tcp_stream stream_;
  const HttpHandler& handler_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
};

}  // namespace

struct HttpServer::Impl {
  asio::io_context io;
  tcp::acceptor acceptor{io};
  HttpHandler handler;

  void accept() {
    acceptor.async_accept(asio::make_strand(io), [this](ErrorOf error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) std::make_shared<Connection>(std::move(socket), handler)->read();
      accept();
    });
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::listen(const std::string& address, uint16_t port) {
  ErrorOf error;
  const asio::ip::address at = asio::ip::make_address(address, error);
  if (error) return fail(ErrorCode::kInvalidArgument, "is not an IP address", address);
  auto impl = std::make_unique<Impl>();
  const tcp::endpoint endpoint(at, port);
  const std::string where = address + " port " + std::to_string(port);
  impl->acceptor.open(endpoint.protocol(), error);
  // A server that has just ended leaves its port in TIME_WAIT; one that runs keeps it.
  if (!error) impl->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) impl->acceptor.bind(endpoint, error);
  if (!error) impl->acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error == asio::error::address_in_use) {
    return fail(ErrorCode::kPermission,
                "another program has this port; without --port a free one is taken", where);
  }
  if (error) return fail(ErrorCode::kInvalidArgument, error.message(), where);
  return HttpServer(std::move(impl));
}

uint16_t HttpServer::port() const { return impl_->acceptor.local_endpoint().port(); }

void HttpServer::run(HttpHandler handler) {
  impl_->handler = std::move(handler);
  impl_->accept();
  // A long answer keeps a thread.
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < std::max(kLeastThreads, std::thread::hardware_concurrency()); ++i) {
    helpers.emplace_back([this] { impl_->io.run(); });
  }
  impl_->io.run();
}

void HttpServer::stop() { impl_->io.stop(); }

}  // namespace tracesmith::studio

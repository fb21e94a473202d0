// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/access.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace tracesmith::studio {
namespace {

using ::testing::HasSubstr;

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() : access(*Access::create("127.0.0.1", 8080)) {
    const std::string url = access.url();
    token = url.substr(url.find('=') + 1);
  }
  HttpRequest allowed(const std::string& method = "GET") const {
    return {.method = method,
            .target = "/api/trace",
            .host = "127.0.0.1:8080",
            .origin = "",
            .cookie = "tracesmith_8080=" + token,
            .content_type = method == "POST" ? "application/json" : "",
            .body = ""};
  }
  int statusOf(const HttpRequest& request) const {
    const auto refused = access.respond(request);
    return refused ? refused->status : 0;
  }

  Access access;
  std::string token;
};

TEST_F(AccessTest, TheAddressWithTheTokenSetsACookieThatScriptsCannotRead) {
  HttpRequest request = allowed();
  request.cookie = "";
  request.target = "/?token=" + token;
  const auto page = access.respond(request);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  ASSERT_EQ(page->headers.size(), 1U);
  EXPECT_EQ(page->headers[0].first, "Set-Cookie");
  EXPECT_THAT(page->headers[0].second, HasSubstr("HttpOnly; SameSite=Strict"));
  EXPECT_EQ(token.size(), 32U);
  EXPECT_NE(Access::create("127.0.0.1", 8080)->url(), access.url());
}

TEST_F(AccessTest, OnlyTheCookieOpens) {
  EXPECT_EQ(statusOf(allowed()), 0);
  HttpRequest request = allowed();
  request.cookie = "a=b; tracesmith_8080=" + token + "; c=d";
  EXPECT_EQ(statusOf(request), 0);
  for (const std::string& cookie : std::vector<std::string>{
           "", "tracesmith_8080=", "tracesmith_8081=" + token, "tracesmith_8080=" + token.substr(1),
           "tracesmith_8080=" + token + "0", "xtracesmith_8080=" + token}) {
    request.cookie = cookie;
    EXPECT_EQ(statusOf(request), 403) << cookie;
  }
  request.target = "/?token=" + std::string(32, '0');
  EXPECT_EQ(statusOf(request), 403);
}

TEST_F(AccessTest, OtherHostsAndOriginsAreRefused) {
  HttpRequest request = allowed();
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:8081", "evil.example:8080", "localhost"}) {
    request.host = host;
    EXPECT_EQ(statusOf(request), 403) << host;
  }
  request.host = "localhost:8080";
  EXPECT_EQ(statusOf(request), 0);
  request.origin = "http://localhost:8080";
  EXPECT_EQ(statusOf(request), 0);
  for (const char* origin :
       {"null", "http://evil.example", "https://localhost:8080", "http://localhost:8081"}) {
    request.origin = origin;
    EXPECT_EQ(statusOf(request), 403) << origin;
  }
}

TEST_F(AccessTest, AFormOfAnotherPageCannotPost) {
  EXPECT_EQ(statusOf(allowed("POST")), 0);
  HttpRequest request = allowed("POST");
  request.content_type = "text/plain";
  EXPECT_EQ(statusOf(request), 415);
  EXPECT_EQ(statusOf(allowed("DELETE")), 405);
}

TEST(Access, WritesAnAddressOfIpV6) {
  EXPECT_THAT(Access::create("::1", 80)->url(), HasSubstr("http://[::1]:80/?token="));
}

}  // namespace
}  // namespace tracesmith::studio

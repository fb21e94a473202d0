// SPDX-License-Identifier: Apache-2.0
// Answers that ptp4l 3.1.1 gave, and damaged ones. tests/cli/ptp_test.py asks a running ptp4l.
#include "tracesmith/capture/clocks/ptp_management.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/capture/clocks/network_bytes.hpp"
#include "tracesmith/capture/clocks/ptp_daemon.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

std::string packetOf(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// ptp4l 3.1.1 in domain 24 that follows another one with software stamps and does not set its
/// clock. pmc printed: offsetFromMaster -93.0, meanPathDelay 2384.0, stepsRemoved 1.
std::vector<std::string> answers() {
  const std::string rest = "047f00000000000000000001000002000001";
  return {
      packetOf("0d02004a180000000000000000000000000000005e1e82fffec9464300000000" + rest +
               "001620000300000180fffeffff805e1e82fffec946431800"),
      packetOf("0d020048180000000000000000000000000000005e1e82fffec9464300000001" + rest +
               "001420010001ffffffffffa300000000000009500000"),
      packetOf("0d020056180000000000000000000000000000005e1e82fffec9464300000002" + rest +
               "0022200202c048fffe22c75500010000ffff7fffffff80f8feffff8002c048fffe22c755"),
      packetOf("0d02003a180000000000000000000000000000005e1e82fffec9464300000003" + rest +
               "00062003002500a0"),
      packetOf("0d020050180000000000000000000000000000005e1e82fffec9464300010004" + rest +
               "001c20045e1e82fffec94643000108000000000000000000010300010002"),
      packetOf("0d020068180000000000000000000000000000005e1e82fffec9464300000005" + rest +
               "0034c000ffffffffffffffa318ec711cc47a17cc" + std::string(44, '0') +
               "0000000102c048fffe22c755"),
      packetOf("0d020048180000000000000000000000000000005e1e82fffec9464300010006" + rest +
               "0014c0045e1e82fffec946430001080004686f737400"),
  };
}

Status take(std::string_view bytes, PtpStatus& status) {
  const Result<PtpAnswer> answer = parsePtpAnswer(bytes);
  if (!answer) return tl::unexpected<Error>(answer.error());
  return takePtpDataSet(*answer, status);
}

TEST(PtpManagement, AnswersOfPtp4l) {
  PtpStatus status;
  for (const std::string& bytes : answers()) ASSERT_TRUE(take(bytes, status));
  EXPECT_EQ(status.domain, 24);
  EXPECT_EQ(status.clock, "5e1e82.fffe.c94643");
  EXPECT_EQ(status.parent, "02c048.fffe.22c755");
  EXPECT_EQ(status.grandmaster, "02c048.fffe.22c755");
  EXPECT_EQ(status.steps_removed, 1);
  EXPECT_EQ(status.offset_from_master, -93);
  EXPECT_EQ(status.mean_path_delay, 2384);
  EXPECT_TRUE(status.hasMeasured());
  EXPECT_EQ(status.is_on_ptp_scale, false);
  EXPECT_EQ(status.utc_offset, std::nullopt) << "37, but the flag says that it is not valid";
  ASSERT_EQ(status.ports.size(), 1u);
  const PtpPort* const port = status.followingPort();
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->number, 1);
  EXPECT_EQ(ptpPortStateName(port->state), "UNCALIBRATED");
  EXPECT_EQ(port->interface, "host");
  EXPECT_EQ(port->stamps, PtpPort::Stamps::kSoftware);
}

TEST(PtpManagement, OtherValues) {
  PtpStatus status;
  std::string time = answers()[3];
  putNumber(time, 56, 1, 0x0c);
  ASSERT_TRUE(take(time, status));
  EXPECT_EQ(status.is_on_ptp_scale, true);
  EXPECT_EQ(status.utc_offset, 37);
  std::string port = answers()[4];
  putNumber(port, 62, 2, 2);
  putNumber(port, 64, 1, 9);
  ASSERT_TRUE(take(answers()[4], status));
  ASSERT_TRUE(take(port, status));
  ASSERT_EQ(status.ports.size(), 2u);
  EXPECT_EQ(ptpPortStateName(status.ports[1].state), "SLAVE");
  EXPECT_EQ(ptpPortStateName(PtpPortState{77}), "state 77");
  EXPECT_EQ(ptpPortStateName(PtpPortState{}), "state 0");
  std::string stamps = answers()[6];
  putNumber(stamps, 65, 1, 1);
  ASSERT_TRUE(take(stamps, status));
  EXPECT_EQ(status.ports[0].stamps, PtpPort::Stamps::kHardware);
  std::string never = answers()[5];
  putNumber(never, 62, 8, 0);
  ASSERT_TRUE(take(answers()[1], status));
  ASSERT_TRUE(take(never, status));
  EXPECT_FALSE(status.hasMeasured());
  std::string far = answers()[1];
  putNumber(far, 56, 8, uint64_t{1} << 63);
  ASSERT_TRUE(take(far, status));
  EXPECT_EQ(status.offset_from_master, INT64_MIN / 65536);
}

TEST(PtpManagement, QuestionForTheDaemonItself) {
  const std::string question = ptpQuestion(PtpDataSet::kCurrent, 24, 0xabcd);
  EXPECT_EQ(question, packetOf("0d02003618000000" + std::string(44, '0') + "abcd047f" +
                               std::string(20, 'f') + "00000000000100022001"));
  EXPECT_EQ(question.size(), 54u);
  EXPECT_EQ(numberAt(question, 30, 2), 0xabcdu);
  EXPECT_FALSE(parsePtpAnswer(question)) << "it is no answer";
}

TEST(PtpManagement, ErrorsAndDamage) {
  std::string error = answers()[1];
  putNumber(error, 48, 2, 2);       // an error ...
  putNumber(error, 52, 2, 6);       // "not supported" ...
  putNumber(error, 54, 2, 0x2001);  // of this data set
  const Result<PtpAnswer> answer = parsePtpAnswer(error);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is_error);
  EXPECT_EQ(answer->data_set, PtpDataSet::kCurrent);
  PtpStatus status;
  EXPECT_TRUE(takePtpDataSet(*answer, status));
  EXPECT_EQ(status.mean_path_delay, 0);

  for (const std::string& whole : answers()) {
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(parsePtpAnswer(whole.substr(0, size))) << size;
      // The same with a length that fits what is left: then the data set is too short.
      std::string shorter = whole.substr(0, size);
      if (size < 54) continue;
      putNumber(shorter, 2, 2, size);
      EXPECT_FALSE(parsePtpAnswer(shorter)) << "the TLV is longer";
      putNumber(shorter, 50, 2, size - 52);
      const Result<PtpAnswer> fits = parsePtpAnswer(shorter);
      ASSERT_TRUE(fits);
      const Status taken = takePtpDataSet(*fits, status);
      if (!taken) {
        EXPECT_THAT(taken.error().message, HasSubstr("of the PTP daemon has"));
      }
    }
  }
}

TEST(PtpManagement, AnyBytesAreAnAnswerOrNone) {
  std::mt19937_64 random(7);
  const std::vector<std::string> known = answers();
  PtpStatus status;
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = known[random() % known.size()];
    for (uint64_t n = random() % 6; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 3 == 0) bytes.resize(random() % bytes.size());
    // A copy of exactly this size: a sanitizer then sees reads beyond it.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    (void)take({exact.data(), exact.size()}, status);
    ASSERT_LE(status.ports.size(), 256u);
    for (const PtpPort& port : status.ports) EXPECT_LT(port.interface.size(), 256u);
  }
}

TEST(PtpDaemon, SocketsWithoutOneSayWhatIsMissing) {
  const auto none = askPtpDaemon("/var/run/tracesmith-no-ptp4l");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().toString(), HasSubstr("no ptp4l listens there"));
  const auto file = askPtpDaemon("/dev/null");
  ASSERT_FALSE(file);
  const auto too_long = askPtpDaemon("/" + std::string(200, 'a'));
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, ErrorCode::kInvalidArgument);
}

TEST(PtpDaemon, SilentOne) {
  const test::TempFolder folder;
  const std::string path = folder.path("silent");
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof own.sun_path);
  path.copy(own.sun_path, path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  const auto silent = askPtpDaemon(path);  // nor does it read: its queue becomes full
  ::close(fd);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, ErrorCode::kIo);
  EXPECT_THAT(silent.error().toString(), HasSubstr("ptp4l does not answer"));
}

}  // namespace
}  // namespace tracesmith

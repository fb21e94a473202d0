// SPDX-License-Identifier: Apache-2.0
// Programs under `tracesmith profile --record`, and the streams that come of it.
#pragma once

#include "recording_test_util.hpp"
#include "stream.hpp"

namespace tracesmith {

class StreamTest : public RecordingTest {
 protected:
  std::vector<std::string> profile(const std::vector<std::string>& options,
                                   const std::vector<std::string>& command) const {
    std::vector<std::string> out = {helper("tracesmith"), "profile", "--record", "-o",
                                    path("out.sbt")};
    out.insert(out.end(), options.begin(), options.end());
    out.emplace_back("--");
    out.insert(out.end(), command.begin(), command.end());
    return out;
  }
  std::vector<test::Stream> streams() {
    auto reader = RecordingReader::open(path("out.sbr"));
    EXPECT_TRUE(reader) << reader.error().toString();
    if (!reader) return {};
    EXPECT_TRUE(reader->complete());
    return test::streamsOf(*reader);
  }
  /// Records, and gives back the only stream.
  test::Stream recorded(const std::vector<std::string>& options,
                        const std::vector<std::string>& command) {
    EXPECT_EQ(run(profile(options, command)).exit_code, 0);
    auto all = streams();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? test::Stream{} : std::move(all[0]);
  }
};

}  // namespace tracesmith

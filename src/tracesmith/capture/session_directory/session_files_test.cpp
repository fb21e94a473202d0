// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/session_files.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

TEST(SessionFiles, AreKnownByTheirWholeName) {
  for (const char* name :
       {"session.txt", "session.txt.new", "processes.log", "trace.sbt", "trace.sbr", "probe.new",
        "owner.new", "12.345.0.arena", "12.345.7.new", "12.345.0.cuda", "12.345.0.cuda.new",
        "12.345.channel", "12.345.channel.new", "12.28.unrecorded", "12.28.3.unrecorded",
        "12.28.3.unchanneled", ".nfs000000000123456700000001", ".fuse_hidden0000000100000002"}) {
    EXPECT_TRUE(isSessionFile(name)) << name;
  }
}

TEST(SessionFiles, AreNoneOfThePeoplesOwn) {
  for (const char* name :
       {"", ".", "novel.new", "1.new", "12.novel.new", "12.345.0.9.arena", "12.345.arena.txt",
        "12..arena", "12.345.0.arena ", "x12.345.0.arena", "big.arena", "film.cuda", "tv.channel",
        "my.unrecorded", "trace.sbt.bak", "session.txt~", "-1.2.3.arena", "12.345", "12.345."}) {
    EXPECT_FALSE(isSessionFile(name)) << name;
  }
}

}  // namespace
}  // namespace tracesmith

// SPDX-License-Identifier: Apache-2.0
// Management messages of PTP (IEEE 1588-2008, clause 15): the questions to a PTP daemon, and what
// its answers say.
//
//      0  message type (0xd: management)   34  target port: clock 8 bytes, number 2
//      1  version (2)                      44  boundary hops: at the start, left
//      2  length, 2 bytes                  46  action (0: get, 2: response)
//      4  domain                           48  TLV: type, 2 bytes (1: management, 2: error)
//     20  source port: clock 8, number 2   50       length, 2 bytes, of what follows
//     30  sequence number, 2 bytes         52       id of the data set, 2 bytes; then the data
//                                                   (of an error: its number, then the id)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Data sets that can be asked for. The last two are linuxptp's own.
enum class PtpDataSet : uint16_t {
  kDefault = 0x2000,
  kCurrent = 0x2001,
  kParent = 0x2002,
  kTimeProperties = 0x2003,
  kPort = 0x2004,
  kTimeStatus = 0xc000,
  kPortProperties = 0xc004,
};

/// The state of a port: IEEE 1588-2008, table 8.
enum class PtpPortState : uint8_t {
  kInitializing = 1,
  kFaulty,
  kDisabled,
  kListening,
  kPreMaster,
  kMaster,
  kPassive,
  kUncalibrated,  ///< follows a master, but does not keep the clock by it (yet)
  kSlave,
};
/// "SLAVE", as ptp4l names it; "state 77" for what is none.
std::string ptpPortStateName(PtpPortState state);

struct PtpPort {
  uint16_t number = 0;
  PtpPortState state = PtpPortState::kInitializing;
  std::string interface;  ///< "eth0"; "": not told
  enum class Stamps : uint8_t { kNotTold, kSoftware, kHardware } stamps = Stamps::kNotTold;

  bool isFollowing() const {
    return state == PtpPortState::kUncalibrated || state == PtpPortState::kSlave;
  }
};

/// What a PTP daemon says at one moment. Times in ns.
struct PtpStatus {
  uint8_t domain = 0;
  std::string clock;                 ///< its own identity, "a251ad.fffe.7ecd9b"
  std::string parent;                ///< of the master that it follows, or of itself
  std::string grandmaster;           ///< of the clock at the root
  uint16_t port_count = 0;           ///< that the daemon has; `ports` may lack some
  std::vector<PtpPort> ports;        ///< by number
  uint16_t steps_removed = 0;        ///< clocks between this one and the root, and this one
  int64_t offset_from_master = 0;    ///< its clock minus the master's, as measured last
  int64_t mean_path_delay = 0;       ///< half of the round trip, as the daemon's filter has it
  std::optional<int64_t> last_sync;  ///< when its master's time came last, in its clock; 0: never
  std::optional<bool> is_on_ptp_scale;  ///< the time is TAI, not one of the grandmaster's own
  std::optional<int16_t> utc_offset;    ///< seconds that TAI is ahead of UTC, if known

  /// The port that follows a master; nullptr: none does.
  const PtpPort* followingPort() const;
  /// Whether the offset and the path delay are measured: both are 0 before. A path takes time.
  bool hasMeasured() const { return mean_path_delay > 0 && last_sync != 0; }
};

/// The bytes of a question for a data set of the daemon itself: it is not passed on to other
/// clocks.
std::string ptpQuestion(PtpDataSet data_set, uint8_t domain, uint16_t sequence);

/// One answer, taken apart as far as all answers are alike. `data` is a view of its bytes.
struct PtpAnswer {
  PtpDataSet data_set = PtpDataSet::kDefault;
  uint8_t domain = 0;
  uint16_t sequence = 0;
  bool is_error = false;  ///< the daemon does not know the data set, or does not tell it
  std::string_view data;  ///< of an error: none
};
/// kDamaged if it is no answer to a management question.
Result<PtpAnswer> parsePtpAnswer(std::string_view bytes);

/// Writes what a data set says into `status`. kDamaged, and `status` unchanged, if it is too short.
Status takePtpDataSet(const PtpAnswer& answer, PtpStatus& status);

}  // namespace tracesmith

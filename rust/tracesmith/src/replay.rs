// SPDX-License-Identifier: Apache-2.0
use crate::error::{c_path, c_text, check, sized, text_of};
use crate::Error;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::Duration;
use tracesmith_sys as sys;

/// What of a recording is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All of it.
    #[default]
    Full,
    /// What lies in the given times and ids, and what that needs.
    Partial,
    /// Nothing: what would be executed is found, ordered and checked.
    DryRun,
    /// This stream, and what it needs.
    Stream(u32),
}

/// Which of several operations goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// The order, and where that is asked for the times, of the recording.
    #[default]
    OriginalTiming,
    /// Streams that can go on take turns.
    RoundRobin,
    /// By priority.
    Priority,
}

/// How to replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// What of it.
    pub mode: Mode,
    /// In which order.
    pub scheduling: Scheduling,
    /// Of `Mode::Partial`: from and to, since the first recorded call.
    pub times: (Option<Duration>, Option<Duration>),
    /// Of `Mode::Partial`: the first and the last operation.
    pub operations: (Option<u64>, Option<u64>),
    /// Compares what each launch leaves, with recordings that have that.
    pub checksums: bool,
    /// 0: as fast as the device goes; 1: at the recorded times; 0.5: twice as fast.
    pub time_scale: f64,
    /// A command that takes longer is given up; none: after a minute.
    pub step_limit: Option<Duration>,
    /// Number or part of the name; none: the recorded one, else any, else none. "simulated": none.
    pub device: Option<String>,
}

/// What a replay did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayReport {
    /// What was asked for was done, and there are no errors.
    pub success: bool,
    /// Executed, and all that was read back was equal.
    pub deterministic: bool,
    /// Nothing was executed: times are virtual.
    pub simulated: bool,
    /// Operations: each was executed, simulated or skipped.
    pub total: u64,
    /// By the device.
    pub executed: u64,
    /// On a virtual clock.
    pub simulated_operations: u64,
    /// Not wanted, or not possible.
    pub skipped: u64,
    /// Could not be executed, or went otherwise than when it was recorded.
    pub failed: u64,
    /// How long it took.
    pub duration: Duration,
    /// How long it took when it was recorded.
    pub original_duration: Duration,
    /// Read back and compared with the recording.
    pub read_backs: u64,
    /// Of these, equal.
    pub read_backs_equal: u64,
    /// Launches of which what they left was compared.
    pub launches_hashed: u64,
    /// Of these, equal.
    pub launches_equal: u64,
    /// That executed; "": none.
    pub device: String,
    /// What went wrong.
    pub errors: Vec<String>,
    /// A few lines for people.
    pub summary: String,
}

/// Replays a recording (`.sbr`), a trace with the recording beside it, or, on a virtual clock, another
/// trace. It forks where it executes: call it from a process that has loaded no driver. What went
/// wrong with the replay is in the report; an error is that nothing could be loaded.
pub fn replay(path: impl AsRef<Path>, options: &ReplayOptions) -> Result<ReplayReport, Error> {
    let path = c_path(path.as_ref())?;
    let device = options.device.as_deref().map(c_text).transpose()?;
    let mut raw = sized!(tracesmith_replay_options);
    raw.mode = match options.mode {
        Mode::Full => sys::TRACESMITH_REPLAY_FULL,
        Mode::Partial => sys::TRACESMITH_REPLAY_PARTIAL,
        Mode::DryRun => sys::TRACESMITH_REPLAY_DRY_RUN,
        Mode::Stream(id) => {
            raw.stream_id = id;
            sys::TRACESMITH_REPLAY_STREAM
        }
    };
    raw.scheduling = match options.scheduling {
        Scheduling::OriginalTiming => sys::TRACESMITH_ORIGINAL_TIMING,
        Scheduling::RoundRobin => sys::TRACESMITH_ROUND_ROBIN,
        Scheduling::Priority => sys::TRACESMITH_PRIORITY,
    };
    let ns = |time: Option<Duration>| time.map(|time| time.as_nanos() as u64);
    for (value, place, flag) in [
        (ns(options.times.0), &mut raw.start_time, sys::TRACESMITH_REPLAY_START_TIME),
        (ns(options.times.1), &mut raw.end_time, sys::TRACESMITH_REPLAY_END_TIME),
        (options.operations.0, &mut raw.start_operation, sys::TRACESMITH_REPLAY_START_OPERATION),
        (options.operations.1, &mut raw.end_operation, sys::TRACESMITH_REPLAY_END_OPERATION),
    ] {
        if let Some(value) = value {
            *place = value;
            raw.flags |= flag;
        }
    }
    if options.checksums {
        raw.flags |= sys::TRACESMITH_REPLAY_CHECKSUMS;
    }
    raw.time_scale = options.time_scale;
    // 0 would ask for the default.
    raw.step_limit_s = options.step_limit.map_or(0.0, |limit| limit.as_secs_f64().max(1e-9));
    raw.device = device.as_ref().map_or(null(), |device| device.as_ptr());

    let mut result = null_mut();
    // SAFETY: a text that ends with 0, a struct that says its size, and a place for the result, which
    // is freed below.
    check(unsafe { sys::tracesmith_replay(path.as_ptr(), &raw, &mut result) })?;
    let report = read(result);
    // SAFETY: it is not used afterwards.
    unsafe { sys::tracesmith_replay_free(result) };
    report
}

fn read(result: *const sys::tracesmith_replay_result) -> Result<ReplayReport, Error> {
    let mut info = sized!(tracesmith_replay_info);
    // SAFETY: texts live as long as the result.
    unsafe {
        check(sys::tracesmith_replay_get_info(result, &mut info))?;
        Ok(ReplayReport {
            success: info.success != 0,
            deterministic: info.deterministic != 0,
            simulated: info.simulated != 0,
            total: info.total,
            executed: info.executed,
            simulated_operations: info.simulated_operations,
            skipped: info.skipped,
            failed: info.failed,
            duration: Duration::from_nanos(info.duration_ns),
            original_duration: Duration::from_nanos(info.original_duration_ns),
            read_backs: info.read_backs,
            read_backs_equal: info.read_backs_equal,
            launches_hashed: info.launches_hashed,
            launches_equal: info.launches_equal,
            device: text_of(info.device),
            errors: (0..info.errors as usize)
                .map(|index| text_of(sys::tracesmith_replay_error(result, index)))
                .collect(),
            summary: text_of(info.summary),
        })
    }
}

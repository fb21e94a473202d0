// SPDX-License-Identifier: Apache-2.0
use crate::error::{c_path, c_text, check, sized, text_of};
use crate::Error;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::Duration;
use tracesmith_sys as sys;

/// The part of a recording to replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The whole recording.
    #[default]
    Full,
    /// Operations in the given range of times and ids, and those that they need.
    Partial,
    /// Executes nothing: finds, orders and checks the operations.
    DryRun,
    /// This stream, and the operations that it needs.
    Stream(u32),
}

/// Decides which of several ready operations goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// The recorded order; with [`ReplayOptions::time_scale`] also the recorded times.
    #[default]
    OriginalTiming,
    /// Streams that are ready take turns.
    RoundRobin,
    /// By priority.
    Priority,
}

/// Settings of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// The part to replay.
    pub mode: Mode,
    /// The order of operations.
    pub scheduling: Scheduling,
    /// For `Mode::Partial`: start and end, since the first recorded call.
    pub times: (Option<Duration>, Option<Duration>),
    /// For `Mode::Partial`: the first and the last operation.
    pub operations: (Option<u64>, Option<u64>),
    /// Compares the output of each launch, if the recording has launch hashes.
    pub checksums: bool,
    /// 0: as fast as the device goes; 1: at the recorded times; 0.5: twice as fast.
    pub time_scale: f64,
    /// A command that takes longer is given up; `None`: after a minute.
    pub step_limit: Option<Duration>,
    /// Number or part of the name of the device; `None`: the recorded one, else any, else a
    /// simulation. "simulated": a simulation, without a device.
    pub device: Option<String>,
}

/// The result of a replay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Everything requested was done, without errors.
    pub success: bool,
    /// Executed, and all read-backs were equal.
    pub deterministic: bool,
    /// Nothing was executed: times are virtual.
    pub simulated: bool,
    /// Number of operations; each was executed, simulated or skipped.
    pub total: u64,
    /// Operations executed by the device.
    pub executed: u64,
    /// Operations timed on a virtual clock.
    pub simulated_operations: u64,
    /// Operations that were not requested, or not possible.
    pub skipped: u64,
    /// Operations that could not be executed, or whose result differs from the recording.
    pub failed: u64,
    /// Duration of the replay.
    pub duration: Duration,
    /// Duration of the recorded run.
    pub original_duration: Duration,
    /// Read-backs that were compared with the recording.
    pub read_backs: u64,
    /// Read-backs that were equal.
    pub read_backs_equal: u64,
    /// Launches whose output was compared.
    pub launches_hashed: u64,
    /// Launches whose output was equal.
    pub launches_equal: u64,
    /// The device that executed; "": none.
    pub device: String,
    /// Messages of errors.
    pub errors: Vec<String>,
    /// A readable summary of a few lines.
    pub summary: String,
}

/// Replays a recording (`.sbr`), a trace with the recording beside it, or, on a virtual clock,
/// another trace. Execution happens in a forked child, so call this from a process that has loaded
/// no driver. Problems of the replay are in the report. An error means that nothing could be
/// loaded.
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
    // SAFETY: a NUL-terminated text, a struct with its size set, and a valid out pointer. The
    // result is freed below.
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

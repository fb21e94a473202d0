#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A nightly job: which kernels became slower since a moment?

Takes traces and summaries, and those in folders. Traces made after the moment are compared with those of the days
before it, by the mean duration of each kernel in each trace; `diff` decides what is more than chance. Prints the
kernels that became slower, those that cost the most first. Exit code 1: there are any."""
import argparse
import datetime
import sys

from tracesmith import fleet

MOST = 10


def split(result, since, days):
    """The traces of the days before, and those made since."""
    begin = since - datetime.timedelta(days=days)
    before = [file for file in result.files if file.counts and begin <= file.created < since]
    after = [file for file in result.files if file.counts and file.created >= since]
    return fleet.Fleet(before), fleet.Fleet(after)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="traces, summaries, or folders with them")
    parser.add_argument("--since", type=datetime.datetime.fromisoformat, metavar="TIME",
                        help="the moment, as 2026-11-22 or 2026-11-22T04:00:00, in UTC (default: a day ago)")
    parser.add_argument("--days", type=float, default=7, help="how many days before it count (default: 7)")
    given = parser.parse_args(arguments)
    now = datetime.datetime.now(datetime.timezone.utc)
    since = given.since.replace(tzinfo=datetime.timezone.utc) if given.since else now - datetime.timedelta(days=1)

    result = fleet.analyze(given.paths)
    for file in result.failed:
        print(file.message, file=sys.stderr)
    before, after = split(result, since, given.days)
    print(f"{before.summary.traces} traces before, {after.summary.traces} since {since:%Y-%m-%d %H:%M} UTC")
    names = before.compare(after, limit=0)["diff_names"]
    slower = [row for row in map(dict, (zip(names.columns, row) for row in names.rows))
              if row["kind"] == "kernel" and row["status"] == "slower"]
    for row in slower[:MOST]:
        print(f"{row['relative']:+8.1%}  ({row['relative_low']:+.1%} to {row['relative_high']:+.1%})  "
              f"{row['change_ns'] / 1e6:+10.3f} ms a trace  {row['name']}")
    if not slower:
        print(f"no kernel became slower by more than chance. {names.note}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())

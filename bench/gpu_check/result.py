# SPDX-License-Identifier: Apache-2.0
"""What was found, kept in a JSON file that is whole at every moment: a check may be stopped anywhere."""
import json
import os
import time

GOOD, BAD, ABSENT = "pass", "fail", "absent"


class Absent(Exception):
    """A step, or a part of one, cannot be made here. Its text says why; no number takes its place."""


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Step:
    """What one step found. Everything is saved as it is found."""

    def __init__(self, result, entry):
        self.result, self.entry = result, entry

    def value(self, name, value):
        self.entry["values"][name] = value
        self.result.save()
        return value

    def check(self, what, value, goal, good):
        """`goal` is for people; `good` says whether `value` reaches it."""
        self.entry["checks"].append({"what": what, "value": value, "goal": goal,
                                     "verdict": GOOD if good else BAD})
        self.result.save()
        return good

    def equal(self, what, value, expected):
        return self.check(what, value, f"= {expected}", value == expected)

    def absent(self, what, reason):
        self.entry["checks"].append({"what": what, "verdict": ABSENT, "reason": str(reason)})
        self.result.save()


class Result:
    """`folders`: names of files in them are kept without the folder, so that the file says nothing about whose
    machine it was."""

    def __init__(self, path, head, folders=()):
        self.path = path
        self.folders = [json.dumps(os.path.join(folder, ""))[1:-1] for folder in folders]
        self.data = {"what": "gpu-check", "version": 2, **head, "started": now(), "ended": None,
                     "complete": False, "steps": []}
        self.save()

    def save(self):
        partial = f"{self.path}.{os.getpid()}.partial"
        text = json.dumps(self.data, indent=1)
        for folder in self.folders:
            text = text.replace(folder, "")
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(partial, self.path)

    def begin(self, name, title):
        entry = {"name": name, "title": title, "status": "running", "seconds": None, "values": {},
                 "checks": []}
        self.data["steps"].append(entry)
        self.save()
        return Step(self, entry)

    def end(self, step, status, seconds, reason=None):
        step.entry.update(status=status, seconds=round(seconds, 2))
        if reason:
            step.entry["reason"] = reason
        self.save()

    def finish(self, complete, reason=None):
        self.data.update(ended=now(), complete=complete)
        if reason:
            self.data["stopped"] = reason
        self.save()

    def failing(self):
        """The names of what failed: checks, and steps that did not run to their end."""
        names = []
        for step in self.data["steps"]:
            names += [f"{step['name']}: {check['what']}" for check in step["checks"] if check["verdict"] == BAD]
            if step["status"] in ("failed", "out of time"):
                names.append(f"{step['name']}: {step['status']}: {step['reason']}")
        return names

    def verdicts(self):
        counts = {GOOD: 0, BAD: 0, ABSENT: 0}
        for step in self.data["steps"]:
            for check in step["checks"]:
                counts[check["verdict"]] += 1
            if step["status"] == "failed" or step["status"] == "out of time":
                counts[BAD] += 1
            if step["status"] == "absent":
                counts[ABSENT] += 1
        return counts

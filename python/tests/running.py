# SPDX-License-Identifier: Apache-2.0
"""What several tests run."""
import subprocess
import sys
import threading


def run_script(script, env=None):
    """A Python program of its own, as it ended."""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False, env=env)


def in_threads(count, work):
    """work(number) in so many threads at once, until all are over."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

# SPDX-License-Identifier: Apache-2.0
"""A file system with almost nothing in it, to run something in: bash, a few commands, Python with its
standard library, and the libraries that these need. Seconds, not minutes: files are copied from here."""
import os
import re
import shutil
import subprocess
import sys
import sysconfig

COMMANDS = ("bash", "sh", "env", "dirname", "readlink", "mkdir", "cat", "rm", "ls", "sleep", "chmod")
# Of the standard library what nobody needs there, and is large.
LEFT_OUT = shutil.ignore_patterns("test", "tests", "idlelib", "tkinter", "site-packages", "__pycache__", "ensurepip",
                                  "lib2to3", "config-*", "turtledemo", "pydoc_data", "*.a", "dist-packages")
# /proc and /dev are mounted for the command alone.
ENTER = """set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root="$1"
shift
exec chroot "$root" "$@"
"""


def libraries_of(*files):
    said = subprocess.run(["ldd", *files], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                          text=True).stdout
    return sorted(set(re.findall(r"(?:=> |^\s+)(/\S+)", said, re.M)))


class EmptyRoot:
    def __init__(self, path):
        self.path = path
        for folder in ("proc", "dev", "tmp", "usr/bin", "root"):
            os.makedirs(os.path.join(path, folder))
        for name in ("bin", "lib", "lib64", "sbin"):  # as they are here: folders, or links into usr
            if os.path.islink("/" + name):
                os.makedirs(os.path.join(path, os.readlink("/" + name)), exist_ok=True)
                os.symlink(os.readlink("/" + name), os.path.join(path, name))
            else:
                os.makedirs(os.path.join(path, name), exist_ok=True)
        for name in COMMANDS:
            self.add_program(shutil.which(name))
        self.add_python()

    def to(self, path):
        return os.path.join(self.path, path.lstrip("/"))

    def add_file(self, path):
        to = self.to(path)
        if not os.path.exists(to):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(os.path.realpath(path), to)

    def add_program(self, path):
        self.add_file(path)
        self.add_libraries(path)

    def add_libraries(self, *files):
        for library in libraries_of(*files):
            self.add_file(library)

    def add_python(self):
        program = os.path.realpath(sys.executable)
        self.add_program(program)
        for link in ("usr/bin/python3",):
            if not os.path.exists(self.to(link)):
                os.symlink(program, self.to(link))
        library = sysconfig.get_path("stdlib")
        shutil.copytree(library, self.to(library), ignore=LEFT_OUT, symlinks=True, dirs_exist_ok=True)
        modules = os.path.join(library, "lib-dynload")
        if os.path.isdir(modules):
            self.add_libraries(*(os.path.join(modules, name) for name in os.listdir(modules)))

    def command(self, *command):
        """Runs a command there, in name spaces of its own."""
        return ["unshare", "--mount", "--fork", "sh", "-c", ENTER, "sh", self.path, *command]

    @staticmethod
    def why_not():
        """Why this machine cannot do it, or None."""
        if os.geteuid() != 0:
            return "only root may change its root"
        for name in ("unshare", "chroot", "mount", "ldd"):
            if shutil.which(name) is None:
                return f"there is no {name}"
        tried = subprocess.run(["unshare", "--mount", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return None if tried.returncode == 0 else f"unshare: {tried.stdout.decode().strip()}"

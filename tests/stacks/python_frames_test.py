# SPDX-License-Identifier: Apache-2.0
"""Python frames as they are captured, against what the interpreter itself says of them."""

import asyncio
import ctypes
import functools
import gc
import importlib.util
import os
import pkgutil
import platform
import subprocess
import sys
import textwrap
import threading
import time
import types
import unittest
import weakref

LIBRARY = os.environ["TRACESMITH_PYTHON_PROBE"]
held = ctypes.PyDLL(LIBRARY)  # keeps the interpreter's lock
let_go = ctypes.CDLL(LIBRARY)
for library in (held, let_go):
    library.probe.restype = ctypes.c_char_p
DEPTH = 128
KNOWN = (3, 11) <= sys.version_info[:2] <= (3, 14)


def parse(lines):
    """(name, file, line, place, entry) of each Python frame."""
    frames = [line.split("\t") for line in lines if line.startswith("P\t")]
    return [(f[1], f[2], int(f[3]), int(f[4]), f[5] == "1") for f in frames]


class Seen:
    def __init__(self, answer):
        own, _, merged = answer.decode().partition("merged\t")
        self.frames = parse(own.splitlines())
        self.cut = own.endswith("C\n")
        self.agrees = merged.startswith("1")
        self.merged = merged.splitlines()[1:]


def check(test, innermost, answer):
    """`answer` was given in the line that `innermost` is in now."""
    seen = Seen(answer)
    expected = []
    frame = innermost
    while frame is not None and len(expected) < DEPTH:
        code = frame.f_code
        expected.append((code.co_qualname, code.co_filename, frame.f_lineno, frame.f_lasti // 2))
        frame = frame.f_back
    test.assertEqual([f[:3] for f in seen.frames], [e[:3] for e in expected])
    # The innermost frame has gone on since.
    test.assertEqual([f[3] for f in seen.frames[1:]], [e[3] for e in expected[1:]])
    test.assertEqual(seen.cut, frame is not None)
    if not seen.cut:
        test.assertTrue(seen.frames[-1][4])
    if platform.machine() in ("x86_64", "aarch64"):
        test.assertTrue([line for line in seen.merged if line.startswith("N\t")])
        test.assertTrue(seen.agrees, answer.decode())
        test.assertEqual(parse(seen.merged), seen.frames)
        if not seen.cut:
            test.assertFalse([n for n in seen.merged if "_PyEval_EvalFrameDefault" in n])
    return seen


@unittest.skipUnless(KNOWN, "frames of this version are not known")
class Stacks(unittest.TestCase):
    def test_plain_calls_and_recursion(self):
        def recurse(n):
            if n:
                return recurse(n - 1)
            return check(self, sys._getframe(), held.probe())

        self.assertFalse(recurse(20).cut)

    def test_of_deep_recursion_the_innermost_frames_are_kept(self):
        def recurse(n):
            if n:
                return recurse(n - 1)
            return check(self, sys._getframe(), held.probe())

        self.assertTrue(recurse(700).cut)

    def test_stacks_that_differ_only_far_outside_have_different_numbers(self):
        def recurse(n):
            if n:
                return recurse(n - 1)
            return held.capture()

        own = len(check(self, sys._getframe(), held.probe()).frames)
        numbers, again = ([recurse(n) for n in range(200)] for _ in range(2))
        self.assertEqual(numbers, again)
        whole = DEPTH - own  # frames of recurse() that there is room for
        self.assertEqual(len(set(numbers[:whole])), whole)
        self.assertNotIn(0, numbers)
        # What is cut has its outermost frames left out, so that it is the same in the end.
        self.assertEqual(len(set(numbers[DEPTH:])), 1)

    def test_the_same_call_with_and_without_a_c_function_between(self):
        def called():
            return check(self, sys._getframe(), held.probe()).frames[0][4]

        entries = []
        for function in [called, functools.partial(called)] * 3:
            entries.append(function())
        self.assertEqual(entries, [False, True] * 3)

    def test_c_functions_between_python_functions_are_where_they_were(self):
        results = []

        def called(*_):
            results.append(check(self, sys._getframe(), held.probe()))
            return 0

        sorted([1], key=called)
        functools.reduce(called, [1, 2])
        list(map(called, [1]))
        max([1, 2], key=functools.partial(called, 1))
        functools.lru_cache(called)(1)
        for seen in results:
            self.assertTrue(seen.frames[0][4])
            if platform.machine() in ("x86_64", "aarch64"):
                self.assertRegex("".join(line[0] for line in seen.merged), r"^N+PN+P")

    def test_generators(self):
        def inner():
            check(self, sys._getframe(), held.probe())
            got = yield 1
            check(self, sys._getframe(), held.probe())
            yield got

        def outer():
            yield from inner()

        generator = outer()
        self.assertEqual(next(generator), 1)
        self.assertEqual(generator.send(5), 5)
        for _ in outer():
            check(self, sys._getframe(), held.probe())
        check(self, sys._getframe(), held.probe())
        self.assertEqual(sum(x for x in [check(self, sys._getframe(), held.probe()) and 1]), 1)

    def test_coroutines(self):
        async def leaf():
            await asyncio.sleep(0)
            check(self, sys._getframe(), held.probe())
            return 1

        async def items():
            for _ in range(2):
                yield await leaf()

        async def main():
            self.assertEqual([x async for x in items()], [1, 1])
            await asyncio.gather(leaf(), leaf())
            check(self, sys._getframe(), held.probe())

        asyncio.run(main())

    def test_comprehensions_classes_and_executed_code(self):
        [check(self, sys._getframe(), held.probe()) for _ in range(2)]
        {x: (lambda: check(self, sys._getframe(), held.probe()))() for x in range(2)}

        class Made:
            check(self, sys._getframe(), held.probe())

            def __init__(me):
                check(self, sys._getframe(), held.probe())

            @property
            def value(me):
                return check(self, sys._getframe(), held.probe())

            def __getattr__(me, name):
                return check(self, sys._getframe(), held.probe())

            def __del__(me):
                check(self, sys._getframe(), held.probe())

        def make():
            made = Made()
            made.value
            made.other
            type("Other", (Made,), {})()

        for _ in range(20):  # the interpreter specialises what it has run some times
            make()
        names = {"check": check, "self": self, "sys": sys, "held": held}
        exec("def f():\n\n  check(self, sys._getframe(), held.probe())\nf()", names)
        eval("check(self, sys._getframe(), held.probe())", names)

    def test_decorators_and_context_managers(self):
        def decorate(f):
            @functools.wraps(f)
            def wrapper(*a, **k):
                check(self, sys._getframe(), held.probe())
                return f(*a, **k)

            return wrapper

        class Manager:
            def __enter__(me):
                check(self, sys._getframe(), held.probe())

            def __exit__(me, *_):
                check(self, sys._getframe(), held.probe())
                return True

        @decorate
        def f(*_, **__):
            with Manager():
                raise ValueError
            try:
                raise ValueError
            except ValueError:
                check(self, sys._getframe(), held.probe())
            finally:
                check(self, sys._getframe(), held.probe())

        f(*[1], **{"a": 1})

    def test_many_lines_cells_and_names_that_are_not_ascii(self):
        body = "\n".join(f"  x{i} = {i}" for i in range(3000))
        cells = ", ".join(f"x{i}" for i in range(0, 3000, 30))
        names = {"held": held}
        source = f"def größe():\n{body}\n  def g(): return {cells}\n"
        source += "  return held.probe()\n"
        exec(compile(source, "/tmp/été/💡.py", "exec"), names)
        made = names["größe"]
        made.__code__ = made.__code__.replace(co_qualname="größe.𝔘\udc80")
        answer = Seen(made()).frames
        self.assertEqual(answer[0][:2], ("größe.𝔘\ufffd", "/tmp/été/💡.py"))
        self.assertEqual(answer[0][2], 3003)

    def test_tracing_does_not_change_what_is_seen(self):
        calls = []

        def tracer(frame, event, argument):
            calls.append(event)
            if event == "line" and len(calls) < 50:
                held.probe()
            return tracer

        def traced():
            a = 1
            return check(self, sys._getframe(), held.probe()) and a

        sys.settrace(tracer)
        try:
            traced()
        finally:
            sys.settrace(None)
        self.assertIn("line", calls)


@unittest.skipUnless(KNOWN, "frames of this version are not known")
class Threads(unittest.TestCase):
    def test_each_has_its_own_stack(self):
        failures = []
        stop = threading.Event()

        def work(n):
            try:
                for _ in range(n):
                    check(self, sys._getframe(), held.probe())
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        def spin():
            while not stop.is_set():
                held.capture()

        spinner = threading.Thread(target=spin)
        spinner.start()
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        threads = [threading.Thread(target=work, args=(10,)) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        sys.setswitchinterval(before)
        stop.set()
        spinner.join()
        self.assertEqual(failures, [])

    def test_without_the_lock_a_thread_still_has_its_own_frames(self):
        stop = threading.Event()

        def spin():
            while not stop.is_set():
                gc.collect(0)
                sys._current_frames()

        spinner = threading.Thread(target=spin)
        spinner.start()
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            for _ in range(15):
                check(self, sys._getframe(), let_go.probe())
                [check(self, sys._getframe(), library.probe()) for library in (held, let_go)]
        finally:
            sys.setswitchinterval(before)
            stop.set()
            spinner.join()

    def test_without_the_lock_code_that_lies_where_other_code_lay_is_told_anew(self):
        places = {}
        names = {"probe": let_go.probe}
        for n in range(300):
            exec(f"def made{n % 7}(): return probe()", names)
            made = names.pop(f"made{n % 7}")
            made.__code__ = made.__code__.replace(co_filename=f"file{n}", co_firstlineno=n + 1)
            places[id(made.__code__)] = places.get(id(made.__code__), 0) + 1
            self.assertEqual(Seen(made()).frames[0][:3], (f"made{n % 7}", f"file{n}", n + 1))
        # Some of them really did: they are not held.
        self.assertLess(len(places), 300)

    def test_a_callback_that_takes_the_lock_again_is_seen(self):
        seen = []

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        def compare(a, b):
            seen.append(check(self, sys._getframe(), held.probe()))
            return 0

        libc = ctypes.CDLL(None)
        libc.qsort(ctypes.create_string_buffer(8), 2, 4, compare)
        self.assertTrue(seen[0].frames[0][4])

    def test_a_forked_child_tells_all_anew(self):
        held.capture()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                held.begin_anew()
                check(self, sys._getframe(), held.probe())
                code = 0
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


@unittest.skipUnless(KNOWN, "frames of this version are not known")
class Costs(unittest.TestCase):
    def test_an_unchanged_stack_has_the_same_number_and_allocates_nothing(self):
        numbers = {held.capture() for _ in range(10)}
        self.assertEqual(len(numbers), 1)
        capture = held.capture
        gc.disable()
        before = sys.getallocatedblocks()
        for _ in range(1000):
            capture()
        after = sys.getallocatedblocks()
        gc.enable()
        self.assertLessEqual(after - before, 4)  # of this function's own

    def test_code_is_told_once(self):
        check(self, sys._getframe(), held.probe())
        told = held.codes_written()
        for _ in range(10):
            check(self, sys._getframe(), held.probe())
        self.assertEqual(held.codes_written(), told)

    def test_what_could_not_be_told_is_told_the_next_time(self):
        def new():
            return held.capture()

        held.set_fails(1)
        self.assertEqual(new(), 0)
        self.assertEqual(new(), 0)
        held.set_fails(0)
        self.assertNotEqual(new(), 0)
        check(self, sys._getframe(), held.probe())

    def make(self, name="made"):
        names = {"capture": held.capture}
        exec(f"def {name}(): return capture()", names)
        return names[name]

    def test_code_is_held_while_its_number_lives_and_let_go_when_there_are_too_many(self):
        made = self.make()
        made()
        gone = weakref.ref(made.__code__)
        del made
        gc.collect()  # the function and its names hold each other
        self.assertIsNotNone(gone())
        # The same code in other objects.
        template = self.make()
        most = 0
        for line in range(5000):
            code = template.__code__.replace(co_firstlineno=line + 1)
            types.FunctionType(code, template.__globals__)()
            most = max(most, held.codes_held())
        self.assertIsNone(gone())
        self.assertEqual(most, 4096)
        check(self, sys._getframe(), held.probe())

    def test_what_an_ended_thread_held_is_let_go(self):
        made = [self.make("of_thread")]
        gone = weakref.ref(made[0].__code__)

        def work():
            made.pop()()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        gc.collect()
        for _ in range(2000):  # the thread itself ends a moment later
            self.make("next")()
            if gone() is None:
                break
            time.sleep(0.001)
        self.assertIsNone(gone())

    def test_what_is_met_without_the_lock_is_held_from_the_next_time_with_it(self):
        names = {"call": let_go.capture}
        exec("def made(): return call()", names)
        made = names.pop("made")
        gone = weakref.ref(made.__code__)
        made()
        told = held.codes_written()
        names["call"] = held.capture
        made()
        names["call"] = let_go.capture
        made()
        self.assertEqual(held.codes_written(), told)
        del made
        gc.collect()
        self.assertIsNotNone(gone())
        template = self.make().__code__
        codes = [template.replace(co_firstlineno=line) for line in range(5000)]
        for code in codes:  # too many, but without the lock nothing can be let go
            types.FunctionType(code, {"capture": let_go.capture})()
        self.assertIsNotNone(gone())
        self.make()()
        self.assertIsNone(gone())

    def test_letting_go_may_run_code_that_captures(self):
        seen = []

        def on_gone(_):
            seen.append(held.capture())

        made = self.make()
        made()
        watch = weakref.ref(made.__code__, on_gone)
        del made
        gc.collect()
        template = self.make()
        for line in range(5000):
            types.FunctionType(
                template.__code__.replace(co_firstlineno=line + 1), template.__globals__
            )()
        self.assertEqual(seen, [0])
        self.assertIsNone(watch())


class Processes(unittest.TestCase):
    def run_python(self, text, *arguments):
        prelude = f"import ctypes\nheld = ctypes.PyDLL({LIBRARY!r})\n"
        done = subprocess.run(
            [sys.executable, "-B", *arguments, "-c", prelude + textwrap.dedent(text)],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_its_end_may_capture(self):
        self.run_python(
            """
            import atexit, sys, threading
            class Late:
                def __init__(self): self.capture = held.capture
                def __del__(self): self.capture()
            late = Late()
            sys.late = Late()
            atexit.register(held.capture)
            held.capture()
            threading.Thread(target=held.capture).start()
            let_go = ctypes.CDLL(held._name)
            def forever():
                while True: let_go.capture()
            for _ in range(3): threading.Thread(target=forever, daemon=True).start()
            """
        )

    def test_other_interpreters_are_no_trouble(self):
        out = self.run_python(
            f"""
            import sys, threading
            try:
                import _interpreters as i
                make = lambda: i.create("legacy")
            except ImportError:
                import _xxsubinterpreters as i
                make = lambda: i.create(isolated=False)
            text = "import ctypes; ctypes.PyDLL({LIBRARY!r}).capture()"
            print(held.capture() != 0)
            for _ in range(2):
                one = make()
                i.run_string(one, text)
                print(held.capture() != 0)
                i.destroy(one)
            def work():
                two = make()
                i.run_string(two, text)
                i.destroy(two)
            t = threading.Thread(target=work)
            t.start()
            t.join()
            print(held.capture() != 0)
            """
        )
        self.assertEqual(out, [str(KNOWN)] * 4)

    def test_a_version_that_is_not_known_says_so(self):
        out = self.run_python("print(held.capture() != 0, held.status())")
        self.assertEqual(out, ["True", "1"] if KNOWN else ["False", "2"])


@unittest.skipUnless(KNOWN, "tables of this version are not known")
class Lines(unittest.TestCase):
    def compare(self, code):
        table = code.co_linetable
        room = len(code.co_code) // 2 + 1
        out = (ctypes.c_int * (6 * room))()
        count = held.locations(table, ctypes.c_size_t(len(table)), code.co_firstlineno, out, room)
        self.assertGreaterEqual(count, 0, code)
        got = []
        for i in range(count):
            begin, end, *where = out[6 * i : 6 * i + 6]
            got += [tuple(None if w == -1 else w for w in where)] * (end - begin)
        self.assertEqual(got, list(code.co_positions()), code)
        return sum(self.compare(c) for c in code.co_consts if isinstance(c, types.CodeType)) + 1

    def test_of_every_instruction_of_large_modules_are_right(self):
        names = ["argparse", "_pydecimal", "typing"]
        names += ["asyncio." + m.name for m in pkgutil.iter_modules(asyncio.__path__)]
        codes = 0
        for name in names:
            codes += self.compare(importlib.util.find_spec(name).loader.get_code(name))
        self.assertGreater(codes, 1400)


if __name__ == "__main__":
    unittest.main()

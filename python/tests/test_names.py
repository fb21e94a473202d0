# SPDX-License-Identifier: Apache-2.0
"""What the package offers. Names of the earlier tool: test_request.py."""
import tracesmith


def test_all_is_all():
    assert sorted(tracesmith.__all__) == tracesmith.__all__
    public = {name for name in vars(tracesmith) if not name.startswith("_")}
    assert set(tracesmith.__all__) - {"__version__"} == public


def test_each_name_says_what_it_is():
    for name in tracesmith.__all__:
        thing = getattr(tracesmith, name)
        assert isinstance(thing, (int, str)) or thing.__doc__, name

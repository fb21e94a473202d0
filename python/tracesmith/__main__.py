# SPDX-License-Identifier: Apache-2.0
"""`python -m tracesmith`: the same as the command `tracesmith`."""
from tracesmith._command import main

main()

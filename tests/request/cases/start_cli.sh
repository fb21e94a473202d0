#: from: getting started / Command Line
#: given: trace.sbt, bin
# Record a trace (simulation mode)
#: ends 2: a synthetic trace:  tracesmith record -p simulation -d 5
#: note: nothing can be recorded without a program to record; `-p simulation` makes events up when that is what is wanted
./bin/tracesmith-cli record -o trace.sbt -d 5

# View trace contents
./bin/tracesmith-cli view trace.sbt

# Get trace info
./bin/tracesmith-cli info trace.sbt

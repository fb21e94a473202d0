// SPDX-License-Identifier: Apache-2.0
// For tests: handwritten exports of xctrace that follow what is known of real ones: columns by
// mnemonic, values by id and ref, and a second table that refers to the schema of the first.
#pragma once

#include <string_view>

namespace tracesmith::test {

// clang-format off
constexpr std::string_view kXctraceIntervals = R"xml(<?xml version="1.0"?>
<trace-query-result>
<node xpath='//trace-toc[1]/run[1]/data[1]/table[109]'><schema name="metal-gpu-intervals">
<col><mnemonic>start</mnemonic><name>Creation</name><engineering-type>start-time</engineering-type></col>
<col><mnemonic>duration</mnemonic></col><col><mnemonic>channel-name</mnemonic></col>
<col><mnemonic>event-depth</mnemonic></col><col><mnemonic>event-label</mnemonic></col>
<col><mnemonic>state</mnemonic></col><col><mnemonic>process</mnemonic></col>
<col><mnemonic>gpu</mnemonic></col><col><mnemonic>cmdbuffer-id</mnemonic></col></schema>
<row><start-time id="1" fmt="00:00.100">100000000</start-time>
<duration id="2" fmt="1.00 ms">1000000</duration>
<gpu-channel-name id="3" fmt="Compute">Compute</gpu-channel-name>
<metal-nesting-level id="4" fmt="0">0</metal-nesting-level>
<formatted-label id="5" fmt="Command Buffer 0:Compute Command 0 ( app (2297) )">
<string id="6" fmt="Command Buffer 0:Compute Command 0">Command Buffer 0:Compute Command 0</string>
<process id="7" fmt="app (2297)"><pid id="8" fmt="2297">2297</pid></process></formatted-label>
<gpu-state id="9" fmt="Active">Active</gpu-state><process ref="7"/>
<gpu id="10" fmt="Apple M2">Apple M2</gpu><metal-command-buffer-id id="11" fmt="0xaa">170</metal-command-buffer-id></row>
<row><start-time id="12" fmt="00:00.100">100200000</start-time><duration id="13">300000</duration>
<gpu-channel-name ref="3"/><metal-nesting-level id="14">1</metal-nesting-level><formatted-label ref="5"/>
<gpu-state ref="9"/><process ref="7"/><gpu ref="10"/><metal-command-buffer-id ref="11"/></row>
</node>
<node xpath='//trace-toc[1]/run[1]/data[1]/table[110]'>
<row><start-time id="15" fmt="00:00.102">102000000</start-time><duration ref="2"/>
<gpu-channel-name id="16" fmt="Vertex">Vertex</gpu-channel-name><metal-nesting-level ref="4"/>
<formatted-label id="17" fmt="Pass &lt;1&gt; ( other (99) )"><string id="18">Pass &lt;1&gt;</string>
<process id="19" fmt="other (99)"><pid id="20">99</pid></process></formatted-label>
<gpu-state ref="9"/><process ref="19"/><gpu ref="10"/><sentinel/></row>
</node></trace-query-result>)xml";

/// Several exports in one file, as `profile --xctrace` joins them.
constexpr std::string_view kXctraceSeveral = R"xml(<exports>
<trace-toc><run number="1"><info><target><device platform="macOS" name="Mac"/><process type="launched" name="app"/></target>
<summary><start-date>2026-09-02T14:30:12.250+09:00</start-date><template-name>Metal System Trace</template-name></summary></info></run></trace-toc>
<trace-query-result><node><schema name="metal-application-command-buffer-submissions">
<col><mnemonic>start</mnemonic></col><col><mnemonic>duration</mnemonic></col><col><mnemonic>event-type</mnemonic></col>
<col><mnemonic>process</mnemonic></col><col><mnemonic>thread</mnemonic></col><col><mnemonic>cmdbuffer-id</mnemonic></col></schema>
<row><start-time id="1">5000</start-time><duration id="2">700</duration><metal-event-name id="3">CommandBufferSubmission</metal-event-name>
<process id="4" fmt="app (42)"><pid id="5">42</pid></process>
<thread id="6" fmt="Main Thread 0x12aa (app, pid: 42)"><tid id="7" fmt="0x12aa">4778</tid><process ref="4"/></thread>
<metal-command-buffer-id id="8">170</metal-command-buffer-id></row></node></trace-query-result>
<trace-query-result><node><schema name="metal-command-buffer-completed"><col><mnemonic>timestamp</mnemonic></col>
<col><mnemonic>process</mnemonic></col><col><mnemonic>cmdbuffer-id</mnemonic></col></schema>
<row><event-time id="1">9000</event-time><process id="2" fmt="app (42)"><pid id="3">42</pid></process><uint64 id="4">170</uint64></row></node></trace-query-result>
<trace-query-result><node><schema name="gpu-counter-value"><col><mnemonic>timestamp</mnemonic></col>
<col><mnemonic>counter-id</mnemonic></col><col><mnemonic>value</mnemonic></col></schema>
<row><event-time id="1">6000</event-time><uint32 id="2">7</uint32><fixed-decimal id="3">1.25</fixed-decimal></row>
<row><event-time id="4">7000</event-time><uint32 ref="2"/><fixed-decimal id="5">3</fixed-decimal></row></node></trace-query-result>
<trace-query-result><node><schema name="gpu-counter-info"><col><mnemonic>timestamp</mnemonic></col><col><mnemonic>counter-id</mnemonic></col>
<col><mnemonic>name</mnemonic></col></schema><row><event-time id="1">0</event-time><uint32 id="2">7</uint32><gpu-counter-name id="3">ALU Utilization</gpu-counter-name></row></node></trace-query-result>
<trace-query-result><node><schema name="metal-gpu-state-intervals"><col><mnemonic>start</mnemonic></col><col><mnemonic>duration</mnemonic></col>
<col><mnemonic>state</mnemonic></col></schema><row><start-time id="1">1</start-time><duration id="2">2</duration><gpu-state id="3">Idle</gpu-state></row></node></trace-query-result>
<trace-query-result><node><schema name="device-thermal-state"><col><mnemonic>level</mnemonic></col></schema><row><string id="1">Nominal</string></row></node></trace-query-result>
</exports>)xml";
// clang-format on

}  // namespace tracesmith::test

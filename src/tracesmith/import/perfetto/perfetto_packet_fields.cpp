// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_packet_fields.hpp"

#include <algorithm>
#include <array>

namespace tracesmith::import {
namespace {

// From protos/perfetto/trace/trace_packet.proto as of v58, sorted by number.
constexpr auto kFields = std::to_array<PacketField>({
    {1, false, "ftrace_events"},
    {2, false, "process_tree"},
    {3, true, "trusted_uid"},
    {4, false, "inode_file_map"},
    {5, false, "chrome_events"},
    {6, false, "clock_snapshot"},
    {7, false, "sys_stats"},
    {8, true, "timestamp"},
    {9, false, "process_stats"},
    {10, true, "trusted_packet_sequence_id"},
    {11, false, "track_event"},
    {12, false, "interned_data"},
    {13, true, "sequence_flags"},
    {33, false, "trace_config"},
    {34, false, "ftrace_stats"},
    {35, false, "trace_stats"},
    {36, false, "synchronization_marker"},
    {37, false, "profile_packet"},
    {38, false, "battery"},
    {39, false, "android_log"},
    {40, false, "power_rails"},
    {41, true, "incremental_state_cleared"},
    {42, true, "previous_packet_dropped"},
    {43, false, "process_descriptor"},
    {44, false, "thread_descriptor"},
    {45, false, "system_info"},
    {46, false, "trigger"},
    {47, false, "packages_list"},
    {48, false, "chrome_benchmark_metadata"},
    {49, false, "perfetto_metatrace"},
    {50, false, "compressed_packets"},
    {51, false, "chrome_metadata"},
    {52, false, "gpu_counter_event"},
    {53, false, "gpu_render_stage_event"},
    {54, false, "streaming_profile_packet"},
    {57, false, "graphics_frame_event"},
    {58, true, "timestamp_clock_id"},
    {59, false, "trace_packet_defaults"},
    {60, false, "track_descriptor"},
    {61, false, "module_symbols"},
    {62, false, "vulkan_memory_event"},
    {63, false, "gpu_log"},
    {64, false, "deobfuscation_mapping"},
    {65, false, "vulkan_api_event"},
    {66, false, "perf_sample"},
    {67, false, "cpu_info"},
    {68, false, "smaps_packet"},
    {69, false, "service_event"},
    {70, false, "initial_display_state"},
    {71, false, "gpu_mem_total_event"},
    {72, false, "extension_descriptor"},
    {73, false, "memory_tracker_snapshot"},
    {74, false, "streaming_allocation"},
    {75, false, "streaming_free"},
    {77, false, "android_energy_estimation_breakdown"},
    {78, false, "ui_state"},
    {79, true, "trusted_pid"},
    {82, false, "translation_table"},
    {83, false, "android_game_intervention_list"},
    {84, false, "statsd_atom"},
    {86, false, "android_system_property"},
    {87, true, "first_packet_on_sequence"},
    {89, false, "trace_uuid"},
    {90, false, "track_event_range_of_interest"},
    {91, false, "entity_state_residency"},
    {95, false, "etw_events"},
    {98, true, "machine_id"},
    {99, false, "v8_js_code"},
    {100, false, "v8_internal_code"},
    {101, false, "v8_wasm_code"},
    {102, false, "v8_reg_exp_code"},
    {103, false, "v8_code_move"},
    {107, false, "remote_clock_sync"},
    {109, false, "chrome_trigger"},
    {110, false, "pixel_modem_events"},
    {111, false, "pixel_modem_token_database"},
    {113, false, "clone_snapshot_trigger"},
    {115, false, "kernel_wakelock_data"},
    {117, false, "generic_kernel_task_state_event"},
    {118, false, "generic_kernel_cpu_freq_event"},
    {119, false, "cpu_per_uid_data"},
    {120, false, "generic_kernel_task_rename_event"},
    {122, false, "generic_kernel_process_tree"},
    {123, false, "user_list"},
    {124, false, "trace_provenance"},
    {125, false, "protovms"},
    {126, false, "trace_attributes"},
    {127, false, "android_aflags"},
    {128, false, "gpu_info"},
    {129, false, "generic_gpu_frequency_event"},
    {130, false, "interrupt_info"},
    {131, false, "art_process_metadata"},
    {132, false, "journald_event"},
    {133, false, "zstd_compressed_packets"},
    {134, false, "concurrent_session_event"},
    {135, false, "stack_sample"},
    {900, false, "for_testing"},
});

constexpr bool byNumber(const PacketField& a, const PacketField& b) { return a.number < b.number; }
static_assert(std::is_sorted(kFields.begin(), kFields.end(), byNumber));

}  // namespace

const PacketField* packetField(uint32_t number) {
  const auto* const it =
      std::lower_bound(kFields.begin(), kFields.end(), PacketField{number, false, {}}, byNumber);
  return it != kFields.end() && it->number == number ? it : nullptr;
}

std::string packetFieldName(uint32_t number) {
  const PacketField* const field = packetField(number);
  return field != nullptr ? std::string(field->name) : "field " + std::to_string(number);
}

}  // namespace tracesmith::import

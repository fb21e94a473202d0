// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// A part of system.bpf.c: the frames of the Python interpreter that a thread runs.
#pragma once

enum { AT_SAMPLE = 0, AT_CALL = 1, PYTHON_PLACES = 2 };
enum { MOST_INTERPRETERS = 4, MOST_THREADS = 512 };
enum { LOOK_AGAIN_NS = 100000000 };
enum { EARLIER_NS = 20000 };

/* Where frames are put together. A sample may interrupt a system call. */
struct python_place {
  struct system_python record;
  u8 frame[128 + 8];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PYTHON_PLACES);
  __type(key, u32);
  __type(value, struct python_place);
} python_places SEC(".maps");

/* By thread id: the state that its interpreter keeps of it; 0: it had none then. */
struct python_thread {
  u64 state;
  u64 looked;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, u32);
  __type(value, struct python_thread);
} python_threads SEC(".maps");

static __always_inline u64 user_word(u64 address) {
  u64 word = 0;
  bpf_probe_read_user(&word, sizeof word, (const void*)address);
  return word;
}

/* The number of a thread in its own namespace, as the program sees it. */
static __always_inline u32 own_tid_of(struct task_struct* task) {
  u64 pid = (u64)BPF_CORE_READ(task, thread_pid);
  u32 level = BPF_CORE_READ((struct pid*)pid, level), nr = 0;
  if (level > 31) return 0;
  pid += bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);
  bpf_probe_read_kernel(&nr, sizeof nr, (const void*)pid);
  return nr;
}

/* Whether it is still one of the list: the memory may be something else by now. */
static __always_inline bool is_thread(const struct system_python_layout* layout, u64 state,
                                      u32 own_tid) {
  if (state == 0 || user_word(state + layout->thread_native_id) != own_tid) return 0;
  u64 previous = user_word(state + layout->thread_previous);
  if (previous != 0) return user_word(previous + layout->thread_next) == state;
  u64 interpreter = user_word(layout->interpreters);
  for (u32 i = 0; i < MOST_INTERPRETERS; ++i) {
    if (interpreter == 0) return 0;
    if (user_word(interpreter + layout->interpreter_threads) == state) return 1;
    interpreter = user_word(interpreter + layout->interpreter_next);
  }
  return 0;
}

struct thread_search {
  const struct system_python_layout* layout;
  u64 interpreter, state; /* that are looked at */
  u32 own_tid, interpreters;
};

/* Looks at one thread, or goes on to the next interpreter. 1: the search is over. */
static long look_at_thread(u32 i, struct thread_search* search) {
  const struct system_python_layout* layout = search->layout;
  if (search->state != 0) {
    if (user_word(search->state + layout->thread_native_id) == search->own_tid) return 1;
    search->state = user_word(search->state + layout->thread_next);
    return 0;
  }
  if (search->interpreter == 0 || search->interpreters == MOST_INTERPRETERS) return 1;
  ++search->interpreters;
  search->interpreter = user_word(search->interpreter + layout->interpreter_next);
  if (search->interpreter != 0)
    search->state = user_word(search->interpreter + layout->interpreter_threads);
  return 0;
}

/* 0: there is none. */
static __always_inline u64 find_thread(const struct system_python_layout* layout, u32 own_tid) {
  struct thread_search search = {.layout = layout, .own_tid = own_tid, .interpreters = 1};
  search.interpreter = user_word(layout->interpreters);
  if (search.interpreter == 0) return 0;
  search.state = user_word(search.interpreter + layout->interpreter_threads);
  bpf_loop(MOST_THREADS, look_at_thread, &search, 0);
  if (search.state == 0) return 0;
  return user_word(search.state + layout->thread_native_id) == own_tid ? search.state : 0;
}

static __always_inline u64 thread_of(const struct system_python_layout* layout, u32 tid,
                                     u32 own_tid) {
  u64 now = bpf_ktime_get_ns();
  struct python_thread* known = bpf_map_lookup_elem(&python_threads, &tid);
  if (known && known->state == 0 && now - known->looked < LOOK_AGAIN_NS) return 0;
  if (known && is_thread(layout, known->state, own_tid)) return known->state;
  struct python_thread found = {.state = find_thread(layout, own_tid), .looked = now};
  bpf_map_update_elem(&python_threads, &tid, &found, BPF_ANY);
  return found.state;
}

static __always_inline u64 frame_word(const struct python_place* place, u32 at) {
  return *(const u64*)(place->frame + (at & 0x78));
}
static __always_inline u8 frame_byte(const struct python_place* place, u32 at) {
  return place->frame[at & 0x7f];
}

/* Sends the frames of the current thread, if it runs Python code. */
static __always_inline void send_python(struct task_struct* task, u32 pid, u64 time, u32 where) {
  struct system_python_layout* layout = bpf_map_lookup_elem(&pythons, &pid);
  struct python_place* place = bpf_map_lookup_elem(&python_places, &where);
  if (!layout || !place) return;
  u32 tid = tid_of(task), frames = 0;
  u64 state = thread_of(layout, tid, own_tid_of(task));
  if (state == 0) return;
  u64 frame = user_word(state + layout->thread_frame);
  if (layout->link_frame != SYSTEM_PYTHON_ABSENT) frame = user_word(frame + layout->link_frame);
  for (u32 i = 0; i < SYSTEM_PYTHON_FRAMES; ++i) {
    if (frame == 0 ||
        bpf_probe_read_user(place->frame, SYSTEM_PYTHON_FRAME_BYTES, (const void*)frame) != 0)
      break;
    u64 marked = layout->frame_is_entry == SYSTEM_PYTHON_ABSENT
                     ? 0
                     : frame_byte(place, layout->frame_is_entry) != 0;
    u64 code = frame_word(place, layout->frame_code) & ~(u64)3; /* 3.14 has flags there */
    place->record.frames[i].instruction = frame_word(place, layout->frame_instruction);
    place->record.frames[i].code =
        code | marked | (u64)frame_byte(place, layout->frame_owner) << SYSTEM_PYTHON_OWNER_SHIFT;
    frame = frame_word(place, layout->frame_previous);
    frames = i + 1;
  }
  if (frames == 0) return;
  set_header(&place->record.header, SYSTEM_PYTHON, pid, tid);
  place->record.header.time = time;
  place->record.header.flags = where == AT_CALL ? SYSTEM_PYTHON_OF_CALL : 0;
  place->record.count = frames;
  place->record.is_cut = frame != 0;
  frames &= 0xff;
  u64 bytes = sizeof place->record - sizeof place->record.frames;
  bytes += frames * sizeof place->record.frames[0];
  if (bytes > sizeof place->record) return;
  if (bpf_ringbuf_output(&records, &place->record, bytes, BPF_RB_NO_WAKEUP) != 0)
    count(SYSTEM_LOST_PYTHON);
}

// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl_record/content.hpp"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracesmith/capture/agents/opencl_record/chunk_hashes.hpp"
#include "tracesmith/capture/agents/opencl_record/content_hash.hpp"

namespace tracesmith::record {

using recording::ContentHash;
using recording::kChunkBytes;

namespace {

/// Chunks that were sent to the collector. Entries may be lost: a chunk sent twice is stored once.
class Sent {
 public:
  bool has(const ContentHash& hash) {
    if (slots_ == nullptr) return false;
    for (uint64_t i = 0; i < kProbes; ++i) {
      const ContentHash& slot = slots_[(hash.low + i) & (kSlots - 1)];
      if (slot == hash) return true;
      if (slot.empty()) return false;
    }
    return false;
  }
  void add(const ContentHash& hash) {
    if (slots_ == nullptr) {
      void* memory = mmap(nullptr, kSlots * sizeof(ContentHash), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) return;
      slots_ = static_cast<ContentHash*>(memory);
    }
    uint64_t at = (hash.low + hash.high % kProbes) & (kSlots - 1);
    for (uint64_t i = 0; i < kProbes; ++i) {
      const uint64_t place = (hash.low + i) & (kSlots - 1);
      if (!slots_[place].empty()) continue;
      at = place;
      break;
    }
    slots_[at] = hash;
  }

 private:
  static constexpr uint64_t kSlots = 1u << 20;
  static constexpr uint64_t kProbes = 8;
  ContentHash* slots_ = nullptr;
};
constinit Sent g_sent;

}  // namespace

Content::~Content() {
  if (chunks_ != inline_) free(chunks_);
}

bool Content::makeRoom(uint64_t count) {
  if (count <= capacity_) return true;
  auto* more = static_cast<ContentHash*>(malloc(count * sizeof(ContentHash)));
  if (more == nullptr) {
    endRecording("out of memory for the chunks of a payload");
    return false;
  }
  if (chunks_ != inline_) free(chunks_);
  chunks_ = more;
  capacity_ = count;
  return true;
}

void Content::unknown(uint64_t bytes) {
  bytes_ = bytes;
  count_ = 0;
}

void Content::begin(uint64_t bytes) {
  unknown(bytes);
  if (!makeRoom(recording::chunkCount(bytes))) return;
  header()->payload_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void Content::append(const uint8_t* at, uint64_t bytes, Keep keep) {
  takeContiguous(at, bytes, keep, nullptr);
}

void Content::take(const Place& place, Keep keep, const Content* hashed) {
  unknown(place.bytes());
  if (place.at == nullptr || bytes_ == 0) return;
  begin(bytes_);
  if (capacity_ < recording::chunkCount(bytes_)) return;
  if (place.contiguous()) {
    takeContiguous(place.at, bytes_, keep, hashed);
    return;
  }
  // Gather the rows, one chunk at a time.
  auto* packed = static_cast<uint8_t*>(malloc(bytes_ < kChunkBytes ? bytes_ : kChunkBytes));
  if (packed == nullptr) {
    endRecording("out of memory for the rows of a payload");
    return;
  }
  uint64_t filled = 0;
  for (uint64_t slice = 0; slice < place.slices; ++slice) {
    for (uint64_t row = 0; row < place.rows; ++row) {
      const uint8_t* from = place.at + slice * place.slice_pitch + row * place.row_pitch;
      if (!isMemorySafe()) {
        free(packed);
        return;
      }
      for (uint64_t done = 0; done < place.row_bytes;) {
        uint64_t n = place.row_bytes - done;
        if (n > kChunkBytes - filled) n = kChunkBytes - filled;
        memcpy(packed + filled, from + done, n);
        filled += n;
        done += n;
        if (filled < kChunkBytes) continue;
        takeChunk(packed, filled, keep, hashBytes(packed, filled));
        filled = 0;
      }
    }
  }
  if (filled > 0) takeChunk(packed, filled, keep, hashBytes(packed, filled));
  free(packed);
}

bool Content::isMemorySafe() {
  // Once the recording has ended the program does not wait any more: it may be freeing this memory.
  if (recording()) return true;
  unknown(bytes_);
  return false;
}

void Content::takeContiguous(const uint8_t* at, uint64_t bytes, Keep keep, const Content* hashed) {
  ContentHash hashes[kHashBatchBytes / kChunkBytes];
  for (uint64_t done = 0; done < bytes; done += kHashBatchBytes) {
    const uint64_t batch = bytes - done < kHashBatchBytes ? bytes - done : kHashBatchBytes;
    const uint64_t chunks = recording::chunkCount(batch);
    const bool is_known = hashed != nullptr && count_ + chunks <= hashed->count_;
    const ContentHash* known = hashes;
    if (is_known) {
      known = hashed->chunks_ + count_;
    } else {
      hashChunks(at + done, batch, hashes);
    }
    for (uint64_t i = 0; i < chunks && count_ < capacity_; ++i) {
      if (!isMemorySafe()) return;
      const uint64_t begin = i * kChunkBytes;
      takeChunk(at + done + begin, batch - begin < kChunkBytes ? batch - begin : kChunkBytes, keep,
                known[i]);
    }
  }
}

void Content::takeChunk(const uint8_t* at, uint64_t bytes, Keep keep, ContentHash hash) {
  if (keep == Keep::kBytes) {
    StateLock lock;
    if (!g_sent.has(hash)) {
      const uint64_t padded = recording::codec::padded(bytes);
      uint8_t* p = reserve(channel::FrameKind::kContent, sizeof(channel::ContentFrame) + padded);
      if (p != nullptr) {
        uint8_t* data = p + sizeof(channel::ContentFrame);
        memcpy(data, at, bytes);
        memset(data + bytes, 0, padded - bytes);
        // Hash the bytes in the ring: the program or a device may have changed the source
        // meanwhile.
        hash = hashBytes(data, bytes);
        const uint64_t words[] = {hash.low, hash.high, bytes};
        memcpy(p + sizeof(channel::FrameHeader), words, sizeof words);
        commit();
        g_sent.add(hash);
        header()->sent_bytes.fetch_add(bytes, std::memory_order_relaxed);
      }
    }
  }
  chunks_[count_++] = hash;
}

ContentHash Content::summary() const {
  if (count_ == 0) return {};
  return count_ == 1 ? chunks_[0] : hashBytes(chunks_, count_ * sizeof(ContentHash));
}

}  // namespace tracesmith::record

// SPDX-License-Identifier: Apache-2.0
// One column of a table: a growing array of plain values, like std::vector. Rows added without a
// value are zero but are not written to: a large column that nobody fills costs address space and
// no memory. Most columns of most traces are like that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace tracesmith {

/// Memory for columns. Large buffers have their own pages. The system zeroes these on first access,
/// moves them without copying when they grow, and may use huge pages.
namespace column_memory {
/// Returns `bytes` zeroed bytes. Throws std::bad_alloc.
void* allocate(size_t bytes);
/// Enlarges the buffer to `new_bytes` >= `old_bytes`; the new part is zero. Throws std::bad_alloc
/// and then leaves the buffer unchanged.
void* grow(void* buffer, size_t old_bytes, size_t new_bytes);
void release(void* buffer, size_t bytes) noexcept;
}  // namespace column_memory

template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  Column() = default;
  Column(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  Column(const std::vector<T>& values) { assign(values.begin(), values.end()); }  // NOLINT: a copy
  template <class Iterator>
  Column(Iterator first, Iterator last) {
    assign(first, last);
  }
  Column(const Column& other) { assign(other.begin(), other.end()); }
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(const Column& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  Column& operator=(Column&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Column() { column_memory::release(data_, capacity_ * sizeof(T)); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(size_t n) {
    if (n > capacity_) enlarge(n);
  }
  /// New rows are zero.
  [[gnu::noinline]] void resize(size_t n) {
    makeRoom(n);
    if (size_ > used_) used_ = size_;
    if (n > size_ && used_ > size_) {
      std::memset(static_cast<void*>(data_ + size_), 0,
                  ((n < used_ ? n : used_) - size_) * sizeof(T));
    }
    size_ = n;
  }
  void clear() { resize(0); }
  void push_back(T value) {  // NOLINT(readability-identifier-naming): as the standard's containers
    makeRoom(size_ + 1);
    data_[size_++] = value;
  }
  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    const auto n = static_cast<size_t>(std::distance(first, last));
    makeRoom(n);
    if (size_ > used_) used_ = size_;
    T* out = data_;
    for (; first != last; ++first) *out++ = *first;
    size_ = n;
  }
  void swap(Column& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(used_, other.used_);
  }

  template <class Other>
  friend bool operator==(const Column& a, const Other& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }

 private:
  void makeRoom(size_t n) {
    if (n > capacity_) enlarge(n < capacity_ * 2 ? capacity_ * 2 : n < 16 ? 16 : n);
  }
  // Not inline, as resize(): a table's push() has a dozen of them, and few calls come here.
  [[gnu::noinline]] void enlarge(size_t n) {
    T* const larger = static_cast<T*>(
        capacity_ == 0 ? column_memory::allocate(n * sizeof(T))
                       : column_memory::grow(data_, capacity_ * sizeof(T), n * sizeof(T)));
    data_ = larger;
    capacity_ = n;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t used_ = 0;  // in the buffer, all bytes after both used_ and size_ have always been 0
};

}  // namespace tracesmith

// What a list of columns, X(number, type, name, encoding, meaning), becomes.
#define TS_ROW_FIELD(number, type, name, encoding, meaning) type name{};
#define TS_COLUMN_FIELD(number, type, name, encoding, meaning) Column<type> name;
#define TS_COLUMN_PUSH(number, type, name, encoding, meaning) name.push_back(r.name);
#define TS_COLUMN_GET(number, type, name, encoding, meaning) r.name = name[i];
#define TS_COLUMN_SET(number, type, name, encoding, meaning) name[i] = r.name;
#define TS_COLUMN_CLEAR(number, type, name, encoding, meaning) name.clear();
#define TS_COLUMN_RESIZE(number, type, name, encoding, meaning) name.resize(n);
#define TS_COLUMN_RESERVE(number, type, name, encoding, meaning) name.reserve(n);
#define TS_COLUMN_VISIT(number, type, name, encoding, meaning) \
  f(ColumnInfo{number, #name, Encoding::encoding, meaning}, self.name);
#define TS_COLUMN_INFO(number, type, name, encoding, meaning) \
  ColumnInfo{number, #name, Encoding::encoding, meaning},
#define TS_COLUMN_SIZE(number, type, name, encoding, meaning) \
  if (!found) {                                               \
    found = true;                                             \
    rows = name.size();                                       \
  }

#define TS_TABLE(number, Name, sql_name, columns)                              \
  struct Name##Row {                                                           \
    columns(TS_ROW_FIELD)                                                      \
  };                                                                           \
  struct Name##Table {                                                         \
    static constexpr TableId kId = TableId::k##Name;                           \
    static constexpr const char* kName = #sql_name;                            \
    using Row = Name##Row;                                                     \
    /** Describes the columns, in order. */                                    \
    static constexpr ColumnInfo kColumns[] = {columns(TS_COLUMN_INFO)};        \
    columns(TS_COLUMN_FIELD) size_t size() const {                             \
      size_t rows = 0;                                                         \
      bool found = false;                                                      \
      columns(TS_COLUMN_SIZE) return rows;                                     \
    }                                                                          \
    bool empty() const { return size() == 0; }                                 \
    void push(const Row& r){columns(TS_COLUMN_PUSH)} Row row(size_t i) const { \
      Row r;                                                                   \
      columns(TS_COLUMN_GET) return r;                                         \
    }                                                                          \
    void set(size_t i, const Row& r) { columns(TS_COLUMN_SET) }                \
    void clear() { columns(TS_COLUMN_CLEAR) }                                  \
    void resize(size_t n) { columns(TS_COLUMN_RESIZE) }                        \
    void reserve(size_t n) { columns(TS_COLUMN_RESERVE) }                      \
    /** Calls f(ColumnInfo, Column<T>&) for each column in order. */           \
    template <class Self, class F>                                             \
    static void visitColumns(Self& self, F&& f) {                              \
      columns(TS_COLUMN_VISIT)                                                 \
    }                                                                          \
  };

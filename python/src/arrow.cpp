// SPDX-License-Identifier: Apache-2.0
/// Arrow's PyCapsule protocol: arrays and streams of arrays, by the C data interface
/// (https://arrow.apache.org/docs/format/CDataInterface.html), whose three structures are these.
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "views.hpp"

extern "C" {
struct ArrowSchema {
  const char *format, *name, *metadata;
  std::int64_t flags, n_children;
  ArrowSchema **children, *dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray **children, *dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace wfpy {

namespace {

using wf::dtype;

/// One of the structures, moved here from where it was: released once, by us.
template <class T>
struct owned {
  T value{};
  owned() = default;
  explicit owned(T* from) : value(*from) { from->release = nullptr; }
  owned(const owned&) = delete;
  ~owned() {
    if (value.release != nullptr) value.release(&value);
  }
};

template <class T>
T* inside(nb::handle capsule, const char* name) {
  if (PyCapsule_IsValid(capsule.ptr(), name) == 0)
    throw wf::error(wf::errc::unsupported, std::string("Arrow's protocol gives no capsule of an ") + name);
  auto* p = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (p->release == nullptr) throw wf::error(wf::errc::bad_argument, std::string("an ") + name + " that was read before");
  return p;
}

std::optional<dtype> type_of(const char* format) {
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  static constexpr const char* codes = "cCsSiIlLefgb";
  static constexpr dtype types[] = {dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::i32, dtype::u32,
                                    dtype::i64, dtype::u64, dtype::f16, dtype::f32, dtype::f64, dtype::boolean};
  const char* at = std::strchr(codes, format[0]);
  return at == nullptr ? std::nullopt : std::optional(types[at - codes]);
}

/// What people call a type that is refused, by its format; the format itself of types that are newer than this.
std::string name_of(const std::string& format) {
  static constexpr std::pair<std::string_view, const char*> whole[] = {
      {"n", "null"}, {"z", "binary"}, {"Z", "large_binary"}, {"vz", "binary_view"}, {"u", "string"}, {"U", "large_string"}, {"vu", "string_view"},
      {"tdD", "date32"}, {"tdm", "date64"}, {"+s", "struct"}, {"+l", "list"}, {"+L", "large_list"}, {"+vl", "list_view"}, {"+vL", "large_list_view"}, {"+m", "map"}, {"+r", "run_end_encoded"}};
  static constexpr std::pair<std::string_view, const char*> begins[] = {{"d:", "decimal"}, {"w:", "fixed_size_binary"}, {"tt", "time"}, {"ts", "timestamp"},
                                                                        {"tD", "duration"}, {"ti", "interval"}, {"+w:", "fixed_size_list"}, {"+u", "union"}};
  for (const auto& [text, name] : whole)
    if (format == text) return name;
  for (const auto& [text, name] : begins)
    if (format.starts_with(text)) return name;
  return format;
}

/// The name of an extension type; none: empty. Metadata are a number of pairs, and each of their texts begins with its length.
std::string extension_of(const char* metadata) {
  if (metadata == nullptr) return {};
  const auto number = [&metadata] {
    std::int32_t n;
    std::memcpy(&n, metadata, sizeof n);
    metadata += sizeof n;
    return n;
  };
  const auto text = [&] {
    const auto n = static_cast<std::size_t>(number());
    std::string t(metadata, n);
    metadata += n;
    return t;
  };
  for (std::int32_t pairs = number(); pairs > 0; --pairs) {
    const std::string key = text(), value = text();
    if (key == "ARROW:extension:name") return value;
  }
  return {};
}

/// What the elements are: those of a column, be it alone or the only one of a table.
struct shape {
  dtype type;
  bool in_table;
};
shape shape_of(const ArrowSchema& s) {
  const bool table = std::strcmp(s.format, "+s") == 0;
  if (table && s.n_children != 1)
    throw wf::error(wf::errc::unsupported, "a table, or structures, of " + std::to_string(s.n_children) + " columns; take one of them");
  const ArrowSchema& column = table ? *s.children[0] : s;
  if (const std::string other = extension_of(column.metadata); !other.empty())
    throw wf::error(wf::errc::unsupported, "elements of Arrow's extension type '" + other + "', which are more than numbers; convert them");
  const auto type = column.dictionary == nullptr ? type_of(column.format) : std::nullopt;
  if (!type)
    throw wf::error(wf::errc::unsupported, column.dictionary != nullptr ? "a dictionary, whose numbers are codes; decode it, as dictionary_decode() of pyarrow does"
                                                                       : "elements of Arrow's type " + name_of(column.format) +
                                                                             "; they may be bool, integers to 64 bits, and floats");
  return {*type, table};
}

std::shared_ptr<std::vector<std::uint8_t>> bytes_of_bits(const void* bits, std::int64_t first, std::int64_t n) {
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(n));
  const auto* from = static_cast<const std::uint8_t*>(bits);
  for (std::int64_t i = 0; i < n; ++i) (*bytes)[static_cast<std::size_t>(i)] = from[(first + i) >> 3] >> ((first + i) & 7) & 1;
  return bytes;
}

view flat(const void* data, dtype type, std::int64_t n, std::shared_ptr<void> held) {
  return {{data, type, {n}, {static_cast<std::int64_t>(wf::info(type).size)}}, std::move(held)};
}

/// The elements, and which of them are not null; no mask: all.
std::pair<view, std::optional<view>> views_of(const shape& s, const std::shared_ptr<owned<ArrowArray>>& a) {
  const ArrowArray& whole = a->value;
  const ArrowArray& column = s.in_table ? *whole.children[0] : whole;
  const std::int64_t n = whole.length, first = column.offset + (s.in_table ? whole.offset : 0);
  std::optional<view> mask;
  const auto validity = [&](const ArrowArray& of, std::int64_t from) {
    if (n == 0 || of.null_count == 0 || of.n_buffers < 1 || of.buffers[0] == nullptr) return;
    auto bytes = bytes_of_bits(of.buffers[0], from, n);
    if (mask) {
      const auto* more = static_cast<const std::uint8_t*>(mask->at.data);
      for (std::size_t i = 0; i < bytes->size(); ++i) (*bytes)[i] &= more[i];
    }
    mask = flat(bytes->data(), dtype::boolean, n, bytes);
  };
  validity(column, first);
  if (s.in_table) validity(whole, whole.offset);
  if (s.type == dtype::boolean) {
    auto bytes = n == 0 ? std::make_shared<std::vector<std::uint8_t>>() : bytes_of_bits(column.buffers[1], first, n);
    return {flat(bytes->data(), s.type, n, bytes), std::move(mask)};
  }
  const auto* data = n == 0 ? nullptr : static_cast<const std::byte*>(column.buffers[1]) + first * static_cast<std::int64_t>(wf::info(s.type).size);
  return {flat(data, s.type, n, a), std::move(mask)};
}

/// Arrays one after the other, each as it comes: of a stream, or one alone.
class pieces {
 public:
  explicit pieces(nb::handle x) {
    if (nb::hasattr(x, "__arrow_c_stream__")) {
      capsule_ = x.attr("__arrow_c_stream__")();
      stream_ = std::make_unique<owned<ArrowArrayStream>>(inside<ArrowArrayStream>(capsule_, "arrow_array_stream"));
      owned<ArrowSchema> schema;
      check(stream_->value.get_schema(&stream_->value, &schema.value));
      shape_ = shape_of(schema.value);
    } else {
      const nb::object both = x.attr("__arrow_c_array__")();
      if (PyTuple_Check(both.ptr()) == 0 || PyTuple_Size(both.ptr()) != 2)
        throw wf::error(wf::errc::unsupported, "Arrow's protocol gives no pair of capsules");
      const owned<ArrowSchema> schema(inside<ArrowSchema>(both[0], "arrow_schema"));
      shape_ = shape_of(schema.value);
      alone_ = std::make_shared<owned<ArrowArray>>(inside<ArrowArray>(both[1], "arrow_array"));
    }
  }
  int type() const { return static_cast<int>(shape_.type); }
  view nothing() const { return flat(nullptr, shape_.type, 0, nullptr); }

  std::optional<std::pair<view, std::optional<view>>> next() {
    if (alone_) {
      const auto only = std::move(alone_);
      alone_ = nullptr;
      return views_of(shape_, only);
    }
    while (stream_) {
      auto a = std::make_shared<owned<ArrowArray>>();
      int status = 0;
      {
        const gil_released others_run;  // a query may run now; readers in Python take the GIL themselves
        status = stream_->value.get_next(&stream_->value, &a->value);
      }
      check(status);
      if (a->value.release == nullptr) {
        stream_ = nullptr;
      } else if (a->value.length > 0) {
        return views_of(shape_, a);
      }
    }
    return std::nullopt;
  }

 private:
  void check(int status) const {
    if (status == 0) return;
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    const char* why = stream_->value.get_last_error(&stream_->value);
    std::string line = why == nullptr ? "Arrow's stream failed" : why;
    throw wf::error(wf::errc::io, line.substr(0, line.find('\n')));
  }

  nb::object capsule_;
  std::unique_ptr<owned<ArrowArrayStream>> stream_;
  std::shared_ptr<owned<ArrowArray>> alone_;
  shape shape_{dtype::f64, false};
};

}  // namespace

void add_arrow(nb::module_& m) {
  nb::class_<pieces>(m, "Pieces")
      .def(nb::init<nb::handle>())
      .def_prop_ro("dtype", &pieces::type)
      .def("nothing", &pieces::nothing)
      .def("next", &pieces::next);
}

}  // namespace wfpy

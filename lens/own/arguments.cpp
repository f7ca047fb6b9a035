// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

#include <warpfold/error.hpp>
#include <warpfold/io/dtype.hpp>

namespace lens::own {
namespace {

/// What a user wrote, on one line that a terminal can show.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string out;
  for (const char c : text.substr(0, most)) {
    if (c >= 0x20 && c < 0x7f) out += c;
    else out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > most ? out + "..." : out;
}

[[noreturn]] void refuse(std::size_t at, std::string_view text, const std::string& why) {
  throw wf::error(wf::errc::bad_argument, fmt::format("--arg {} (parameter {}): {}", shown(text.substr(0, text.find(":@"))), at + 1, why));  // a file's array, without the path of its copy
}

/// 1000, 64K, 1M, 2^20, 1e6.
std::optional<std::uint64_t> count_of(std::string_view text) {
  const auto whole = [](std::string_view t) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
    if (t.empty() || error != std::errc() || end != t.data() + t.size()) return {};
    return value;
  };
  if (text.starts_with("2^")) {
    const auto power = whole(text.substr(2));
    return power && *power < 40 ? std::optional(std::uint64_t{1} << *power) : std::nullopt;
  }
  std::uint64_t unit = 1;
  if (const auto e = text.find('e'); e != text.npos) {
    const auto power = whole(text.substr(e + 1));
    if (!power || *power > 12) return {};
    for (std::uint64_t k = 0; k < *power; ++k) unit *= 10;
    text = text.substr(0, e);
  } else if (!text.empty()) {
    if (const auto suffix = std::string_view("KMG").find(text.back()); suffix != text.npos) {
      unit = std::uint64_t{1} << (10 * (suffix + 1));
      text.remove_suffix(1);
    }
  }
  const auto value = whole(text);
  if (!value || *value > (std::uint64_t{1} << 40) / unit) return {};
  return *value * unit;
}

std::optional<double> real_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return {};
  return value;
}

std::size_t size_of(std::string_view element) {
  for (const wf::dtype_info& d : wf::dtypes)
    if (d.name == element) return d.size;
  return 0;
}

template <class T>
void put(std::vector<unsigned char>& to, T value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

/// Calls `use` with a value of the type that `element` names.
template <class Use>
void with_type(std::string_view element, const Use& use) {
  if (element == "f16") use(__half());
  else if (element == "bf16") use(__nv_bfloat16());
  else if (element == "f32") use(float());
  else if (element == "f64") use(double());
  else if (element == "bool") use(bool());
  else if (element == "i8") use(std::int8_t());
  else if (element == "u8") use(std::uint8_t());
  else if (element == "i16") use(std::int16_t());
  else if (element == "u16") use(std::uint16_t());
  else if (element == "i32") use(std::int32_t());
  else if (element == "u32") use(std::uint32_t());
  else if (element == "i64") use(std::int64_t());
  else use(std::uint64_t());
}

template <class T>
constexpr bool is_whole = std::is_integral_v<T>;

template <class T>
T from_double(double x) {
  if constexpr (is_whole<T> || std::is_floating_point_v<T>) return static_cast<T>(x);
  else return T(static_cast<float>(x));
}

bool fill(argument& a, const std::string& how, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto next = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  bool known = true;
  with_type(a.element, [&](auto type) {
    using T = decltype(type);
    a.bytes.reserve(a.count * sizeof(T));
    std::normal_distribution<double> bell;
    for (std::uint64_t i = 0; i < a.count && known; ++i) {
      double x = 0;
      if (how == "ones") x = 1;
      else if (how == "uniform") x = is_whole<T> ? static_cast<double>(random() % 100) : next();
      else if (how == "normal" && !is_whole<T>) x = bell(random);
      else if (how == "iota") x = static_cast<double>(i);
      else known = how == "zeros";
      if constexpr (is_whole<T>) put(a.bytes, how == "iota" ? static_cast<T>(i) : static_cast<T>(x));
      else put(a.bytes, from_double<T>(x));
    }
  });
  return known || a.count == 0;
}

/// [out:]TYPE[COUNT][:FILL]
argument array_of(std::size_t at, const parameter& p, const std::string& text, std::uint64_t seed, std::uint64_t most_bytes) {
  constexpr const char* form = "an array is written TYPE[COUNT][:FILL], as f32[1M]:uniform";
  argument a;
  a.text = text;
  a.is_array = true;
  std::string_view rest = text;
  if (rest.starts_with("out:")) {
    a.is_output = true;
    rest.remove_prefix(4);
  }
  const auto open = rest.find('['), close = rest.find(']');
  if (open == rest.npos || close == rest.npos || close < open) refuse(at, text, std::string("the kernel wants an array; ") + form);
  a.element = rest.substr(0, open);
  const auto count = count_of(rest.substr(open + 1, close - open - 1));
  if (!count) refuse(at, text, "the count is no number such as 1000, 64K, 1M (2^20), 2^20 or 1e6");
  a.count = *count;
  const std::size_t size = size_of(a.element);
  if (size == 0 || a.element.starts_with('c'))
    refuse(at, text, "no type " + shown(a.element) + "; there are f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool");
  if (*p.element != '\0' && a.element != p.element)
    refuse(at, text, fmt::format("the kernel's pointer is to {}", p.element));
  if (a.count > most_bytes / size) refuse(at, text, "more than 4 GiB");
  if (a.is_output && p.is_constant) refuse(at, text, "the kernel cannot write through this pointer, which is to const");
  rest.remove_prefix(close + 1);
  std::string how = a.is_output ? "zeros" : "uniform";
  if (rest.starts_with(':')) how = rest.substr(1);
  else if (!rest.empty()) refuse(at, text, form);
  if (how.starts_with("@")) {  // a file's bytes, which `warpfold` has brought
    std::ifstream in(how.substr(1), std::ios::binary);
    a.bytes.assign(std::istreambuf_iterator<char>(in), {});
    if (a.bytes.size() != a.count * size) refuse(at, text, "its file has changed");
    return a;
  }
  if (!fill(a, how, seed + at))
    refuse(at, text, "no filling " + shown(how) + " of " + a.element + "; there are zeros, ones, iota, uniform (0 to 1, of integers 0 to 99) and, not of integers, normal");
  return a;
}

/// [TYPE=]NUMBER
argument number_of(std::size_t at, const parameter& p, const std::string& text) {
  argument a;
  a.text = text;
  a.element = p.element;
  std::string number = text;
  if (const auto equal = text.find('='); equal != text.npos) {
    number = text.substr(equal + 1);
    if (text.substr(0, equal) != p.element) refuse(at, text, fmt::format("the kernel's parameter is {}", p.element));
  }
  if (number.find('[') != number.npos) refuse(at, text, fmt::format("the kernel wants one {}, no array", p.element));
  with_type(a.element, [&](auto type) {
    using T = decltype(type);
    const bool minus = number.starts_with('-');
    if constexpr (is_whole<T>) {
      const auto value = count_of(std::string_view(number).substr(minus));
      const auto most = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
      if (!value || (minus && !std::is_signed_v<T>) || *value > most + minus)
        refuse(at, text, fmt::format("no {}, as 1000, 64K or 2^20", p.element));
      put(a.bytes, static_cast<T>(minus ? 0 - *value : *value));
    } else {
      const auto value = real_of(number);
      if (!value) refuse(at, text, fmt::format("no {}, as 0.5 or 1e-3", p.element));
      put(a.bytes, from_double<T>(*value));
    }
  });
  return a;
}

std::string parameter_text(const parameter& p) {
  const std::string name = *p.element != '\0' ? p.element : "an unknown type";
  return p.is_pointer ? (p.is_constant ? "const " : "") + name + "*" : name;
}

}  // namespace

std::vector<argument> arguments_for(const kernel& k, const std::vector<std::string>& given, std::uint64_t seed,
                                    std::uint64_t most_bytes) {
  if (given.size() != k.parameters.size()) {
    std::string all;
    for (const parameter& p : k.parameters) all += (all.empty() ? "" : ", ") + parameter_text(p);
    throw wf::error(wf::errc::bad_argument, fmt::format("the kernel takes {} argument{}{}{}, and --arg was given {} times",
                                                        k.parameters.size(), k.parameters.size() == 1 ? "" : "s",
                                                        all.empty() ? "" : ": ", all, given.size()));
  }
  std::vector<argument> all;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const parameter& p = k.parameters[i];
    if (!p.is_known)
      refuse(i, given[i], std::string("the parameter is ") + (p.is_pointer ? "a pointer to pointers" : "a struct or a class") +
                              ": --arg gives arrays and numbers; wrap the kernel in one that takes those");
    all.push_back(p.is_pointer ? array_of(i, p, given[i], seed, most_bytes) : number_of(i, p, given[i]));
  }
  return all;
}

std::string elements_text(const argument& a, const void* bytes, std::size_t most) {
  std::string text;
  with_type(a.element, [&](auto type) {
    using T = decltype(type);
    const auto* x = static_cast<const unsigned char*>(bytes);
    for (std::uint64_t i = 0; i < a.count && i < most; ++i) {
      std::memcpy(&type, x + i * sizeof(T), sizeof(T));
      text += i == 0 ? "" : ", ";
      if constexpr (std::is_same_v<T, bool>) text += type ? "true" : "false";
      else if constexpr (is_whole<T>) text += std::to_string(+type);
      else if constexpr (std::is_floating_point_v<T>) text += fmt::format("{}", type);
      else text += fmt::format("{}", static_cast<float>(type));
    }
  });
  return a.count > most ? text + " …" : text;
}

std::string first_difference(const argument& a, const void* found, const void* expected, double tolerance) {
  std::uint64_t many = 0;
  std::string first;
  with_type(a.element, [&](auto type) {
    using T = decltype(type);
    const auto at = [](const void* array, std::uint64_t i) {
      T x;
      std::memcpy(&x, static_cast<const unsigned char*>(array) + i * sizeof(T), sizeof(T));
      return x;
    };
    const auto shown_element = [](T x) {
      if constexpr (is_whole<T>) return std::to_string(+x);
      else if constexpr (std::is_floating_point_v<T>) return fmt::format("{}", x);
      else return fmt::format("{}", static_cast<float>(x));
    };
    const auto is_near = [&](T x, T y) {
      if constexpr (is_whole<T>) {
        return x == y;
      } else {
        const auto p = static_cast<double>(x), q = static_cast<double>(y);
        return p == q || (std::isnan(p) && std::isnan(q)) || std::fabs(p - q) <= tolerance * std::fabs(q);
      }
    };
    for (std::uint64_t i = 0; i < a.count; ++i) {
      const T x = at(found, i), y = at(expected, i);
      if (is_near(x, y)) continue;
      if (many++ == 0) first = fmt::format("element {} is {}, expected {}", i, shown_element(x), shown_element(y));
    }
  });
  return many == 0 ? std::string() : fmt::format("{} of {} elements differ; {}", many, a.count, first);
}

}  // namespace lens::own

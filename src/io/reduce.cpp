// SPDX-License-Identifier: Apache-2.0
#include <warpfold/io/reduce.hpp>

#include <warpfold/backend.hpp>
#include <warpfold/detail/cpu/running.hpp>
#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>
#include <warpfold/request.hpp>

#include <algorithm>
#include <cstring>

#include "../library/adapted.hpp"

namespace wf::io {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw error(errc::bad_argument, what); }

/// What is left of a file: in the address space, or as it comes.
struct source {
  array_file& file;
  std::span<const std::byte> rest{};
  std::vector<std::byte> read{};  // all of a pipe

  std::size_t size() const { return info(file.layout().type).size; }

  /// Elements that are there; fetches more if none are. 0 at the end.
  std::int64_t available() {
    if (rest.empty()) rest = file.next();
    return static_cast<std::int64_t>(rest.size() / size());
  }
  const void* take(std::int64_t n) {
    const void* p = rest.data();
    rest = rest.subspan(static_cast<std::size_t>(n) * size());
    return p;
  }
  /// Everything, at one address.
  const void* whole() {
    if (file.mapped()) return file.next().data();
    for (auto piece = file.next(); !piece.empty(); piece = file.next())
      read.insert(read.end(), piece.begin(), piece.end());
    return read.data();
  }
};

extents shape_of(const array_layout& l) { return extents(l.shape.begin(), l.shape.end()); }

/// In bytes.
extents strides_of(const array_layout& l) {
  extents shape = shape_of(l);
  if (l.fortran) std::reverse(shape.begin(), shape.end());
  extents strides = wf::detail::byte_strides(shape, row_major(shape), static_cast<std::int64_t>(info(l.type).size));
  if (l.fortran) std::reverse(strides.begin(), strides.end());
  return strides;
}

/// The file's order is that of the elements.
bool in_order(const array_layout& l) { return !l.fortran || l.shape.size() < 2; }

std::string names_of(std::span<source> in) {
  return in[0].file.name() + (in.size() > 1 ? " and " + in[1].file.name() : "");
}

void check_two(std::span<source> in) {
  const array_layout &a = in[0].file.layout(), &b = in[1].file.layout();
  if (a.type != b.type)
    refuse(names_of(in) + ": elements of " + std::string(info(a.type).name) + " and of " +
           std::string(info(b.type).name) + "; they must be of one type");
  const bool known = in[0].file.size_known() && in[1].file.size_known();
  if (!known || a.shape == b.shape) return;
  refuse(names_of(in) + ": shapes " + shape_text(a.shape) + " and " + shape_text(b.shape) +
         "; they must be the same");
}

/// Every element of the files in their own order, into one answer: an array where files are mapped, else pieces as they come, of which none is an array.
std::int64_t reduce_in_order(std::span<source> in, request r, const cpu::erased& plain) {
  const bool mapped = std::all_of(in.begin(), in.end(), [](const source& s) { return s.file.mapped(); });
  const auto pieces_of = [&](auto use) {
    for (;;) {
      std::int64_t n = in[0].available();
      if (in.size() > 1) {
        const std::int64_t other = in[1].available();
        if ((n == 0) != (other == 0))
          refuse(names_of(in) + ": one ends before the other; they must have as many elements");
        n = std::min(n, other);
      }
      if (n == 0) return;
      const void* x[cpu::max_inputs] = {};
      for (std::size_t k = 0; k < in.size(); ++k) x[k] = in[k].take(n);
      use(x, n);
    }
  };
  if (mapped) {
    std::int64_t count = 0;
    pieces_of([&](const void* const* p, std::int64_t n) {
      for (std::size_t k = 0; k < in.size(); ++k) r.inputs.data[k] = p[k];
      count = n;
    });
    r.inputs.shape = {count};
    for (std::size_t k = 0; k < in.size(); ++k) r.inputs.strides[k] = {static_cast<std::int64_t>(info(r.element).size)};
    cpu_backend().run(r);
    return count;
  }
  const library::adapted f(plain, &r.options, {r.element, r.swapped, 0, false, r.progress});
  cpu::running all(f.functions(), f.self(), r.context);
  pieces_of([&](const void* const* p, std::int64_t n) { all.add(p, n); });
  all.finish(r.out);
  return all.count();
}

per_dimension<int> every_axis(std::size_t rank) {
  per_dimension<int> axes(rank);
  for (std::size_t d = 0; d < rank; ++d) axes[d] = static_cast<int>(d);
  return axes;
}

/// An array of no elements may promise any number of answers; more than these are not believed.
constexpr std::size_t most_answers_of_nothing = std::size_t{1} << 24;

std::size_t answers_of(const extents& shape, std::uint64_t elements, const std::string& name) {
  std::size_t n = 1;
  bool too_many = false;
  for (const std::int64_t d : shape) {
    if (d == 0) return 0;
    too_many |= __builtin_mul_overflow(n, static_cast<std::size_t>(d), &n);
  }
  if (too_many || (elements == 0 && n > most_answers_of_nothing))
    refuse(name + ": no elements, but answers of the shape " +
           shape_text(std::vector<std::uint64_t>(shape.begin(), shape.end())) + "; at most " +
           std::to_string(most_answers_of_nothing) + " answers of nothing are given");
  return n;
}

reduced reduce_files(op o, std::span<source> in, const reduce_options& given) {
  const array_layout& layout = in[0].file.layout();
  const dtype type = layout.type;
  if (given.context.threads < 0) wf::detail::refuse_threads(given.context.threads);
  const cpu::erased& plain = builtin(o, type, given.context.accuracy);
  if (static_cast<std::size_t>(plain.inputs) != in.size())
    refuse(std::string(properties_of(o).name) + ": " + std::to_string(in.size()) + " inputs; it takes " +
           std::to_string(plain.inputs));
  if (in.size() > 1) check_two(in);
  const cpu::erased* check = given.check_overflow ? find_checked(o, type) : nullptr;

  request q;
  q.what = o;
  q.element = type;
  q.options.rounding = given.context.rounding;
  q.options.correction = given.correction;
  for (std::size_t k = 0; k < in.size(); ++k) q.swapped[k] = in[k].file.layout().order != native_order;
  if (check != nullptr) q.wanted = output::checked;
  q.context = given.context;
  q.progress = given.progress;

  reduced r{o, type, result_of_builtin(o, type), {}, 0, {}, {}};
  const auto make_room = [&](std::size_t answers) {
    r.values.resize(answers * plain.result_size);
    if (check != nullptr) r.checks.resize(answers);
    return check != nullptr ? static_cast<void*>(r.checks.data()) : r.values.data();
  };
  // Elements may come as they lie if that is their order, or if the order does not matter; two files must lie alike.
  const bool first_in_order = in_order(layout);
  const bool same_order =
      (first_in_order || plain.commutes) && std::all_of(in.begin(), in.end(), [&](const source& s) {
        return in_order(s.file.layout()) == first_in_order;
      });
  if (!given.axes && same_order) {
    q.out = make_room(1);
    r.count = static_cast<std::uint64_t>(reduce_in_order(in, q, check != nullptr ? *check : plain));
  } else {
    cpu::operands& x = q.inputs;
    for (std::size_t k = 0; k < in.size(); ++k) x.data[k] = in[k].whole();
    if (in.size() > 1) check_two(in);  // the size of raw pipes is known by now
    const std::string name = names_of(in);
    if (layout.shape.size() > std::size_t{max_rank})
      refuse(name + ": " + std::to_string(layout.shape.size()) + " dimensions; at most " +
             std::to_string(max_rank) + " can be reduced by axes");
    x.shape = shape_of(layout);
    for (std::size_t k = 0; k < in.size(); ++k) x.strides[k] = strides_of(in[k].file.layout());
    const per_dimension<int> axes = given.axes
                                      ? cpu::checked_axes(given.axes->which, static_cast<int>(x.shape.size()), name.c_str())
                                      : every_axis(x.shape.size());
    if (given.axes) r.shape = cpu::kept_shape(x.shape, axes, given.axes->keepdims);
    q.out = make_room(answers_of(r.shape, layout.count, name));
    q.by.kind = partition::kinds::axes;
    q.by.axes = {axes.data(), axes.size()};
    if (r.answers() != 0) cpu_backend().run(q);
    r.count = layout.count;
  }
  for (std::size_t k = 0; k < r.checks.size(); ++k)
    std::memcpy(r.values.data() + k * plain.result_size, &r.checks[k].value, plain.result_size);
  return r;
}

}  // namespace

std::size_t reduced::overflows() const {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(), [](const auto& c) { return c.overflow; }));
}

reduced reduce(op o, array_file& x, const reduce_options& options) {
  source in[] = {{x}};
  return reduce_files(o, in, options);
}

reduced reduce(op o, array_file& x, array_file& y, const reduce_options& options) {
  source in[] = {{x}, {y}};
  return reduce_files(o, in, options);
}

namespace {

template <class T>
T read(const std::byte* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

}  // namespace

std::string value_text(dtype type, const std::byte* p) {
  return wf::detail::with_type(type, [p]<class T>() -> std::string {
    if constexpr (complex_number<T>) {
      using part = typename T::value_type;
      const std::string im = value_text(dtype_of<part>, p + sizeof(part));
      return value_text(dtype_of<part>, p) + (im.front() == '-' ? "" : "+") + im + "j";
    } else if constexpr (std::is_same_v<T, bool>) {
      return read<std::uint8_t>(p) != 0 ? "true" : "false";
    } else if constexpr (floating<T>) {
      return shortest(read<T>(p));
    } else {
      return std::to_string(read<T>(p));
    }
  });
}

std::string true_integer_text(dtype type, const checked<std::uint64_t>& c) {
  std::uint64_t limbs[3] = {c.value, c.high[0], c.high[1]};
  const bool negative = type == dtype::i64 && static_cast<std::int64_t>(limbs[2]) < 0;
  if (negative) {
    std::uint64_t carry = 1;
    for (std::uint64_t& l : limbs) {
      l = ~l + carry;
      carry = carry != 0 && l == 0;
    }
  }
  std::string text;
  do {  // a digit at a time, by long division
    exact::u128 rest = 0;
    for (int k = 2; k >= 0; --k) {
      rest = rest << 64 | limbs[k];
      limbs[k] = static_cast<std::uint64_t>(rest / 10);
      rest %= 10;
    }
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest)));
  } while ((limbs[0] | limbs[1] | limbs[2]) != 0);
  return negative ? "-" + text : text;
}

}  // namespace wf::io

// SPDX-License-Identifier: Apache-2.0
/// \file reductions.hpp
/// The front door: reductions of arrays on the host.
///
///     double s  = wf::sum(values);                            // exact: the true sum, rounded once
///     double f  = wf::sum(values, wf::fast);                  // native, the same bits on every run
///     auto rows = wf::sum(matrix, wf::axis{1});               // a wf::view, any axes
///     auto [m, v] = wf::mean_var(values, wf::correction{1});
///     auto [s, lo, at] = wf::fuse(wf::sum, wf::min, wf::argmax)(values);   // one pass
///     auto r    = wf::reduce(values, my_reduction{});         // your own, see reduction.hpp
///     auto d    = wf::reduce(x, y, my_distance{});            // your own of two inputs
///     auto q    = wf::reduce(x, y, wf::transform(f), wf::sum); // sums f(x, y), without an array of them
///     auto [t, high, overflow] = wf::checked_sum(integers);   // and whether the true sum fits
///     auto each = wf::sum(values, wf::segments{offsets});     // or wf::segments_of{16}, wf::by_label{labels, n}
///
/// `values` is a contiguous range (vector, span, array …) of an element type (types.hpp),
/// a wf::view, or a std::mdspan and its like. After it come, in any order: a wf::context, wf::fast, a rounding, a correction,
/// and at most one of axis, segments, segments_of and by_label.
/// What each takes, and what it answers for no elements and for NaN, is in docs/reductions.md.
/// Errors are thrown as wf::error.
#pragma once

#include <warpfold/config.hpp>  // first: it says what a compiler must be set to

#include <array>
#include <cstring>
#include <string>
#include <tuple>

#include <warpfold/backend.hpp>
#include <warpfold/builtin.hpp>
#include <warpfold/context.hpp>
#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/detail/cpu/fusion.hpp>
#include <warpfold/detail/cpu/transform.hpp>
#include <warpfold/reduction.hpp>
#include <warpfold/request.hpp>
#include <warpfold/results.hpp>
#include <warpfold/target.hpp>
#include <warpfold/types.hpp>
#include <warpfold/version.hpp>
#include <warpfold/view.hpp>

namespace wf {

/// The accuracy `fast`. The default, exact, has no short name, since wf::exact is a namespace.
inline constexpr accuracy fast = accuracy::fast;

/// var and std divide by n - correction.
struct correction {
  std::int64_t value;  ///< subtracted from the number of elements: 0 by default; 1 for an estimate from a sample
};

/// Segment k holds the elements offsets[k] … offsets[k + 1].
struct segments {
  std::span<const std::int64_t> offsets;  ///< one more than there are segments; they rise, and stay in the input
};
/// Segments of one length; the last may be shorter.
struct segments_of {
  std::int64_t length;  ///< each one's, in elements; 1 or more
};
/// Element i belongs to answer labels[i], 0 <= labels[i] < answers.
struct by_label {
  std::span<const std::int64_t> labels;  ///< one for each element
  std::int64_t answers;                  ///< how many there are, counting labels that no element has
};

namespace detail {

template <class S>
concept setting = std::same_as<S, wf::context> || std::same_as<S, wf::accuracy> || std::same_as<S, rounding> ||
                  std::same_as<S, correction> || std::same_as<S, axis> || std::same_as<S, segments> ||
                  std::same_as<S, segments_of> || std::same_as<S, by_label>;

/// What the arguments after the values ask for.
struct settings {
  wf::context context;
  wf::options options;
  partition by;
  std::int64_t labelled = 0;  ///< the number of labels, which must be that of the elements

  void take(const wf::context& c) {
    if (c.threads < 0) refuse_threads(c.threads);
    context = c;
  }
  void take(wf::accuracy a) { context.accuracy = a; }
  void take(rounding r) { context.rounding = r; }
  void take(correction c) { options.correction = c.value; }
  void take(const axis& a) {
    by.kind = partition::kinds::axes;
    by.axes = {a.which.data(), a.which.size()};
    by.keepdims = a.keepdims;
  }
  void take(const segments& s) {
    by.kind = partition::kinds::segments;
    by.indexes = s.offsets.data();
    by.count = static_cast<std::int64_t>(s.offsets.size()) - 1;
  }
  void take(const segments_of& s) {
    by.kind = partition::kinds::equal_segments;
    by.length = s.length;
  }
  void take(const by_label& b) {
    by.kind = partition::kinds::labels;
    by.indexes = b.labels.data();
    by.count = b.answers;
    labelled = static_cast<std::int64_t>(b.labels.size());
  }

  template <class... S>
  explicit settings(const S&... s) {
    static_assert((setting<S> && ...), "warpfold: after the values come a context, wf::fast, a rounding, a correction, axis, "
                                       "segments, segments_of or by_label, and this is none of them");
    (take_context(s), ...);  // first: the others change it
    (take_other(s), ...);
    options.rounding = context.rounding;
  }

 private:
  template <class S>
  void take_context(const S& s) {
    if constexpr (std::is_same_v<S, wf::context>) take(s);
  }
  template <class S>
  void take_other(const S& s) {
    if constexpr (setting<S> && !std::is_same_v<S, wf::context>) take(s);
  }
};

template <class S>
concept partition_setting = std::same_as<S, axis> || std::same_as<S, segments> || std::same_as<S, segments_of> ||
                std::same_as<S, by_label>;
template <class... S>
inline constexpr int partitions = (0 + ... + static_cast<int>(partition_setting<S>));

/// std::mdspan, Kokkos' and cuda::std's, and any type with the same members whose accessor gives the elements as they lie in memory.
template <class X>
concept mdspan_like = requires(const X& x) {
  typename X::accessor_type;
  { X::rank() } -> std::convertible_to<std::size_t>;
  { x.is_strided() } -> std::convertible_to<bool>;
  { x.extent(0) } -> std::convertible_to<std::int64_t>;
  { x.data_handle() } -> std::convertible_to<const typename X::element_type*>;
  requires std::same_as<typename X::reference, typename X::element_type&>;
};

template <class X>
struct element_of_input;
template <class T>
struct element_of_input<view<T>> { using type = std::remove_cv_t<T>; };
template <host_range R>
struct element_of_input<R> { using type = std::remove_cv_t<std::ranges::range_value_t<R>>; };
template <mdspan_like X>
struct element_of_input<X> { using type = std::remove_cv_t<typename X::element_type>; };
template <class X>
using element_of = typename element_of_input<std::remove_cvref_t<X>>::type;
/// The same input, its elements of a type of the library's own.
template <class X>
using builtin_element_of = typename stands_for<element_of<X>>::type;

template <class X>
concept input = host_range<X> || mdspan_like<X> || requires { typename X::element; requires std::same_as<X, view<typename X::element>>; };

template <class X>
inline constexpr bool is_view = !host_range<X>;

template <class P>
concept device_place_like = requires { requires P::is_place; };
/// Whether a call begins with as many inputs as the operation takes.
template <int Inputs, class X, class... More>
inline constexpr bool takes_inputs = input<X>;
template <class X, class Y, class... More>
inline constexpr bool takes_inputs<2, X, Y, More...> = input<X> && input<Y>;
template <class X>
inline constexpr bool takes_inputs<2, X> = false;

template <class... X>
void add_inputs(cpu::operands& o, const X&... x) {
  std::size_t k = 0;
  const auto add = [&](const auto& one) {
    using One = std::remove_cvref_t<decltype(one)>;
    constexpr std::size_t size = sizeof(element_of<One>);
    if constexpr (mdspan_like<One>) {
      if (!one.is_strided())
        throw error(errc::unsupported, "an mdspan whose layout has no strides; a strided layout is right");
      extents shape, strides;
      if constexpr (One::rank() > 0) {
        for (std::size_t d = 0; d < One::rank(); ++d) {
          shape.push_back(static_cast<std::int64_t>(one.extent(d)));
          strides.push_back(static_cast<std::int64_t>(one.stride(d)));
        }
      }
      add_input(o, k, one.data_handle(), size, shape, strides);
    } else if constexpr (is_view<One>) {
      add_input(o, k, one.data(), size, one.shape(), one.strides());
    } else {
      add_input(o, k, std::ranges::data(one), size, std::ranges::size(one));
    }
    ++k;
  };
  (add(x), ...);
}
template <class... X>
cpu::operands operands_of(const X&... x) {
  cpu::operands o;
  add_inputs(o, x...);
  return o;
}

/// The shape of the answers. Throws wf::error (bad_argument) where the number of labels is not that of the elements.
WF_API extents shape_of_answers(const cpu::operands& o, const settings& s, const char* who);
[[noreturn]] WF_API void refuse_answers(const extents& shape, const char* who);
/// Throws wf::error (bad_argument) where no memory could hold the answers.
template <class Result>
void make_room(array<Result>& answers, const extents& shape, const char* who) {
  const auto n = static_cast<std::size_t>(*product(shape));
  if (n > answers.values.max_size()) refuse_answers(shape, who);
  answers.shape = shape;
  answers.values.resize(n);
}
/// The request of a call.
inline void ask(request& r, op what, dtype element, const settings& told, bool checked) {
  r.what = what;
  r.element = element;
  r.options = told.options;
  r.context = told.context;
  r.by = told.by;
  if (checked) r.wanted = output::checked;
}
inline request asked(op what, dtype element, const cpu::operands& inputs, const settings& told, bool checked) {
  request r;
  r.inputs = inputs;
  ask(r, what, element, told, checked);
  return r;
}
/// The request of a reduction that no operation names.
inline request asked(const own_reduction& own, const cpu::operands& inputs, const settings& told) {
  request r;
  r.own = own;
  r.inputs = inputs;
  r.options = told.options;
  r.context = told.context;
  r.by = told.by;
  return r;
}
/// The answer of a request on the CPU; messages begin with `who`.
template <class Result, bool Many>
auto answer(request& r, const settings& s, const char* who) {
  if constexpr (Many) {
    array<Result> out;
    make_room(out, shape_of_answers(r.inputs, s, who), who);
    r.out = out.values.data();
    cpu_backend().run(r);
    return out;
  } else {
    Result out;
    r.out = &out;
    cpu_backend().run(r);
    return out;
  }
}
/// The answer of a reduction that no operation names.
template <class Result, bool Many, class... X>
auto answer_own(const own_reduction& own, const settings& s, const X&... x) {
  request r = asked(own, operands_of(x...), s);
  return answer<Result, Many>(r, s, own.name);
}

/// The functions of an operation and the type of its answer.
template <op O>
struct plain_answer {
  template <class T>
  using type = result<O, T>;
  template <class T>
  static const cpu::erased& functions(const settings& s) { return builtin(O, dtype_of<T>, s.context.accuracy); }
};
template <op O>
struct checked_answer {
  template <class T>
  using type = checked<result<O, T>>;
  template <class T>
  static const cpu::erased& functions(const settings&) {
    static_assert(integer<T>, "only reductions of integers can overflow");
    return *find_checked(O, dtype_of<T>);
  }
};

template <op O, class Answer = plain_answer<O>>
struct function {
  static constexpr op operation = O;
  using kind = Answer;
  static constexpr bool is_checked = !std::same_as<Answer, plain_answer<O>>;

  /// On a place, such as a GPU: see gpu.hpp.
  template <class P, class... A>
    requires(P::is_place)
  auto operator()(const P& where, A&&... a) const {
    return where.template run<O, is_checked>(std::forward<A>(a)...);
  }
  template <input X, class... S>
    requires(inputs_of(O) == 1)
  auto operator()(const X& x, const S&... s) const {
    // Without settings nothing can be refused, and a request takes as long as a few elements do.
    if constexpr (!is_checked && sizeof...(S) == 0 && !is_view<X>) {
      using T = builtin_element_of<X>;
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        const auto n = static_cast<std::int64_t>(std::ranges::size(x));
        if constexpr (O == op::sum) {
          T out;
          if (cpu::sum_at_once(std::ranges::data(x), n, &out)) return out;
        } else if constexpr (O == op::mean || O == op::norm2 || O == op::sum_of_squares || O == op::var || O == op::std_dev) {
          constexpr wf::options plain;
          const void* const elements[] = {std::ranges::data(x), nullptr};
          T out;
          if (builtin(O, dtype_of<T>, accuracy::exact).few_run(&plain, elements, n, &out)) return out;
        }
      }
    }
    return call<S...>(settings(s...), x);
  }
  template <input X, input Y, class... S>
    requires(inputs_of(O) == 2)
  auto operator()(const X& x, const Y& y, const S&... s) const {
    static_assert(std::same_as<builtin_element_of<X>, builtin_element_of<Y>>, "dot takes two inputs of one element type");
    return call<S...>(settings(s...), x, y);
  }
  /// Refuses all other calls with a message in words: of an overload that does not fit, a compiler shows only the types.
  template <class X, class... S>
    requires(!device_place_like<X> && !takes_inputs<inputs_of(O), X, S...>)
  void operator()(const X&, const S&...) const {
    static_assert(input<X>, "warpfold: elements lie in a contiguous range (a std::vector, std::span, array …), a wf::view or an mdspan, and this is none of them");
    static_assert(!input<X>, "warpfold: dot takes two inputs, each a contiguous range, a wf::view or an mdspan");
  }

 private:
  template <class... S, class X, class... Y>
  static auto call(const settings& s, const X& x, const Y&... y) {
    using T = builtin_element_of<X>;
    static_assert(element<T>, "not an element type of warpfold: see warpfold/types.hpp");
    static_assert(takes<O, T>, "this reduction does not take this element type: see docs/reductions.md");
    static_assert(partitions<S...> <= 1, "at most one of axis, segments, segments_of and by_label");
    if constexpr (is_checked) static_assert(integer<T>, "only reductions of integers can overflow");
    request r;
    add_inputs(r.inputs, x, y...);
    ask(r, O, dtype_of<T>, s, is_checked);
    return answer<typename Answer::template type<T>, partitions<S...> == 1>(r, s, op_names[static_cast<int>(O)]);
  }
};

}  // namespace detail

/// \defgroup reductions Reductions
/// The functions of the front door: `wf::sum(x, settings…)`, and `wf::dot(x, y, settings…)` of two inputs. `x` is a contiguous
/// range or a wf::view; settings are a wf::context, wf::fast, a wf::rounding, a wf::correction, and at most one of wf::axis,
/// wf::segments, wf::segments_of and wf::by_label, in any order. Without one of these four the answer is a number, else a
/// wf::array of them. Errors are thrown as wf::error (bad_argument): axes, offsets and labels that do not fit, inputs of
/// different shapes. The compiler refuses elements that a reduction does not take. For GPUs see wf::gpu.
/// \{

// A function for each row of operations.def, whose comment is its docstring.
#define WF_OPERATION(name, ...) inline constexpr detail::function<op::name> name;
#include <warpfold/operations.def>
/// The usual name of norm2: √Σ|x|², rounded once. No elements give +0.
///
///     double n = wf::norm(values);
inline constexpr detail::function<op::norm2> norm;

/// \}

/// The type of the functions that answer in a wf::checked.
template <op O>
  requires can_overflow<O>
using checked_function = detail::function<O, detail::checked_answer<O>>;
/// Σx of integers, and whether the true answer fits 64 bits: a wf::checked.
/// \ingroup reductions
///
///     auto [value, high, overflow] = wf::checked_sum(integers);
inline constexpr checked_function<op::sum> checked_sum;
/// Πx of integers, and whether the true answer fits 64 bits: a wf::checked.
/// \ingroup reductions
///
///     bool fits = !wf::checked_prod(integers).overflow;
inline constexpr checked_function<op::prod> checked_prod;
/// Σx² of integers, and whether the true answer fits 64 bits: a wf::checked.
/// \ingroup reductions
///
///     bool fits = !wf::checked_sum_of_squares(integers).overflow;
inline constexpr checked_function<op::sum_of_squares> checked_sum_of_squares;
/// Σ|x| of integers, and whether the true answer fits 64 bits: a wf::checked.
/// \ingroup reductions
///
///     bool fits = !wf::checked_norm1(integers).overflow;
inline constexpr checked_function<op::norm1> checked_norm1;
/// Σxy of integers, and whether the true answer fits 64 bits: a wf::checked.
/// \ingroup reductions
///
///     bool fits = !wf::checked_dot(x, y).overflow;
inline constexpr checked_function<op::dot> checked_dot;

/// A reduction of your own: see reduction.hpp. Returns its answer, or a wf::array of answers with an axis, segments or labels. Throws wf::error
/// (bad_argument) for axes, offsets and labels that do not fit. What r's members throw leaves the call; of several exceptions, the first.
///
///     struct range_of {
///       struct state { double least, greatest; };
///       static constexpr bool commutes = true;
///       state identity() const { return {INFINITY, -INFINITY}; }
///       state lift(double x, std::int64_t) const { return {x, x}; }
///       state combine(state a, state b) const { return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)}; }
///       double finish(state s, std::int64_t) const { return s.greatest - s.least; }
///     };
///     double spread = wf::reduce(values, range_of{});
///     auto of_rows = wf::reduce(matrix, range_of{}, wf::axis{1});
template <detail::input X, class R, class... S>
  requires(!detail::input<R>)
auto reduce(const X& x, const R& r, const S&... s) {
  static_assert(detail::require_reduction<R, detail::element_of<X>>());
  static constexpr cpu::erased functions = cpu::erase<R, detail::element_of<X>>();
  return detail::answer_own<result_of<R>, detail::partitions<S...> == 1>({&functions, &r, "reduce"}, detail::settings(s...), x);
}

/// A reduction of your own, over pairs of elements of two inputs of one shape: r.lift(x, y, i). Throws wf::error (bad_argument) where
/// their shapes differ, and where the overload for one input throws.
///
///     std::int64_t rises = wf::reduce(before, after, count_rises{});
template <detail::input X, detail::input Y, class R, class... S>
auto reduce(const X& x, const Y& y, const R& r, const S&... s) {
  static_assert(detail::require_reduction<R, detail::element_of<X>, detail::element_of<Y>>());
  static constexpr cpu::erased functions = cpu::erase<R, detail::element_of<X>, detail::element_of<Y>>();
  return detail::answer_own<result_of<R>, detail::partitions<S...> == 1>({&functions, &r, "reduce"}, detail::settings(s...), x, y);
}

/// A function whose values are reduced in place of the elements: wf::reduce(x, wf::transform(f), wf::sum).
template <class F>
struct transform {
  F f;  ///< f(x), or f(x, y) for two inputs; it may be called on any thread, in any order, and throws nothing

  /// Takes a function, or any object that can be called. Throws what moving it throws.
  explicit constexpr transform(F function) : f(std::move(function)) {}
};

namespace detail {

template <class F>
inline constexpr bool is_builtin = names_operation<F>;

/// The type that a function returns for elements of T….
template <class F, class... T>
struct transformed_element {
#if defined(__CUDACC_EXTENDED_LAMBDA__)
  static_assert(!__nv_is_extended_device_lambda_closure_type(F), "warpfold: a lambda in wf::transform is [] __host__ __device__ (…) {…}: the host asks "
                                                                 "what it gives, and this is __device__ alone");
#endif
  static_assert(std::is_invocable_v<const F&, const T&...>,
                "the function of wf::transform is called with an element of each input, and this cannot be");
  using type = std::remove_cvref_t<std::invoke_result_t<const F&, const T&...>>;
  static_assert(std::is_trivially_copyable_v<type>, "what the function of wf::transform gives is not trivially copyable");
};
/// The library's element type that operation O gets from it.
template <op O, class V>
struct transformed_operand {
  using type = typename stands_for<V>::type;
  static_assert(inputs_of(O) == 1, "dot has two inputs, and wf::transform gives one: wf::reduce(x, y, wf::transform(product), wf::sum)");
  static_assert(element<type>, "what the function of wf::transform gives is not an element type of warpfold: see warpfold/types.hpp");
  static_assert(takes<O, type>, "this reduction does not take what the function of wf::transform gives: see docs/reductions.md");
};

template <class... S, class F, class R, class... X>
auto reduce_transformed(const F& f, const R& r, const settings& s, const X&... x) {
  static_assert(partitions<S...> <= 1, "at most one of axis, segments, segments_of and by_label");
  using V = typename transformed_element<F, element_of<X>...>::type;
  constexpr bool many = partitions<S...> == 1;
  if constexpr (is_builtin<R>) {
    using T = typename transformed_operand<R::operation, V>::type;
    const cpu::transformed<F, V, element_of<X>...> t(f, R::kind::template functions<T>(s), &s.options);
    return answer_own<typename R::kind::template type<T>, many>({&t.functions(), &t, op_names[static_cast<int>(R::operation)]}, s, x...);
  } else {
    static_assert(require_reduction<R, V>());
    static constexpr cpu::erased functions = cpu::erase<R, V>();
    const cpu::transformed<F, V, element_of<X>...> t(f, functions, &r);
    return answer_own<result_of<R>, many>({&t.functions(), &t, "reduce"}, s, x...);
  }
}

}  // namespace detail

/// A reduction of f(x) for all elements x, without an array of them: one of the functions above, or your own. As
/// std::transform_reduce, but exact, with axes, segments and labels. Throws wf::error (bad_argument) for those that do not fit.
///
///     double squared_error = wf::reduce(x, wf::transform([](double v) { return (v - 1) * (v - 1); }), wf::sum);
///     auto worst = wf::reduce(matrix, wf::transform([](float v) { return std::abs(v); }), wf::argmax, wf::axis{1});
///
/// The values that f returns are reduced as they are, with f's own rounding. Indexes are those of the elements.
template <detail::input X, class F, class R, class... S>
auto reduce(const X& x, const transform<F>& t, const R& r, const S&... s) {
  return detail::reduce_transformed<S...>(t.f, r, detail::settings(s...), x);
}

/// A reduction of f(x, y) for all pairs of elements of two inputs of one shape; they may be of two types. Throws wf::error (bad_argument)
/// where their shapes differ, and of axes, offsets and labels that do not fit.
///
///     double distance = wf::reduce(x, y, wf::transform([](double a, double b) { return std::abs(a - b); }), wf::max);
template <detail::input X, detail::input Y, class F, class R, class... S>
auto reduce(const X& x, const Y& y, const transform<F>& t, const R& r, const S&... s) {
  return detail::reduce_transformed<S...>(t.f, r, detail::settings(s...), x, y);
}

namespace detail {

/// Reductions of one input: all but dot.
template <class F>
inline constexpr bool can_be_fused = [] {
  if constexpr (is_builtin<F>) return inputs_of(F::operation) == 1;
  else return true;
}();

}  // namespace detail

/// Several reductions of one input in one pass: those above and your own. A call returns a tuple.
template <class... F>
class fused {
 public:
  /// Fuses these reductions. Throws what copying them throws; copying the library's throws nothing.
  explicit constexpr fused(const F&... f)
    requires(detail::can_be_fused<F> && ...)
      : parts_(f...) {}

  /// On a place, such as a GPU: `a` are pointers to where the answer of each part goes, then settings. Without the pointers the call waits and
  /// returns what it returns on the CPU. See gpu.cuh. Throws wf::error as the reductions on that place do.
  template <class P, class X, class... A>
    requires(P::is_place)
  auto operator()(const P& where, const X& x, A&&... a) const;
  /// The answers, a std::tuple of what each reduction answers alone. Throws wf::error as each of them does.
  template <detail::input X, class... S>
  auto operator()(const X& x, const S&... s) const {
    return call<X, S...>(detail::settings(s...), x, std::index_sequence_for<F...>());
  }

 private:
  template <class Part, class T>
  static constexpr auto result_type() {
    if constexpr (detail::is_builtin<Part>) return std::type_identity<typename Part::kind::template type<typename stands_for<T>::type>>();
    else return std::type_identity<result_of<Part>>();
  }

  template <class T, class Part>
  static cpu::fusion::part part_of(const Part& p, const detail::settings& s) {
    if constexpr (detail::is_builtin<Part>) {
      using E = typename stands_for<T>::type;
      static_assert(takes<Part::operation, E>, "a fused reduction does not take this element type");
      return {&Part::kind::template functions<E>(s), &s.options};
    } else {
      static constexpr cpu::erased functions = cpu::erase<Part, T>();
      return {&functions, &p};
    }
  }

  template <class X, class... S, std::size_t... K>
  auto call(const detail::settings& s, const X& x, std::index_sequence<K...>) const {
    using T = detail::element_of<X>;
    const cpu::fusion::part parts[] = {part_of<T>(std::get<K>(parts_), s)...};
    const cpu::fusion fusion(parts);
    request r = detail::asked({&fusion.functions(), &fusion, "fuse"}, detail::operands_of(x), s);
    if constexpr (detail::partitions<S...> == 0) {
      alignas(16) std::array<std::byte, (0 + ... + ((sizeof(typename decltype(result_type<F, T>())::type) + 15) / 16 * 16))> raw;  // as a fusion places them
      r.out = raw.data();
      cpu_backend().run(r);
      std::tuple<typename decltype(result_type<F, T>())::type...> out;
      (std::memcpy(&std::get<K>(out), raw.data() + fusion.result_offset(K), sizeof std::get<K>(out)), ...);
      return out;
    } else {
      std::tuple<array<typename decltype(result_type<F, T>())::type>...> out;
      const extents shape = detail::shape_of_answers(r.inputs, s, "fuse");
      const auto n = static_cast<std::size_t>(*detail::product(shape));
      (detail::make_room(std::get<K>(out), shape, "fuse"), ...);  // throws where size · n would be too large a number
      const std::size_t size = fusion.functions().result_size;
      std::vector<std::byte> raw(size * n);
      r.out = raw.data();
      cpu_backend().run(r);
      const auto unpack = [&](auto& to, std::size_t offset) {
        for (std::size_t i = 0; i < to.values.size(); ++i)
          std::memcpy(&to.values[i], raw.data() + i * size + offset, sizeof to.values[i]);
      };
      (unpack(std::get<K>(out), fusion.result_offset(K)), ...);
      return out;
    }
  }

  std::tuple<F...> parts_;
};

/// Several reductions of one input, those above and your own, in one pass over it. Throws what copying them throws; copying the library's
/// throws nothing.
///
///     auto [s, low, at] = wf::fuse(wf::sum, wf::min, wf::argmax)(values);
///     auto [m, d] = wf::fuse(wf::mean, wf::std_dev)(matrix, wf::axis{0});   // two wf::array
template <class... F>
constexpr fused<F...> fuse(const F&... f) {
  return fused<F...>(f...);
}

}  // namespace wf

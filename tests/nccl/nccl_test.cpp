// SPDX-License-Identifier: Apache-2.0
// States merged on devices over NCCL, and the answers made there: bytes and bits are the CPU's, of the whole array.
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "../support/effort.hpp"
#include "expect_refused.hpp"
#include "ranks.hpp"

namespace {

wf::request request_of(const wf::state_form& f, const void* x, const void* y, std::int64_t n, std::int64_t first) {
  const auto size = static_cast<std::int64_t>(wf::info(f.element).size);
  wf::request r;
  r.what = f.what;
  r.element = f.element;
  r.context.accuracy = f.accuracy;
  r.inputs.shape = {n};
  r.inputs.strides = {wf::extents{size}, wf::extents{size}};
  r.inputs.data = {x, y};
  r.first = first;
  return r;
}

/// Bytes of an answer: what the CPU writes of them.
bytes answer_on_cpu(const wf::state_form& f, const wf::options& o, const bytes& state) {
  bytes room(64, std::byte{0x5a}), other(64, std::byte{0xa5});
  wf::finish_states(f, o, state.data(), 1, room.data());
  wf::finish_states(f, o, state.data(), 1, other.data());
  std::size_t size = room.size();
  while (size > 0 && room[size - 1] != other[size - 1]) --size;
  room.resize(size);
  return room;
}

bool is_merged_on_devices(const wf::state_form& f) { return f.canonical; }

TEST(nccl, states_of_every_form) {
  if (rank_counts().empty()) GTEST_SKIP() << "no GPU here";
  for (const int ranks : rank_counts()) {
    int forms = 0;
    with_ranks(ranks, [&](const rank_type& me) {
      std::uint64_t seed = static_cast<std::uint64_t>(ranks);
      for (const wf::state_form& f : all_forms()) {
        ++seed;
        if (!is_merged_on_devices(f)) continue;
        bytes states, want;
        for (const auto which : {family::any, family::finite, family::alike, family::none}) {
          const bytes x = make_data(f.element, which, 90, seed), y = make_data(f.element, which, 90, seed + 1);
          std::mt19937_64 random(seed * 4 + static_cast<std::uint64_t>(which));
          const auto at = random_split(90, ranks, random);
          const auto from = at[static_cast<std::size_t>(me.index)], to = at[static_cast<std::size_t>(me.index) + 1];
          const bytes own = state_of(f, x, y, from, to - from), whole = state_of(f, x, y, 0, 90);
          states.insert(states.end(), own.begin(), own.end());
          want.insert(want.end(), whole.begin(), whole.end());
        }
        const on_device there(states);
        wf::nccl::all_reduce(me.place, me.comm, f, there.get(), 4);
        EXPECT_TRUE(there.back() == want) << name_of(f) << ", " << ranks << " ranks";
        forms += me.index == 0 ? 1 : 0;
      }
    });
    EXPECT_GT(forms, 250);
  }
}

/// Answers from states, by a device, against the CPU: of no elements, of special values, in every rounding.
TEST(nccl, answers_of_every_form) {
  if (rank_counts().empty()) GTEST_SKIP() << "no GPU here";
  const place_type place;
  std::uint64_t seed = 100;
  int forms = 0;
  for (const wf::state_form& f : all_forms()) {
    ++seed;
    if (!is_merged_on_devices(f)) continue;
    wf::states_request r = wf::detail::states_of(f, {}, 5);
    ++forms;
    for (const auto rounding : {wf::rounding::nearest, wf::rounding::up, wf::rounding::zero})
      for (const std::int64_t correction : {0, 1}) {
        r.options = {rounding, correction};
        bytes states;
        std::vector<bytes> want;
        for (const auto which : {family::any, family::finite, family::alike, family::none, family::whole}) {
          const std::int64_t n = which == family::whole ? 0 : which == family::any ? 3 : 50;
          const bytes x = make_data(f.element, which, n, seed), y = make_data(f.element, which, n, seed + 1), s = state_of(f, x, y, 0, n);
          states.insert(states.end(), s.begin(), s.end());
          want.push_back(answer_on_cpu(f, r.options, s));
        }
        bytes all;
        for (const bytes& w : want) all.insert(all.end(), w.begin(), w.end());
        const on_device there(states), out(bytes(all.size(), std::byte{0x77}));
        r.states = static_cast<std::int64_t*>(there.get());
        r.sets = -1;
        r.out = out.get();
        place.run_states(r, "answers");
        EXPECT_TRUE(out.back() == all) << name_of(f) << ", rounding " << static_cast<int>(rounding) << ", correction " << correction;
        EXPECT_TRUE(there.back() == states) << name_of(f);
      }
  }
  EXPECT_GT(forms, 250);
}

/// From the pieces to the answers.
TEST(nccl, arrays_to_answers) {
  if (rank_counts().empty()) GTEST_SKIP() << "no GPU here";
  constexpr std::size_t n = 3000;
  std::vector<float> x(n), y(n);
  std::vector<std::int32_t> k(n);
  std::mt19937_64 random(5);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = std::ldexp(static_cast<float>(static_cast<std::int32_t>(random())), static_cast<int>(random() % 60) - 30);
    y[i] = static_cast<float>(random() % 1000);
    k[i] = static_cast<std::int32_t>(random() % 50) - 20;
  }
  const auto raw = [](const auto& v) {
    const auto b = std::as_bytes(std::span(v));
    return bytes(b.begin(), b.end());
  };
  for (const int ranks : rank_counts())
    with_ranks(ranks, [&](const rank_type& me) {
      const std::size_t from = n / 10 * 10 * static_cast<std::size_t>(me.index * me.index) / static_cast<std::size_t>(ranks * ranks) / 10 * 10;
      const std::size_t to = n / 10 * 10 * static_cast<std::size_t>((me.index + 1) * (me.index + 1)) / static_cast<std::size_t>(ranks * ranks) / 10 * 10;
      const on_device dx(raw(std::span(x).subspan(from, to - from))), dy(raw(std::span(y).subspan(from, to - from))), dk(raw(std::span(k).subspan(from, to - from)));
      const std::span<const float> px(static_cast<const float*>(dx.get()), to - from), py(static_cast<const float*>(dy.get()), to - from);
      const std::span<const std::int32_t> pk(static_cast<const std::int32_t*>(dk.get()), to - from);
      const on_device out(bytes(80));
      const auto is = [&](const auto& want) {
        const bytes got = out.back(), w = raw(std::span(&want, 1));
        return std::equal(w.begin(), w.end(), got.begin());
      };
      wf::nccl::sum(me.place, me.comm, px, static_cast<float*>(out.get()));
      EXPECT_TRUE(is(wf::sum(x)));
      wf::nccl::mean(me.place, me.comm, px, static_cast<float*>(out.get()), wf::rounding::up);
      EXPECT_TRUE(is(wf::mean(x, wf::rounding::up)));
      wf::nccl::dot(me.place, me.comm, px, py, static_cast<float*>(out.get()));
      EXPECT_TRUE(is(wf::dot(x, y)));
      wf::nccl::norm(me.place, me.comm, px, static_cast<float*>(out.get()));
      EXPECT_TRUE(is(wf::norm(x)));
      wf::nccl::var(me.place, me.comm, px, static_cast<float*>(out.get()), wf::correction{1});
      EXPECT_TRUE(is(wf::var(x, wf::correction{1})));
      wf::nccl::max(me.place, me.comm, pk, static_cast<std::int32_t*>(out.get()));
      EXPECT_TRUE(is(wf::max(k)));
      wf::nccl::sum(me.place, me.comm, pk, static_cast<std::int64_t*>(out.get()));
      EXPECT_TRUE(is(wf::sum(k)));
      wf::nccl::all(me.place, me.comm, pk, static_cast<bool*>(out.get()));
      EXPECT_TRUE(is(wf::all(k)));
      // Columns of a matrix whose rows are spread.
      const wf::view<float> rows(px.data(), {static_cast<std::int64_t>(px.size()) / 10, 10}), whole(x.data(), {static_cast<std::int64_t>(n) / 10, 10});
      wf::nccl::sum(me.place, me.comm, rows, static_cast<float*>(out.get()), wf::axis{0});
      const auto columns = wf::sum(whole, wf::axis{0}).values;
      bytes got = out.back();
      got.resize(40);
      EXPECT_TRUE(got == raw(columns));
      // Places, whose pieces say where they begin.
      wf::request r = request_of(wf::form_of_states(wf::op::argmax, wf::dtype::i32), pk.data(), nullptr, static_cast<std::int64_t>(pk.size()), static_cast<std::int64_t>(from));
      r.out = out.get();
      wf::nccl::all_reduce(me.place, me.comm, r);
      EXPECT_TRUE(is(wf::argmax(k)));
      // Complex numbers: the answer, and its state.
      const auto f = wf::form_of_states(wf::op::sum, wf::dtype::c64);
      const on_device state{bytes(f.bytes)};
      r = request_of(f, dx.get(), nullptr, static_cast<std::int64_t>(px.size()) / 2, 0);
      r.out = state.get();
      const bytes whole_state = state_of(f, raw(x), {}, 0, static_cast<std::int64_t>(n) / 2);
      wf::nccl::all_reduce(me.place, me.comm, r);
      bytes answer = state.back();
      answer.resize(8);
      EXPECT_TRUE(answer == answer_on_cpu(f, {}, whole_state));
      r.wanted = wf::output::states;
      wf::nccl::all_reduce(me.place, me.comm, r);
      EXPECT_TRUE(state.back() == whole_state);
    });
}

TEST(nccl, refusals) {
  if (rank_counts().empty()) GTEST_SKIP() << "no GPU here";
  with_ranks(1, [&](const rank_type& me) {
    const auto f = wf::form_of_states(wf::op::sum, wf::dtype::f32);
    bytes nothing(f.bytes);
    wf::clear_states(f, nothing.data(), 1);
    const on_device there(nothing);
    const auto reduce = [&](const wf::state_form& form, void* p, std::int64_t n) { wf::nccl::all_reduce(me.place, me.comm, form, p, n); };
    expect_refused([&] { reduce(wf::form_of_states(wf::op::sum, wf::dtype::f32, wf::accuracy::fast), there.get(), 1); }, wf::errc::unsupported, "native");
    expect_refused([&] { reduce(wf::form_of_states(wf::op::logsumexp, wf::dtype::f32), there.get(), 1); }, wf::errc::unsupported, "native");
    expect_refused([&] { reduce(f, nullptr, 1); }, wf::errc::bad_argument, "no memory");
    expect_refused([&] { reduce(f, there.get(), -1); }, wf::errc::bad_argument, "-1 states");
    expect_refused([&] { wf::nccl::all_reduce(me.place, nullptr, f, there.get(), 1); }, wf::errc::bad_argument, "no communicator");
    auto unknown = f;
    unknown.what = static_cast<wf::op>(200);
    expect_refused([&] { reduce(unknown, there.get(), 1); }, wf::errc::unsupported, "no such reduction");
    reduce(f, nullptr, 0);  // nothing at all
    wf::request r = request_of(wf::form_of_states(wf::op::sum, wf::dtype::i32), there.get(), nullptr, 3, 0);
    r.out = there.get();
    r.wanted = wf::output::checked;
    expect_refused([&] { wf::nccl::all_reduce(me.place, me.comm, r); }, wf::errc::unsupported, "mod 2^64");
    wf::nccl::check(me.comm);
#ifndef WF_REAL_NCCL
    // A communicator that was aborted: an error, and the device goes on.
    me.comm->is_aborted = true;
    for (const auto& form : {f, wf::form_of_states(wf::op::max, wf::dtype::f32)})
      expect_refused([&] { reduce(form, there.get(), 1); }, wf::errc::device, "failed: invalid argument");
    expect_refused([&] { wf::nccl::check(me.comm); }, wf::errc::device, "remote process");
    const int before = me.comm->calls;
    me.comm->is_aborted = false;
    reduce(f, there.get(), 1);
    EXPECT_EQ(me.comm->calls, before + 1);  // one all-reduce, and nothing else on the way
#endif
    EXPECT_TRUE(there.back() == nothing);
    const std::vector<float> x{1e30f, 1, -1e30f};
    EXPECT_EQ(wf::sum(me.place, x), 1);
  });
}

TEST(gpus, arrays_of_the_host_and_pieces) {
  if (rank_counts().empty()) GTEST_SKIP() << "no GPU here";
  std::mt19937_64 random(9);
  std::vector<double> x(1000), y(1000);
  std::vector<std::int32_t> k(1000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 400) - 200);
    y[i] = static_cast<double>(random() % 9);
    k[i] = static_cast<std::int32_t>(random() % 30);
  }
  for (std::size_t ways = 1; ways < 5; ++ways) {
    std::vector<int> devices;
    for (std::size_t p = 0; p < ways; ++p) devices.push_back(nth_device(p));
    const places_type all{devices};
    ASSERT_EQ(all.size(), ways);
    EXPECT_EQ(wf::sum(all, x), wf::sum(x));
    EXPECT_EQ(wf::mean(all, x, wf::rounding::down), wf::mean(x, wf::rounding::down));
    EXPECT_EQ(wf::dot(all, x, y), wf::dot(x, y));
    EXPECT_EQ(wf::std_dev(all, x, wf::correction{1}), wf::std_dev(x, wf::correction{1}));
    EXPECT_EQ(wf::argmax(all, k), wf::argmax(k));
    EXPECT_EQ(wf::minmax(all, k).max, wf::minmax(k).max);
    EXPECT_EQ(wf::sum(all, std::vector<double>{3}), 3);
    EXPECT_EQ(wf::count(all, std::vector<float>{}), 0);
    EXPECT_EQ(wf::sum(all, y, wf::fast), wf::sum(y));  // whole numbers, which native arithmetic does not round
    std::vector<std::unique_ptr<on_device>> there;
    std::vector<std::span<const double>> pieces;
    for (std::size_t p = 0; p < ways; ++p) {
      const auto piece = std::span(std::as_const(x)).subspan(p * p * x.size() / (ways * ways), (2 * p + 1) * x.size() / (ways * ways));
      const auto raw = std::as_bytes(piece);
      library().use(nth_device(p));
      there.push_back(std::make_unique<on_device>(bytes(raw.begin(), raw.end())));
      library().use(0);
      pieces.emplace_back(static_cast<const double*>(there.back()->get()), piece.size());
    }
    std::vector<double> covered;
    for (std::size_t p = 0; p < ways; ++p) covered.insert(covered.end(), x.begin() + static_cast<std::ptrdiff_t>(p * p * x.size() / (ways * ways)),
                                                          x.begin() + static_cast<std::ptrdiff_t>(p * p * x.size() / (ways * ways) + pieces[p].size()));
    EXPECT_EQ(wf::norm(all, wf::pieces(pieces)), wf::norm(covered));
    EXPECT_EQ(wf::argmin(all, wf::pieces(pieces)), wf::argmin(covered));
    pieces.emplace_back();
    expect_refused([&] { wf::sum(all, wf::pieces(pieces)); }, wf::errc::bad_argument, "one is wanted for each");
    if (ways > 1) {
      pieces.pop_back();
      auto others = pieces;
      others[1] = others[1].first(others[1].size() - 1);
      expect_refused([&] { wf::dot(all, wf::pieces(pieces), wf::pieces(others)); }, wf::errc::bad_argument, "piece 1");
    }
    EXPECT_EQ(wf::sum(all, x), wf::sum(x));
  }
  EXPECT_EQ(wf::sum(places_type(), x), wf::sum(x));  // every device
  expect_refused([] { places_type none{std::vector<int>{}}; }, wf::errc::bad_argument, "no devices");
  expect_refused([] { places_type none{std::vector<int>{0, 99}}; }, wf::errc::bad_argument, "device 99");
  expect_refused([] { places_type none{std::vector<int>{-1}}; }, wf::errc::bad_argument, "device -1");
}

}  // namespace

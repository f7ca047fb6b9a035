// SPDX-License-Identifier: Apache-2.0
// Reductions over the ranks of communicators of every size up to that of the program, run by mpiexec: the bytes and answers
// are those of the whole array in one process, and what one rank refuses is thrown on all.
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>

#include <warpfold/mpi.hpp>

#include "../support/effort.hpp"
#include "../support/forms.hpp"

namespace {

int world_rank = 0, world_size = 1;

/// Sizes of communicators: from `least` on, each up to 8, then 16, 32, …, and the program's.
std::vector<int> sizes(int least = 1) {
  std::vector<int> all;
  for (int size = least; size < world_size; size += size < 8 ? 1 : size) all.push_back(size);
  if (least <= world_size) all.push_back(world_size);
  return all;
}

/// Communicators of 1, 2, 3 … ranks; every rank is in one of each size, the last may be smaller.
class teams {
 public:
  explicit teams(int size) {
    MPI_Comm_split(MPI_COMM_WORLD, world_rank / size, world_rank, &comm_);
    MPI_Comm_rank(comm_, &rank);
    MPI_Comm_size(comm_, &ranks);
  }
  ~teams() { MPI_Comm_free(&comm_); }
  teams(const teams&) = delete;
  operator MPI_Comm() const { return comm_; }
  int rank = 0, ranks = 0;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// What one rank does not see, a split of an array: the same on all ranks.
struct spread {
  std::vector<std::int64_t> at;
  std::int64_t from, count;
  spread(const teams& t, std::int64_t n, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    at = random_split(n, t.ranks, random);
    from = at[static_cast<std::size_t>(t.rank)];
    count = at[static_cast<std::size_t>(t.rank) + 1] - from;
  }
};

void append(bytes& to, const bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

/// Throws as it must: of that code, with that text. The rank itself says its own reason, the others name it.
template <class F>
void expect_refused(F f, wf::errc code, const std::string& text, const char* what) {
  try {
    f();
    ADD_FAILURE() << what << ": rank " << world_rank << " was not refused";
  } catch (const wf::error& e) {
    EXPECT_EQ(e.code(), code) << what << ": " << e.what();
    EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << what << ": " << e.what();
  }
}

/// Native sums of whole numbers are not rounded, so they have the same bytes in any order.
bool has_bytes(const wf::state_form& f) {
  if (f.canonical) return true;
  switch (f.what) {
    case wf::op::var: case wf::op::std_dev: case wf::op::mean_var: case wf::op::logsumexp: return false;
    case wf::op::prod: return f.element != wf::dtype::c64 && f.element != wf::dtype::c128;  // 1 and 2: powers of 2
    default: return true;
  }
}

TEST(mpi, states_of_every_form) {
  int forms = 0;
  for (const int size : sizes()) {
    const teams team(size);
    wf::test::some_of_all chosen;
    std::uint64_t seed = static_cast<std::uint64_t>(size);
    for (const wf::state_form& f : all_forms()) {
      ++seed;
      if (!chosen()) continue;
      ++forms;
      // Four arrays, spread in four ways, at once: as many states.
      bytes states, want;
      for (const auto which : {family::any, family::finite, family::alike, family::none}) {
        const bool native = !f.canonical;
        const std::int64_t n = which == family::finite || (native && f.what == wf::op::prod) ? 12 : 150;
        const bytes x = make_data(f.element, native ? family::whole : which, n, seed), y = make_data(f.element, native ? family::whole : which, n, seed + 1);
        const spread s(team, n, seed * 4 + static_cast<std::uint64_t>(which));
        append(states, state_of(f, x, y, s.from, s.count));
        append(want, state_of(f, x, y, 0, n));
      }
      wf::all_reduce(team, f, states);
      ASSERT_TRUE(!has_bytes(f) || states == want) << name_of(f) << ", " << team.ranks << " ranks";
      for (std::size_t at = 0; at < states.size(); at += f.bytes) ASSERT_EQ(std::memcmp(states.data() + at, want.data() + at, 8), 0) << name_of(f);
    }
  }
  EXPECT_GE(forms, static_cast<int>(sizes().size()) * static_cast<int>(500 * wf::test::effort()));
}

TEST(mpi, reduce_to_each_root) {
  const teams team(world_size);
  for (const auto f : {wf::form_of_states(wf::op::sum, wf::dtype::f64), wf::form_of_states(wf::op::min, wf::dtype::f32),
                       wf::form_of_states(wf::op::argmax, wf::dtype::i16)}) {
    const bytes x = make_data(f.element, family::alike, 100, 5), whole = state_of(f, x, x, 0, 100);
    for (int root = 0; root < team.ranks; ++root) {
      const spread s(team, 100, static_cast<std::uint64_t>(root));
      const bytes own = state_of(f, x, x, s.from, s.count);
      bytes state = own;
      wf::reduce(team, root, f, state);
      EXPECT_TRUE(state == (team.rank == root ? whole : own)) << name_of(f) << ", root " << root;
    }
    bytes state(f.bytes);
    wf::clear_states(f, state.data(), 1);
    expect_refused([&] { wf::reduce(team, team.ranks, f, state); }, wf::errc::bad_argument, "count from 0", "no such root");
    if (team.ranks > 1)
      expect_refused([&] { wf::reduce(team, team.rank == 1 ? 1 : 0, f, state); }, wf::errc::bad_argument, "rank 0 and rank 1 differ", "two roots");
  }
}

/// Counted states, without elements but -0.
bytes counted(const wf::state_form& f, std::int64_t n) {
  const bytes x = make_data(f.element, family::none, 1, 1);
  bytes all(f.bytes), power = state_of(f, x, x, 0, 1);
  wf::clear_states(f, all.data(), 1);
  for (int k = 0; k < 63; ++k) {
    if ((n >> k & 1) != 0) wf::merge_states(f, all.data(), power.data(), 1);
    if (n >> k > 1) wf::merge_states(f, power.data(), bytes(power).data(), 1);
  }
  return all;
}

/// Narrow states in slots; wide ones, and more elements than there is room for, as whole states after all.
TEST(mpi, compact_states) {
  const teams team(world_size);
  wf::test::some_of_all chosen;
  std::uint64_t seed = 17;
  for (const wf::state_form& f : all_forms()) {
    ++seed;
    if (!chosen() || !f.canonical) continue;
    bytes states, want;
    for (const auto which : {family::alike, family::any, family::none}) {
      const bytes x = make_data(f.element, which, 60, seed), y = make_data(f.element, which, 60, seed + 1);
      const spread s(team, 60, seed);
      append(states, state_of(f, x, y, s.from, s.count));
      append(want, state_of(f, x, y, 0, 60));
    }
    for (const int room : {1, 16, 64, 4000}) {
      bytes merged = states;
      wf::all_reduce(team, f, merged, wf::mpi::compact{room});
      ASSERT_TRUE(merged == want) << name_of(f) << " in " << room << " bytes";
    }
  }
  const auto f = wf::form_of_states(wf::op::sum, wf::dtype::f32);
  const bytes x = make_data(f.element, family::alike, 60, 5), own = state_of(f, x, x, 0, 60);
  bytes narrow = own, wide = own, want;
  EXPECT_TRUE(wf::mpi::detail::all_reduce_slots(team, f, true, narrow, 24));
  EXPECT_FALSE(wf::mpi::detail::all_reduce_slots(team, f, true, wide, 3));
  EXPECT_TRUE(wide == own);
  wf::all_reduce(team, f, wide);
  EXPECT_TRUE(narrow == wide);
  for (const int room : {0, -5, 1 << 20})
    expect_refused([&] { wf::all_reduce(team, f, narrow, wf::mpi::compact{room}); }, wf::errc::bad_argument, "they have 1 to", "no such length");
  if (team.ranks == 1) return;
  expect_refused([&] { wf::all_reduce(team, f, narrow, wf::mpi::compact{team.rank == 1 ? 64 : 32}); }, wf::errc::bad_argument, "rank 0 and rank 1 differ", "two lengths");
  bytes full = counted(f, team.rank == 0 ? INT64_MAX : 1);
  expect_refused([&] { wf::all_reduce(team, f, full, wf::mpi::compact{}); }, wf::errc::capacity, "more than 2^63", "capacity");
  bytes damaged = own;
  if (team.rank == 1) damaged[20] = std::byte{1};
  expect_refused([&] { wf::all_reduce(team, f, damaged, wf::mpi::compact{}); }, wf::errc::bad_input, team.rank == 1 ? "damaged" : "rank 1", "damaged");
}

struct worst {
  std::int64_t key, index;
};

/// The place of the first of the greatest, counted from the end of the array: it has members, keeps order and needs indexes.
struct last_greatest {
  std::int64_t size;
  worst identity() const { return {INT64_MIN, -1}; }
  worst lift(int x, std::int64_t i) const { return {x, size - 1 - i}; }
  worst combine(const worst& a, const worst& b) const {
    if (a.index >= 0 && b.index >= 0 && a.index <= b.index) throw wf::error(wf::errc::bad_argument, "pieces out of order");
    return b.key > a.key ? b : a;
  }
  std::int64_t finish(const worst& s, std::int64_t n) const { return n == 0 ? -1 : s.index; }
};

/// Σ x·y·index, with an accumulate() of its own.
struct weighted {
  struct state {
    double sum;
  };
  static constexpr bool commutes = true;
  state identity() const { return {0}; }
  state lift(double x, double y, std::int64_t i) const { return {x * y * static_cast<double>(i)}; }
  state combine(state a, state b) const { return {a.sum + b.sum}; }
  void accumulate(state& s, const double* x, const double* y, std::int64_t n, std::int64_t first) const {
    for (std::int64_t i = 0; i < n; ++i) s.sum += x[i] * y[i] * static_cast<double>(first + i);
  }
  double finish(state s, std::int64_t) const { return s.sum; }
};

/// Another one, of one input.
struct weighted_one {
  weighted::state identity() const { return {0}; }
  weighted::state lift(double x, std::int64_t) const { return {x}; }
  weighted::state combine(weighted::state a, weighted::state b) const { return {a.sum + b.sum}; }
  double finish(weighted::state s, std::int64_t) const { return s.sum; }
};

TEST(mpi, arrays_to_answers) {
  for (const int size : sizes()) {
    const teams team(size);
    const std::int64_t n = 1000;
    std::vector<double> x(n), y(n);
    std::vector<int> k(n);
    std::mt19937_64 random(static_cast<std::uint64_t>(size));
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 600) - 300);
      y[i] = static_cast<double>(random() % 1000);
      k[i] = static_cast<int>(random() % 50);
    }
    const spread s(team, n, 77);
    const auto piece = [&](const auto& v) { return std::span(v).subspan(static_cast<std::size_t>(s.from), static_cast<std::size_t>(s.count)); };
    EXPECT_EQ(wf::mpi::sum(team, piece(x)), wf::sum(x));
    EXPECT_EQ(wf::mpi::sum(team, piece(x), wf::rounding::up), wf::sum(x, wf::rounding::up));
    EXPECT_EQ(wf::mpi::mean(team, piece(k)), wf::mean(k));
    EXPECT_EQ(wf::mpi::norm(team, piece(x)), wf::norm(x));
    EXPECT_EQ(wf::mpi::dot(team, piece(x), piece(y)), wf::dot(x, y));
    EXPECT_EQ(wf::mpi::argmin(team, piece(k)), wf::argmin(k));
    EXPECT_EQ(wf::mpi::argmax(team, piece(k)), wf::argmax(k));
    EXPECT_EQ(wf::mpi::any(team, piece(k)), true);
    EXPECT_EQ(wf::mpi::count(team, piece(k)), n);
    const auto got = wf::mpi::mean_var(team, piece(x), wf::correction{1}), want = wf::mean_var(x, wf::correction{1});
    EXPECT_EQ(got.mean, want.mean);
    EXPECT_EQ(got.var, want.var);
    EXPECT_EQ(wf::mpi::minmax(team, piece(y)).max, wf::minmax(y).max);
    EXPECT_EQ(wf::mpi::argmin(team, std::span<const int>()), -1);
    EXPECT_TRUE(std::isnan(wf::mpi::mean(team, std::span<const double>())));

    // A matrix of 100 × 10 whose rows are spread: its columns, and places in them.
    const spread rows(team, 100, 78);
    const wf::view<int> whole(k.data(), {100, 10}), own(k.data() + rows.from * 10, {rows.count, 10});
    EXPECT_EQ(wf::mpi::sum(team, own, wf::axis{0}).values, wf::sum(whole, wf::axis{0}).values);
    EXPECT_EQ(wf::mpi::argmax(team, own, wf::axis{0}).values, wf::argmax(whole, wf::axis{0}).values);
    EXPECT_EQ(wf::mpi::sum(team, own, wf::axis({0}).keep()).shape, (wf::extents{1, 10}));
    EXPECT_EQ(wf::mpi::sum(team, wf::view<int>(k.data(), {0, 3}), wf::axis{1}).values, std::vector<std::int64_t>{});

    // By label: those of all ranks together.
    std::vector<std::int64_t> labels(k.begin(), k.end());
    EXPECT_EQ(wf::mpi::sum(team, piece(x), wf::by_label{piece(labels), 50}).values, wf::sum(x, wf::by_label{labels, 50}).values);

    // Reductions of one's own.
    EXPECT_EQ(wf::all_reduce(team, piece(k), last_greatest{n}), wf::reduce(k, last_greatest{n}));
    EXPECT_EQ(wf::all_reduce(team, piece(y), piece(y), weighted{}), wf::reduce(y, y, weighted{}));
    wf::mpi::own_state<weighted> state{{1.0 + team.rank}, 1};
    wf::all_reduce(team, weighted{}, state);
    EXPECT_EQ(state.state.sum, team.ranks * (team.ranks + 1) / 2.0);
    EXPECT_EQ(state.elements, team.ranks);

    // Running sums.
    wf::exact_sum sum, all_sum;
    wf::exact_dot dot, all_dot;
    wf::exact_moments moments, all_moments;
    sum.add(piece(x)), dot.add(piece(x), piece(y)), moments.add(piece(x));
    all_sum.add(x), all_dot.add(x, y), all_moments.add(x);
    wf::all_reduce(team, sum), wf::all_reduce(team, dot), wf::all_reduce(team, moments);
    EXPECT_TRUE(sum == all_sum && dot == all_dot && moments == all_moments);
    wf::exact_moments odd, all_odd;
    const std::vector<double> special{INFINITY, 1, 2};
    for (int r = 0; r < team.ranks; ++r) all_odd.add(special);
    odd.add(special);
    wf::reduce(team, team.ranks - 1, odd);
    EXPECT_EQ(odd == all_odd, team.rank == team.ranks - 1 || team.ranks == 1);
  }
}

TEST(mpi, plans) {
  for (const auto how : {wf::mpi::kind::plain, wf::mpi::persistent}) {
    const teams team(world_size);
    const auto sums = wf::form_of_states(wf::op::mean_var, wf::dtype::f32), places = wf::form_of_states(wf::op::argmin, wf::dtype::i32);
    if (how == wf::mpi::persistent && !wf::mpi::has_persistent) {
      expect_refused([&] { wf::mpi::plan p(team, sums, 1, how); }, wf::errc::unsupported, "MPI 4", "persistent before MPI 4");
      continue;
    }
    wf::mpi::plan a(team, sums, 3, how), b(team, places, 5, how, 2), c(team, sums, 0, how), d(team, sums, 3, how, 7);
    for (int turn = 0; turn < 3; ++turn) {
      const auto made = [&](const wf::state_form& f, int states, bytes& want) {
        bytes own;
        for (int k = 0; k < states; ++k) {
          const bytes x = make_data(f.element, family::alike, 90, static_cast<std::uint64_t>(10 * turn + k));
          const spread s(team, 90, static_cast<std::uint64_t>(turn + k));
          append(own, state_of(f, x, x, s.from, s.count));
          append(want, state_of(f, x, x, 0, 90));
        }
        return own;
      };
      bytes want_sums, want_places, nothing;
      bytes own_sums = made(sums, 3, want_sums), own_places = made(places, 5, want_places), again = own_sums;
      a.start(own_sums);
      b.start(own_places);
      c.start(nothing);
      while (!a.test()) {}
      if (team.rank % 2 == 0) b.wait(own_places), a.wait(own_sums);  // in any order
      else a.wait(own_sums), b.wait(own_places);
      c.wait(nothing);
      d.all_reduce(again);
      EXPECT_TRUE(own_sums == want_sums && own_places == want_places && again == want_sums);
    }
    // One rank has failed, or brings damaged states: all are told, and the plan goes on.
    bytes fine(3 * sums.bytes), damaged;
    wf::clear_states(sums, fine.data(), 3);
    damaged = fine;
    damaged[sums.bytes + 9] = std::byte{1};
    const int bad = team.ranks - 1;
    const bool is_bad = team.rank == bad;
    bytes states = is_bad ? damaged : fine;
    expect_refused([&] { d.all_reduce(states); }, wf::errc::bad_input, is_bad ? "damaged" : "rank " + std::to_string(bad), "damaged");
    if (is_bad) a.start_refused(std::make_exception_ptr(wf::error(wf::errc::io, "no such file")));
    else a.start(fine);
    expect_refused([&] { a.wait(states); }, wf::errc::io, is_bad ? "no such file" : "rank " + std::to_string(bad), "failed");
    bytes five(5 * places.bytes);
    wf::clear_states(places, five.data(), 5);
    if (is_bad) b.start_refused(std::make_exception_ptr(wf::error(wf::errc::io, "no such file")));
    else b.start(five);
    expect_refused([&] { b.wait(five); }, wf::errc::io, is_bad ? "no such file" : "rank " + std::to_string(bad), "failed");
    c.start_refused(std::make_exception_ptr(std::bad_alloc()));  // every rank
    EXPECT_THROW(c.wait({}), std::bad_alloc);
    states = fine;
    a.all_reduce(states);
    EXPECT_TRUE(states == fine);
    expect_refused([&] { a.wait(states); }, wf::errc::bad_argument, "start() comes first", "misuse");
    a.start(fine);
    expect_refused([&] { a.start(fine); }, wf::errc::bad_argument, "wait() comes between", "misuse");
    a.wait(fine);
    a.start(fine);  // never waited for: the destructor does
  }
}

/// The words of a message in a call of MPI that the library has not.
TEST(mpi, messages_in_other_calls) {
  const teams team(world_size);
  for (const auto f : {wf::form_of_states(wf::op::sum, wf::dtype::c64), wf::form_of_states(wf::op::argmin, wf::dtype::f64)}) {
    const bytes x = make_data(f.element, family::alike, 200, 9);
    const spread s(team, 200, 3);
    bytes state = state_of(f, x, x, s.from, s.count);
    wf::mpi::message m(f, 1);
    m.pack(state);
    MPI_Scan(MPI_IN_PLACE, m.data(), static_cast<int>(m.count()), m.type(), m.operation(), team);
    m.unpack(state);
    EXPECT_TRUE(state == state_of(f, x, x, 0, s.from + s.count)) << name_of(f);
  }
}

/// 2^31 - 1 copies of one message, as MPI_SUM adds them up.
TEST(mpi, two_to_the_31_messages) {
  for (const auto o : {wf::op::sum, wf::op::dot, wf::op::mean_var, wf::op::count}) {
    const auto f = wf::form_of_states(o, wf::dtype::f32);
    const bytes x = make_data(wf::dtype::f32, family::finite, 1 << 12, 1), s = state_of(f, x, x, 0, 1 << 12);
    bytes many = s, want = s, power = s;
    wf::mpi::message m(f, 1);
    m.pack(s);
    for (std::int64_t w = 0; w < m.count(); ++w) static_cast<std::uint64_t*>(m.data())[w] *= INT32_MAX;
    m.unpack(many);
    for (int k = 1; k < 31; ++k) {
      wf::merge_states(f, power.data(), bytes(power).data(), 1);
      wf::merge_states(f, want.data(), power.data(), 1);
    }
    EXPECT_TRUE(many == want) << name_of(f);
    // Every one of them refuses: no carry makes that a success.
    m.refuse(wf::errc::io, INT32_MAX - 1);
    for (std::int64_t w = 0; w < m.count(); ++w) static_cast<std::uint64_t*>(m.data())[w] *= INT32_MAX;
    expect_refused([&] { m.unpack(many); }, wf::errc::bad_argument, "several ranks", "all refuse");
  }
}

TEST(mpi, capacity) {
  for (const int size : sizes()) {
    const teams team(size);
    for (const auto o : {wf::op::sum, wf::op::min, wf::op::any, wf::op::dot}) {
      for (const auto t : {wf::dtype::f32, wf::dtype::c64}) {
        if (wf::find_builtin(o, t, wf::accuracy::exact) == nullptr) continue;
        const auto f = wf::form_of_states(o, t);
        const std::int64_t most = o == wf::op::dot && t == wf::dtype::c64 ? INT64_MAX / 2 : INT64_MAX;
        // Just as many as there is room for, and one more.
        const bytes full = counted(f, team.rank == 0 ? most - (team.ranks - 1) : 1);
        bytes state = full;
        wf::all_reduce(team, f, state);
        EXPECT_TRUE(state == counted(f, most)) << name_of(f);
        state = full;
        wf::reduce(team, 0, f, state);
        EXPECT_TRUE(state == (team.rank == 0 ? counted(f, most) : full)) << name_of(f);
        if (team.ranks == 1) continue;
        const bytes over = counted(f, team.rank == 0 ? most - (team.ranks - 2) : 1);
        state = over;
        expect_refused([&] { wf::all_reduce(team, f, state); }, wf::errc::capacity, "more than 2^6", "capacity");
        EXPECT_TRUE(state == over);
        expect_refused([&] { wf::reduce(team, 0, f, state); }, wf::errc::capacity, "more than 2^6", "capacity");
        wf::mpi::plan p(team, f);
        expect_refused([&] { p.all_reduce(state); }, wf::errc::capacity, "more than 2^6", "capacity");
      }
    }
  }
}

TEST(mpi, disagreement_is_told_to_all) {
  if (world_size == 1) GTEST_SKIP() << "one rank";
  for (const int size : sizes(2)) {
    const teams team(size);
    if (team.ranks == 1) continue;
    const int odd = team.ranks / 2;
    const bool is_odd = team.rank == odd;
    const std::string rank = "rank " + std::to_string(odd);
    const auto cleared = [](const wf::state_form& f, int n) {
      bytes b(f.bytes * static_cast<std::size_t>(n));
      wf::clear_states(f, b.data(), n);
      return b;
    };
    const auto sums = wf::form_of_states(wf::op::sum, wf::dtype::f64);
    for (const auto& other : {wf::form_of_states(wf::op::mean, wf::dtype::f64), wf::form_of_states(wf::op::sum, wf::dtype::f32),
                              wf::form_of_states(wf::op::min, wf::dtype::f64), wf::form_of_states(wf::op::sum, wf::dtype::f64, wf::accuracy::fast)}) {
      const auto f = is_odd ? other : sums;
      bytes b = cleared(f, 1);
      expect_refused([&] { wf::all_reduce(team, f, b); }, wf::errc::bad_argument, rank + " has " + std::string(wf::op_names[static_cast<int>(other.what)]) + " of ", "forms");
      expect_refused([&] { wf::reduce(team, 0, f, b); }, wf::errc::bad_argument, rank, "forms");
      expect_refused([&] { wf::mpi::plan p(team, f); }, wf::errc::bad_argument, rank, "forms");
    }
    const wf::mpi::detail::claim stale{wf::mpi::detail::id_of(sums) - (is_odd ? std::int64_t{1} << 20 : 0), 1, 0, 0};
    expect_refused([&] { wf::mpi::detail::agree(team, stale, 0, {}, "test"); }, wf::errc::bad_argument,
                   rank + " has states of version " + std::to_string(wf::state_version - 1) + ", here it is " + std::to_string(wf::state_version), "a stale version");
    bytes b = cleared(sums, is_odd ? 2 : 1);
    expect_refused([&] { wf::all_reduce(team, sums, b); }, wf::errc::bad_argument, rank + " has 2 states", "numbers");
    b = cleared(sums, 1);
    if (is_odd) b.pop_back();
    expect_refused([&] { wf::all_reduce(team, sums, b); }, wf::errc::bad_input, is_odd ? "bytes, but" : rank, "truncated");
    for (const auto& f : {sums, wf::form_of_states(wf::op::max, wf::dtype::u8), wf::form_of_states(wf::op::all, wf::dtype::i64)}) {
      b = cleared(f, 1);
      if (is_odd) std::iota(reinterpret_cast<unsigned char*>(b.data()), reinterpret_cast<unsigned char*>(b.data()) + b.size(), static_cast<unsigned char>(1));
      expect_refused([&] { wf::all_reduce(team, f, b); }, wf::errc::bad_input, is_odd ? "damaged" : rank, "foreign bytes");
      expect_refused([&] { wf::reduce(team, 0, f, b); }, wf::errc::bad_input, is_odd ? "damaged" : rank, "foreign bytes");
    }
    auto unknown = sums;
    if (is_odd) unknown.what = static_cast<wf::op>(200);
    b = cleared(sums, 1);
    expect_refused([&] { wf::all_reduce(team, unknown, b); }, wf::errc::unsupported, is_odd ? "no such reduction" : rank, "an operation that is none");

    const std::vector<double> x(10, 1.5);
    expect_refused([&] { wf::mpi::sum(team, x, is_odd ? wf::rounding::up : wf::rounding::down); }, wf::errc::bad_argument, rank, "rounding");
    expect_refused([&] { is_odd ? wf::mpi::sum(team, x) : wf::mpi::mean(team, x); }, wf::errc::bad_argument, rank, "operations");
    const wf::view<double> a(x.data(), is_odd ? wf::extents{1, 10} : wf::extents{2, 5});
    expect_refused([&] { wf::mpi::sum(team, a, wf::axis{0}); }, wf::errc::bad_argument, rank, "shapes");
    const wf::view<double> c(x.data(), is_odd ? wf::extents{3, 3, 1} : wf::extents{1, 3, 3}), d(x.data(), is_odd ? wf::extents{1, 9} : wf::extents{3, 3});
    expect_refused([&] { wf::mpi::sum(team, c, wf::axis{is_odd ? 1 : 0}); }, wf::errc::bad_argument, rank, "shapes of as many answers");
    expect_refused([&] { wf::mpi::sum(team, d, wf::axis{is_odd ? 7 : 0}); }, wf::errc::bad_argument, is_odd ? "axis" : rank, "an axis that is none");
    const std::vector<std::int64_t> labels(10, is_odd ? 4 : 0);  // found while the piece is reduced
    expect_refused([&] { wf::mpi::sum(team, x, wf::by_label{labels, 3}); }, wf::errc::bad_argument, is_odd ? "label" : rank, "a label that is none");
    expect_refused([&] { wf::mpi::max(team, x, wf::by_label{labels, 3}); }, wf::errc::bad_argument, is_odd ? "label" : rank, "a label that is none");
    expect_refused([&] { wf::mpi::dot(team, x, std::span(x).first(is_odd ? 9 : 10)); }, wf::errc::bad_argument, is_odd ? "shapes" : rank, "lengths");
    expect_refused([&] { wf::mpi::argmin(team, x, wf::by_label{labels, 5}); }, wf::errc::unsupported, "no index in the whole", "places by label");
    if (is_odd) expect_refused([&] { wf::all_reduce(team, x, weighted_one()); }, wf::errc::bad_argument, "", "reductions");
    else expect_refused([&] { wf::all_reduce(team, x, x, weighted{}); }, wf::errc::bad_argument, "", "reductions");
    // combine() that throws, on whatever rank.
    const std::vector<int> k(4, 1);
    expect_refused([&] { wf::all_reduce(team, k, last_greatest{team.rank == 0 ? 4 : 400}); }, wf::errc::bad_argument, "combine() threw", "combine");

    wf::request r;
    r.inputs.data[0] = x.data();
    r.inputs.shape = {10};
    r.inputs.strides[0] = {sizeof(double)};
    double answer = 0;
    r.out = is_odd ? nullptr : &answer;
    expect_refused([&] { wf::all_reduce(team, r); }, wf::errc::bad_argument, is_odd ? "nowhere" : rank, "nowhere to put it");
    r.out = &answer;
    wf::all_reduce(team, r);  // and all goes on
    EXPECT_EQ(answer, 15.0 * team.ranks);
    bytes state(sums.bytes);
    r.wanted = wf::output::states;
    r.out = state.data();
    wf::all_reduce(team, r);
    EXPECT_EQ(std::memcmp(state.data(), std::array{std::int64_t{10} * team.ranks}.data(), 8), 0);
    r.wanted = wf::output::checked;
    expect_refused([&] { wf::all_reduce(team, r); }, wf::errc::unsupported, "mod 2^64", "checked");
    r.wanted = wf::output::answers;
    r.first = is_odd ? 5 : 0;
    expect_refused([&] { wf::all_reduce(team, r); }, wf::errc::bad_argument, is_odd ? "request::first" : rank, "first");
  }
  MPI_Comm none = MPI_COMM_NULL;
  expect_refused([&] { wf::mpi::sum(none, std::vector<int>{1}); }, wf::errc::bad_argument, "MPI_COMM_NULL", "no communicator");
}

}  // namespace

/// Other ranks than the first tell failures alone.
class failures : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& r) override {
    if (r.failed()) std::fprintf(stderr, "rank %d: %s:%d: %s\n", world_rank, r.file_name(), r.line_number(), r.message());
  }
};

int main(int argc, char** argv) {
  const std::vector<int> one{1};
  try {
    wf::mpi::sum(MPI_COMM_WORLD, one);
    std::fputs("mpi_test: no MPI_Init, and no error\n", stderr);
    return 1;
  } catch (const wf::error&) {
  }
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (world_rank != 0) {
    testing::TestEventListeners& told = testing::UnitTest::GetInstance()->listeners();
    delete told.Release(told.default_result_printer());
    told.Append(new failures);
  }
  int failed = RUN_ALL_TESTS() != 0 ? 1 : 0;
  if (failed != 0) std::fprintf(stderr, "rank %d failed\n", world_rank);
  const auto form = wf::form_of_states(wf::op::sum, wf::dtype::f64);
  const auto outlives = std::make_unique<wf::mpi::plan>(MPI_COMM_SELF, form);
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  try {
    wf::mpi::sum(MPI_COMM_WORLD, one);
    std::fputs("mpi_test: after MPI_Finalize, and no error\n", stderr);
    return 1;
  } catch (const wf::error&) {
  }
  return failed;
}

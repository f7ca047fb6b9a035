// SPDX-License-Identifier: Apache-2.0
// What the instrumented build refuses, with the place it tells.
#include "fixture.hpp"

#include <simt/recorder.hpp>

namespace lens_test {
namespace {

class faults : public lens {
 protected:
  void refused(const std::string& name, const launch& how, unsigned n, simt::fault what, const std::string& mark,
               std::uint64_t block, std::uint32_t thread, const std::string& says) {
    const int error = run(name, how, in, out, n);
    EXPECT_EQ(error, what == simt::fault::out_of_bounds ? cudaErrorIllegalAddress
                     : what == simt::fault::misaligned  ? cudaErrorMisalignedAddress
                                                        : cudaErrorLaunchFailure);
    const simt::fault_report r = simt::last_fault();
    EXPECT_EQ(r.what, what) << r.text;
    EXPECT_NE(r.kernel.find(name), std::string::npos) << r.kernel;
    EXPECT_EQ(r.block, block) << r.text;
    EXPECT_EQ(r.thread, thread) << r.text;
    EXPECT_EQ(r.where.line, line_of(mark)) << r.text;
    EXPECT_EQ(r.where.file.substr(0, 16), "tests/simt_lens/") << r.where.file;
    EXPECT_NE(r.text.find(says), std::string::npos) << r.text;
    EXPECT_EQ(r.text.find('\n'), std::string::npos);
    simt::clear_fault();
  }
};

constexpr auto outside = simt::fault::out_of_bounds;
constexpr auto unwritten = simt::fault::uninitialised_read;
constexpr auto skewed = simt::fault::misaligned;

TEST_F(faults, past_a_static_shared_array) {
  runs("past_static", {1, 64}, 0);
  refused("past_static", {1, 64}, 1, outside, "past-static", 0, 63, "byte 256 of a shared variable of 256 bytes");
}

TEST_F(faults, past_the_launchs_dynamic_shared_memory) {
  runs("past_dynamic", {1, 32, 132}, 1);
  refused("past_dynamic", {1, 32, 128}, 1, outside, "past-dynamic", 0, 31,
          "byte 128 of dynamic shared memory of 128 bytes");
  refused("past_dynamic", {1, 32, 0}, 0, outside, "past-dynamic", 0, 0, "of 0 bytes");
}

TEST_F(faults, past_an_allocation) {
  runs("past_global", {1, 32}, size - 32);
  refused("past_global", {1, 32}, size - 31, outside, "past-global", 0, 31, "0 bytes past the end of an allocation");
  refused("past_global", {1, 32}, size, outside, "past-global", 0, 0, "allocation of 262144 bytes");
}

TEST_F(faults, across_the_end_of_an_allocation) {
  runs("across_the_end", {1, 1}, size - 2);
  refused("across_the_end", {1, 1}, size - 1, outside, "across", 0, 0, "byte 262140 of an allocation");
}

TEST_F(faults, a_null_pointer_and_a_pointer_of_the_host) {
  float* kept = in;
  in = nullptr;
  refused("past_global", {1, 1}, 0, outside, "past-global", 0, 0, "null pointer");
  float host[64] = {};
  in = host;
  refused("past_global", {1, 1}, 0, outside, "past-global", 0, 0, "not in any allocation");
  in = kept;
}

TEST_F(faults, freed_memory) {
  float* kept = in;
  float* gone = nullptr;
  ASSERT_EQ(cudaMalloc(&gone, 1024), cudaSuccess);
  in = gone;
  runs("past_global", {1, 32}, 0);
  ASSERT_EQ(cudaFree(gone), cudaSuccess);
  EXPECT_EQ(run("past_global", {1, 32}, in, out, 0), cudaErrorIllegalAddress);
  in = kept;
}

TEST_F(faults, an_atomic_past_the_end) {
  refused("atomic_past_global", {1, 1}, size, outside, "atomic-past", 0, 0, "past the end of an allocation");
}

TEST_F(faults, shared_memory_that_nobody_wrote) {
  runs("unwritten", {1, 64}, 64);
  refused("unwritten", {1, 64}, 40, unwritten, "unwritten", 0, 40, "byte 160 of a shared variable of 256 bytes");
  runs("unwritten_dynamic", {1, 64, 256}, 64);
  refused("unwritten_dynamic", {1, 64, 256}, 63, unwritten, "unwritten-dynamic", 0, 63, "that no thread of the block wrote");
  refused("unwritten_half", {1, 32}, 0, unwritten, "unwritten-half", 0, 0, "read of 4 bytes");
  simt::current_options().unwritten_reads = true;
  runs("unwritten", {1, 64}, 40);
}

TEST_F(faults, what_the_block_before_wrote_is_not_written) {
  simt::current_options().os_threads = 1;
  refused("unwritten_in_block_1", {2, 32}, 0, unwritten, "unwritten-block", 1, 0, "");
}

TEST_F(faults, padding_may_stay_unwritten) { runs("copies_with_padding", {1, 64}); }

TEST_F(faults, constants_and_local_arrays_are_free) {
  runs("constants", {2, 32});
  EXPECT_EQ(result(1)[0], 1.0f);
}

TEST_F(faults, are_found_in_lock_step_and_with_an_observer_too) {
  simt::race_detector races;
  simt::current_options().watch = &races;
  simt::current_options().schedule = simt::lane_schedule::lock_step;
  refused("unwritten", {1, 64}, 40, unwritten, "unwritten", 0, 40, "");
  refused("past_static", {1, 64}, 1, outside, "past-static", 0, 63, "");
}

TEST_F(faults, another_blocks_shared_memory) {
  runs("cluster_past_the_end", {2, 32, 0, 2}, 0);
  const int error = run("cluster_past_the_end", {2, 32, 0, 2}, in, out, 1);
  EXPECT_EQ(error, cudaErrorIllegalAddress);
  EXPECT_EQ(simt::last_fault().where.line, line_of("cluster-past")) << simt::last_fault().text;
  EXPECT_EQ(simt::last_fault().thread, 31u);
}

TEST_F(faults, static_and_dynamic_shared_memory_are_told_apart) {
  runs("static_and_dynamic", {2, 128, 512});
  EXPECT_EQ(result(128), std::vector<float>(128, 2));
  runs("only_static", {2, 128, 512});
  EXPECT_EQ(result(128), std::vector<float>(128, 3));
  refused("static_and_dynamic", {1, 128, 512}, 1, outside, "both-dynamic", 0, 127,
          "byte 512 of dynamic shared memory of 512 bytes");
}

TEST_F(faults, more_static_shared_memory_than_a_kernel_may_have) {
  runs("two_large_arrays", {2, 32}, 0);
  refused("two_large_arrays", {1, 32}, 1, simt::fault::too_much_shared, "too-much-shared", 0, 0,
          "65536 bytes of static shared variables, of which a kernel may have 49152 bytes");
}

TEST_F(faults, addresses_that_are_no_multiple_of_the_size) {
  for (unsigned by : {0u, 4u}) runs("skewed_read<float>", {1, 32}, by);
  for (unsigned by : {1u, 2u, 3u})
    refused("skewed_read<float>", {1, 32}, by, skewed, "skewed-read", 0, 0, "read of 4 bytes, whose address must be a multiple of 4");
  runs("skewed_read<double>", {1, 32}, 8);
  refused("skewed_read<double>", {1, 32}, 4, skewed, "skewed-read", 0, 0, "read of 8 bytes");
  runs("skewed_write", {1, 1}, 2);
  refused("skewed_write", {1, 1}, 1, skewed, "skewed-write", 0, 0, "write of 2 bytes");
  runs("skewed_atomic", {1, 1}, 8);
  refused("skewed_atomic", {1, 1}, 12, skewed, "skewed-atomic", 0, 0, "of 8 bytes");
  runs("skewed_shared", {1, 32}, 4);
  refused("skewed_shared", {1, 1}, 5, skewed, "skewed-shared", 0, 0, "read of 4 bytes");
}

TEST_F(faults, vectors_that_the_processor_refuses) {
  runs("skewed_vector", {1, 1}, 4);
  for (unsigned by : {1u, 2u}) {
    if (run("skewed_vector", {1, 1}, in, out, by) == cudaSuccess) continue;  // loaded member by member
    EXPECT_EQ(simt::last_fault().what, skewed) << simt::last_fault().text;
    EXPECT_EQ(simt::last_fault().address, reinterpret_cast<std::uintptr_t>(in + by));
    EXPECT_EQ(simt::last_fault().where.line, line_of("skewed-vector"));
    simt::clear_fault();
  }
}

TEST_F(faults, objects_need_no_more_than_their_types_alignment) { runs("aligned_as_its_type", {1, 64}); }

TEST_F(faults, a_loop_without_end_is_told_by_its_line) {
  simt::current_options().timeout_seconds = 0.3;
  refused("counts_for_ever", {1, 1}, 0, simt::fault::hung, "endless", 0, 0, "");
  refused("waits_for_nobody", {1, 32}, 0, simt::fault::deadlock, "volatile-spin", 0, 0, "");
  refused("waits_by_atomics", {1, 32}, 0, simt::fault::deadlock, "atomic-spin", 0, 0, "");
}

TEST_F(faults, a_full_stack_is_told_whoever_watches) {
  simt::recorder records([](const simt::block_recording&) {});
  simt::race_detector races;
  for (simt::observer* watch : {static_cast<simt::observer*>(nullptr), static_cast<simt::observer*>(&records),
                                static_cast<simt::observer*>(&races)}) {
    simt::current_options().watch = watch;
    runs("descends", {1, 32}, 20);
    refused("descends", {1, 32}, 1u << 20, outside, "descend", 0, 0, "stack of");
  }
}

TEST_F(faults, an_observer_may_be_instrumented_itself) {
  std::size_t seen = 0;
  EXPECT_EQ(run_watched_from_within("past_global", {1, 32}, in, out, 0, seen), 0) << simt::last_fault().text;
  EXPECT_EQ(seen, 64u) << "a load and a store of each thread";
}

}  // namespace
}  // namespace lens_test

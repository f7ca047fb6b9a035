// SPDX-License-Identifier: Apache-2.0
/// \file calls.hpp
/// Calls of MPI that throw what it answers, and what lives as long as MPI does: operations and datatypes.
#pragma once

// The C interface is all that is wanted.
/// \cond
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
/// \endcond
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <warpfold/error.hpp>

#if MPI_VERSION < 3
#error "warpfold/mpi.hpp: it needs MPI 3.0 or later; OpenMPI and MPICH of any distribution of today have it"
#endif

namespace wf::mpi {

/// A call of MPI answered an error, which it does where the communicator's error handler is MPI_ERRORS_RETURN. Under the
/// default, MPI_ERRORS_ARE_FATAL, MPI ends all processes instead.
class failure : public wf::error {
 public:
  /// What that call answered. Throws nothing but std::bad_alloc.
  failure(int code, const char* call) : error(errc::io, text_of(code, call)), code_(code) {}
  int mpi_code() const noexcept { return code_; }  ///< the number of MPI's own error

 private:
  static std::string text_of(int code, const char* call) {
    std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return std::string(call) + " failed: " + text.data();
  }
  int code_;
};

namespace detail {

inline void checked(int code, const char* call) {
  if (code != MPI_SUCCESS) throw failure(code, call);
}

inline bool is_running() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  if (begun != 0) MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  checked(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}
inline int size_of(MPI_Comm comm) {
  int size = 0;
  checked(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

/// What is wrong on every rank alike, so that all throw it.
inline void check_communicator(MPI_Comm comm) {
  if (!is_running()) throw error(errc::bad_argument, "warpfold/mpi.hpp: MPI is not running here; call between MPI_Init and MPI_Finalize");
  if (comm == MPI_COMM_NULL) throw error(errc::bad_argument, "warpfold/mpi.hpp: MPI_COMM_NULL; ranks outside a communicator take no part");
  int inter = 0;
  checked(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter != 0) throw error(errc::unsupported, "warpfold/mpi.hpp: an intercommunicator; merge it by MPI_Intercomm_merge");
}

/// Operations and datatypes, made once and kept. MPI_Finalize first deletes the attributes of MPI_COMM_SELF, which frees them:
/// no destructor of ours calls MPI after its end.
class kept {
 public:
  static MPI_Op operation(MPI_User_function* f, bool commutes) {
    const std::scoped_lock lock(mutex());
    kept& k = get();
    auto [at, is_new] = k.operations_.try_emplace({f, commutes}, MPI_OP_NULL);
    if (is_new) checked(MPI_Op_create(f, commutes ? 1 : 0, &at->second), "MPI_Op_create");
    return at->second;
  }
  /// n words of 64 bits that are one element of an operation; MPI knows them as integers, so that it may change their byte order.
  static MPI_Datatype words(int n) { return contiguous(n, MPI_UINT64_T); }
  /// n bytes, which it leaves as they are.
  static MPI_Datatype bytes(int n) { return contiguous(n, MPI_BYTE); }
  /// The attribute of a datatype that points to what its operation needs to know.
  static int key_of_types() {
    const std::scoped_lock lock(mutex());
    kept& k = get();
    if (k.key_ == MPI_KEYVAL_INVALID)
      checked(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &k.key_, nullptr), "MPI_Type_create_keyval");
    return k.key_;
  }

 private:
  static MPI_Datatype contiguous(int n, MPI_Datatype of) {
    const std::scoped_lock lock(mutex());
    kept& k = get();
    auto [at, is_new] = k.types_.try_emplace({n, of == MPI_BYTE}, MPI_DATATYPE_NULL);
    if (is_new) {
      checked(MPI_Type_contiguous(n, of, &at->second), "MPI_Type_contiguous");
      checked(MPI_Type_commit(&at->second), "MPI_Type_commit");
    }
    return at->second;
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static kept*& current() {
    static kept* one = nullptr;
    return one;
  }
  static kept& get() {
    if (current() != nullptr) return *current();
    int key = MPI_KEYVAL_INVALID;
    checked(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &key, nullptr), "MPI_Comm_create_keyval");
    current() = new kept;
    const int code = MPI_Comm_set_attr(MPI_COMM_SELF, key, current());
    MPI_Comm_free_keyval(&key);  // it stays while the attribute does
    if (code != MPI_SUCCESS) delete std::exchange(current(), nullptr);
    checked(code, "MPI_Comm_set_attr");
    return *current();
  }
  static int end(MPI_Comm, int, void* attribute, void*) {
    const std::scoped_lock lock(mutex());
    kept* const k = static_cast<kept*>(attribute);
    for (auto& [what, operation] : k->operations_)
      if (operation != MPI_OP_NULL) MPI_Op_free(&operation);
    for (auto& [what, type] : k->types_)
      if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    if (k->key_ != MPI_KEYVAL_INVALID) MPI_Type_free_keyval(&k->key_);
    current() = nullptr;
    delete k;
    return MPI_SUCCESS;
  }

  std::map<std::pair<MPI_User_function*, bool>, MPI_Op> operations_;
  std::map<std::pair<int, bool>, MPI_Datatype> types_;  ///< by the number of words, or bytes
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace detail

}  // namespace wf::mpi

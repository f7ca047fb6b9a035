// SPDX-License-Identifier: Apache-2.0
#include "wide.hpp"

#include <simt/half.hpp>
#include <simt/vector_types.hpp>

#if defined(__clang__)
#define SHARED thread_local
#else
#define SHARED constinit thread_local
#endif

using namespace simt;

namespace {

struct holder {
  float4 v;
  int n;
};

template <class T>
const T* in(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
T* out(void* p) {
  return static_cast<T*>(p);
}

}  // namespace

float run_wide(wide_case which, const void* from, void* to, std::size_t i) {
  switch (which) {
    case wide_case::load_float4: {
      const float4 v = in<float4>(from)[i];
      return v.x + v.y + v.z + v.w;
    }
    case wide_case::store_float4: {
      const float4 v(1, 2, 3, 4);
      out<float4>(to)[i] = v;
      return 0;
    }
    case wide_case::store_made_float4:
      out<float4>(to)[i] = make_float4(1, 2, 3, 4);
      return 0;
    case wide_case::store_braced_float4:
      out<float4>(to)[i] = {1, 2, 3, 4};
      return 0;
    case wide_case::copy_float4:
      out<float4>(to)[i] = in<float4>(from)[i];
      return 0;
    case wide_case::copy_float4_of_struct:
      out<holder>(to)[i].v = in<holder>(from)[i].v;
      return 0;
    case wide_case::load_double2: {
      const double2 v = in<double2>(from)[i];
      return static_cast<float>(v.x + v.y);
    }
    case wide_case::load_int4: {
      const int4 v = in<int4>(from)[i];
      return static_cast<float>(v.x + v.w);
    }
    case wide_case::load_longlong2: {
      const longlong2 v = in<longlong2>(from)[i];
      return static_cast<float>(v.x + v.y);
    }
    case wide_case::load_float2: {
      const float2 v = in<float2>(from)[i];
      return v.x + v.y;
    }
    case wide_case::load_short4: {
      const short4 v = in<short4>(from)[i];
      return static_cast<float>(v.x + v.w);
    }
    case wide_case::load_uchar4: {
      const uchar4 v = in<uchar4>(from)[i];
      return static_cast<float>(v.x + v.w);
    }
    case wide_case::load_char2: {
      const char2 v = in<char2>(from)[i];
      return static_cast<float>(v.x + v.y);
    }
    case wide_case::load_double4: {
      const double4 v = in<double4>(from)[i];
      return static_cast<float>(v.x + v.y + v.z + v.w);
    }
    case wide_case::load_half:
      return in<__half>(from)[i];
    case wide_case::load_half2: {
      const __half2 v = in<__half2>(from)[i];
      return __low2float(v) + __high2float(v);
    }
    case wide_case::add_half2:
      out<__half2>(to)[i] += in<__half2>(from)[i];
      return 0;
    case wide_case::shared_float4: {
      static SHARED float4 tile[33];
      tile[i] = in<float4>(from)[i];
      return tile[i + 1].x;
    }
    case wide_case::shared_half: {
      static SHARED __half tile[33];
      tile[i] = in<__half>(from)[i];
      return tile[i + 1];
    }
    case wide_case::union_float4: {
      union {
        float4 v;
        float f[4];
      } u;
      u.v = in<float4>(from)[i];
      return u.f[i & 3];
    }
  }
  return 0;
}

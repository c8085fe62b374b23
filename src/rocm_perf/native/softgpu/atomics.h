// What atomic instructions do to memory, and their names, which LDS and memory share.
#pragma once

#include <vector>

#include "softgpu/address.h"

namespace rocm_perf::softgpu {

struct AtomicForm {
  const char* operation;   // add, smin, cmpswap
  const char* old_suffix;  // gfx9's in global_atomic_add_x2: "" or "_x2"
  const char* new_name;    // gfx11's: add_u32
  const char* lds_name;    // ds_add_u32, without ds_ and _rtn; nullptr where LDS lacks it
  uint8_t bytes;
  bool compares;
  Combine combine;
};

const std::vector<AtomicForm>& atomic_forms();

// Executes it in the active lanes, one after another, on memory that other threads change too.
template <Space space>
void run_atomic(Wave& wave, const Instruction& instruction, Pointer pointer, int data, bool returns);

}  // namespace rocm_perf::softgpu

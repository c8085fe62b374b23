// What a "kernel" of the stand-in runtime is given: a C function with the kernel's mangled name, run once for the grid.
#pragma once
#include <stdint.h>

struct Launch {
  const char* kernarg;
  uint32_t grid[3], workgroup[3], group_bytes, private_bytes;
  const void* executable;
  char* (*variable)(const void* executable, const char* name);

  template <class Type>
  Type argument(unsigned offset) const {
    return *reinterpret_cast<const Type*>(kernarg + offset);
  }
  template <class Type>
  Type& global(const char* name) const {
    return *reinterpret_cast<Type*>(variable(executable, name));
  }
  uint32_t items() const { return grid[0] * grid[1] * grid[2]; }
};

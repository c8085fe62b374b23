// Loaded into the replay's runner, it takes an address range before anything else can: TAKEN=ADDRESS:SIZE.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((constructor)) static void take(void) {
  unsigned long address = 0, size = 0;
  const char* taken = getenv("TAKEN");
  if (taken && sscanf(taken, "%lx:%lu", &address, &size) == 2)
    mmap((void*)address, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

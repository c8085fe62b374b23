// Calls that Debian's headers do not declare.
#pragma once
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>

#include "../hsa_standin/description.h"

hsa_queue_t* make_described_queue(hsa_agent_t agent);
// `size` bytes of the pool, reserved at `wanted` and mapped there.
void* map_memory(hsa_amd_memory_pool_t pool, std::size_t size, std::uint64_t wanted);

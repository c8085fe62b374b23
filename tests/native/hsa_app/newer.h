// Calls that Debian's headers do not declare.
#pragma once
#include "../hsa_standin/description.h"

hsa_queue_t* make_described_queue(hsa_agent_t agent);
// `size` bytes of the pool, reserved at `wanted` and mapped there.
void* map_memory(hsa_amd_memory_pool_t pool, std::size_t size, std::uint64_t wanted);

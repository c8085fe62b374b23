// Stands for the header of a ROCm that has hsa_amd_queue_create: Debian's, with the longer table. The descriptor has
// the fields that public callers fill in; their layout is ours.
#pragma once
#define AmdExtTable AmdExtTableOfRocm5
#include_next <hsa/hsa_api_trace.h>
#undef AmdExtTable
#undef HSA_AMD_EXT_API_TABLE_MAJOR_VERSION
#define HSA_AMD_EXT_API_TABLE_MAJOR_VERSION 0x02
#include "../../description.h"
#include "../../order.h"

struct AmdExtTable {
  ApiTableVersion version;
#define X(name) void* name##_fn;
  STANDIN_ORDER_6(X)
  STANDIN_LATER(X)
#undef X
  hsa_status_t (*hsa_amd_queue_create_fn)(hsa_agent_t, QueueDescription*, uint32_t);
};

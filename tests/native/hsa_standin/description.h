// What a queue of hsa_amd_queue_create is described by.
#pragma once
#include <hsa/hsa.h>

struct QueueDescription {
  uint32_t version, flags, engine_type, queue_size_bytes, priority;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* callback_data;
  struct {
    struct {
      const uint32_t* cu_mask;
      hsa_queue_type32_t type;
      uint32_t private_segment_size, cu_mask_count;
    } compute;
  } engine;
  hsa_queue_t* queue;
};

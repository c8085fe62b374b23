// The calls of the AMD extension table in their order, as the public headers of two generations list them.
#pragma once

#define STANDIN_FIRST(X)                             \
  X(hsa_amd_coherency_get_type)                      \
  X(hsa_amd_coherency_set_type)                      \
  X(hsa_amd_profiling_set_profiler_enabled)          \
  X(hsa_amd_profiling_async_copy_enable)             \
  X(hsa_amd_profiling_get_dispatch_time)             \
  X(hsa_amd_profiling_get_async_copy_time)           \
  X(hsa_amd_profiling_convert_tick_to_system_domain) \
  X(hsa_amd_signal_async_handler)                    \
  X(hsa_amd_async_function)                          \
  X(hsa_amd_signal_wait_any)                         \
  X(hsa_amd_queue_cu_set_mask)                       \
  X(hsa_amd_memory_pool_get_info)                    \
  X(hsa_amd_agent_iterate_memory_pools)              \
  X(hsa_amd_memory_pool_allocate)                    \
  X(hsa_amd_memory_pool_free)                        \
  X(hsa_amd_memory_async_copy)

#define STANDIN_INSERTED(X)              \
  X(hsa_amd_memory_async_copy_on_engine) \
  X(hsa_amd_memory_copy_engine_status)

#define STANDIN_MIDDLE(X)                     \
  X(hsa_amd_agent_memory_pool_get_info)       \
  X(hsa_amd_agents_allow_access)              \
  X(hsa_amd_memory_pool_can_migrate)          \
  X(hsa_amd_memory_migrate)                   \
  X(hsa_amd_memory_lock)                      \
  X(hsa_amd_memory_unlock)                    \
  X(hsa_amd_memory_fill)                      \
  X(hsa_amd_interop_map_buffer)               \
  X(hsa_amd_interop_unmap_buffer)             \
  X(hsa_amd_image_create)                     \
  X(hsa_amd_pointer_info)                     \
  X(hsa_amd_pointer_info_set_userdata)        \
  X(hsa_amd_ipc_memory_create)                \
  X(hsa_amd_ipc_memory_attach)                \
  X(hsa_amd_ipc_memory_detach)                \
  X(hsa_amd_signal_create)                    \
  X(hsa_amd_ipc_signal_create)                \
  X(hsa_amd_ipc_signal_attach)                \
  X(hsa_amd_register_system_event_handler)    \
  X(hsa_amd_queue_intercept_create)           \
  X(hsa_amd_queue_intercept_register)         \
  X(hsa_amd_queue_set_priority)               \
  X(hsa_amd_memory_async_copy_rect)           \
  X(hsa_amd_runtime_queue_create_register)    \
  X(hsa_amd_memory_lock_to_pool)              \
  X(hsa_amd_register_deallocation_callback)   \
  X(hsa_amd_deregister_deallocation_callback) \
  X(hsa_amd_signal_value_pointer)             \
  X(hsa_amd_svm_attributes_set)               \
  X(hsa_amd_svm_attributes_get)               \
  X(hsa_amd_svm_prefetch_async)

#define STANDIN_VMEM(X)                   \
  X(hsa_amd_spm_acquire)                  \
  X(hsa_amd_spm_release)                  \
  X(hsa_amd_spm_set_dest_buffer)          \
  X(hsa_amd_queue_cu_get_mask)            \
  X(hsa_amd_portable_export_dmabuf)       \
  X(hsa_amd_portable_close_dmabuf)        \
  X(hsa_amd_vmem_address_reserve)         \
  X(hsa_amd_vmem_address_free)            \
  X(hsa_amd_vmem_handle_create)           \
  X(hsa_amd_vmem_handle_release)          \
  X(hsa_amd_vmem_map)                     \
  X(hsa_amd_vmem_unmap)                   \
  X(hsa_amd_vmem_set_access)              \
  X(hsa_amd_vmem_get_access)              \
  X(hsa_amd_vmem_export_shareable_handle) \
  X(hsa_amd_vmem_import_shareable_handle) \
  X(hsa_amd_vmem_retain_alloc_handle)     \
  X(hsa_amd_vmem_get_alloc_properties_from_handle)

#define STANDIN_LATER(X)                      \
  X(hsa_amd_agent_set_async_scratch_limit)    \
  X(hsa_amd_queue_get_info)                   \
  X(hsa_amd_vmem_address_reserve_align)       \
  X(hsa_amd_enable_logging)                   \
  X(hsa_amd_signal_wait_all)                  \
  X(hsa_amd_memory_get_preferred_copy_engine) \
  X(hsa_amd_portable_export_dmabuf_v2)        \
  X(hsa_amd_ais_file_write)                   \
  X(hsa_amd_ais_file_read)                    \
  X(hsa_amd_counted_queue_acquire)            \
  X(hsa_amd_counted_queue_release)            \
  X(hsa_amd_memory_async_batch_copy)          \
  X(hsa_amd_agent_preload)                    \
  X(hsa_amd_svm_discard_batch_async)          \
  X(hsa_amd_signal_get_event_id)

// ROCm 5.2, ROCm 6.0; and a later one, whose last call stands where our newer header has it.
#define STANDIN_ORDER_5(X) STANDIN_FIRST(X) STANDIN_MIDDLE(X) X(hsa_amd_queue_cu_get_mask)

#define STANDIN_ORDER_6(X) STANDIN_FIRST(X) STANDIN_INSERTED(X) STANDIN_MIDDLE(X) STANDIN_VMEM(X)

#define STANDIN_ORDER_10(X) STANDIN_ORDER_6(X) STANDIN_LATER(X) X(hsa_amd_queue_create)

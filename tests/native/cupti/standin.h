// How a program feeds the stand-in for CUPTI.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

extern "C" {
void standin_put(const void* record, std::size_t size);  // as CUPTI stores an activity record
void standin_context_created(unsigned id, unsigned device);
void standin_drop(std::size_t records);  // as if no buffer had been there for them
unsigned long standin_now();
bool standin_records_kernels();
bool standin_is_attached();
bool standin_has_context(unsigned device);
void standin_gpu_is_idle();
unsigned standin_detachments();
void standin_begin_call(CUpti_CallbackDomain domain, CUpti_CallbackId id);
void standin_end_call(CUpti_CallbackDomain domain, CUpti_CallbackId id);
void standin_call_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);  // if that is enabled
}

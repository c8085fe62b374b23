// The tracer reads each record by the oldest type that has its fields. Here the compiler checks that the newest type of
// these headers has the same fields in the same places.
#include <cupti.h>

#include <cstddef>

#define SAME(Old, New, field)                                                   \
  static_assert(offsetof(Old, field) == offsetof(New, field), #Old "." #field); \
  static_assert(sizeof(Old::field) == sizeof(New::field), #Old "." #field)

#if CUPTI_API_VERSION >= 130000
using NewKernel = CUpti_ActivityKernel10;
using NewCopy = CUpti_ActivityMemcpy6;
using NewPeer = CUpti_ActivityMemcpyPtoP4;
using NewFill = CUpti_ActivityMemset4;
using NewMemory = CUpti_ActivityMemory4;
using NewWait = CUpti_ActivitySynchronization2;
using NewOverhead = CUpti_ActivityOverhead3;
using NewEvent = CUpti_ActivityCudaEvent2;
#elif CUPTI_API_VERSION >= 18
using NewKernel = CUpti_ActivityKernel9;
using NewCopy = CUpti_ActivityMemcpy5;
using NewPeer = CUpti_ActivityMemcpyPtoP4;
using NewFill = CUpti_ActivityMemset4;
using NewMemory = CUpti_ActivityMemory3;
using NewWait = CUpti_ActivitySynchronization;
using NewOverhead = CUpti_ActivityOverhead;
using NewEvent = CUpti_ActivityCudaEvent;
#else
using NewKernel = CUpti_ActivityKernel7;
using NewCopy = CUpti_ActivityMemcpy5;
using NewPeer = CUpti_ActivityMemcpyPtoP4;
using NewFill = CUpti_ActivityMemset4;
using NewMemory = CUpti_ActivityMemory3;
using NewWait = CUpti_ActivitySynchronization;
using NewOverhead = CUpti_ActivityOverhead;
using NewEvent = CUpti_ActivityCudaEvent;
#endif

SAME(CUpti_ActivityKernel4, NewKernel, start);
SAME(CUpti_ActivityKernel4, NewKernel, end);
SAME(CUpti_ActivityKernel4, NewKernel, deviceId);
SAME(CUpti_ActivityKernel4, NewKernel, contextId);
SAME(CUpti_ActivityKernel4, NewKernel, streamId);
SAME(CUpti_ActivityKernel4, NewKernel, gridX);
SAME(CUpti_ActivityKernel4, NewKernel, blockZ);
SAME(CUpti_ActivityKernel4, NewKernel, registersPerThread);
SAME(CUpti_ActivityKernel4, NewKernel, staticSharedMemory);
SAME(CUpti_ActivityKernel4, NewKernel, dynamicSharedMemory);
SAME(CUpti_ActivityKernel4, NewKernel, correlationId);
SAME(CUpti_ActivityKernel4, NewKernel, name);

#define COPY(Old, New)       \
  SAME(Old, New, copyKind);  \
  SAME(Old, New, srcKind);   \
  SAME(Old, New, dstKind);   \
  SAME(Old, New, bytes);     \
  SAME(Old, New, start);     \
  SAME(Old, New, end);       \
  SAME(Old, New, deviceId);  \
  SAME(Old, New, contextId); \
  SAME(Old, New, streamId);  \
  SAME(Old, New, correlationId)
COPY(CUpti_ActivityMemcpy, NewCopy);
COPY(CUpti_ActivityMemcpyPtoP, NewPeer);
SAME(CUpti_ActivityMemcpyPtoP, NewPeer, srcDeviceId);
SAME(CUpti_ActivityMemcpyPtoP, NewPeer, dstDeviceId);

SAME(CUpti_ActivityMemset, NewFill, bytes);
SAME(CUpti_ActivityMemset, NewFill, start);
SAME(CUpti_ActivityMemset, NewFill, end);
SAME(CUpti_ActivityMemset, NewFill, deviceId);
SAME(CUpti_ActivityMemset, NewFill, contextId);
SAME(CUpti_ActivityMemset, NewFill, streamId);
SAME(CUpti_ActivityMemset, NewFill, correlationId);
SAME(CUpti_ActivityMemset, NewFill, memoryKind);

SAME(CUpti_ActivityMemory2, NewMemory, memoryOperationType);
SAME(CUpti_ActivityMemory2, NewMemory, memoryKind);
SAME(CUpti_ActivityMemory2, NewMemory, correlationId);
SAME(CUpti_ActivityMemory2, NewMemory, address);
SAME(CUpti_ActivityMemory2, NewMemory, bytes);
SAME(CUpti_ActivityMemory2, NewMemory, timestamp);
SAME(CUpti_ActivityMemory2, NewMemory, deviceId);

SAME(CUpti_ActivitySynchronization, NewWait, type);
SAME(CUpti_ActivitySynchronization, NewWait, start);
SAME(CUpti_ActivitySynchronization, NewWait, end);
SAME(CUpti_ActivitySynchronization, NewWait, correlationId);
SAME(CUpti_ActivitySynchronization, NewWait, contextId);
SAME(CUpti_ActivitySynchronization, NewWait, streamId);
SAME(CUpti_ActivitySynchronization, NewWait, cudaEventId);

SAME(CUpti_ActivityOverhead, NewOverhead, overheadKind);
SAME(CUpti_ActivityOverhead, NewOverhead, objectId);
SAME(CUpti_ActivityOverhead, NewOverhead, start);
SAME(CUpti_ActivityOverhead, NewOverhead, end);

SAME(CUpti_ActivityCudaEvent, NewEvent, correlationId);
SAME(CUpti_ActivityCudaEvent, NewEvent, contextId);
SAME(CUpti_ActivityCudaEvent, NewEvent, streamId);
SAME(CUpti_ActivityCudaEvent, NewEvent, eventId);

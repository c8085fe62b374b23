"""The messages of an XPlane file and of the HLO modules inside it, with the fields that are used.

Numbers: tsl/profiler/protobuf/xplane.proto, xla/service/hlo.proto and xla/xla_data.proto of github.com/openxla/xla.
"""

from __future__ import annotations

from typing import Any

from rocm_perf.ingest.io.protobuf import message_classes

PLANES, ERRORS, WARNINGS, HOSTNAMES = 1, 2, 3, 4  # fields of XSpace
LINES = 3  # field of XPlane

_XPLANE = {
    "XPlane": {
        "id": "int64 1",
        "name": "bytes 2",
        "event_metadata": "*EventEntry 4",
        "stat_metadata": "*StatEntry 5",
        "stats": "*XStat 6",
    },
    "EventEntry": {"key": "int64 1", "value": "XEventMetadata 2"},
    "StatEntry": {"key": "int64 1", "value": "XStatMetadata 2"},
    "XLine": {
        "id": "int64 1",
        "name": "bytes 2",
        "timestamp_ns": "int64 3",
        "events": "*XEvent 4",
        "display_name": "bytes 11",
    },
    "XEvent": {
        "metadata_id": "int64 1",
        "offset_ps": "int64 2",
        "duration_ps": "int64 3",
        "stats": "*XStat 4",
        "num_occurrences": "int64 5",
    },
    "XStat": {
        "metadata_id": "int64 1",
        "double_value": "double 2",
        "uint64_value": "uint64 3",
        "int64_value": "int64 4",
        "str_value": "bytes 5",
        "bytes_value": "bytes 6",
        "ref_value": "uint64 7",
    },
    "XEventMetadata": {"id": "int64 1", "name": "bytes 2", "display_name": "bytes 4", "stats": "*XStat 5"},
    "XStatMetadata": {"id": "int64 1", "name": "bytes 2"},
}

_HLO = {
    "HloProto": {"hlo_module": "HloModuleProto 1"},
    "HloModuleProto": {
        "name": "bytes 1",
        "computations": "*HloComputationProto 3",
        "id": "int64 5",
        "entry_computation_id": "int64 6",
        "stack_frame_index": "StackFrameIndexProto 17",
    },
    "HloComputationProto": {
        "name": "bytes 1",
        "instructions": "*HloInstructionProto 2",
        "id": "int64 5",
    },
    "HloInstructionProto": {
        "name": "bytes 1",
        "opcode": "bytes 2",
        "shape": "ShapeProto 3",
        "metadata": "OpMetadata 7",
        "window": "Window 15",
        "convolution_dimension_numbers": "ConvolutionDimensionNumbers 16",
        "custom_call_target": "bytes 28",
        "dot_dimension_numbers": "DotDimensionNumbers 30",
        "id": "int64 35",
        "operand_ids": "*int64 36",
        "called_computation_ids": "*int64 38",
        "backend_config": "bytes 43",
        "replica_groups": "*ReplicaGroup 49",
        "feature_group_count": "int64 50",
        "batch_group_count": "int64 58",
        "collective_device_list": "CollectiveDeviceList 87",
        "iota_collective_device_list": "IotaDeviceList 92",
    },
    "ShapeProto": {"element_type": "int64 2", "dimensions": "*int64 3", "tuple_shapes": "*ShapeProto 4"},
    "OpMetadata": {
        "op_name": "bytes 2",
        "source_file": "bytes 3",
        "source_line": "int64 4",
        "stack_frame_id": "int64 15",
    },
    "StackFrameIndexProto": {
        "file_names": "*bytes 1",
        "function_names": "*bytes 2",
        "file_locations": "*FileLocation 3",
        "stack_frames": "*StackFrame 4",
    },
    "FileLocation": {"file_name_id": "int64 1", "function_name_id": "int64 2", "line": "int64 3"},
    "StackFrame": {"file_location_id": "int64 1", "parent_frame_id": "int64 2"},
    "Window": {"dimensions": "*WindowDimension 1"},
    "WindowDimension": {"size": "int64 1"},
    "DotDimensionNumbers": {
        "lhs_contracting_dimensions": "*int64 1",
        "rhs_contracting_dimensions": "*int64 2",
        "lhs_batch_dimensions": "*int64 3",
        "rhs_batch_dimensions": "*int64 4",
    },
    "ConvolutionDimensionNumbers": {
        "kernel_input_feature_dimension": "int64 3",
        "kernel_output_feature_dimension": "int64 4",
        "kernel_spatial_dimensions": "*int64 6",
    },
    "ReplicaGroup": {"replica_ids": "*int64 1"},
    "CollectiveDeviceList": {"replica_groups": "*ReplicaGroup 1"},
    "IotaDeviceList": {"num_devices_per_group": "int64 2"},
}


def xplane_messages() -> dict[str, Any]:
    """The messages of an XPlane file."""
    return message_classes("rocm_perf.xplane", _XPLANE)


def hlo_messages() -> dict[str, Any]:
    """The messages of an HLO module."""
    return message_classes("rocm_perf.hlo", _HLO)

"""Figures of a machine file (proto/gpuexec/v1/machine.proto), read without the analyzer: what counters are held to."""

import struct

import wire_format

# Fields of MachineFile, Ceiling, Latency and Slope, and values of their enums.
_CEILING, _LATENCY = 10, 11
_RESOURCE, _CEILING_SLOPE, _RESOURCE_L2 = 1, 4, 2
_LEVEL, _LATENCY_SLOPE, _SECTORS, _LEVEL_L2, _LEVEL_DRAM = 1, 2, 4, 3, 4
_PER_SECOND, _PER_SM_CYCLE = 2, 3


def _double(bits):
    return struct.unpack("<d", bits.to_bytes(8, "little"))[0]


class Machine:
    """None where the file does not say."""

    def __init__(self, data):
        # SM cycles of a load that waits for nothing but L2 or DRAM, of one sector a request; bytes a second out of L2, the best.
        self.l2_load_cycles = None
        self.dram_load_cycles = None
        self.l2_bytes_per_second = None
        for number, span in wire_format.fields(data, 0, len(data)):
            if number == _LATENCY:
                found = wire_format.message(data, span)
                if found.get(_SECTORS) == 1 and _LATENCY_SLOPE in found:
                    loads = wire_format.message(data, found[_LATENCY_SLOPE]).get(_PER_SM_CYCLE)
                    cycles = 1 / _double(loads) if loads and _double(loads) > 0 else None
                    if found.get(_LEVEL) == _LEVEL_L2:
                        self.l2_load_cycles = cycles
                    elif found.get(_LEVEL) == _LEVEL_DRAM:
                        self.dram_load_cycles = cycles
            elif number == _CEILING:
                found = wire_format.message(data, span)
                if found.get(_RESOURCE) == _RESOURCE_L2 and _CEILING_SLOPE in found:
                    rate = wire_format.message(data, found[_CEILING_SLOPE]).get(_PER_SECOND)
                    if rate:
                        self.l2_bytes_per_second = max(self.l2_bytes_per_second or 0, _double(rate))


def of_report(report, path=None):
    """Of the file that the report used (or `path`); one without figures where there is none that can be read."""
    for process in report.get("process", []):
        for device in process.get("device", []):
            path = path or device.get("machine", {}).get("path")
    try:
        with open(path or "", "rb") as file:
            return Machine(file.read())
    except (OSError, wire_format.DamagedTrace, TypeError):
        return Machine(b"")

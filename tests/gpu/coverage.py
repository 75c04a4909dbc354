"""Which share of the GPU time of a traced program has samples of every group of counters that was planned."""

import math

import counter_packets

SAMPLES_WANTED = 3
_TENSOR_CYCLES = ("sm__pipe_tensor_cycles_active_v2.sum", "sm__pipe_tensor_cycles_active.sum")
# Packed half-precision arithmetic is counted in the tensor pipe's cycles, two cycles a warp instruction, up to four times
# that for its threads where lanes are off (inject/tensor_evidence.h).
_PACKED_HALF = tuple(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("hadd", "hmul", "hfma"))
_MOST_CYCLES_OF_A_THREAD = 4 / 16


def tensor_active(trace):
    """Signatures of which a sample showed the tensor pipe at work, beyond what packed half-precision arithmetic explains."""
    cycles = {}
    for metric in _TENSOR_CYCLES:
        for signature, values in trace.counters.values_by_signature(metric, only_clean=False).items():
            cycles[signature] = max([cycles.get(signature, 0)] + [value for value in values if not math.isnan(value)])
    packed = {}
    for metric in _PACKED_HALF:
        for signature, values in trace.counters.values_by_signature(metric, only_clean=False).items():
            packed[signature] = packed.get(signature, 0) + max([0] + [value for value in values if not math.isnan(value)])
    return {s for s, value in cycles.items() if value > packed.get(s, 0) * _MOST_CYCLES_OF_A_THREAD}


def groups_with_paths(trace):
    """{(signature iid, group iid)} of samples that say which path through the tensor cores was taken."""
    paths = {}
    for group in trace.counters.groups.values():
        paths[group.iid] = [i for i, name in enumerate(group.metrics) if "ops_path_tensor" in name and name.endswith(".sum")]
    return {
        (sample.signature_iid, sample.group_iid)
        for sample in trace.counters.samples
        if sample.valid and any(sample.values[i] > 0 for i in paths.get(sample.group_iid, []))
    }


def missing_groups(trace, device_id=0):
    """{signature iid: [(group's name, samples)] of planned groups with fewer samples than wanted}, of every signature that was
    timed. Spare groups are not asked for, tensor groups only where tensor cores were at work: all of them, or one that says
    which path was taken."""
    groups = [group for group in trace.counters.planned_groups(device_id) if not group.spare]
    if not groups:
        raise ValueError("the trace plans no groups of counters")
    counts = {}
    for sample in trace.counters.samples:
        if sample.valid and sample.signature_iid:
            key = (sample.signature_iid, sample.group_iid)
            counts[key] = counts.get(key, 0) + 1
    active, known = tensor_active(trace), groups_with_paths(trace)
    missing = {}
    for signature in trace.durations_ns:
        wanted = [group for group in groups if group.kind != counter_packets.KIND_TENSOR]
        tensor = [group for group in groups if group.kind == counter_packets.KIND_TENSOR]
        telling = [group for group in tensor if (signature, group.iid) in known]
        if signature in active:
            wanted += telling[:1] or tensor
        missing[signature] = [
            (group.name, counts.get((signature, group.iid), 0))
            for group in wanted
            if counts.get((signature, group.iid), 0) < SAMPLES_WANTED
        ]
    return missing


def complete_share(trace):
    """(share of the timed GPU time of eager launches whose signatures have every group, [(share, signature, missing)] of the
    others, the largest first)."""
    missing = missing_groups(trace)
    times = {signature: sum(durations) for signature, durations in trace.durations_ns.items()}
    total = sum(times.values())
    if total == 0:
        return 0.0, []
    lacking = sorted(((times[s] / total, s, groups) for s, groups in missing.items() if groups), reverse=True)
    return 1 - sum(share for share, _, _ in lacking), lacking

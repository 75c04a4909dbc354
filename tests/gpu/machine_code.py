"""Instructions that a warp executes in a kernel, counted in the machine code that a program carries.

Only for kernels of one straight line with at most one loop, whose trips are known: every warp executes what is before the
loop, the loop so many times, and what is after it up to the end, predicated instructions included. Nothing else is asked of
the code: an instruction is 16 bytes (compute capability 7.0 and later), its operation is in the lowest 12 bits.
"""

import struct

_EM_CUDA = 190
INSTRUCTION_BYTES = 16
_BRANCHES = {0x947, 0x547}
_EXIT = 0x94D
# Calls, indirect branches, returns and the like: not a straight line.
_OTHER_CONTROL = {0x943, 0x944, 0x949, 0x94A, 0x94B, 0x950, 0x945, 0x941, 0x942, 0x348, 0x948}
_ALWAYS = 7


class NotCountable(Exception):
    pass


def cubins(path):
    """(compute capability * 10, bytes) of each embedded cubin that is not compressed."""
    with open(path, "rb") as file:
        data = file.read()
    position = data.find(b"\x7fELF", 1)
    while position >= 0:
        if len(data) >= position + 64 and struct.unpack_from("<H", data, position + 18)[0] == _EM_CUDA:
            flags = struct.unpack_from("<I", data, position + 48)[0]
            # The architecture moved from the lowest byte to the second one with CUDA 13's ELF.
            yield ((flags >> 8) & 0xFF) or (flags & 0xFF), data[position:]
        position = data.find(b"\x7fELF", position + 4)


def functions(cubin):
    """{mangled name: machine code}."""
    header = struct.unpack_from("<QIHHHHHH", cubin, 40)
    section_offset, entry_bytes, count, names_index = header[0], header[5], header[6], header[7]
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, section_offset + i * entry_bytes) for i in range(count)]
    names_offset = sections[names_index][4]
    found = {}
    for section in sections:
        begin = names_offset + section[0]
        name = cubin[begin : cubin.index(b"\0", begin)].decode("utf-8", "replace")
        if name.startswith(".text."):
            found[name[len(".text.") :]] = cubin[section[4] : section[4] + section[5]]
    return found


def _words(code):
    return [int.from_bytes(code[i : i + INSTRUCTION_BYTES], "little") for i in range(0, len(code), INSTRUCTION_BYTES)]


def _operation(word):
    return word & 0xFFF


def _distance(word, low_byte_apart):
    """How many bytes a branch goes forward from the instruction after it. Its field counts in 4 bytes; from compute capability
    9.0 on the lowest 8 bits of it stand apart."""
    value = (word >> 34) & ((1 << 48) - 1)
    value = value - (1 << 48) if value >> 47 else value
    if low_byte_apart:
        value = value << 8 | (word >> 16) & 0xFF
    return value * 4


def warp_instructions(code, trips):
    """Of one warp that leaves by the first unconditional EXIT, with the only loop run `trips` times."""
    words = _words(code)
    end = next((i for i, w in enumerate(words) if _operation(w) == _EXIT and (w >> 12) & 0xF == _ALWAYS), None)
    if end is None:
        raise NotCountable("no unconditional EXIT")
    # After the end stands a branch to itself, one instruction back.
    last = next((w for w in words[end + 1 :] if _operation(w) in _BRANCHES), 0)
    low_byte_apart = next((apart for apart in (False, True) if _distance(last, apart) == -INSTRUCTION_BYTES), None)
    if low_byte_apart is None:
        raise NotCountable("no branch to itself after EXIT")
    total, loop = end + 1, None
    for i, word in enumerate(words[: end + 1]):
        if _operation(word) in _OTHER_CONTROL:
            raise NotCountable(f"control instruction {_operation(word):#x} at {i * INSTRUCTION_BYTES:#x}")
        if _operation(word) not in _BRANCHES:
            continue
        target = i + 1 + _distance(word, low_byte_apart) // INSTRUCTION_BYTES
        if target > i or loop is not None:
            raise NotCountable(f"branch to {target} at {i}: not one backward loop")
        loop = (target, i)
    if loop is None:
        if trips > 1:
            raise NotCountable("no loop")
        return total
    return total + (trips - 1) * (loop[1] - loop[0] + 1)


# HFMA2 with a constant: how compilers write a constant into a register, too.
HALF_FMA_CONSTANT = 0x435
# LDL, STL: what a kernel without an array of its own has only where registers did not suffice.
LOCAL_MEMORY = (0x983, 0x387)


def count(code, operation):
    """How often an operation stands in the code."""
    return sum(_operation(word) == operation for word in _words(code))

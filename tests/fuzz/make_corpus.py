#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the folders of corpus/ but raw/: for each fuzzer's entry inputs that are right, every way we know of one
that is wrong, and what fuzzers found.

The names of wrong .npy files are those of the cases in tests/io/malformed_test.cpp.
"""
import pathlib
import struct
import zlib

FOLDER = pathlib.Path(__file__).parent / "corpus"
DATA = struct.pack("<3d", 1.5, -2.0, 0.25)
GOOD = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"


def npy(header=GOOD, data=DATA, version=(1, 0), length=None, pad=True):
    width = 2 if version[0] == 1 else 4
    if pad:
        header += b" " * (-(8 + width + len(header) + 1) % 64) + b"\n"
    length = len(header) if length is None else length
    return b"\x93NUMPY" + bytes(version) + length.to_bytes(width, "little") + header + data


def described(descr, data=DATA):
    return npy(b"{'descr': %s, 'fortran_order': False, 'shape': (3,), }" % descr, data)


def shaped(shape, data=DATA):
    return npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': %s, }" % shape, data)


RIGHT = {
    "v1": npy(),
    "v2": npy(version=(2, 0)),
    "v3": npy(version=(3, 0)),
    "big_endian": described(b"'>f8'", struct.pack(">3d", 1.5, -2.0, 0.25)),
    "native_mark": described(b"'=f8'"),
    "scalar": shaped(b"()", DATA[:8]),
    "empty": shaped(b"(0,)", b""),
    "empty_axis": shaped(b"(3, 0, 5)", b""),
    "fortran": npy(b"{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", struct.pack("<6h", *range(6))),
    "python2_long": shaped(b"(3L,)"),
    "double_quotes": npy(b'{"descr": "<f8", "fortran_order": False, "shape": (3,)}'),
    "keys_in_another_order": npy(b"{'shape':(3,),'fortran_order':False,'descr':'<f8'}"),
    "unpadded": npy(pad=False),
    "bool": described(b"'|b1'", b"\x01\x00\x07"),
    "u8": described(b"'|u1'", b"\xff\x00\x07"),
    "i64_overflow": described(b"'<i8'", struct.pack("<3q", 2**63 - 1, 2**63 - 1, 2)),
    "f16_specials": described(b"'<f2'", struct.pack("<3H", 0x7C00, 0xFC00, 0x7E00)),
    "f32": described(b"'<f4'", struct.pack("<3f", 1, 2**-24, 2**-60)),
    "c64": described(b"'<c8'", struct.pack("<6f", *range(6))),
    "c128_big": described(b"'>c16'", struct.pack(">6d", *range(6))),
    "sixty_four_dimensions": shaped(b"(" + b"1, " * 64 + b")", DATA[:8]),
}

WRONG = {
    "nothing": b"",
    "half_a_magic": b"\x93NUM",
    "wrong_magic": b"\x93NUMPZ" + npy()[6:],
    "text_file": b"1.5\n-2\n0.25\n",
    "escape_sequences": b"\x1b[2J\x1b[31m" + npy(),
    "zip_archive": b"PK\x03\x04" + bytes(60),
    "no_version": b"\x93NUMPY",
    "version_0": npy(version=(0, 0)),
    "version_1_1": npy(version=(1, 1)),
    "version_4": npy(version=(4, 0)),
    "no_length": b"\x93NUMPY\x01\x00",
    "half_a_length": b"\x93NUMPY\x02\x00\x40\x00",
    "header_cut_off": npy()[:40],
    "header_past_the_end": npy(length=0xFFFF),
    "header_of_4_gib": npy(version=(2, 0), length=0xFFFFFFFF),
    "header_of_a_mib_and_one": npy(version=(3, 0), length=(1 << 20) + 1),
    "header_of_length_0": npy(length=0),
    "header_ends_in_the_dictionary": npy(length=20),
    "no_dictionary": npy(b"[]"),
    "dictionary_not_closed": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)"),
    "empty_dictionary": npy(b"{}"),
    "only_a_comma": npy(b"{,}"),
    "two_commas": npy(b"{'descr': '<f8',, 'fortran_order': False, 'shape': (3,)}"),
    "no_colon": npy(b"{'descr' '<f8', 'fortran_order': False, 'shape': (3,)}"),
    "key_without_quotes": npy(b"{descr: '<f8', 'fortran_order': False, 'shape': (3,)}"),
    "key_not_closed": npy(b"{'descr: <f8, fortran_order: False, shape: (3,)}"),
    "missing_descr": npy(b"{'fortran_order': False, 'shape': (3,), }"),
    "missing_order": npy(b"{'descr': '<f8', 'shape': (3,), }"),
    "missing_shape": npy(b"{'descr': '<f8', 'fortran_order': False, }"),
    "duplicate_descr": npy(b"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3,)}"),
    "duplicate_order": npy(b"{'descr': '<f8', 'fortran_order': False, 'fortran_order': True, 'shape': (3,)}"),
    "duplicate_shape": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'shape': (1,)}"),
    "unknown_key": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}"),
    "garbage_after_dictionary": npy(GOOD + b" import os"),
    "two_dictionaries": npy(GOOD + GOOD),
    "nul_in_padding": npy(GOOD + b"\0"),
    "not_ascii": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), '\xc3\xa9': 1}", version=(3, 0)),
    "order_is_a_number": npy(b"{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}"),
    "order_in_small_letters": npy(b"{'descr': '<f8', 'fortran_order': false, 'shape': (3,)}"),
    "order_runs_on": npy(b"{'descr': '<f8', 'fortran_order': Falsehood, 'shape': (3,)}"),
    "descr_is_a_number": described(b"8"),
    "descr_is_none": described(b"None"),
    "descr_empty": described(b"''"),
    "descr_one_letter": described(b"'f'"),
    "descr_without_byte_order": described(b"'f8'"),
    "descr_spelled_out": described(b"'float64'"),
    "descr_runs_on": described(b"'<f8x'"),
    "descr_with_backslash": described(b"'\\x3cf8'"),
    "descr_calls": described(b"__import__('os').system('true')"),
    "structured": described(b"[('x', '<f8'), ('y', '<i4')]"),
    "sub_array": described(b"('<f8', (2,))"),
    "objects": described(b"'|O'"),
    "bf16_as_void": described(b"'<V2'", bytes(6)),
    "void": described(b"'|V8'"),
    "strings": described(b"'<U2'"),
    "bytes": described(b"'|S8'"),
    "dates": described(b"'<M8[ns]'"),
    "long_double": described(b"'<f16'", bytes(48)),
    "c32": described(b"'<c32'", bytes(96)),
    "f0": described(b"'<f0'"),
    "i3": described(b"'<i3'"),
    "shape_is_a_number": shaped(b"3"),
    "shape_is_a_list": shaped(b"[3]"),
    "shape_without_comma": shaped(b"(3)"),
    "shape_only_a_comma": shaped(b"(,)"),
    "shape_two_commas": shaped(b"(3,,)"),
    "shape_without_a_comma_between": shaped(b"(3 1)"),
    "shape_not_closed": shaped(b"(3,"),
    "shape_nested": shaped(b"((3,),)"),
    "size_negative": shaped(b"(-3,)"),
    "size_with_a_plus": shaped(b"(+3,)"),
    "size_with_a_fraction": shaped(b"(3.0,)"),
    "size_hexadecimal": shaped(b"(0x3,)"),
    "size_with_a_leading_zero": shaped(b"(03,)"),
    "size_with_underscore": shaped(b"(1_0,)"),
    "size_is_a_product": shaped(b"(3*1,)"),
    "size_is_a_word": shaped(b"(True,)"),
    "size_of_2_63": shaped(b"(9223372036854775808,)"),
    "size_of_2_64_and_3": shaped(b"(18446744073709551619,)"),
    "size_of_many_digits": shaped(b"(" + b"9" * 400 + b",)"),
    "bytes_of_2_63": shaped(b"(1152921504606846976,)"),
    "product_wraps_to_3": shaped(b"(6148914691236517206, 3)"),
    "product_overflows_beside_a_zero": shaped(b"(4294967296, 4294967296, 0)", b""),
    "sixty_five_dimensions": shaped(b"(" + b"1, " * 65 + b")", DATA[:8]),
    "long_suffix_in_version_3": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L,)}", version=(3, 0)),
    "data_missing": npy(data=b""),
    "data_a_byte_short": npy(data=DATA[:-1]),
    "data_a_byte_long": npy(data=DATA + b"\0"),
    "data_twice": npy() + npy(),
    "data_after_an_empty_array": shaped(b"(0,)", b"\0"),
    "data_of_an_exabyte_promised": shaped(b"(100000000000000000,)"),
}



def stored(digits, min_exponent, value, count, nan=0, pos=0, neg=0, zero=0, version=1, magic=b"WFXS"):
    """A state as detail/exact/serial.hpp writes it: value counts units of 2^min_exponent."""
    body = magic + struct.pack("<HHi", version, digits, min_exponent)
    body += (value % 2 ** (32 * digits)).to_bytes(4 * digits, "little") + struct.pack("<5q", count, nan, pos, neg, zero)
    return body + struct.pack("<I", zlib.crc32(body))


def stored_sum(value=0, count=0, **more):
    return stored(68, -1074, value, count, **more)


def stored_dot(value=0, count=0, **more):
    return stored(134, -2148, value, count, **more)


UNIT = 1 << 1074  # 1, in units of a sum
MOST = 2**63 - 1
STATES = {
    "sum_empty": stored_sum(),
    "sum_of_one": stored_sum(UNIT, 1),
    "sum_of_least": stored_sum(-1, 3),
    "sum_of_greatest": stored_sum((2**53 - 1) << 2045, 1),
    "sum_of_most_elements": stored_sum(MOST * UNIT, MOST),
    "sum_of_minus_zeros": stored_sum(0, 7, zero=7),
    "sum_of_specials": stored_sum(5 * UNIT, 9, nan=1, pos=2, neg=3),
    "sum_of_infinities": stored_sum(0, 4, pos=4),
    "sum_more_specials_than_elements": stored_sum(0, 4, pos=3, neg=2),
    "sum_counters_overflow": stored_sum(0, MOST, nan=MOST, pos=MOST, neg=MOST, zero=MOST),
    "sum_negative_count": stored_sum(0, -1),
    "sum_of_no_elements": stored_sum(UNIT, 0),
    "sum_too_large": stored_sum(1 << (32 * 68 - 2), 1),
    "sum_version_2": stored_sum(version=2),
    "sum_wrong_magic": stored_sum(magic=b"WFXT"),
    "sum_cut_off": stored_sum()[:-1],
    "dot_empty": stored_dot(),
    "dot_negative": stored_dot(-(UNIT**2), 1),
    "dot_greatest": stored_dot((2**53 - 1) ** 2 << 2 * 2045, 1),
    "moments_empty": stored_sum() + stored_dot(),
    "moments_of_one": stored_sum(-3 * UNIT, 1) + stored_dot(9 * UNIT**2, 1),
    "moments_of_many": stored_sum(0, MOST) + stored_dot(MOST * UNIT**2, MOST),
    "moments_impossible": stored_sum(3 * UNIT, 1) + stored_dot(8 * UNIT**2, 1),
    "moments_of_specials": stored_sum(0, 4, nan=1, pos=1, neg=2) + stored_dot(0, 4, nan=1, pos=3),
    "moments_of_counters_that_differ": stored_sum(UNIT, 2) + stored_dot(UNIT**2, 1),
    # The fuzzer's own language: sign, words, place, digits, count.
    "drawn_sum": b"\0" + b"\0\1" + bytes([33]) + struct.pack("<I", 1 << 18) + b"\0\2\1\1\2\40" + struct.pack("<2I", 7, 9) + b"\0\5\1" * 9,
    "drawn_moments": b"\1" + b"\0\1" + bytes([33]) + struct.pack("<I", 1 << 18) + b"\0\2\1" + b"\1" + b"\0\1" + bytes([67])
                     + struct.pack("<I", 1 << 8) + b"\1" * 20,
    "drawn_dot": b"\2" + b"\0\1" + bytes([67]) + struct.pack("<I", 1 << 18) + b"\0\2\1" * 12,
}


def call(function, op, dtype, rest=b"", flags=1):
    """As c_api_entry.cpp takes it: which function, operation, type and flags, then the array and what else it asks for."""
    return bytes([function, op, dtype, flags]) + rest


def array(shape, how=0, strides=(), seed=0x300):
    """The rank, the lengths, the kind of strides and the strides, the seed of the elements."""
    return bytes([len(shape), *shape, how]) + b"".join(bytes([0, s & 0xFF, 1]) for s in strides) + struct.pack("<Q", seed)


CALLS = {
    **{f"reduce_{op}_{dtype}": call(0, op, dtype, array((3, 4))) for op in range(21) for dtype in (2, 5, 12, 14)
       if op != 10},
    "dot": call(0, 10, 3, array((5,)) + array((5,)), flags=3),
    "dot_of_other_shapes": call(0, 10, 3, array((5,)) + array((6,)), flags=2),
    "axes": call(1, 0, 3, array((2, 3, 4)) + bytes([2, 3, 5])),
    "axes_twice": call(1, 0, 3, array((2, 3, 4)) + bytes([2, 3, 3])),
    "segments": call(2, 11, 6, array((6,)) + bytes([3, 1, 2, 3])),
    "labels": call(3, 0, 3, array((6,)) + bytes([0, 4, 1, 0, 1, 2, 3, 2, 1])),
    "labels_of_2_63": call(3, 0, 3, array((6,)) + bytes([200, 0, 1, 0, 1, 2, 3])),
    "many": call(4, 0, 3, array((6,)) + bytes([3, 1, 2, 3])),
    "checked": call(5, 0, 6, array((6,)), flags=0x41),
    "empty": call(0, 13, 3, array((0, 5))),
    "strides": call(0, 0, 3, array((2, 3), 2, (24, -8))),
    "strides_beyond_memory": call(0, 0, 3, bytes([2, 3, 3, 2]) + bytes([204, 1, 204, 1]) + bytes(8)),
    "strides_of_least": call(0, 0, 3, bytes([1, 3, 2]) + bytes([205, 1]) + bytes(8)),
    "options": call(0, 3, 3, array((4,)) + bytes([9, 0, 3, 0, 1, 1]), flags=0x81),
    # A variance along an axis with the correction -2^63, as the fuzzer found it.
    "correction_of_least": bytes.fromhex("01039e9e9e020204000003000203040000002b000300000004000000003b00010a030204e50500000000"),
    "no_such_operation": bytes([0, 255, 99, 0, 0, 0, 3, 1]) + array((3,)),
    "no_such_type": bytes([0, 0, 255, 99, 0, 0, 0, 1]) + array((3,)),
    "rank_of_33": call(0, 0, 3, bytes([247]) + bytes(40)),
}

def request(op, dtype, shape, partition=0, output=0, index_bytes=2, first=b"\1", length=b"\0\3", rest=b"", function=0, odd=0):
    """As request_entry.cpp takes it; index_bytes in fours."""
    return call(function, op, dtype, array(shape) + bytes([odd, partition, output, index_bytes]) + first + length + rest)


MOST_AS_NUMBER, LEAST_AS_NUMBER, POWER_60_AS_NUMBER = b"\xcc", b"\xcd", b"\xd5"  # edges of promises.hpp
REQUESTS = {
    **{f"whole_{op}_{output}": request(op, 5 if output == 1 else 3, (6,), output=output) for op in (0, 1, 2, 3, 7, 11, 14, 19, 20)
       for output in range(3)},
    "axes": request(0, 3, (2, 3, 4), 1, rest=bytes([2, 3, 5])),
    "axes_states": request(3, 2, (2, 3, 4), 1, 2, rest=bytes([1, 3])),
    "segments": request(11, 6, (6,), 2, rest=bytes([3, 1, 2, 3])),
    "segments_of_4_bytes": request(0, 3, (6,), 2, index_bytes=1, rest=bytes([3, 1, 2, 3])),
    "segments_of_2_63": request(0, 3, (6,), 2, rest=bytes([251, 1, 2, 3])),
    "segments_of_2_63_of_4_bytes": request(0, 3, (6,), 2, index_bytes=1, rest=bytes([251, 1, 2, 3])),
    "equal_segments": request(14, 3, (6,), 3),
    "equal_segments_checked": request(0, 8, (6,), 3, 1),
    "equal_segments_of_2_63": request(0, 3, (6,), 3, length=MOST_AS_NUMBER),
    "equal_segments_of_none": request(0, 3, (6,), 3, length=b"\0\0"),
    "labels": request(0, 3, (6,), 4, rest=bytes([0, 4, 1, 0, 1, 2, 3, 2, 1])),
    "labels_of_4_bytes": request(14, 3, (6,), 4, index_bytes=1, rest=bytes([0, 4, 1, 0, 1, 2, 3, 2, 1])),
    "labels_of_2_63": request(0, 3, (6,), 4, rest=MOST_AS_NUMBER + bytes([1, 0, 1, 2, 3])),
    "labels_of_2_60_checked": request(0, 6, (6,), 4, 1, rest=POWER_60_AS_NUMBER + bytes([1, 0, 1, 2, 3])),
    "first_of_40": request(14, 3, (6,), first=b"\0\0\50"),
    "first_of_2_63": request(14, 3, (6,), first=b"\0" + MOST_AS_NUMBER),
    "first_below_0": request(15, 3, (6,), 3, first=b"\0" + LEAST_AS_NUMBER),
    "no_such_partition": call(0, 0, 3, array((6,)) + bytes([4, 9, 0, 0, 0])),
    "no_such_output": call(0, 0, 3, array((6,)) + bytes([5, 0, 9, 0, 0, 0])),
    "size_of_104": call(0, 0, 3, array((6,)) + bytes([1, 104, 0, 0, 0])),
    "version_2": call(0, 0, 3, array((6,)) + bytes([2, 2, 0, 0, 0, 0, 0])),
    "indexes_of_3_bytes": call(0, 0, 3, array((6,)) + bytes([6, 2, 0, 3, 0, 0, 0])),
    **{f"states_{op}_{dtype}": call(3, op, dtype, array((3, 4)) + bytes([0, 0, 2])) for op in (0, 1, 3, 6, 9, 11, 14, 18)
       for dtype in (0, 5, 14)},
    "states_native": call(3, 0, 3, array((9,)) + bytes([0, 1, 3])),
    "states_of_a_count_below_0": call(3, 0, 3, array((9,)) + bytes([2, 0, 3])),
}

DIGITS = {0: (4, 5), 1: (11, 19), 2: (12, 20), 3: (68, 134), 6: (6, 6), 13: (12, 20), 14: (68, 134)}  # by element type: sums, products


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def compact_number(value, digits):
    """compact_state.hpp: how many low bytes are left out, how many follow, these."""
    if value == 0:
        return b"\0\0"
    start = 0
    while value % 256 == 0:
        value, start = value >> 8, start + 1
    size = 1
    while not -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1 and start + size < 4 * digits:
        size += 1
    return varint(start) + varint(size) + (value % (1 << 8 * size)).to_bytes(size, "little")


def words(op, dtype, how, rest):
    """As words_entry.cpp takes it: operation, element type; bit 0 native, 1 compact, 2 all words from the bytes, then the rest."""
    return bytes([op, dtype, how]) + rest


def compact_sum(dtype, value, count, special=b"\0", digits=0):
    return varint(count) + special + compact_number(value, DIGITS[dtype][digits])


WORDS = {
    "sum_of_nothing": words(0, 2, 2, b"\0"),
    "sum_of_one": words(0, 2, 2, compact_sum(2, 1 << 149, 1)),
    "sum_below_0": words(0, 3, 2, compact_sum(3, -3 << 1074, 5)),
    "two_sums": words(0, 3, 2, compact_sum(3, 1 << 1074, 5) + compact_sum(3, -1, 7)),
    "sum_of_most": words(0, 2, 2, compact_sum(2, MOST << 149, MOST)),
    "sum_of_specials": words(0, 1, 2, compact_sum(1, 1 << 133, 9, b"\1\1\2\3\0")),
    "sum_of_minus_zeros": words(0, 2, 2, compact_sum(2, 0, 9, b"\1\0\0\0\11")),
    "sum_of_special_none": words(0, 2, 2, compact_sum(2, 0, 9, b"\1\0\0\0\0")),
    "sum_of_elements_beyond": words(0, 2, 2, compact_sum(2, 0, 2**63)),
    "sum_too_large": words(0, 2, 2, compact_sum(2, 1 << 382, 1)),
    "sum_of_a_number_too_long": words(0, 2, 2, b"\1\0\0\2\1\0"),
    "sum_of_a_varint_too_long": words(0, 2, 2, b"\x81\0\0\0\0"),
    "sum_cut_off": words(0, 2, 2, compact_sum(2, 1 << 149, 1)[:-1]),
    "mean_of_integers": words(1, 6, 2, compact_sum(6, -(1 << 70), 1 << 40)),
    "variance": words(3, 2, 2, compact_sum(2, 3 << 149, 2) + compact_number(5 << 298, 20)),
    "variance_below_0": words(3, 2, 2, compact_sum(2, 3 << 149, 2) + compact_number(1 << 298, 20)),
    "mean_var_of_complex": words(5, 13, 2, (compact_sum(13, 1 << 149, 1) + compact_number(1 << 298, 20)) + b"\0"
                                 + compact_number(-1 << 149, 12) + compact_number(1 << 298, 20)),
    "dot_of_complex": words(10, 14, 2, compact_sum(14, 1 << 2148, 1, digits=1) + b"\0" + compact_number(-1, 134)),
    "dot_of_complex_of_2_62": words(10, 13, 2, compact_sum(13, 0, 2**62, digits=1) + b"\0\0\0"),
    "least": words(11, 6, 2, b"\2" + struct.pack("<3q", -5, 7, 0)),
    "least_of_nan": words(11, 3, 2, b"\2" + struct.pack("<3q", 2**63 - 1, -(2**63), 1)),
    "place": words(14, 6, 2, b"\2" + struct.pack("<3q", -5, 7, 0)),
    "place_below_0": words(14, 6, 2, b"\2" + struct.pack("<3q", -5, -7, 0)),
    "integers": words(0, 6, 2, b"\2" + struct.pack("<q", -5)),
    "count": words(18, 6, 2, b"\2"),
    "count_beyond": words(18, 6, 2, b"\2" + struct.pack("<q", 3)),
    "nonzeros_beyond": words(19, 6, 2, b"\2" + struct.pack("<q", 3)),
    "native": words(0, 3, 3, b"\2" + struct.pack("<4d", 1, 2, 3, 4)),
    "logsumexp": words(20, 3, 2, b"\2" + struct.pack("<2d", 1, 2)),
    "no_such_type": words(7, 13, 0, b""),
    # In the fuzzer's own language: the count; place, words, sign of the digits; which counters; the same again.
    "drawn_sum": words(0, 3, 0, b"\0\7\41\1\0\0\4\0" + b"\0" + b"\0\3\40\1\1\0\0\0\1" + b"\0"),
    "drawn_specials": words(0, 2, 0, b"\0\7\3\0\0\2\0\1\0\7\3\0\0\7"),
    "drawn_moments": words(5, 0, 0, b"\0\7\1\1\0\0\4\0\0\0\2\1\0\0\4\0\0" * 2),
    "drawn_of_most": words(0, 2, 0, b"\xcc\4\1\0\0\4\0\0\0" * 2),
    "words": words(0, 2, 4, struct.pack("<17q", 1, 0, 0, 0, 0, 1 << 21, *(7 * [0]), 1, 0, 0, 0)),
}

TEXTS = {
    "doubles": struct.pack("<8d", 0.1, 1e22, 5e-324, 1.7976931348623157e308, -0.0, 1e-4, 123456789012345680.0, 2.5),
    "specials": struct.pack("<3d", float("inf"), float("-inf"), float("nan")) + b"\1\0\0\0\0\0\xf0\x7f",
    "powers_of_two": struct.pack("<8d", *(2.0**k for k in (-1022, -1074, 1023, 53, 63, 10, -14, -24))),
    "name": "größe_雪.npy".encode(),
    "control_characters": b"\x1b[31mred\n\r\t\0\x7f",
    "no_utf8": b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82",
    "c1_control": b"\xc2\x9b31m",
}


def tuned(gpus, head=b'{"warpfold_tuning": 1, "gpus": ', gpu=b"g"):
    return gpu + b"\n" + head + gpus + b"}"


TUNING = {
    "empty": b"",
    "no_gpus": tuned(b"{}"),
    "right": tuned(b'{"g": {"reduce_threads": 256, "reduce_blocks": 4, "sum_blocks": 2, "exact_blocks": 8, "overlap": 0}}'),
    "some_fields": tuned(b'{"g": {"reduce_blocks": 3}}'),
    "other_gpu": tuned(b'{"h": {"reduce_blocks": 3}}'),
    "quoted_gpu": tuned(b'{"a \\"b\\"": {"overlap": 1}}', gpu=b'a "b"'),
    "gpu_of_no_utf8": tuned(b'{"g": {"overlap": 1}}', gpu=b"\xff\xfe"),
    "not_json": b"g\n{",
    "array": b"g\n[]",
    "no_head": b'g\n{"gpus": {}}',
    "version_2": tuned(b"{}", b'{"warpfold_tuning": 2, "gpus": '),
    "version_of_words": tuned(b"{}", b'{"warpfold_tuning": "' + b"x" * 3000 + b'", "gpus": '),
    "version_nested": tuned(b"{}", b'{"warpfold_tuning": ' + b"[" * 300 + b"]" * 300 + b', "gpus": '),
    "gpus_is_an_array": tuned(b"[]"),
    "gpu_is_a_number": tuned(b'{"g": 7}'),
    "unknown_field": tuned(b'{"g": {"threads\\n": 7}}'),
    "unknown_field_of_words": tuned(b'{"g": {"' + b"y" * 3000 + b'": 7}}'),
    "out_of_range": tuned(b'{"g": {"reduce_threads": 100}}'),
    "negative": tuned(b'{"g": {"sum_blocks": -1}}'),
    "fraction": tuned(b'{"g": {"sum_blocks": 1.5}}'),
    "wide": tuned(b'{"g": {"sum_blocks": 4294967297}}'),
    "large_number": tuned(b'{"g": {"sum_blocks": 1e999}}'),
    "nested": tuned(b'{"g": {"sum_blocks": ' + b"[" * 300 + b"]" * 300 + b"}}"),
    "text": tuned(b'{"g": {"sum_blocks": "2\\n"}}'),
    "twice": tuned(b'{"g": {"overlap": 0, "overlap": 1}}'),
    "surrogates": tuned(b'{"g": {"\\ud834\\udd1e": 1}}'),
    "comment": tuned(b"{} // no"),
}

OPTIONS = {
    "arrays": b"f32[1M]:uniform\nout:f32[1]\nf64[2^10]:iota\nf16[100]:normal\nu64[1e3]:ones\nbool[7]\ni8[300]:iota",
    "array_mistakes": b"f32[]\nf32[1\nf32]1[\nf33[1]\nc64[1]\nf32[1]x\nf32[1]:\nf32[1]:other\n[1]\nout:\nf32[1K]:zeros:ones",
    "counts": b"f32[2^39]\nf32[2^40]\nf32[1e12]\nf32[1e13]\nf32[1G]\nf32[18446744073709551615]\nf32[18446744073709551616]\nf32[1KK]",
    "no_elements": b"f32[0]\nf32[0]:normal\ni32[0]:normal\ni32[0]:other",
    "numbers": b"0.5\n1e-3\ni32=1000\nf32=1.5\n-1\n-128\n128\n64K\n2^20\n1e6\nnan\ninf\n1e999\n0x1p3\ntrue",
    "number_mistakes": b"\n-\n--1\n1.5.5\nf64=\n=1\ni32=f32=1\n1 \n 1\n+1\n-0\n-9223372036854775808\n-9223372036854775809",
    "of_64_bits": b"9223372036854775807\n9223372036854775808\n18446744073709551615\n-2147483648\n-2147483649",
    "axes": b"0\n0,2\n-1\n0,\n,0\n1,1\n99999999999\n--1\n+1",
    "extents": b"256\n16x16\n8x8x4\n8,8,4\n0\n2147483648\n1x0\nx\n1x1x1x1\n4294967295",
    "control_characters": b"\x1b[31m\nf32[1]:\x1b[2J\n\xff[1]\n\x07[1]:ones\nf32[1\x00]",
    "long": b"9" * 400 + b"\n" + b"f" * 400 + b"[1]\n" + b"x" * 1000,
}

KERNEL = b"__global__ void k(const float* x, float* out) { *out = x[threadIdx.x]; }\n"
SOURCES = {
    "empty": b"",
    "kernel": b"k\n" + KERNEL,
    "scoped": b"ns::k\nnamespace ns {\nnamespace deep { " + KERNEL + b"}\n" + KERNEL + b"}\n",
    "template": b"k<float, 4>\ntemplate <class T, int N>\n__global__ void k(T* x) {}\ntemplate <> __global__ void j<int>(int*);\n",
    "bounds": b"k\n__global__ __launch_bounds__(256, 2) void k() {}\n__global__ void __launch_bounds__(64) j() {}\n"
              b"__global__ static inline void i() {}\nstatic __global__ void h();\n",
    "comments": b"k\n// __global__ void not_this() {\n/* __global__ void nor_this() { */ __global__ /* here */ void // and\n k ( ) { }\n",
    "strings": b"k\nconst char* s = \"__global__ void no() { \\\" /* \"; char c = '\"'; int m = 1'000'000;\n" + KERNEL,
    "raw_string": b"k\nconst char* s = R\"x(__global__ void no() { \" )x\";\n" + KERNEL,
    "launch": b"k\n" + KERNEL + b"int main(int argc, char** argv) {\n  k<<<1, 32, 0>>>(0, 0);\n  return 0;\n}\n",
    "launch_within": b"k\n__device__ void d() { }\n__global__ void k() {\n  j<<<1,\n 2>>>();\n}\n",
    "launch_not_closed": b"k\n" + KERNEL + b"int main() { k<<<1, 2(0);\n",
    "shared": b"k\nextern __shared__ float tile[];\nextern __shared__ __align__(16) unsigned char bytes[];\n"
              b"extern __align__(8) __shared__ double d[ ] ;\n__shared__ int fixed[32];\n",
    "not_closed": b"k\n/* \n" + KERNEL,
    "string_not_closed": b"k\n\"abc\n" + KERNEL + b"'",
    "backslash_at_the_end": b"k\n\"\\",
    "braces": b"}}}{{{\nnamespace a { namespace b { } } } " + KERNEL + b"{{{",
    "asked_scope_only": b"::\n" + KERNEL,
    "asked_unicode": "größe<\n".encode() + KERNEL,
    "carriage_returns": b"k\r\n" + KERNEL.replace(b"\n", b"\r\n"),
    "ptx_unused": b"k\n__device__ int d() { int x; asm(\"mov.u32 %0, %laneid;\" : \"=r\"(x)); return x; }\n" + KERNEL,
    "ptx_that_ends_a_body": b"k\n__device__ void d() {asm}__device__ void e() {__asm__}" + KERNEL,
    "ptx_in_bodies_of_bodies": b"k\n__global__ void j() { __global__ void i() { __asm__(0); } asm(0) } asm {" + KERNEL + b"}",
    "ptx_after_stray_braces": b"+\n<}}}{{{\nnamespace a { } } } __global__ void k(const float* x) { al__ void k(con*asm = x[threadIdx]; }\n{{{",
    "launch_overlaps_its_end": b"k\n<<<>>>>>><<<<<<>>>",
}


def write(name, files):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for file, content in files.items():
        (folder / file).write_bytes(content)
    print(f"{len(files)} files in {folder}")


def main():
    write("npy", {f"{prefix}_{name}.npy": content for prefix, files in (("right", RIGHT), ("wrong", WRONG))
                  for name, content in files.items()})
    for name, files in (("state", STATES), ("words", WORDS), ("c_api", CALLS), ("request", REQUESTS), ("text", TEXTS),
                        ("tuning", TUNING), ("options", OPTIONS), ("source", SOURCES)):
        write(name, files)


if __name__ == "__main__":
    main()

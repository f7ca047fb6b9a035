#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes corpus/npy/: .npy files that are right, and every way we know of one that is wrong.

The names of the wrong ones are those of the cases in tests/io/malformed_test.cpp.
"""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "npy"
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


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for prefix, files in (("right", RIGHT), ("wrong", WRONG)):
        for name, content in files.items():
            (FOLDER / f"{prefix}_{name}.npy").write_bytes(content)
    print(f"{len(RIGHT)} right and {len(WRONG)} wrong files in {FOLDER}")


if __name__ == "__main__":
    main()

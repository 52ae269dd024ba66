"""Where a row's time goes, of perf's lines; and which rows are surprises."""

import pytest

from reporting import profiles

LINES = [
    " 60.50% ;libtorch_cpu.so        ;[.] mkl_blas_avx512_sgemm_kernel",
    " 20.00% ;[kernel.kallsyms]      ;[k] clear_page_erms",
    " 10.00% ;perf-77.map            ;[.] brgemm_kernel:0",
    " 2.00%  ;[unknown]              ;[.] 0x00007f0000003010",
    " 3.00%  ;//anon                 ;[.] 0x00007f0000001000",
    " 2.00%  ;[unknown]              ;[.] 0x00007f0000002000",
    " 0.01%  ;libc.so.6              ;[.] memcpy",
    "",
    "# a remark",
]


def test_shares_of_perfs_lines() -> None:
    code = profiles.Code(["7f0000003000 20 brgemm_kernel:0", "7f0000002000 10", "7f0000001800 8 x"])
    found = profiles.shares(LINES, code)
    assert [round(row["share"], 3) for row in found] == [0.605, 0.2, 0.12, 0.05]
    assert (found[2]["library"], found[2]["function"]) == (profiles.UNKNOWN, "brgemm_kernel:0")
    assert (found[1]["library"], found[1]["function"]) == ("kernel.kallsyms", "clear_page_erms")
    assert found[3]["library"] == profiles.UNKNOWN and not found[3]["function"]


CALLBACK = (
    "c10::function_ref<void (char**)>::callback_fn<at::native::AVX2::VectorizedLoop2d<at::native::(anonymous "
    "namespace)::add_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda(float)#1}> >"
)


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("void at::native::(anonymous namespace)::sum<float, 2>(long)", "at::native::sum"),
        ("mkl_blas_def_sgemm_kernel_0_zen", "mkl_blas_def_sgemm_kernel_0_zen"),
        (CALLBACK, "add_kernel"),
    ],
)
def test_names_without_what_they_are_templates_of(function: str, short: str) -> None:
    (found,) = profiles.shares([f" 9.00% ;libtorch_cpu.so ;[.] {function}"], profiles.Code([]))
    assert found["function"] == short

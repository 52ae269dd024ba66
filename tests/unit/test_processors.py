"""What machines are called: by microarchitecture, widest instructions and cores."""

import pytest

from reporting import processors

KEYS = ("Vendor ID", "CPU family", "Model", "Stepping", "Model name", "Flags", "Hypervisor vendor")
EPYC, XEON = "AMD EPYC", "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz"
OLD, NEW = "fpu sse2 avx fma avx2", "avx2 avx512f avx512_bf16"


@pytest.mark.parametrize(
    ("vendor", "numbers", "brand", "flags", "said"),
    [
        ("AuthenticAMD", "25 1 1", EPYC, OLD, "AMD Zen 3 (EPYC), AVX2, 2 virtual cores"),
        ("AuthenticAMD", "25 17 1", EPYC, NEW, "AMD Zen 4 (EPYC), AVX-512, 2 virtual cores"),
        ("AuthenticAMD", "26 2 1", EPYC, OLD, "AMD Zen 5 (EPYC), AVX2, 2 virtual cores"),
        ("GenuineIntel", "6 143 1", XEON, "avx512f amx_tile", "Intel Sapphire Rapids (Xeon P"),
        # One model number, two microarchitectures: the stepping tells them apart.
        ("GenuineIntel", "6 85 7", EPYC, OLD, "Intel Cascade Lake (AMD EPYC), AVX2, 2 virtual"),
        # Nothing that the table knows: the brand alone.
        ("AuthenticAMD", "99 1 1", EPYC, OLD, "AMD EPYC, AVX2, 2 virtual cores"),
        ("ARM", "25 1 1", "Neoverse-V1", "fp asimd sve", "Neoverse-V1, SVE, 2 virtual cores"),
    ],
)
def test_a_machine_is_called_by_what_decides_its_speed(vendor, numbers, brand, flags, said) -> None:
    cpu = dict(zip(KEYS, (vendor, *numbers.split(), brand, flags, "KVM"), strict=True))
    assert processors.name({"cpu": cpu, "cores": 2, "gpus": []}).startswith(said)


def test_one_core_is_one_core_and_a_gpu_is_named() -> None:
    cpu = dict(zip(KEYS, ("GenuineIntel", "6", "143", "1", XEON, "amx_tile", ""), strict=True))
    given = {"cpu": cpu, "cores": 1, "gpus": [{"name": "NVIDIA H200"}]}
    said = "Intel Sapphire Rapids (Xeon Platinum 8481C), AMX, 1 core, NVIDIA H200"
    assert processors.name(given) == said
    assert processors.name(None) == ""

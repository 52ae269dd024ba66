"""What machines are called: by microarchitecture, widest instructions and cores."""

import pytest

from reporting import processors

MILAN = {
    "Vendor ID": "AuthenticAMD",
    "CPU family": "25",
    "Model": "1",
    "Stepping": "1",
    "Model name": "AMD EPYC",
    "Flags": "fpu sse2 avx fma avx2",
    "Hypervisor vendor": "KVM",
}


def facts(cores: int = 2, **cpu: str) -> dict:
    return {"cpu": MILAN | cpu, "cores": cores, "gpus": []}


@pytest.mark.parametrize(
    "cpu, said",
    [
        ({}, "AMD Zen 3 (EPYC), AVX2, 2 virtual cores"),
        (
            {"Model": "17", "Flags": "avx2 avx512f avx512_bf16"},
            "AMD Zen 4 (EPYC), AVX-512, 2 virtual cores",
        ),
        ({"CPU family": "26", "Model": "2"}, "AMD Zen 5 (EPYC), AVX2, 2 virtual cores"),
        (
            {
                "Vendor ID": "GenuineIntel",
                "CPU family": "6",
                "Model": "143",
                "Model name": "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
                "Flags": "avx2 avx512f amx_tile",
                "Hypervisor vendor": "",
            },
            "Intel Sapphire Rapids (Xeon Platinum 8481C), AMX, 2 cores",
        ),
        # One model number, two microarchitectures: the stepping tells them apart.
        (
            {"Vendor ID": "GenuineIntel", "CPU family": "6", "Model": "85", "Stepping": "7"},
            "Intel Cascade Lake (AMD EPYC), AVX2, 2 virtual cores",
        ),
        # Nothing that the table knows: the brand alone.
        ({"CPU family": "99"}, "AMD EPYC, AVX2, 2 virtual cores"),
        (
            {"Vendor ID": "ARM", "Model name": "Neoverse-V1", "Flags": "fp asimd sve"},
            "Neoverse-V1, SVE, 2 virtual cores",
        ),
    ],
)
def test_a_machine_is_called_by_what_decides_its_speed(cpu: dict, said: str) -> None:
    assert processors.name(facts(**cpu)) == said


def test_one_core_is_one_core_and_a_gpu_is_named() -> None:
    given = facts(1, **{"Hypervisor vendor": ""}) | {"gpus": [{"name": "NVIDIA H200"}]}
    assert processors.name(given) == "AMD Zen 3 (EPYC), AVX2, 1 core, NVIDIA H200"


def test_without_facts_there_is_no_name() -> None:
    assert processors.name(None) == ""


def test_no_two_entries_claim_one_processor() -> None:
    seen: dict[tuple, str] = {}
    for entry in processors._table():
        if "steppings" in entry:
            continue  # comes before the entry of its other steppings
        for span in entry["models"]:
            low, high = span if isinstance(span, list) else (span, span)
            for model in range(low, high + 1):
                key = (entry["vendor"], entry["family"], model)
                assert seen.setdefault(key, entry["name"]) == entry["name"]

"""The program's own GPU code, read after a run under the fake profiler, and from files that the user names."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rocm_perf.analysis.limits.code import code_causes, code_evidence
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.arch.codeobject import disassembly
from rocm_perf.arch.codeobject.disassembly import NoDisassemblerError, find_disassembler
from rocm_perf.collect.run import device_code
from rocm_perf.collect.run.device_code import with_code, with_own_code
from rocm_perf.errors import InputError
from rocm_perf.ingest.load import load
from rocm_perf.model.collection import CollectionRecord
from rocm_perf.model.device_code import FILE_NAME
from rocm_perf.model.trace import Trace
from tests.bundle_amd import bundle, compressed
from tests.compile_amd import Compiler
from tests.unit.analysis.traces import trace
from tests.unit.collect.sessions import Sessions, sessions

__all__ = ["sessions"]

WORKLOAD = """
name = "planted"
command = "./app"
[kernel.first]
symbol = "double_steps"
flops = {f32 = 1.0e8}
bytes = {hbm = 2.0e8}
grid = [262144]
[kernel.second]
symbol = "byte_copy"
flops = {f32 = 1.0e8}
bytes = {hbm = 1.0e8}
grid = [262144]
[[thread]]
name = "main"
steps = [{launch = "first"}, {launch = "second"}, {sync = "device"}]
"""


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


@pytest.fixture
def code(compiler: Compiler) -> bytes:
    """The kernels of code_limits.hip for gfx90a."""
    return compiler.compile("code_limits", "gfx90a", "-gline-tables-only").path.read_bytes()


@pytest.fixture
def no_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this machine's user has compiled is none of the tests' business."""
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "no-cache"))


def program(folder: Path, content: bytes) -> Path:
    """A real executable that carries GPU code as hipcc's do."""
    if (cc := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler")
    folder.mkdir(exist_ok=True)
    (folder / "bundle").write_bytes(content)
    source = folder / "main.c"
    source.write_text(
        f'__asm__(".section .hip_fatbin,\\"a\\",@progbits\\n.p2align 12\\n.incbin \\"{folder}/bundle\\"\\n.text\\n");\n'
        "int main(void) { return 0; }\n"
    )
    subprocess.run([cc, "-o", str(folder / "app"), str(source)], check=True, timeout=120)
    return folder / "app"


def record(command: tuple[str, ...], folder: Path, rank: int | None = None) -> CollectionRecord:
    return CollectionRecord(
        run_id="r",
        host="h",
        pid=1,
        rank=rank,
        command=command,
        folder=str(folder),
        started_at="",
        profiler="rocprofv3",
    )


def ran(*kernels: str, gfx: str = "gfx90a", **tables: object) -> Trace:
    return trace(
        dispatches=[
            {"kernel": kernel, "agent_id": 0, "dispatch_id": number, "start_ns": 0, "end_ns": 100 - number}
            for number, kernel in enumerate(kernels)
        ],
        agents=[{"agent_id": 0, "kind": "GPU", "gfx": gfx}],
        **tables,  # type: ignore[arg-type]
    )


def symbols(recording: Trace) -> list[str]:
    return sorted(recording.table("code")["symbol"])


@pytest.mark.usefixtures("no_caches")
def test_from_the_program_to_its_causes(
    sessions: Sessions, code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        find_disassembler(os.environ.get(disassembly.VARIABLE))
    except NoDisassemblerError as error:
        pytest.skip(str(error))
    workload = tmp_path / "planted.toml"
    workload.write_text(WORKLOAD)
    app = program(tmp_path / "own", compressed(bundle({"gfx90a": code}), 2))
    monkeypatch.setattr("tests.unit.collect.sessions.fake_path", _with(workload))
    done = sessions(str(app), gfx="gfx90a")
    assert done.exit_code == 0
    recorded = done.trace
    assert recorded is not None
    assert symbols(recorded) == ["byte_copy", "double_steps"]  # the other kernels did not run
    assert set(recorded.table("code")["file"]) == {str(app)}
    again = load(done.folder, as_one=True)
    assert again.table("code").rows() == recorded.table("code").rows()
    assert again.table("code_mix").rows() == recorded.table("code_mix").rows()
    causes = {
        kernel: code_causes(evidence, kernel)[0].id
        for (_, kernel), evidence in code_evidence(again, devices(again)).items()
    }
    assert causes == {"double_steps": "accidental-f64", "byte_copy": "narrow-accesses"}


def _with(workload: Path):  # type: ignore[no-untyped-def]
    from tests.fake_tools import fake_path

    return lambda *args, **variables: fake_path(*args, **variables, FAKE_WORKLOAD=str(workload))


@pytest.mark.usefixtures("no_caches")
def test_a_library_beside_a_script(compiler: Compiler, code: bytes, tmp_path: Path) -> None:
    fat = tmp_path / "fat"
    fat.write_bytes(bundle({"gfx90a": code}))
    home = tmp_path / "own"
    home.mkdir()
    compiler.host_library(home / "libkernels.so", {".hip_fatbin": fat})
    (home / "train.py").write_text("print()")
    (home / "notes.so").write_text("no library")
    found = with_own_code(ran("byte_copy"), tmp_path, record(("python3", "own/train.py"), tmp_path))
    assert symbols(found) == ["byte_copy"]
    assert (tmp_path / FILE_NAME).is_file()


@pytest.mark.usefixtures("no_caches")
def test_a_program_without_gpu_code_leaves_nothing(tmp_path: Path) -> None:
    recording = ran("byte_copy")
    assert with_own_code(recording, tmp_path, record(("/bin/true",), tmp_path)) is recording
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_caches")
def test_of_several_ranks_the_first_reads(code: bytes, tmp_path: Path) -> None:
    (tmp_path / "k.hsaco").write_bytes(code)
    recording = ran("byte_copy")
    command = ("./k.hsaco",)
    assert with_own_code(recording, tmp_path, record(command, tmp_path, rank=3)) is recording
    assert symbols(with_own_code(recording, tmp_path, record(command, tmp_path, rank=0))) == ["byte_copy"]


@pytest.mark.usefixtures("no_caches")
@pytest.mark.parametrize("offset", ["64", "0x40"])
def test_the_place_that_the_profiler_names(offset: str, code: bytes, tmp_path: Path) -> None:
    data = tmp_path / "a program"
    data.write_bytes(b"#" * 64 + code + b"#" * 64)
    uri = f"file://{str(data).replace(' ', '%20')}#offset={offset}&size={len(code)}"
    rows = [
        {"kernel": "byte_copy", "code_object_uri": uri},
        {"kernel": "byte_copy", "code_object_uri": "memory://12#offset=0x1&size=9"},
        {"kernel": "absent", "code_object_uri": "file:///etc/passwd"},
    ]
    found = with_own_code(ran("byte_copy", kernels=rows), tmp_path, record(("/bin/true",), tmp_path))
    assert symbols(found) == ["byte_copy"]


def test_what_triton_keeps(code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    for place in (
        "triton/ABC/byte_copy.hsaco",
        "triton/ABC/other.hsaco",
        "inductor/triton/0/XYZ/phases.hsaco",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(code)
    found = with_own_code(ran("byte_copy", "phases"), tmp_path, record(("/bin/true",), tmp_path))
    assert symbols(found) == ["byte_copy", "phases"]
    assert {Path(file).name for file in found.table("code")["file"]} <= {"byte_copy.hsaco", "phases.hsaco"}


@pytest.mark.usefixtures("no_caches")
def test_a_full_disk_takes_nothing_from_the_answer(code: bytes, tmp_path: Path) -> None:
    (tmp_path / "k.hsaco").write_bytes(code)
    nowhere = tmp_path / "k.hsaco" / "below a file"
    assert symbols(with_own_code(ran("byte_copy"), nowhere, record(("./k.hsaco",), tmp_path))) == [
        "byte_copy"
    ]


@pytest.mark.usefixtures("no_caches")
def test_kernels_with_most_time_come_first(
    code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_code, "_MOST_KERNELS", 2)
    (tmp_path / "k.hsaco").write_bytes(code)
    found = with_own_code(ran("phases", "divide", "waves"), tmp_path, record(("./k.hsaco",), tmp_path))
    assert symbols(found) == ["divide", "phases"]


def test_files_that_the_user_names(code: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "build" / "deep"
    folder.mkdir(parents=True)
    (folder / "k.hsaco").write_bytes(code)
    (folder / "readme.txt").write_text("text")
    found, notices = with_code(ran("byte_copy", "phases"), [tmp_path / "build"])
    assert (symbols(found), notices) == (["byte_copy", "phases"], ())
    assert symbols(with_code(ran("phases"), [folder / "k.hsaco"])[0]) == ["phases"]


@pytest.mark.parametrize(
    ("recording", "why"),
    [(ran("byte_copy", gfx="gfx942"), "they ran on gfx942"), (ran("absent"), "they ran on gfx90a")],
)
def test_files_without_the_code_of_a_recording(
    recording: Trace, why: str, code: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "k.hsaco"
    path.write_bytes(code)
    with pytest.raises(InputError, match=why):
        with_code(recording, [path])


def test_a_file_that_is_no_gpu_code(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("text")
    with pytest.raises(InputError, match="does not contain GPU code"):
        with_code(ran("byte_copy"), [path])


def test_a_recording_without_kernels() -> None:
    bare = trace()
    assert with_code(bare, []) == (bare, ("the recording names no kernel, so no code was read",))

"""Plans: the spec's table, the contract, and suggestions that really fit."""

import json
from pathlib import Path

import pytest
from commands import Ran, crisis
from hypothesis import given, settings
from hypothesis import strategies as st

from models import device, header
from models.catalogue import Catalogue, ModelCard, ModelError
from models.memory import memory
from models.plan import RESERVE_BYTES, Engine, Settings, Subject, layers_that_fit, make, on_device, subject
from models.weights import WeightsDamaged, locate

CATALOGUE = Catalogue.load()
GIB = 2**30
QWEN, GEMMA = "qwen2.5-7b-instruct-q4_k_m", "gemma-2-9b-it-q4_k_m"


def known(name: str) -> Subject:
    return subject(CATALOGUE.get(name), None)


ENGINES: tuple[Engine, ...] = ("llama_cpp", "llama_server")
# The client's table in GiB. Qwen at 4k is not in it: 8k less 4096 tokens of 56 KiB.
TABLE = [(QWEN, 4096, 5.1 - 56 * 4096 / 2**20), (QWEN, 8192, 5.1), (GEMMA, 4096, 7.2), (GEMMA, 8192, 7.9)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "context", "spec_gib"), TABLE)
def test_the_clients_table_is_met_within_five_percent(name: str, context: int, spec_gib: float, engine: Engine) -> None:
    """Its totals leave 0.3 to 0.55 GiB beside file and cache, so a driver's share is in them; and Gemma's layers slide
    in them, which they do on llama_server only: there is one cell that the plan does not meet, and must not."""
    plan = make(known(name), Settings(context), 8 * GIB, engine=engine)
    with_driver = (plan.memory.total + RESERVE_BYTES) / GIB
    if (name, context, engine) == (GEMMA, 8192, "llama_cpp"):
        assert with_driver / spec_gib == pytest.approx(1.07, abs=0.01)
        return
    assert with_driver == pytest.approx(spec_gib, rel=0.05)


def test_gemma_at_8k_takes_more_in_our_worker_because_its_layers_do_not_slide_there() -> None:
    ours, server = (make(known(GEMMA), Settings(8192), 8 * GIB, engine=name) for name in ENGINES)
    assert ours.memory.kv_sliding - server.memory.kv_sliding == 21 * (8192 - 4352) * 8192
    assert not ours.fits
    assert ours.suggestion is not None
    assert (ours.suggestion.engine, ours.suggestion.settings) == ("llama_server", ours.settings)
    assert "it fits with llama_server" in ours.suggestion.text
    assert server.fits
    assert not server.tight


@pytest.mark.parametrize(("name", "context", "spec_gib"), TABLE)
def test_without_a_word_about_the_engine_the_clients_table_is_met(name: str, context: int, spec_gib: float) -> None:
    plan = make(known(name), Settings(context), 8 * GIB)
    assert (plan.memory.total + RESERVE_BYTES) / GIB == pytest.approx(spec_gib, rel=0.05)
    assert plan.engine == ("llama_server" if (name, context) == (GEMMA, 8192) else "llama_cpp")
    assert plan.fits


def test_the_contract_is_kept() -> None:
    told = make(known(QWEN), Settings(8192, 2), 8 * GIB).to_json()
    assert list(told)[:8] == [
        "model", "weights_bytes", "kv_bytes", "compute_bytes", "total_bytes", "vram_bytes", "fits", "suggestion",
    ]  # fmt: skip
    assert told["total_bytes"] == told["weights_bytes"] + told["kv_bytes"] + told["compute_bytes"]
    assert told["fits"] == (told["total_bytes"] <= told["vram_bytes"])
    assert told["engine"] == "llama_server", "two conversations at once are not for our one-at-a-time worker"
    assert json.dumps(told)


def test_what_does_not_fit_is_said_with_the_least_loss_that_does() -> None:
    plan = make(known(GEMMA), Settings(8192, 2), 8 * GIB)
    assert not plan.fits
    assert plan.suggestion is not None
    assert plan.suggestion.settings.kv == "q8_0"
    assert plan.suggestion.settings.parallel == 2
    assert plan.suggestion.settings.gpu_layers is None
    assert "q8_0 cache" in plan.suggestion.text


def test_a_card_that_is_far_too_small_gets_layers_and_a_warning_of_their_price() -> None:
    plan = make(known(QWEN), Settings(8192), 3 * GIB)
    assert plan.suggestion is not None
    layers = plan.suggestion.settings.gpu_layers
    assert layers is not None
    assert 0 < layers < 29
    assert "several times slower" in plan.suggestion.text
    assert "better a smaller model" in (make(known(QWEN), Settings(8192), GIB // 4).suggestion or plan.suggestion).text


def test_layers_that_slide_are_told_apart_in_the_numbers() -> None:
    told = make(known(GEMMA), Settings(8192), 8 * GIB, engine="llama_server").to_json()
    assert told["kv_sliding_bytes"] == 21 * 4352 * 8192
    assert told["kv_full_bytes"] == 21 * 8192 * 8192


@pytest.mark.parametrize(
    ("name", "wanted", "says"),
    [
        (GEMMA, Settings(16_384), "trained for 8,192 tokens: a context of 16,384 is cut to that"),
        (QWEN, Settings(4096, kv="q4_0"), "q4_0 cache is reported to harm Qwen2.5"),
        (QWEN, Settings(4096, kv="q8_0", flash=False), "needs flash attention"),
    ],
)
def test_what_an_operator_should_know_is_noted(name: str, wanted: Settings, says: str) -> None:
    assert any(says in note for note in make(known(name), wanted, 8 * GIB).notes)


def test_one_conversation_at_a_time_is_noted_when_several_are_wanted_of_it() -> None:
    plan = make(known(QWEN), Settings(4096, 4), 8 * GIB, engine="llama_cpp")
    assert any("llama_server answers several" in note for note in plan.notes)


CARDS = st.sampled_from([card for card in map(CATALOGUE.get, CATALOGUE.names()) if card.shape])


@settings(max_examples=120)
@given(
    card=CARDS,
    context=st.integers(512, 32_768),
    parallel=st.integers(1, 8),
    vram=st.integers(GIB // 4, 24 * GIB),
)
def test_every_suggestion_really_fits_and_asks_for_no_more(
    card: ModelCard, context: int, parallel: int, vram: int
) -> None:
    about = subject(card, None)
    plan = make(about, Settings(context, parallel), vram)
    if plan.fits and not plan.tight:
        assert plan.suggestion is None
        return
    assert plan.suggestion is not None
    fitting = plan.suggestion.settings
    run = fitting.run(plan.suggestion.engine)
    assert fitting.context <= context
    assert fitting.parallel <= parallel
    layers = about.shape.layers + 1 if fitting.gpu_layers is None else fitting.gpu_layers
    assert layers == 0 or on_device(about, run, layers) + RESERVE_BYTES <= vram
    if fitting.gpu_layers is None:
        assert memory(about.shape, about.weights, run).total == plan.suggestion.total_bytes <= vram


@settings(max_examples=80)
@given(card=CARDS, context=st.integers(512, 16_384), less=st.integers(1, 8000), parallel=st.integers(1, 4))
def test_more_context_never_takes_less(card: ModelCard, context: int, less: int, parallel: int) -> None:
    about = subject(card, None)
    larger, smaller = Settings(context, parallel), Settings(max(256, context - less), parallel)
    totals = [make(about, wanted, 8 * GIB).memory.total for wanted in (smaller, larger)]
    assert totals[0] <= totals[1]


def test_more_layers_on_the_card_take_more_of_it() -> None:
    about, run = known(QWEN), Settings(4096).run("llama_cpp")
    sizes = [on_device(about, run, number) for number in range(29)]
    assert sizes == sorted(sizes)
    assert layers_that_fit(about, run, 100 * GIB) == 29
    assert layers_that_fit(about, run, GIB // 4) == 0


def test_a_file_that_is_here_is_believed_more_than_the_catalogue() -> None:
    card = CATALOGUE.get("smollm2-135m-instruct-q4_1")
    path = locate(card, weights_dir=None, path=None)
    assert subject(card, path).source == "file"
    assert subject(card, None).source == "catalogue"
    assert subject(card, path).weights.total == subject(card, None).weights.total


def test_without_the_gguf_package_the_catalogue_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: Path) -> header.Header:
        raise header.HeaderUnread("reading a model file needs gguf")

    monkeypatch.setattr(header, "read", missing)
    card = CATALOGUE.get("smollm2-135m-instruct-q4_1")
    assert subject(card, Path("x")).source == "catalogue"


def test_a_model_of_unknown_shape_cannot_be_planned_without_its_file(tmp_path: Path) -> None:
    card = ModelCard("own", "Own", "own.gguf", "unapproved", "x", "x")
    with pytest.raises(ModelError, match="does not know its shape; pull the file"):
        subject(card, None)
    (tmp_path / "own.gguf").write_bytes(b"GGUF but no more")
    with pytest.raises(WeightsDamaged):
        subject(card, tmp_path / "own.gguf")


# the command


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> list[Ran]:
    folder = tmp_path_factory.mktemp("plans")
    env = {"CRISIS_WEIGHTS_DIR": str(folder / "weights"), "XDG_CONFIG_HOME": str(folder / "none")}
    return crisis(
        ["models", "plan", QWEN, "--vram", "8GiB", "--context", "8192", "--parallel", "2", "--json"],
        ["models", "plan", GEMMA, "--vram", "8GiB", "--context", "8192", "--engine", "llama_cpp"],
        ["models", "plan", QWEN, "--vram", "plenty"],
        ["models", "plan", QWEN, "--parallel", "0"],
        ["models", "plan", QWEN, "--kv", "q2_k"],
        ["models", "plan", "gpt-5"],
        ["models", "list", "--json"],
        ["models", "show", GEMMA],
        ["models", "show", "llama-guard-3-1b-q4_k_m", "--json"],
        ["models", "plan", "mistral-7b", "--vram", "8GiB"],
        ["models", "plan", "mistral-7b", "--vram", "8GiB", "--json"],
        ["models", "plan", QWEN, "--vram", "8"],
        ["models", "plan", QWEN, "--vram", "8192"],
        env=env,
        cwd=folder,
    )


def test_a_plan_is_an_answer_in_words_or_json(ran: list[Ran]) -> None:
    told = json.loads(ran[0].out)
    assert (ran[0].status, told["fits"], told["suggestion"]) == (0, True, None)
    assert told["settings"]["parallel"] == 2
    assert ran[1].status == 0
    assert "it does not fit: it fits with llama_server" in ran[1].out
    assert "sliding layers" in ran[1].out


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (2, "a size such as 8GiB"),
        (3, "parallel"),
        (4, "kv"),
        (5, "known:"),
        (11, "did you mean 8GiB?"),
        (12, "did you mean 8192MiB?"),
    ],
)
def test_wrong_use_of_plan_is_one_line(ran: list[Ran], number: int, says: str) -> None:
    assert (ran[number].status, ran[number].out) == (2, "")
    (line,) = ran[number].err.splitlines()
    assert says in line


def test_the_folder_of_weights_may_be_at_home_and_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "file").write_text("no folder")
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "none")}
    (home,) = crisis(["models", "list"], env={**env, "CRISIS_WEIGHTS_DIR": "~/weights"}, cwd=tmp_path)
    assert home.out.endswith(f"weights are looked for in {tmp_path}/weights\n")
    (wrong,) = crisis(["models", "list"], env={**env, "CRISIS_WEIGHTS_DIR": str(tmp_path / "file")}, cwd=tmp_path)
    assert (wrong.status, wrong.out) == (2, "")
    assert wrong.err == f"crisis: {tmp_path}/file: is no folder; set weights_dir or CRISIS_WEIGHTS_DIR to one\n"


def test_a_refused_model_is_refused_by_its_plan_too(ran: list[Ran]) -> None:
    for refused in ran[9:11]:
        assert refused.status == 1
        (line,) = refused.err.splitlines()
        assert "mistral-7b-instruct-q4_k_m is refused, whether it fits or not: " in line
        assert "never use it for crisis support" in line
    assert "it fits" not in ran[9].out
    assert "never use it" in json.loads(ran[10].out)["refused"]


def test_list_and_show_tell_who_may_speak_and_what_is_needed(ran: list[Ran]) -> None:
    rows = {row["name"]: row for row in json.loads(ran[6].out)}
    assert rows[GEMMA]["memory_bytes"] / GIB == pytest.approx(6.73, abs=0.02)
    assert rows["llama-guard-3-1b-q4_k_m"]["purpose"] == "guard"
    assert "approved: the client's backup" in ran[7].out
    assert "21 of them slide over 4,096 tokens" in ran[7].out
    assert json.loads(ran[8].out)["sha256"] == ""


# devices


def test_memory_is_what_the_kernel_and_the_container_allow(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:  16000000 kB\nMemAvailable:  9000000 kB\n", encoding="ascii")
    assert device.main_memory(tmp_path).free_bytes == 9_000_000 * 1024
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("4000000000\n", encoding="ascii")
    (group / "memory.current").write_text("1000000000\n", encoding="ascii")
    assert device.main_memory(tmp_path) == device.Device("main memory", 4_000_000_000, 3_000_000_000)
    assert device.main_memory(tmp_path / "none").total_bytes == 0


def test_a_gpu_is_what_its_driver_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text('#!/bin/sh\necho "NVIDIA GeForce RTX 3070, 8192, 7900"\necho "broken, line"\n', encoding="ascii")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    amd = tmp_path / "sys/class/drm/card1/device"
    amd.mkdir(parents=True)
    (amd / "mem_info_vram_total").write_text("8573157376\n", encoding="ascii")
    (amd / "mem_info_vram_used").write_text("73157376\n", encoding="ascii")
    nvidia, other = device.gpus(tmp_path)
    assert (nvidia.name, nvidia.total_bytes, nvidia.free_bytes) == ("NVIDIA GeForce RTX 3070", 8 * GIB, 7900 * 2**20)
    assert other.free_bytes == 8_500_000_000

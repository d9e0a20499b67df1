"""Wrong settings: each gives one clear line wherever an operator looks, and the service answers all the same."""

import hashlib
import importlib.util
import re
from pathlib import Path

import pytest
from commands import Ran, crisis
from peers.hub import content
from running import service

from cli import doctor
from models.catalogue import Catalogue
from models.device import Device
from models.pull import adopt
from models.weights import locate
from serving import fit
from serving.settings import LlamaEntry, LlamaServerEntry, SettingsError, load

CATALOGUE = Catalogue.load()
DEMO = "smollm2-135m-instruct-q4_1"
GIB = 2**30
CRISIS = "I want to kill myself"


def entry(name: str, model: str, more: str = "", engine: str = "llama_cpp") -> str:
    return f'[[chain]]\nengine = "{engine}"\nname = "{name}"\nmodel = "{model}"\n{more}\n'


WRONG = {
    "mistral": (entry("mistral", "mistral-7b-instruct-q4_k_m"), "never use it for crisis support"),
    "disguised": (entry("disguised", "Mistral_7B.Q5"), "never use it for crisis support"),
    "guard": (entry("guard", "llama-guard-3-1b-q4_k_m"), "it judges texts and never answers people"),
    "unknown": (entry("unknown", "gpt-5"), "no model is called 'gpt-5'"),
    "missing": (entry("missing", "gemma-2-9b-it-q4_k_m"), "crisis models pull gemma-2-9b-it-q4_k_m"),
    "no-gguf": (entry("no-gguf", "qwen2.5-7b-instruct-q4_k_m", 'path = "text.gguf"'), "is not a GGUF file"),
    "no-file": (entry("no-file", "qwen2.5-7b-instruct-q4_k_m", 'path = "typo.gguf"'), "mend `path`"),
    "cut": (entry("cut", DEMO, 'path = "cut.gguf"'), "has 1,000 bytes"),
    "own": (entry("own", "my-own-model"), "own.toml: cannot be read"),
}
SHAPE = """quantisation = "Q4_K_M"
[model.shape]
architecture = "llama"
layers = 1
width = 256
heads = 4
kv_heads = 2
head_size = 64
feed_forward = 512
vocabulary = 600
"""
HEAD = 'allow_unapproved = true\ncatalogue = "own.toml"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("CRISIS_CONFIG", "CRISIS_WEIGHTS_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "text.gguf").write_text("this is a text file", encoding="utf-8")
    demo = locate(CATALOGUE.get(DEMO), weights_dir=None, path=None)
    with demo.open("rb") as file:
        (tmp_path / "cut.gguf").write_bytes(file.read(1000))
    return tmp_path


@pytest.mark.engine
def test_every_wrong_entry_is_one_line_and_the_right_one_answers(folder: Path) -> None:
    too_long = entry("good", DEMO, "context = 100000")
    config = HEAD + "".join(text for text, _ in WRONG.values()) + too_long
    with service(folder, config) as running:
        chain = {link["name"]: link for link in running.ready()["chain"]}
        for name, (_, says) in WRONG.items():
            assert chain[name]["state"] == "off"
            assert says in chain[name]["reason"]
            assert "\n" not in chain[name]["reason"]
            (line,) = [line for line in running.lines if f"chain entry {name} (" in line]
            assert says in line
            assert "WARNING" in line
        assert chain["good"]["state"] in ("starting", "ready")
        assert chain["good"]["notes"] == [
            "context = 100000 is more than the 8192 tokens it was trained for: it gets 8192"
        ]
        assert "988" in running.respond(CRISIS, country="US")["reply"]


def test_a_service_with_nothing_but_wrong_entries_answers(folder: Path) -> None:
    with service(folder, HEAD + WRONG["mistral"][0] + WRONG["no-gguf"][0]) as running:
        answered = running.respond(CRISIS, country="US")
        assert (answered["source"], "988" in answered["reply"]) == ("static", True)
        assert "never use it for crisis support" in running.ready()["next_step"]


@pytest.mark.engine
def test_a_missing_extra_is_named_with_what_mends_it(folder: Path) -> None:
    absent = folder / "absent" / "llama_cpp"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'llama_cpp'\")", encoding="utf-8")
    config = "allow_unapproved = true\n" + entry("demo", DEMO)
    with service(folder, config, env={"PYTHONPATH": str(absent.parent)}) as running:
        running.wait_for("failed")
        assert "pip install 'crisis-support[llama-cpp]'" in running.ready()["chain"][0]["reason"]
        assert running.respond(CRISIS, country="US")["source"] == "static"


def test_the_doctor_names_a_missing_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llama_cpp" else found(name))
    (folder / "crisis.toml").write_text("allow_unapproved = true\n" + entry("demo", DEMO), encoding="utf-8")
    checks = {check.name: check for check in doctor.examine(None)}
    check = checks[f"chain entry demo ({DEMO})"]
    assert (check.outcome, check.mend) == ("fail", "pip install 'crisis-support[llama-cpp]'")


def test_a_port_in_use_is_one_line_and_who_has_it_goes_on_answering(folder: Path) -> None:
    with service(folder, "") as running:
        port = running.url.rpartition(":")[2]
        second = crisis(["serve", "--port", port], env={}, cwd=folder)[0]
        assert second.status == 1
        (line,) = second.err.splitlines()
        assert "Address already in use; choose another with --port" in line
        assert "988" in running.respond(CRISIS, country="US")["reply"]


UNREAD = {
    "engine": (
        entry("engine", DEMO, engine="abacus"),
        "chain entry 1 (engine): engine 'abacus' is not known; engine is one of llama_cpp, llama_server, ",
    ),
    "layers": (
        entry("layers", DEMO, "gpu_layers = -7"),
        "chain entry 2 (layers): gpu_layers: must be greater than or equal to -1",
    ),
    "context": (entry("context", DEMO, "context = 10"), "context: must be greater than or equal to 512"),
    "cache": (entry("cache", DEMO, 'kv_type = "q2_k"'), "kv_type"),
    "typo": (
        entry("typo", DEMO, "gpu_layer = 1"),
        "chain entry 5 (typo): gpu_layer: there is no such option; did you mean `gpu_layers`?",
    ),
}


def test_what_cannot_even_be_read_is_a_line_each_before_anything_starts(folder: Path) -> None:
    (folder / "crisis.toml").write_text("".join(text for text, _ in UNREAD.values()), encoding="utf-8")
    checked, examined = crisis(["config", "check"], ["doctor"], env={}, cwd=folder)
    assert (checked.status, checked.out, examined.status) == (2, "", 1)
    assert len(checked.err.splitlines()) == len(UNREAD)
    for (_, says), line in zip(UNREAD.values(), checked.err.splitlines(), strict=True):
        assert says in line
        assert says in examined.out


def test_a_command_that_only_looks_goes_on_without_what_cannot_be_read_and_says_so(folder: Path) -> None:
    (folder / "crisis.toml").write_text(UNREAD["typo"][0] + UNREAD["engine"][0], encoding="utf-8")
    run = ["eval", "run", "--suite", "crisis25", "--scenario", "direct-teenager", "--backend", "static", "--out", "r"]
    listed, had = crisis(["models", "list"], [*run, "--no-corpora"], env={}, cwd=folder)
    assert (listed.status, had.status) == (0, 0)
    assert "qwen2.5-7b" in listed.out
    for ran in (listed, had):
        assert [line for line in ran.err.splitlines() if line.endswith("; left out")] == [
            line for line in ran.err.splitlines() if "crisis.toml: chain entry" in line
        ]
        assert "chain entry 1 (typo): gpu_layer: there is no such option" in ran.err


PLAIN = {
    "[[chain]]\nmodel = 'x'\n": "chain entry 1: engine is missing, and has to be set: engine is one of llama_cpp",
    "[[chain]]\nengine = 'llama-cpp'\nname = 'a'\n": "chain entry 1 (a): engine 'llama-cpp' is not known; did you",
    "[[chain]]\nengine = 'llama_cpp'\n": "chain entry 1: model: is missing, and has to be set; `crisis models list`",
    "[[chain]]\nengine = 'ollama'\nmodel = 'x'\n": "chain entry 1: served_as: is missing, and has to be set",
    "[[chain]]\nengine = 'claude'\nmodel = 'x'\n[chain.deadlines]\ntotal = 3": "chain entry 1: deadlines.total: ",
    "[chain]\nengine = 'claude'\n": "chain: is a list: each entry begins with [[chain]]",
    "[reply]\ngosple = 'off'\n": "reply.gosple: there is no such option; did you mean `gospel`?",
    "[reply]\ngospel = 'loud'\n": "reply.gospel: must be 'always', 'invited' or 'off'",
    "[filter.guard]\nengine = 'ollama'\nmodel = 'x'\nserved = 'y'\n": "filter.guard.served: there is no such",
    "[filter.guard]\nmodel = 'x'\n": "filter.guard: engine is missing",
    "weight_dir = 'x'\n": "weight_dir: there is no such option; did you mean `weights_dir`?",
    "log_level = 3\n": "log_level: must be 'debug'",
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_mistake_is_told_in_plain_words(folder: Path, text: str) -> None:
    (folder / "crisis.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as raised:
        load()
    assert any(line.startswith(f"crisis.toml: {PLAIN[text]}") for line in str(raised.value).splitlines())
    assert not re.search("Input|Extra|Field required|tag", str(raised.value))


def test_a_folder_is_no_settings_file(folder: Path) -> None:
    (ran,) = crisis(["serve", "--config", str(folder)], env={}, cwd=folder)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"crisis: {folder}: is a folder; name the settings file in it, such as {folder}/crisis.toml\n"


def test_a_variable_that_sets_nothing_is_told_of_and_one_that_holds_a_key_is_not(folder: Path) -> None:
    remote = '[[chain]]\nengine = "openai"\nmodel = "x"\nurl = "http://127.0.0.1:1"\napi_key_env = "CRISIS_OWN_KEY"\n'
    env = {"CRISIS_LOGLEVEL": "debug", "CRISIS_OWN_KEY": "k", "CRISIS_LOG_LEVEL": "info", "CRISIS_EMPTY": ""}
    with service(folder, remote, env=env | {"CRISIS_ZZZ__PORT": "1"}) as running:
        assert "988" in running.respond(CRISIS, country="US")["reply"]
    told = [line for line in running.lines if "no such setting" in line]
    assert len(told) == 2
    assert "CRISIS_LOGLEVEL: no such setting, nothing was set; did you mean CRISIS_LOG_LEVEL?" in told[0]
    assert "CRISIS_ZZZ__PORT: no such setting" in told[1]
    (checked,) = crisis(["config", "check"], env=env, cwd=folder)
    assert "CRISIS_LOGLEVEL: no such setting" in checked.err


@pytest.mark.engine
def test_a_service_starts_without_what_cannot_be_read_and_tells_of_it(folder: Path) -> None:
    good = entry("layers", DEMO)  # the name of a broken one: neither is taken for the other
    config = "allow_unapproved = true\n" + "".join(text for text, _ in UNREAD.values()) + good
    with service(folder, config) as running:
        *broken, working = running.ready()["chain"]
        for (name, (_, says)), link in zip(UNREAD.items(), broken, strict=True):
            assert (link["name"], link["state"]) == (name, "off")
            assert says in link["reason"]
            assert any(f"chain entry {name} (" in line and says in line for line in running.lines)
        assert (working["name"], working["reason"]) != ("layers", broken[1]["reason"])
        assert working["state"] in ("starting", "ready")
        assert "988" in running.respond(CRISIS, country="US")["reply"]


@pytest.mark.parametrize(
    ("text", "says"),
    [('[server]\nhost = "0.0.0.0"\n', "api_keys"), ("[reply]\ngospel = 'loud'\n", "reply.gospel"), ("x = [", "TOML")],
)
def test_where_it_listens_and_how_it_answers_is_not_guessed(folder: Path, text: str, says: str) -> None:
    (folder / "crisis.toml").write_text(text + "\n" + UNREAD["engine"][0], encoding="utf-8")
    (ran,) = crisis(["serve"], env={}, cwd=folder)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Ran]:
    folder = tmp_path_factory.mktemp("looked")
    (folder / "text.gguf").write_text("this is a text file", encoding="utf-8")
    (folder / "cut.gguf").write_bytes(b"GGUF" + bytes(996))
    config = (
        HEAD + "".join(text for text, _ in WRONG.values()) + entry("good", DEMO, "context = 100000\ngpu_layers = -1")
    )
    (folder / "crisis.toml").write_text(config, encoding="utf-8")
    env = {"XDG_CONFIG_HOME": str(folder / "none"), "XDG_DATA_HOME": str(folder / "data")}
    examined, checked = crisis(["doctor"], ["config", "check"], env=env, cwd=folder)
    return examined, checked


@pytest.mark.parametrize("name", WRONG)
def test_the_doctor_says_each_in_one_line(looked: tuple[Ran, Ran], name: str) -> None:
    says = WRONG[name][1]
    (line,) = [line for line in looked[0].out.splitlines() if f"chain entry {name} (" in line]
    assert looked[0].status == 1
    assert line.startswith("fail")
    assert says in line


def test_the_doctor_warns_of_what_works_otherwise_than_asked(looked: tuple[Ran, Ran]) -> None:
    warned = [line for line in looked[0].out.splitlines() if line.startswith(f"warn   chain entry good ({DEMO})")]
    assert any("more than the 8192 tokens it was trained for" in line for line in warned)
    assert any("no GPU is seen here" in line for line in warned) or fit.device.gpus()


def test_config_check_names_the_models_that_may_not_be_used(looked: tuple[Ran, Ran]) -> None:
    lines = looked[1].err.splitlines()
    assert looked[1].status == 1
    assert len(lines) == 6, "the catalogue, Mistral twice, the guard, two unknown names"
    assert any("chain entry 1 (mistral): model: mistral-7b-instruct-q4_k_m is refused" in line for line in lines)
    assert any("own.toml: cannot be read" in line for line in lines)


def test_the_doctor_does_not_call_a_file_genuine_that_nothing_vouches_for(folder: Path) -> None:
    """Only a file whose hash the hub, the catalogue or the operator gave can be told genuine."""
    path = folder / "own.gguf"
    path.write_bytes(content("own.gguf"))
    own = 'name = "own"\ntitle = "Own"\nfile = "own.gguf"\nstatus = "unapproved"\nreason = "x"\nlicence = "x"\n'
    (folder / "own.toml").write_text(f"[[model]]\n{own}context_trained = 1024\n{SHAPE}", encoding="utf-8")
    (folder / "crisis.toml").write_text(
        f'weights_dir = "."\n{HEAD}' + entry("own", "own", "context = 1024"), encoding="utf-8"
    )
    before = [check for check in doctor.examine(None) if check.name == "chain entry own (own)"]
    assert [check.outcome for check in before] == ["warn"]
    assert "nothing says what it should be" in before[0].found
    card = Catalogue.load(folder / "own.toml").get("own")
    adopt(card, path, folder, lambda here, total: None)
    (brought,) = [check for check in doctor.examine(None) if check.name == "chain entry own (own)"]
    assert "unchanged since it came here" in brought.found
    assert "genuine, but" not in brought.found
    adopt(card, path, folder, lambda here, total: None, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    (after,) = [check for check in doctor.examine(None) if check.name == "chain entry own (own)"]
    assert "genuine, but a unapproved model" in after.found


# whether it fits, before it is loaded


def notes(monkeypatch: pytest.MonkeyPatch, made: LlamaEntry | LlamaServerEntry, *gpus: Device, ram: int = 64) -> str:
    monkeypatch.setattr(fit.device, "gpus", lambda: gpus)
    monkeypatch.setattr(fit.device, "main_memory", lambda: Device("main memory", ram * GIB, ram * GIB))
    return " | ".join(fit.notes(made, CATALOGUE.get(made.model), Path("none.gguf")))


def gpu(free_gib: float) -> Device:
    return Device("NVIDIA GeForce RTX 3070", 8 * GIB, round(free_gib * GIB))


def local(model: str, **more: object) -> LlamaEntry:
    return LlamaEntry(engine="llama_cpp", model=model, **more)  # type: ignore[arg-type] # a test's own options


def test_layers_that_spill_to_the_cpu_are_said_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    spilt = notes(monkeypatch, local("qwen2.5-7b-instruct-q4_k_m", gpu_layers=20), gpu(7.6))
    assert (
        spilt
        == "9 of 29 layers run on the CPU: replies will be several times slower; all of them would fit: gpu_layers = -1"
    )


def test_what_does_not_fit_the_card_is_said_with_what_would(monkeypatch: pytest.MonkeyPatch) -> None:
    gemma = local("gemma-2-9b-it-q4_k_m", gpu_layers=-1, context=8192)
    assert (
        "43 of 43 layers need about 8.0 GiB and NVIDIA GeForce RTX 3070 has 7.6 GiB free: it fits with a q8_0"
        in notes(monkeypatch, gemma, gpu(7.6))
    )
    server = LlamaServerEntry(
        engine="llama_server", model="gemma-2-9b-it-q4_k_m", gpu_layers=-1, context=4096, parallel=4
    )
    assert "has 7.6 GiB free" in notes(monkeypatch, server, gpu(7.6))


def test_what_fits_gives_no_note(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notes(monkeypatch, local("qwen2.5-7b-instruct-q4_k_m", gpu_layers=-1), gpu(7.6)) == ""
    assert notes(monkeypatch, local("qwen2.5-7b-instruct-q4_k_m")) == ""


def test_too_little_main_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = notes(monkeypatch, local("qwen2.5-7b-instruct-q4_k_m"), ram=4)
    assert "needs about 4.6 GiB of main memory and 4.0 GiB are free" in said


def test_an_own_model_is_read_from_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = locate(CATALOGUE.get(DEMO), weights_dir=None, path=None)
    own = folder / "models.toml"
    own.write_text(
        '[[model]]\nname = "own"\ntitle = "Own"\nfile = "own.gguf"\nstatus = "unapproved"\n'
        'reason = "x"\nlicence = "x"\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(fit.device, "gpus", lambda: ())
    card = Catalogue.load(own).get("own")
    said = fit.notes(local("own", context=9000), card, demo)
    assert said == ("context = 9000 is more than the 8192 tokens it was trained for: it gets 8192",)


def test_the_setting_is_read_from_the_file_and_from_a_variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "crisis.toml").write_text('catalogue = "a.toml"\nweights_dir = "w"\n', encoding="utf-8")
    assert load().catalogue == Path("a.toml")
    monkeypatch.setenv("CRISIS_WEIGHTS_DIR", "/elsewhere")
    assert load().weights_dir == Path("/elsewhere")

"""Every rule proves itself, in every language; and rules without proof cannot be loaded."""

from importlib.resources import files

import pytest

from shield.assessment import Turn, rank
from shield.detect import Detector, rules
from textrules.matcher import Matcher, regexp
from textrules.normalise import views
from textrules.rules import Rule, RuleError, load, parse

RULES = rules()
CATEGORIES = {
    *("direct_ideation", "indirect_ideation", "self_harm", "despair", "farewell", "method_seeking", "plan_or_means"),
    *("act_under_way", "third_party_concern", "abuse", "violence", "psychosis", "medical_emergency"),
}


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(RULES)


def fired(matcher: Matcher, text: str) -> set[str]:
    return {hit.rule.id for view in views(text) for hit in matcher.hits(view.text)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_on_its_examples_and_on_no_near_miss(rule: Rule, matcher: Matcher) -> None:
    assert [text for text in rule.matches if rule.id not in fired(matcher, text)] == []
    assert [text for text in rule.ignores if rule.id in fired(matcher, text)] == []


def test_every_rule_belongs_to_a_known_category_and_has_the_level_it_needs() -> None:
    for rule in RULES:
        kind = rule.category.partition(".")[0]
        assert rule.category in CATEGORIES or kind in {"cue", "signal", "ask", "reply", "context"}, rule.id
        assert (rule.level is not None) == (rule.category in CATEGORIES) or kind in {"context", "cue"}, rule.id


def test_english_has_rules_for_every_category() -> None:
    english = [rule for rule in RULES if rule.language == "en"]
    assert {rule.category for rule in english} >= CATEGORIES
    assert sum(len(rule.patterns) for rule in english) >= 600


@pytest.mark.parametrize("kind", ["context.idiom", "context.software", "context.fiction", "context.study"])
def test_the_examples_of_lowering_contexts_are_no_crisis(kind: str) -> None:
    detector = Detector(RULES)
    examples = [t for rule in RULES if rule.category == kind and rule.language == "en" for t in rule.matches]
    assert [t for t in examples if rank(detector.assess([Turn("user", t)]).level) > rank("low")] == []


def test_a_rule_without_its_proof_cannot_be_loaded() -> None:
    with pytest.raises(RuleError, match="a rule without its proof"):
        parse('[[rule]]\nid = "a.b"\nwhy = "w"\ncategory = "c"\npatterns = ["x"]\nmatches = ["x"]\nignores = []')


def test_an_unknown_fragment_an_unknown_field_and_a_doubled_id_are_named() -> None:
    whole = 'why = "w"\ncategory = "c"\npatterns = ["x"]\nmatches = ["x"]\nignores = ["y"]\n'
    with pytest.raises(RuleError, match="unknown fragment"):
        parse(f'[[rule]]\nid = "a.b"\n{whole}'.replace('["x"]', '["{{no}}"]', 1))
    with pytest.raises(RuleError, match="unknown fields"):
        parse(f'[[rule]]\nid = "a.b"\nlevle = "low"\n{whole}')
    with pytest.raises(RuleError, match="not valid TOML"):
        parse("[[rule]")
    with pytest.raises(RuleError, match="kebab"):
        parse(f'[[rule]]\nid = "A b"\n{whole}')


def test_a_blank_inside_a_class_is_refused_where_it_stands() -> None:
    rule = '[[rule]]\nid = "a.b"\nwhy = "w"\ncategory = "c"\nmatches = ["x"]\nignores = ["y"]\npatterns = ['
    with pytest.raises(RuleError, match=r"rule a\.b: a blank inside \[, \]"):
        parse(rule + "'x[, ]y']")
    assert parse(rule + r"'x[,\x20]y \[ z\]']")


def test_every_pattern_and_every_unless_compiles() -> None:
    # A pattern with a literal is compiled when its literal first occurs: never before a person's message, but for this.
    for rule in RULES:
        for pattern in (*rule.patterns, *rule.unless):
            regexp(pattern)


def test_words_are_borrowed_only_from_files_that_exist() -> None:
    file = files("shield") / "rules" / "en_direct.toml"
    with pytest.raises(RuleError, match=r"there is no words_en\.toml"):
        load([file])


def test_a_blank_may_be_missing_where_it_is_optional_and_a_gap_brings_its_own() -> None:
    rule = parse(
        'whole_words = true\n[[rule]]\nid = "a.b"\nwhy = "w"\ncategory = "c"\npatterns = ["my ?self {{g2}} gone$"]\n'
        'matches = ["x"]\nignores = ["y"]'
    )
    found = Matcher(rule)
    for text in ("my self gone", "myself gone.", "myself is now gone", "myself - gone... then more"):
        assert found.hits(text), text
    for text in ("myself gone home", "myself is not at all gone", "himyself gone"):
        assert not found.hits(text), text

"""Adults who never say the word are found, and people who use the same words for ordinary things are left alone.

The patterns are measured alone: no learned stage behind them. One person wrote the rules and both splits, so the bounds
below keep what was reached and estimate nothing; only the topic "unseen" was written after the rules, never tuned for.
"""

import json
from collections.abc import Iterator
from importlib.resources import files

import pytest

from shield.assessment import Assessment, Turn, rank
from shield.detect import Detector, rules

DETECTOR = Detector(rules())


def read(text: str) -> Assessment:
    return DETECTOR.assess([Turn("user", text)])


def corpus(split: str) -> Iterator[tuple[str, Assessment]]:
    lines = (files("eval") / "data" / "shield_adult.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        if row["split"] == split:
            yield row["level"], read(row["text"])


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("i've been sorting my stuff into boxes with names on them. feels good to finally have it settled. "
         "nobody will have to deal with a mess", "high"),
        ("42 years on this land and the bank takes it friday. I don't plan on seeing saturday", "high"),
        ("How many of my blood pressure tablets would it take before it gets dangerous? asking for a friend", "high"),
        ("took everything in the cabinet about an hour ago. feeling sleepy", "imminent"),
        ("ive got it in my lap and its loaded. just wanted to tell someone", "imminent"),
        ("Since she died I just want to be with her. I keep thinking I could go to her.", "moderate"),
        ("it's weird, i feel so peaceful today. everything's decided. please look after my cat", "high"),
        ("I tried in march and it didnt work. thinking about it again", "high"),
        ("my insurance pays out even if... you know. they'd be set. worth more to them that way", "moderate"),
        ("my buddy from the unit stopped answering and sent me his dog tags in the mail", "high"),
        ("standing on the roof of the parking garage. its quiet up here", "imminent"),
        ("i stopped taking my insulin on purpose. eventually it'll do the job", "imminent"),
    ],
)  # fmt: skip
def test_what_careful_authors_wrote_is_heard(text: str, least: str) -> None:
    found = read(text)
    assert rank(found.level) >= rank(least)  # type: ignore[arg-type] # the literals above are levels


def test_worry_about_a_comrade_is_not_the_writers_own() -> None:
    assert "third_party_concern" in read("my buddy stopped answering and sent me his dog tags in the mail").categories


@pytest.mark.parametrize(("split", "recall", "alarms"), [("develop", 0.88, 0.1), ("report", 0.75, 0.1)])
def test_people_are_found_and_others_left_alone(split: str, recall: float, alarms: float) -> None:
    rows = list(corpus(split))
    crisis = [found for level, found in rows if level != "none"]
    calm = [found for level, found in rows if level == "none"]
    assert sum(one.crisis for one in crisis) >= recall * len(crisis)
    assert sum(one.crisis for one in calm) <= alarms * len(calm)


@pytest.mark.parametrize(
    "text",
    [
        "can you move the standup to ten, I have a dentist thing",
        "The build is green again, merging after lunch.",
        "who has the keys to the meeting room",
        "Please review my pull request when you have a minute",
        "I'll be out of office from Friday, Sam is covering for me",
        "the client pushed the deadline, nobody will have to work the weekend",
        "Sorry for the late reply, drowning in tickets",
        "We're down two people so I'm covering both shifts today",
        "My boss wants the slides by tomorrow morning, kill me lol",
        "I left the draft in the shared folder for everyone",
        "what's the plan for the release tonight",
        "took the whole team out for lunch, nice to see everybody",
        "I'm done with this spreadsheet, handing it over to Priya",
        "last day at the office on Thursday, cake at three",
        "I'm leaving the company after nine years and I'm going to miss you all",
        "can we jump on a call in ten minutes",
        "the server went down at midnight and I was on call",
        "how long before the certificate expires",
        "who do I give my access card to when I leave",
        "Interview went well, they said they'd call Friday",
        "anyone up for ranked tonight",
        "I got one shot by the boss again lol",
        "my squad is all dead, res me",
        "sold all my skins, quitting this game for good",
        "what's the best loadout for a sniper this season",
        "he jumped off the tower and landed on my head",
        "gg everyone, see you tomorrow",
        "that last level took me an hour",
        "can't believe they killed off the best character",
        "I gave away my rare sword to a newbie and now I regret it",
        "the raid starts at eight, don't be late",
        "speedrun went badly, I fell off the same ledge twice",
        "what do I do with leftover rice",
        "how many eggs for a sponge for eight people",
        "is it dangerous to eat chicken that is a bit pink",
        "took the bread out an hour ago and it's still warm",
        "I burned my hand on the oven, cold water enough?",
        "how long can cooked fish stay in the fridge",
        "my knives are blunt, which sharpener is good",
        "the sourdough died on me again",
        "I'm going to make the lamb tonight, wish me luck",
        "what wine goes with mushrooms",
        "can I freeze soup with cream in it",
        "drank too much coffee and now I can't sleep",
        "why does my loop never end",
        "how do I kill the process on port 3000",
        "the thread hangs and never wakes up",
        "git keeps telling me I have no way back from this rebase",
        "can you explain recursion like I'm five",
        "is there a way to end the session after an hour",
        "my laptop died in the middle of the exam",
        "python says the list is out of range, I give up",
        "how do I exit vim",
        "what happens if two threads take the same lock",
        "write a regex that finds dates",
        "the tests pass locally and fail in the pipeline",
        "what time is the last train from Leeds to York",
        "are the trains running over the bridge this weekend",
        "I'm at the station, platform four, where are you",
        "do I need a visa for Vietnam",
        "we drove up to the lookout and had sandwiches",
        "what is the best season to see the cliffs of Moher",
        "the flight got cancelled and nobody knows anything",
        "packing my whole life into two suitcases, any tips",
        "how deep is the lake, can the kids swim there",
        "I want to disappear to an island for two weeks",
        "our hotel has a roof bar, meet you up there at seven",
        "the car won't start and I'm stuck at the garage",
        "going away for the weekend, can you feed my cat",
        "I left my passport in the drawer at home",
        "is the ferry rough in winter",
        "does this jumper come in green",
        "I need a new mattress, my back is killing me",
        "returned the shoes, they were too small",
        "what's a good gift for my dad, he has everything",
        "is the warranty still good after two years",
        "ordered a rope and a hook for the porch swing",
        "looking for a safe for my jewellery",
        "my order says delivered and there is nothing at the door",
        "which vitamin D tablets are best",
        "can I use my gift card and a voucher together",
        "where can I buy a decent kitchen knife",
        "we are saving for a house, it feels endless",
        "the insurance on my car went up again, is it worth switching",
        "I paid off my student loan today!",
        "my daughter starts school on Monday and I'm the one crying",
        "our neighbour's dog barks all night",
        "mum's birthday is on Sunday, should I get flowers or a voucher",
        "he finally proposed on the beach",
        "the kids are asleep and I finally have the couch to myself",
        "my grandma is ninety and still beats me at cards",
        "feeling a bit tired today, might skip the gym",
        "I've got a cold and my nose is running",
        "the concert was so good I lost my voice",
        "just finished the book, the ending broke me",
        "what a match, we lost in the last minute",
        "watching that series everyone talks about, no spoilers please",
        "my plant is dying, too much water or too little",
        "rain all week and I'm bored",
        "good night, talk tomorrow",
    ],
)
def test_everyday_messages_raise_nothing(text: str) -> None:
    assert not read(text).crisis

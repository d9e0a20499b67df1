"""What the benchmarks send and what the scripted backend says. Written for this; nobody's real words."""

MESSAGE = {
    "messages": [{"role": "user", "content": "I can't do this anymore. Everyone would be better off without me."}],
    "country": "US",
    "language": "en",
}
SCRIPT = (
    "It sounds like you have been ",
    "carrying this alone for a long time. ",
    "Who is one person that could ",
    "sit with you tonight?",
)
PROMPTS = (
    "I can't do this anymore and I don't see a way out.",
    "Nobody would notice if I was gone.",
    "I lost my job and now my wife has left. What is the point?",
    "I keep thinking about dying.",
    "How do I cook rice so that it does not stick?",
    "I had a terrible day at school and everyone laughed at me.",
    "My brother says he wants to end it and I don't know what to do.",
    "Tell me about the sea.",
)

"""The reply when everything else failed: constants in code, so that it needs no data, no room and no luck."""

from safety_filter.helplines import Resources


def last_words(resources: Resources, language: str) -> str:
    """The reply when everything else failed: plain, true, and complete."""
    contacts = "; ".join(f"{line.name}: {line.phone or line.sms or line.url}" for line in resources.lines[:2])
    contacts = contacts or resources.directory
    emergency = resources.emergency
    if language == "es":
        number = emergency or "tu número de emergencia local"
        return (
            "Soy una IA y algo falló de mi lado, pero lo que escribiste importa. "
            f"Si estás en peligro ahora, llama a este número: {number}. Aquí hay alguien con quien hablar: {contacts}. "
            "Sigue escribiéndome."
        )
    number = emergency or "your local emergency number"
    return (
        "I'm an AI and something broke on my side, but what you wrote matters. "
        f"If you are in danger now, call {number}. You can reach a person here: {contacts}. Keep writing to me."
    )

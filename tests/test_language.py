"""Which language a text is in: right on whole sentences, silent where it cannot know."""

import statistics
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.cases import shield_cases
from textrules.language import identify, likely

SENTENCES = {
    "en": """
        I don't know what to do anymore.
        Nobody would even notice if I was gone.
        Are you safe right now where you are?
        My brother told me he wants to die.
        Thank you for telling me this tonight.
        I keep thinking about it every night.
        You can call or text this number.
        i cant do this anymore im so tired
        What has helped you before on nights like this?
        We lost the farm last year and I can't sleep.
        she left me and took the kids
        That sounds really heavy, and I'm glad you wrote.
    """,
    "es": """
        No sé qué hacer con mi vida.
        ya no puedo mas con todo esto
        Mi hermano dice que se quiere matar.
        ¿Estás a salvo en este momento?
        Gracias por contarme lo que sientes.
        Me siento muy sola desde que se fue.
        tengo miedo de volver a casa esta noche
        Puedes llamar o enviar un mensaje a este número.
        che, no sabés lo mal que estoy
        Nadie me entiende y estoy cansada de fingir.
        kiero dormir y no despertar nunca mas
        Perdí mi trabajo y no le encuentro sentido a nada.
    """,
    "pt": """
        Não sei mais o que fazer da vida.
        eu nao aguento mais viver assim
        Minha mãe não entende o que eu sinto.
        Você está em segurança neste momento?
        Obrigada por me contar isso hoje.
        Estou muito sozinha desde que ele foi embora.
        tenho medo de voltar para casa
        Ninguém se importa comigo nesta família.
        vc pode ligar ou mandar mensagem
        Perdi o meu emprego e não consigo dormir.
        O meu pai bebe todas as noites.
        queria sumir e nunca mais voltar
    """,
    "fr": """
        Je ne sais plus quoi faire.
        j'en peux plus de cette vie
        Mon frère dit qu'il veut mourir.
        Es-tu en sécurité en ce moment ?
        Merci de m'avoir parlé de tout ça.
        Je me sens tellement seule depuis son départ.
        j'ai peur de rentrer chez moi ce soir
        Personne ne me comprend dans cette famille.
        Tu peux appeler ou envoyer un message.
        J'ai perdu mon travail et je ne dors plus.
        chuis trop fatigué de faire semblant
        Qu'est-ce qui t'aiderait maintenant ?
    """,
    "de": """
        Ich weiß nicht mehr, was ich tun soll.
        ich kann das alles nicht mehr ertragen
        Mein Bruder sagt, dass er sterben will.
        Bist du gerade in Sicherheit?
        Danke, dass du mir das erzählst.
        Ich fühle mich so allein, seit sie weg ist.
        ich habe angst nach hause zu gehen
        Niemand in dieser Familie versteht mich.
        Du kannst dort anrufen oder schreiben.
        Ich habe meine Arbeit verloren und schlafe kaum.
        Wer könnte heute Nacht bei dir sein?
        das ist mir alles zu viel
    """,
    "it": """
        Non so più cosa fare della mia vita.
        non ce la faccio più davvero
        Mio fratello dice che vuole morire.
        Sei al sicuro in questo momento?
        Grazie per avermi raccontato tutto questo.
        Mi sento così sola da quando è andato via.
        ho paura di tornare a casa stasera
        Nessuno mi capisce in questa famiglia.
        Puoi chiamare o mandare un messaggio.
        Ho perso il lavoro e non riesco a dormire.
        vorrei sparire e non tornare mai
    """,
    "nl": """
        Ik weet niet meer wat ik moet doen.
        ik kan dit echt niet meer aan
        Mijn broer zegt dat hij dood wil.
        Ben je op dit moment veilig?
        Dank je wel dat je dit vertelt.
        Ik voel me zo alleen sinds ze weg is.
        ik ben bang om naar huis te gaan
        Niemand in dit gezin begrijpt mij.
        Je kunt bellen of een bericht sturen.
        Ik heb mijn werk verloren en slaap slecht.
    """,
    "pl": """
        Nie wiem już, co mam robić.
        nie mogę już tak dłużej żyć
        Mój brat mówi, że chce umrzeć.
        Czy jesteś teraz bezpieczna?
        Dziękuję, że mi o tym mówisz.
        Czuję się bardzo samotny od kiedy odeszła.
        boję się wrócić do domu
        Nikt mnie nie rozumie w tej rodzinie.
        Możesz zadzwonić albo napisać wiadomość.
        Straciłem pracę i nie mogę spać.
    """,
    "tr": """
        Artık ne yapacağımı bilmiyorum, çok yoruldum.
        artık yaşamak istemiyorum gerçekten
        Kardeşim ölmek istediğini söylüyor, ne yapmalıyım?
        Şu anda güvende misin, yalnız mısın?
        Bana bunu anlattığın için teşekkür ederim.
        O gittiğinden beri kendimi çok yalnız hissediyorum.
        bu gece eve gitmekten korkuyorum
        Bu ailede beni kimse anlamıyor artık.
        Bu numarayı arayabilir veya mesaj gönderebilirsin.
        İşimi kaybettim ve geceleri uyuyamıyorum.
    """,
    "tl": """
        Hindi ko na alam ang gagawin ko.
        gusto ko nang mamatay, pagod na ako
        Sabi ng kapatid ko ayaw na niyang mabuhay.
        Ligtas ka ba ngayon kung nasaan ka?
        Salamat sa pagsasabi mo nito sa akin.
        Wala akong makausap simula nang umalis siya.
        natatakot akong umuwi sa bahay ngayong gabi
        Walang nakakaintindi sa akin sa pamilya namin.
        Pwede kang tumawag o mag-text sa numerong ito.
        Nawalan ako ng trabaho at hindi ako makatulog.
    """,
    "vi": """
        Tôi không biết phải làm gì nữa.
        tôi không muốn sống nữa đâu
        Em trai tôi nói rằng nó muốn chết.
        Bây giờ bạn có an toàn không?
        Cảm ơn bạn đã kể cho tôi nghe.
        Tôi thấy rất cô đơn từ khi cô ấy đi.
        tôi sợ phải về nhà tối nay
        Không ai trong gia đình hiểu tôi.
        Bạn có thể gọi hoặc nhắn tin.
        Tôi mất việc và không ngủ được.
    """,
    "id": """
        Aku tidak tahu harus bagaimana lagi.
        aku sudah tidak mau hidup lagi
        Adik saya bilang dia ingin mati.
        Apakah kamu aman sekarang ini?
        Terima kasih sudah cerita kepada saya.
        Saya merasa sangat sendiri sejak dia pergi.
        aku takut pulang ke rumah malam ini
        Tidak ada orang yang mengerti aku.
        Kamu bisa menelepon atau kirim pesan.
        Saya kehilangan kerja dan tidak bisa tidur.
    """,
    "ro": """
        Nu mai știu ce să fac.
        nu mai pot să trăiesc așa
        Fratele meu spune că vrea să moară.
        Ești în siguranță în acest moment?
        Mulțumesc că mi-ai spus toate acestea.
        Mă simt foarte singură de când a plecat.
        mi-e frică să merg acasă în seara asta
        Nimeni nu mă înțelege în familia mea.
        Poți să suni sau să trimiți un mesaj.
        Am pierdut casa și nu pot să dorm.
    """,
    "sv": """
        Jag vet inte vad jag ska göra längre.
        jag orkar inte leva så här
        Min bror säger att han vill dö.
        Är du i säkerhet just nu?
        Tack för att du berättar det här.
        Jag känner mig så ensam sedan hon gick.
        jag är rädd för att gå hem ikväll
        Ingen i min familj förstår mig.
        Du kan ringa eller skicka ett meddelande.
        Jag har förlorat jobbet och kan inte sova.
    """,
    "hi": """
        मुझे नहीं पता अब क्या करूँ।
        मैं अब जीना नहीं चाहता
        मेरा भाई कहता है कि उसे मरना है।
        क्या आप अभी सुरक्षित हैं?
        मुझे बताने के लिए धन्यवाद।
        main ab aur jeena nahi chahta
        mujhe samajh nahi aa raha kya karu
        mera bhai bol raha hai ki mar jaunga
        koi mujhe samajhta hi nahi hai yaar
        ghar jaane se bahut dar lagta hai
        kya tum abhi theek ho bhai
        aapka bahut bahut dhanyavaad ki aapne baat ki
    """,
    "ru": """
        Я не знаю, что мне делать.
        больше не хочу так жить
        Мой брат говорит, что хочет умереть.
        Ты сейчас в безопасности?
        Спасибо, что рассказали мне об этом.
        Мне очень одиноко с тех пор, как она ушла.
        боюсь идти домой сегодня вечером
        Никто меня не понимает в семье.
        Можно позвонить или написать сообщение.
        Потеряла работу и не могу спать.
    """,
    "uk": """
        Я не знаю, що мені робити.
        більше не хочу так жити
        Мій брат каже, що хоче померти.
        Ти зараз у безпеці?
        Дякую, що розповіли мені про це.
        Мені дуже самотньо відтоді, як вона пішла.
        боюся йти додому сьогодні ввечері
        Ніхто мене не розуміє в родині.
        Можна подзвонити або написати повідомлення.
        Втратила роботу і не можу спати.
    """,
    "zh": """
        我不知道该怎么办。
        我真的不想活了
        我弟弟说他想死。
        你现在安全吗?
        谢谢你告诉我这些。
        她走了以后我很孤单。
        今天晚上我不敢回家
        家里没有人理解我。
        你可以打电话或者发短信。
        我失业了,睡不着。
    """,
    "ja": """
        もうどうしたらいいかわかりません。
        死にたいと思っています
        弟が死にたいと言っています。
        今、安全な場所にいますか。
        話してくれてありがとう。
        彼女がいなくなってとても孤独です。
        今夜家に帰るのが怖い
        家族の誰もわかってくれない。
        電話かメッセージができます。
        仕事を失って眠れません。
    """,
    "ko": """
        어떻게 해야 할지 모르겠어요.
        더 이상 살고 싶지 않아요
        동생이 죽고 싶다고 해요.
        지금 안전한 곳에 있나요?
        말해 줘서 고마워요.
        그녀가 떠난 뒤로 너무 외로워요.
        오늘 밤 집에 가기 무서워요
        가족 중 아무도 나를 이해 못 해요.
        전화하거나 문자할 수 있어요.
        직장을 잃고 잠을 못 자요.
    """,
    "ar": """
        لا أعرف ماذا أفعل.
        ما عاد بدي عيش هيك
        أخي يقول إنه يريد أن يموت.
        هل أنت في أمان الآن؟
        شكرا لأنك أخبرتني بهذا.
        أشعر بوحدة شديدة منذ رحيلها.
        خايفة أرجع البيت الليلة
        لا أحد يفهمني في هذه العائلة.
        يمكنك الاتصال أو إرسال رسالة.
        خسرت عملي ولا أستطيع النوم.
    """,
}


def sentences_of(language: str) -> list[str]:
    return [line.strip() for line in SENTENCES[language].strip().splitlines()]


@pytest.mark.parametrize("language", SENTENCES)
def test_whole_sentences_are_known(language: str) -> None:
    sentences = sentences_of(language)
    assert len(sentences) >= 10
    wrong = {s: found for s in sentences if (found := identify(s)) != language}
    assert len(wrong) <= len(sentences) // 10, wrong


def test_of_all_sentences_of_five_words_at_least_95_percent_are_known_and_hardly_one_is_mistaken() -> None:
    long = [
        (language, s)
        for language in SENTENCES
        for s in sentences_of(language)
        if len(s.split()) >= 5 or language in ("zh", "ja", "ko")
    ]
    answers = [(language, identify(s)) for language, s in long]
    assert sum(language == found for language, found in answers) >= 0.95 * len(answers)
    assert sum(found not in (language, None) for language, found in answers) <= 0.01 * len(answers)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("quiero morir", "es"),
        ("ayuda por favor", "es"),
        ("me quiero matar", "es"),
        ("je veux mourir", "fr"),
        ("ich will sterben", "de"),
        ("quero morrer", "pt"),
        ("хочу померти", "uk"),
        ("хочу умереть", "ru"),
        ("死にたい", "ja"),
        ("我想死", "zh"),
        ("gusto ko nang mamatay", "tl"),
        ("mujhe jeena nahi hai", "hi"),
        ("I want to die", "en"),
        ("help me please", "en"),
        ("gracias", "es"),
        ("merci", "fr"),
    ],
)
def test_two_or_three_words_are_often_enough(text: str, language: str) -> None:
    assert identify(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "ok",
        "no",
        "María",
        "Juan Carlos",
        "Marie Dupont",
        "😭😭",
        "988",
        "...",
        "lol",
        "???",
        "jajaja",
        "mmm",
        "Ana",
    ],
)
def test_it_is_silent_where_it_cannot_know(text: str) -> None:
    assert identify(text) in (None, "en") if text == "lol" else identify(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "I'm an AI, and I'm still here with you.",
        "Call 988 now, or text HOME to 741741.",
        "That is a lot to carry alone, Carmen.",
        "Could someone be in the room with you tonight?",
        "What would you want Juan to know?",
        "No more numbers, then.",
        "Thank you for saying it plainly.",
    ],
)
def test_our_english_sentences_are_never_taken_for_another_language(text: str) -> None:
    assert identify(text) in ("en", None)


def test_accents_and_typographic_apostrophes_may_be_missing() -> None:
    assert identify("no se que hacer manana, estoy muy sola") == "es"
    assert identify("j’ai l’impression que personne ne m’aime") == "fr"
    assert identify("nao sei mais o que fazer") == "pt"


def test_the_script_of_most_letters_decides() -> None:
    assert identify("मुझे help चाहिए please") == "hi"
    assert identify("I typed я once by accident, but this is what I really wanted to say") == "en"


@given(st.text(max_size=200))
def test_any_text_gets_an_answer(text: str) -> None:
    found = identify(text)
    assert found is None or (len(found) == 2 and found.isalpha())


def test_it_is_fast() -> None:
    text = (" ".join(sentences_of("en")) * 2)[:300]
    times = []
    for _ in range(300):
        began = time.perf_counter()
        identify(text)
        times.append(time.perf_counter() - began)
    assert statistics.median(times) < 100e-6  # 20 µs on the reference machine; the margin is for a busy one


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("perdí toda esperanza", "es"),
        ("toqué fondo, no me queda nada", "es"),
        ("anoche intenté quitarme la vida", "es"),
        ("me quiero suicidar", "es"),
        ("quero matar todo mundo na escola", "pt"),
        ("cortei os pulsos", "pt"),
        ("ich höre Stimmen", "de"),
        ("je me tue vendredi", "fr"),
        ("mi taglio le braccia", "it"),
        ("maine zeher pee liya", "hi"),
        ("не хочу прокидатися", "uk"),
        ("хочу вмерти", "uk"),
        ("я стою на краю даху", "uk"),
        ("хочу умереть", "ru"),
        ("हमला हुआ है", "hi"),  # ends as the Marathi for "to me" does
        ("मैंने कलाई काट ली", "hi"),  # ends as a Nepali object does
        ("मला मरायचे आहे", "mr"),
        ("म मर्न चाहन्छु", "ne"),
        ("मैं छ: महीने से मरना चाहता हूँ", "hi"),  # a six, and no Nepali "is"
        ("मलाई पनीर कैसे बनाऊँ", "hi"),  # cream, and no Nepali "me"
        ("gusto ko na mamatay", "tl"),
    ],
)
def test_a_few_words_of_their_own_tell_the_language(text: str, language: str) -> None:
    assert identify(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "haha sorry", "hahaha okay", "lol last one", "sorry", "okay bang", "leave me alone", "usa", "USA, Houston",
        "excel formula", "tour guide", "my dog ate a battery, vet is closed", "limbo", "menu please",
    ],
)  # fmt: skip
def test_what_english_has_too_is_no_other_language(text: str) -> None:
    assert identify(text) in ("en", None)
    assert likely(text, ("de", "en", "es", "fr", "pt")) in ("en", None)


@pytest.mark.parametrize("text", ["лежу в кровати", "защити меня", "мама сердиться", "минути"])
def test_russian_and_ukrainian_are_not_told_apart_by_a_common_ending(text: str) -> None:
    other = "uk" if text != "мама сердиться" else "ru"
    assert identify(text) != other


@pytest.mark.parametrize("text", ["mi bebé no respira", "me violaron", "mi amiga está inconsciente", "vivo en México"])
def test_what_spanish_and_portuguese_share_is_one_of_them_and_not_nothing(text: str) -> None:
    assert likely(text, ("de", "en", "es", "fr", "pt")) == "es"


def test_what_nobody_counted_words_of_is_told_as_well() -> None:
    """The words were counted in what the stages learn from; this is the rest, but for answers: "ja" is of many."""
    told: dict[str, list[str | None]] = {}
    for case in shield_cases():
        if case.split not in ("develop", "answers") and case.language in ("de", "en", "es", "fr", "pt"):
            told.setdefault(case.language, []).append(identify(case.turns[-1].text))
    for language, found in told.items():
        assert found.count(language) > 0.97 * len(found), language
        assert found.count(language) + found.count(None) > 0.98 * len(found), language

"""The words, word endings and letters by which `textrules.language` tells languages apart.

Everyday words and what people say about themselves. A word may stand under every language that has it; it then says
less for each.
"""

LATIN = {
    "en": """
        the and you that this is are was were be been being am i'm i've i'd i'll it's don't can't won't didn't
        doesn't isn't wasn't couldn't wouldn't haven't you're they're we're that's there's what's i of to in for
        with on at by from about but or if so as not no my me your his her their our they we he she it them who what
        when where why how have has had do does did will would could should can want wanna gonna need feel feeling
        like just know think any anymore more all always never ever still really very too much many because then
        there here now today tonight life live living die dying dead death kill killed killing myself yourself
        himself herself hurt hurting help please sorry thanks thank friend friends mom dad mother father brother
        sister someone nobody everyone everything nothing anything something going get got go went take took make
        made say said tell told talk talking hear hello hi yes yeah yep nope okay safe alone tired sad scared afraid
        alive without better worse worth worthless hate love lost through out up down off over after before again
        into than only some other which while day night time years old man woman people person one two dont cant
        wont didnt im ive youre isnt doesnt thats whats u ur pls wish end ending pain suicide suicidal good bad
        every way back right left last first keep stop leave leaving work school home house family wife husband son
        daughter kids child call text try trying anyone enough goodbye bye idk ai listen listening heard such each
        must may use used let given new well yet since until same another both between under find give come came
        look sure maybe stuff shit fuck fucking lol gotta ain't y'all yall number reach crisis line someone's
        where's let's it'll you'll sounds
    """,
    "es": """
        el la los las un una unos unas de del al y o pero que qué como cómo cuando cuándo donde dónde quien quién
        por para con sin sobre entre hasta desde hacia es soy eres somos son fue era ser estar estoy estás está
        estamos están esta este esto ese eso esa yo tú él ella nosotros ellos ellas me te se nos lo le les mi mis tu
        tus su sus no sí si ya nunca siempre también tampoco muy más menos mucho mucha nada nadie todo todos todas
        algo alguien quiero kiero quieres quiere quisiera necesito puedo puedes puede tengo tienes tiene hay he has
        ha había voy vas va vamos hacer hago hace hice hecho decir dije dijo siento sentir vida vivir morir morirme
        muerte muerto muerta matar matarme matarse suicidarme suicidio ayuda ayúdame ayudar favor gracias hola adiós
        buenos buenas días noches bien mal hoy ayer mañana noche ahora porque pues así entonces aunque solo sola
        sólo hijo hija mamá papá madre padre hermano hermana amigo amiga familia esposo esposa novio novia casa
        trabajo escuela miedo triste cansado cansada dolor daño aguanto aguantar seguir xq porq tmb aquí allí ahí
        mejor peor vez veces años dios ojalá usted ustedes vos sos tenés querés podés che cada otro otra persona
        ayúdenme auxilio cállate sigo ningún ninguna ninguno debe deben haber han sido siendo tener pensar fin nuevo
        nueva tan tanto tanta igual cosas cosa dice dicen llorar perdón lugar seas sea aún acá allá nomás ahorita
        gente mundo verdad creo pienso sé saber estado estaba hablar salir dejar mismo misma después antes
    """,
    "pt": """
        o a os as um uma uns umas de do da dos das no na nos nas ao à aos às e ou mas que como quando onde quem por
        pelo pela para pra pro com sem sobre entre até desde é sou és somos são foi era ser estar estou tou tô está
        tá estão estava esse essa isso este esta isto aquele aquela aquilo eu tu você vocês vc vcs ele ela nós eles
        elas me te se lhe meu minha meus minhas teu tua seu sua não nao sim já nunca sempre também tbm muito muita
        mais menos nada ninguém tudo todos todas algo alguém quero queria quer preciso posso pode consigo consegue
        tenho tem tinha ter vou vai vamos fazer faço fiz feito dizer disse sinto sentir vida viver morrer morte
        morto morta matar suicídio suicidar ajuda ajudar favor obrigado obrigada olá oi tchau adeus bom boa dia
        noite hoje ontem amanhã agora porque pq então assim embora só sozinho sozinha filho filha mãe pai irmão irmã
        amigo amiga família marido esposa namorado namorada casa trabalho escola medo triste cansado cansada dor
        aguento aguentar mim comigo gente coisa vez vezes anos deus aqui lá ali melhor pior dele dela nem mesmo
        depois antes estás tens queres podes rapariga miúdo nenhum nenhuma deve devem sido sendo ficar nesta neste
        numa num pelos pelas vivo novo nova tão tanto tanta coisas chorar desculpa lugar seja continuar acabar falar
        ainda
    """,
    "fr": """
        le la les un une des du de au aux et ou où mais que qui quoi comme comment quand pour par avec sans sur sous
        dans entre chez vers est suis es sommes êtes sont était étais être été ai as a avons avez ont avais avait
        avoir je tu il elle on nous vous ils elles me te se moi toi lui leur mon ma mes ton ta tes son sa ses notre
        nos votre vos leurs ce cet cette ces ça ca cela ne pas plus jamais rien personne toujours aussi très trop
        peu beaucoup tout tous toute toutes quelque quelqu'un veux veut voulais voudrais peux peut pouvez fais fait
        faire vais va vas aller dis dit dire sais vie vivre mourir mort morte tuer suicide suicider aide aidez
        aidez-moi aider plaît plait svp stp merci bonjour bonsoir salut adieu oui non bien mal hier demain
        aujourd'hui maintenant soir nuit parce donc alors ainsi seul seule fils fille maman papa mère père frère
        soeur sœur ami amie famille mari femme maison travail école peur triste fatigué fatiguée douleur crois pense
        encore même déjà après avant depuis ici là mieux pire fois ans dieu monde gens vraiment j'ai c'est j'en n'ai
        d'un d'une qu'on qu'il qu'elle s'il l'impression t'es chuis jsuis jveux pk mdr en y si
    """,
    "de": """
        der die das den dem des ein eine einen einem einer eines und oder aber dass daß weil wenn als wie wann wo
        wer was warum wieso für mit ohne über unter zwischen bis seit nach vor bei zu zum zur von vom aus auf an am
        im in ist bin bist sind seid war waren wäre sein gewesen habe hab hast hat haben hatte hätte ich du er sie
        es wir ihr mich mir dich dir sich uns euch ihm ihn ihnen mein meine meinen meinem meiner dein deine seine
        unser kein keine keinen keiner nicht nichts nie niemals niemand immer auch sehr mehr weniger viel viele
        alles alle etwas jemand man will willst wollte möchte kann kannst könnte muss musst soll sollte werde wird
        werden würde mache macht machen gemacht sagen sagt gesagt weiß weiss wissen fühle leben lebe sterben tod tot
        töten umbringen suizid selbstmord hilfe hilf helfen bitte danke hallo tschüss ja nein gut schlecht heute
        gestern morgen jetzt abend nacht also dann denn doch schon noch nur so allein alleine sohn tochter mama papa
        mutter vater bruder schwester freund freundin familie mann frau zuhause haus arbeit schule angst traurig
        müde schmerz glaube denke wieder selbst dort hier besser schlimmer mal jahre gott welt leute wirklich
        einfach gerade diese dieser dieses damit davon darüber halt eben
    """,
    "it": """
        il lo la i gli le un uno una di del dello della dei degli delle da dal dalla a al alla ai e ed o ma che chi
        cosa come quando dove perché perche per con senza su sul sulla tra fra è sono sei siamo siete era ero essere
        stato stata ho hai ha abbiamo avete hanno avevo avere io tu lui lei noi voi loro mi ti si ci vi me te mio
        mia miei mie tuo tua suo sua questo questa questi quello quella quel non no sì mai sempre anche molto più
        piu meno niente nulla nessuno tutto tutti tutte qualcosa qualcuno voglio vuoi vuole vorrei posso puoi può
        devo fare faccio fatto fa dire dico detto sento vita vivere morire morte morto morta uccidermi ammazzarmi
        suicidio aiuto aiutami aiutare favore grazie ciao buongiorno buonasera addio bene male oggi ieri domani ora
        adesso notte sera allora così quindi però solo sola figlio figlia mamma papà madre padre fratello sorella
        amico amica famiglia marito moglie casa lavoro scuola paura triste stanco stanca dolore credo penso ancora
        dopo prima qui qua là meglio peggio volta volte anni dio mondo gente davvero c'è so nei nella nel ce l'ho
        po' vado va andare parlare
    """,
    "nl": """
        de het een en of maar dat die dit deze wat wie waar wanneer waarom hoe als omdat voor met zonder over onder
        tussen tot sinds na bij naar van uit op aan in te is ben bent zijn was waren geweest heb hebt heeft hebben
        had ik jij je hij zij ze wij we jullie mij me jou hem haar ons hun mijn jouw niet niets nooit niemand altijd
        ook heel erg meer minder veel alles iedereen iets iemand wil wilt wilde kan kun kunnen moet moeten zal zou
        zullen worden wordt doe doen gedaan zeg zeggen gezegd weet weten voel voelt leven leef sterven dood doodgaan
        zelfmoord hulp helpen alsjeblieft dank bedankt hallo doei ja nee goed slecht vandaag gisteren morgen nu
        vanavond nacht dus dan toch nog alleen zoon dochter moeder vader broer zus vriend vriendin familie gezin man
        vrouw thuis huis werk school bang verdrietig moe pijn denk geloof weer zelf hier daar beter slechter keer
        jaar mensen echt gewoon maken zo eens er geen
    """,
    "pl": """
        i a w z na do od po za o u nie tak że ze to ten ta te jest jestem jesteś są był była było być mam masz ma
        mamy mają miałem miałam ja ty on ona my wy oni mnie mi ciebie cię go jej ich się siebie mój moja moje moim
        twój twoja co kto gdzie kiedy dlaczego jak czy ale lub albo bo żeby gdy jeśli już jeszcze nigdy zawsze też
        bardzo więcej mniej dużo nic nikt wszystko wszyscy coś ktoś chcę chce chciałbym chciałabym mogę może muszę
        trzeba zrobić robię robi powiedział powiedzieć wiem czuję życie życia żyć umrzeć śmierć zabić samobójstwo
        pomoc pomocy pomóż pomóc proszę dziękuję cześć dzień dobry tylko dziś dzisiaj wczoraj jutro teraz noc
        wieczorem sam sama syn córka mama tata matka ojciec brat siostra przyjaciel rodzina mąż żona dom praca
        szkoła boję smutny zmęczony zmęczona ból myślę znowu tutaj tam lepiej gorzej lat ludzie naprawdę dla przez
        przed przy bez pod nad który która które
    """,
    "tr": """
        ve bir bu şu o da de ki mi mı mu ne neden niçin nasıl kim nerede zaman için ile ama fakat veya çünkü eğer
        gibi kadar daha çok az hiç her herkes hiçbir şey birisi ben sen biz siz onlar bana sana beni seni benim
        senin onun bizim kendimi kendim değil var yok evet hayır istiyorum istemiyorum istiyor artık yaşamak ölmek
        ölüm öldürmek intihar yardım lütfen teşekkürler teşekkür merhaba selam iyi kötü bugün dün yarın şimdi gece
        akşam sadece yalnız oğlum kızım anne annem baba babam kardeşim arkadaşım aile ev iş okul korkuyorum üzgün
        yorgun yoruldum acı düşünüyorum hissediyorum biliyorum bilmiyorum yapmak sonra önce burada olarak olan oldu
        olduğunu ediyorum diye bile hayat hayatım hayatımda
    """,
    "vi": """
        tôi bạn mình anh chị em của và là không có được những các một này đó khi nào sao thế nhưng hay hoặc vì nếu
        để cho với từ đến trong ngoài trên dưới rất quá cũng đã đang sẽ muốn chết sống tự tử giúp xin cảm ơn chào
        người gì ai đâu nữa mẹ ba bố con nhà làm nói biết thấy mệt buồn sợ đau khong muon chet nguoi toi ban duoc
        nhung
    """,
    "id": """
        saya aku kamu anda dia kami kita mereka yang dan atau tapi tetapi ini itu ada tidak tak nggak gak enggak
        bukan jangan sudah udah belum akan ingin mau bisa harus dengan untuk dari ke di pada dalam karena kalau jika
        apa siapa kenapa mengapa bagaimana gimana kapan mana lagi juga sangat banget hanya saja semua orang
        seseorang mati bunuh diri hidup tolong terima kasih halo selamat hari kemarin besok malam sekarang sendiri
        anak ibu ayah kakak adik teman keluarga suami istri rumah kerja sekolah takut sedih lelah capek sakit pikir
        tahu tau merasa rasa seperti lebih nak
    """,
    "ro": """
        și si un o al ai ale pe la cu fără de din în pentru despre până este sunt ești suntem era fi fost am are
        avem au eu tu el ea noi voi ei ele mă te se îi îmi îți meu mea mei tău ta său sa nu da niciodată mereu
        foarte mai mult puțin nimic nimeni totul toți toate ceva cineva vreau vrei vrea pot poți poate trebuie fac
        face făcut spun spus știu simt viață viața trăi trăiesc muri mor moarte sinucid sinucidere ajutor ajută-mă
        ajuta rog mulțumesc bună salut azi astăzi ieri mâine acum noapte seară dar sau că dacă când unde cine ce cum
        doar singur singură fiul fiica mama tata frate soră prieten familie soț soție casă muncă școală frică trist
        obosit durere cred acest această aceasta fie
    """,
    "sv": """
        och att det den en ett som är var vara varit har hade jag du han hon vi ni de dem mig dig honom henne oss
        min mitt mina din ditt sin inte inget inga ingen aldrig alltid också mycket mer mindre allt alla något någon
        vill ville kan kunde måste ska skulle bli blir gör göra gjort säga säger sagt vet känner liv livet leva dö
        döda död självmord hjälp hjälpa snälla tack hej ja nej bra dålig idag igår imorgon nu ikväll natt eller men
        för med utan om på av till från vid när vem vad varför hur bara ensam son dotter mamma pappa bror syster vän
        familj hem jobb skola rädd ledsen trött ont tror igen själv här där bättre år människor verkligen orkar
    """,
    "da": """
        og at det den en et som er var være været har havde jeg du han hun vi i de dem mig dig ham hende os min mit
        mine din dit ikke intet ingen aldrig altid også meget mere mindre alt alle noget nogen vil ville kan kunne
        skal skulle bliver gør gøre gjort siger sagt ved føler liv livet leve dø død selvmord hjælp hjælpe tak hej
        ja nej godt dag morgen nu aften nat eller men for med uden om på af til fra når hvor hvem hvad hvorfor
        hvordan kun bare alene søn datter mor far bror søster ven familie hjem arbejde skole bange ked træt ondt
        tror igen selv her der bedre år
    """,
    "no": """
        og at det den en et som er var være vært har hadde jeg du han hun vi dere de dem meg deg ham henne oss min
        mitt mine din ditt ikke ingenting ingen aldri alltid også mye mer mindre alt alle noe noen vil ville kan
        kunne skal skulle blir gjør gjøre gjort sier sagt vet føler liv livet leve dø død selvmord hjelp hjelpe takk
        hei ja nei bra i dag morgen nå kveld natt eller men for med uten om på av til fra når hvor hvem hva hvorfor
        hvordan bare alene sønn datter mor far bror søster venn familie hjem jobb skole redd trist sliten vondt tror
        igjen selv her der bedre år
    """,
    "fi": """
        ja on ei en et se minä mä sinä sä hän me te he minun mun sinun hänen minua mua sinua mikä mitä kuka missä
        milloin miksi miten että jos kun mutta tai koska niin myös vain vielä enää aina koskaan kaikki mitään joku
        olen oon olet olla oli ollut haluan halua voin voi pitää tehdä elää elämä kuolla kuolema itsemurha apua auta
        kiitos hei moi kyllä tänään nyt yksin äiti isä veli sisko ystävä perhe koti työ koulu pelkään surullinen
        väsynyt tiedä
    """,
    "hu": """
        a az és hogy nem van volt lesz vagyok vagy vannak én te ő mi ti ők engem téged nekem neked ez ezt azt mit ki
        hol mikor miért hogyan de mert ha is csak már még soha mindig nagyon minden semmi senki valaki akarok akar
        szeretnék tudom tudok kell élni élet meghalni halál öngyilkos segítség segíts kérem köszönöm szia igen ma
        most egyedül anya apa testvér barát család félek szomorú fáradt egy meg el
    """,
    "cs": """
        a i v ve z ze na do od po za o u s se si je jsem jsi jsme jsou byl byla bylo být mám máš má mít já ty on ona
        my vy oni mě mi mne tě ho jí jejich můj moje tvůj co kdo kde kdy proč jak že ale nebo protože aby když
        jestli už ještě nikdy vždy taky velmi více nic nikdo všechno všichni něco někdo chci chce můžu může musím
        udělat život žít umřít smrt zabít sebevražda pomoc pomozte prosím děkuji ahoj ano ne dnes včera zítra teď
        noc sám sama syn dcera máma táta bratr sestra rodina strach unavený bolest myslím tady lépe není nechci
    """,
    "tl": """
        ang ng sa na mga ay ako ko akin ikaw ka mo iyo siya niya kanya kami namin tayo natin sila nila hindi di wala
        walang meron mayroon may oo opo po ho ba pa nga lang lamang naman kasi dahil pero kung kapag pag para gusto
        ayaw ayoko kailangan pwede puwede dapat gawin ginawa sabi sabihin alam buhay mabuhay mamatay patay patayin
        magpakamatay saktan sarili tulong tulungan salamat kumusta kamusta ngayon kahapon bukas mamaya gabi araw
        mag-isa anak nanay tatay kapatid kaibigan pamilya asawa bahay trabaho takot malungkot pagod masakit sakit
        isip iniisip ulit dito doon yung yun 'yung ito iyon iyan talaga sobra sana nang nalang lagi palagi lahat tao
        akong kong mong siyang ano bakit sino paano saan kayo
    """,
    "sw": """
        na ya wa za kwa ni si mimi wewe yeye sisi wao yangu yako wangu lakini kama kwamba sana tu hapa nataka sitaki
        kufa kuishi maisha msaada tafadhali asante habari ndiyo hapana leo sasa siwezi ninahisi nimechoka
    """,
    "ca": """
        el la els les un una de del dels i o però que què com quan on qui per amb sense sobre és sóc soc ets són era
        ser estic estàs està jo tu ell ella nosaltres ells em et es ens meu meva teva seva no sí mai sempre també
        molt més menys res ningú tot vull voldria puc tinc té hi ha vaig fer viure morir mort ajuda ajuda'm sisplau
        gràcies hola avui ara nit sol aquest aquesta això perquè
    """,
    "hi": """
        main mai mujhe muje mujhko mera meri mere hum hame humein tum tumhe tu aap aapko wo woh yeh ye us usne usko
        iska hai hain hoon hun hu tha thi the ho hota hoti hua gaya gayi raha rahi rahe kar karna karta karti karo
        kiya karke nahi nahin nhi mat kya kyu kyun kyon kaise kab kahan kaun koi kuch sab bahut bohot bhi toh to aur
        ya par lekin magar ab abhi aaj kal raat ka ki ke ko se mein pe tak liye apne apni apna khud saath wala wali
        chahta chahti chahiye jeena jina jeene marna mar marne maut zindagi jindagi jaan khatam suicide madad dard
        akela akeli thak dukh yaar bhai behen maa papa dost ghar mann lagta lagti hi phir fir bas sirf theek accha
        acha pata sakta sakti dena diya lena liya gaye kabhi kisi
    """,
}
CYRILLIC = {
    "ru": """
        и в не на что я ты он она мы вы они с со как это этот эта все всё всех но а о об от до из за по у меня мне
        тебя тебе его её ему ей их нас вам мой моя моё мои свой себя себе хочу хочет хочется могу может надо нужно
        нет да был была было были быть есть буду больше меньше никогда всегда тоже очень ничего никто никому кто где
        когда почему зачем если чтобы потому или уже ещё еще только жить жизнь умереть смерть убить покончить суицид
        помогите помоги помощь пожалуйста спасибо привет здравствуйте сегодня вчера завтра сейчас ночь ночью один
        одна сын дочь мама папа брат сестра друг подруга семья муж жена дом работа школа боюсь устал устала больно
        думаю чувствую опять лучше хуже лет люди просто правда хорошо плохо прощайте прости простите так же бы ли то
        тут там
    """,
    "uk": """
        і й в у не на що я ти він вона ми ви вони з із зі як це цей ця все всі усе але а о про від до за по мене
        мені тебе тобі його її йому їй їх нас вам мій моя моє мої свій себе собі хочу хоче хочеться можу може треба
        потрібно ні так був була було були бути є буду більше менше ніколи завжди також теж дуже нічого ніхто хто де
        коли чому навіщо якщо щоб бо тому або чи вже ще тільки лише жити життя померти смерть вбити покінчити
        допоможіть допоможи допомога допомогу ласка дякую привіт вітаю сьогодні вчора завтра зараз ніч вночі сам
        сама син дочка мама тато брат сестра друг подруга сім'я родина чоловік дружина дім робота школа боюся боюсь
        втомився втомилася втомилась боляче думаю відчуваю знову краще гірше років люди просто правда добре погано
        прощавайте пробач пробачте
    """,
    "bg": """
        и в не на че аз ти той тя ние вие те с със как това този тази всичко но а от до за по у мен ме ми теб го ѝ
        му ги ни моя мой моята свой себе си искам иска мога може трябва няма има да съм е сме сте са беше бях бъда
        повече никога винаги също много нищо никой кой къде кога защо ако защото или вече още само живот живея умра
        умирам смърт самоубийство помощ помогнете моля благодаря здравей здравейте днес вчера утре сега нощ сам сама
        син дъщеря майка баща брат сестра приятел семейство ще се
    """,
}
WORD_ENDS = {
    "en": "ing ness tion able ment ked led ted ned red ved ous ght ies ers ful ely ily ally ough ould",
    "es": """
        ción cion dad dades mente ando endo ados adas ido idos amos emos aron eron aba aban ías ita ito uela
        ismo sión ente ales
    """,
    "pt": """
        ção ções cao coes dade mente ando endo ados adas ido amos emos aram eram ava avam inha inho ente ismo
        são ões vel eiro
    """,
    "fr": "tion ment able euse eux ait ais ient elle ette ées és ère eur ante ance iste ique aux uis",
    "de": "ung heit keit lich isch cht sch ich ngen lich tten rden sst eit tzt",
    "it": "zione zioni ione mente ando endo ato ata ati ate are ere ire zza tto tti ggi iamo ente ismo gli tà",
    "nl": "heid ijk lijk aan cht sch eren oor elde tje ijn aar eid",
    "pl": "ość ować nie nego ych ymi łem łam ści emy cie",
    "tr": "lar ler yor mak mek dım dim yorum sın sin miş mış ları leri",
    "sv": "ning het ade arna erna igt ligt",
}
LETTERS = {
    "es": "ñ¿¡", "pt": "ãõç", "fr": "œùûîëç", "de": "ßäöü", "it": "ìò", "pl": "łąęśżźćń", "tr": "ğışç", "ro": "șțşţă",
    "sv": "åäö", "da": "æøå", "no": "æøå", "fi": "äö", "hu": "őűöü", "cs": "ěřůšžč", "ca": "·ïò",
    "vi": "ơưđăấầẩẫậắằẳẵặếềểễệốồổỗộớờởỡợứừửữựạảẹẻẽịỉĩọỏụủũỵỷỹ",
}  # fmt: skip
RARE = frozenset({"ca", "sw", "ro", "hu", "fi", "cs", "da", "no", "id", "vi"})

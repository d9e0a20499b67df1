"""What the person's own messages tell that changes our next words: what was done, who was called, what they wish for.

It chooses words and never a level: SHIELD alone says how grave it is. The patterns are small and precise; where none
fits, the words are the general ones.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from prompts import recognise

TOOK = r"(?:pills?|tablets?|meds|medicines?|medication|capsules?|bottles?|boxe?s?|packs?|bleach|poison|antifreeze|\d+)"
_TOOK_ES = r"(?:pastillas?|tabletas?|pildoras?|medicinas?|medicamentos?|frascos?|cajas?|todo|todas|todos|cloro|veneno)"

# What is denied or still to come is nothing that was done.
_NOT_DONE = re.compile(
    r"\b(?:not|never|havent|have not|hasnt|didnt|did not|wont|isnt|arent|no longer|no|nunca|todavia no|aun no)"
    r" (?:(?:me|lo|la|las|los|he|estoy|any|yet|really|actually|even) )*"
    r"(?:took|taken|take|swallow\w*|drank|drunk|cut|bleeding|overdosed|tom\w+|trag\w+|beb\w+|sangr\w+|on the \w+)"
)

# What somebody else took is nothing that the writer swallowed.
_BY_ANOTHER = re.compile(
    rf"\b(?:(?:he|she|they|{recognise.PEOPLE}|ex|cops?|police|officers?|landlord|nurse|doctor|someone|somebody|who)"
    r" (?:just |already |has |have |had |then |finally )*|(?:came|walked|showed|got) (?:\w+ ){0,2}and )"
    r"(?:took|taken|swallowed|downed|drank|ate|overdosed|oded)\b"
)
# It, them, everything: said by the writer of themselves, and of nothing that is held, climbed or loaded.
_SWALLOWED_IT = re.compile(
    r"(?:^|[.,;!?…] ?|\b(?:i|ive|have|just|already|yes|yeah|yep|ok|okay|i (?:(?!he |she |they |my )\w+ ){1,5}and) )"
    r"(?:just |already |finally )?(?:took|taken|swallowed|drank|downed) "
    r"(?:it|them|em|all of (?:it|them)|everything|something)\b"
    r"(?! (?:all )?(?:out|from|off|to|down|apart|back|away|up|over|home|outside|hard|badly|well|personally|seriously|"
    r"for granted|as|slow|easy|wrong|with me|and (?:put|gave|hid|threw|locked|left))\b)"
)

# In this order: what is already in the body comes before where the person stands.
_ACTS = (
    (
        "swallowed",
        recognise.any_of(
            rf"(?:took|taken|swallowed|downed|ingested|ate) (?:\w+ ){{0,6}}{TOOK}(?! (?:away|back|from me|off me))",
            r"(?:i|ive|have) (?:just |already )?drank (?:\w+ ){0,4}(?:bottle|all|bleach|poison|whole)",
            r"(?:ive |i |just )?(?:overdosed|oded|od d)",
            rf"(?:tome|trague|bebi|tomado|tragado|bebido) (?:\w+ ){{0,4}}{_TOOK_ES}",
            r"(?:me|ya) (?:las?|los?) (?:tome|trague|bebi|he tomado|he tragado)",
        ),
    ),
    (
        "wound",
        recognise.any_of(
            r"(?:i|ive|have) (?:\w+ ){0,2}(?:cut|slit|slashed|stabbed|sliced) (?:\w+ ){0,3}"
            r"(?:wrists?|arms?|legs?|throat|thighs?|neck|veins?|myself|deep|bad|badly)",
            r"bleeding|blood (?:everywhere|wont stop|all over)|shot myself",
            r"me (?:he )?(?:corte|cortado|apunale|dispare)|me abri las venas|sangrando|sangra mucho|hay mucha sangre",
        ),
    ),
    (
        "air",
        recognise.any_of(
            r"(?:engine|car|motor)s? (?:is |still )?running|engine (?:is )?on|exhaust|gas (?:is )?on|turned on the gas",
            r"motor (?:esta )?(?:encendido|prendido)|(?:abri|abierto) (?:el|la llave del) gas|gas abierto",
        ),
    ),
    (
        "place",
        recognise.any_of(
            r"(?:on|at|over|near|by|top of|sitting on) (?:the |a |my |this |top of )?(?:\w+ ){0,2}"
            r"(?:tracks?|rails|ledge|edge|railing|roof|rooftop|bridge|overpass|cliff|balcony|platform|parapet|garage)",
            r"(?:en|sobre|desde|junto a) (?:las?|los?|el|un|una|mi)? ?(?:\w+ )?"
            r"(?:vias?|rieles|cornisa|borde|puente|azotea|tejado|techo|balcon|barandal|barandilla|acantilado|anden)",
            r"al borde de (?!l?a? ?(?:locura|colapso|llanto))",
        ),
    ),
    (
        "means",
        recognise.any_of(
            r"(?:hand)?guns?|rifle|pistol|shotgun|revolver|kni(?:fe|ves)|blades?|razors?|rope|noose|loaded",
            r"pills?|in my hands?|in front of me",
            r"pistola|arma|escopeta|cuchillo|navaja|cuerda|soga|cargada|pastillas|en la mano|enfrente de mi",
        ),
    ),
)  # fmt: skip
_HELD = recognise.any_of(
    r"(?:hand)?guns?|rifle|pistol|shotgun|revolver|kni(?:fe|ves)|blades?|razors?|rope|noose|loaded",
    r"pistola|arma|escopeta|cuchillo|navaja|cuerda|soga|cargada",
)
_AWAY = recognise.any_of(
    r"i (?:moved|got (?:down|off|away|up)|stepped (?:back|away|down)|walked away|came (?:down|inside|back)|"
    r"put it (?:down|away))",
    r"im (?:off (?:it|the \w+)|back inside|inside now|away from (?:it|there))|(?:gave|handed) (?:it|them) to|"
    r"locked (?:it|them)",
    r"ya me (?:quite|aleje|baje|movi|aparte)|me (?:baje|aleje|aparte) (?:de|ya)|estoy adentro|(?:lo|la|"
    r"las) (?:guarde|deje|solte|entregue)",
)
_KEEPER = (
    rf"(?:{recognise.PEOPLE}|ex|fiance|landlord|pastor|sponsor|therapist|doctor|pharmacist|teacher|coach|boss|cops?|"
    r"police|family|parents|he|she|they)"
)
_OTHERS = r"(?:the |my |his |her |our |a )?(?:\w+ ){0,2}"
# Means that are out of the writer's hands: with another person, locked in, or gone.
_STOWED = recognise.any_of(
    rf"{_KEEPER} (?:has|have|is keeping|are keeping|is holding|keeps) (?:it|them)(?: now)?(?! (?:to|on|in|loaded|out|"
    rf"all)\b)",
    rf"{_KEEPER} took (?:it|them)(?: away| from me)?(?: now)?(?= ?(?:[.,;!?]|$))",
    r"(?:i|ive) (?:just |already )?(?:gave|given|handed|dropped|brought|took) (?:it|them|the \w+|my \w+)(?: off| "
    r"over)? "
    rf"(?:to|with|at) {_OTHERS}(?:{_KEEPER}|neighbou?rs?|station|pharmacy)",
    rf"(?:i|ive) (?:just |already )?gave {_OTHERS}{_KEEPER} (?:it|them|the \w+|my \w+)",
    r"(?:i|ive) (?:just |already )?(?:put|locked|left) (?:it|them|the \w+)(?: away| up)? (?:in|inside|at|with) "
    r"(?:\w+ ){1,3}(?:safe|house|place|garage|trunk|locker|lockbox|car|mom|dad|wife|husband|neighbou?rs?)",
    r"(?:i|ive) (?:just |already )?(?:threw|thrown|tossed|dumped|flushed|poured|got rid of) (?:it|them|the \w+|my \w+|"
    r"all of (?:it|them))(?! up)",
    r"(?:la|lo|las|los) (?:guarde|deje) (?:con|en casa de) (?:\w+ )?\w+|se (?:la|lo|las|los) (?:di|entregue|deje|"
    r"lleve) a",
    r"(?:la|lo|las|los) (?:tire|eche|bote) (?:a|en|por|al) (?:el |la )?\w+|(?:las|los|la|lo) (?:tiene|guarda) mi \w+|"
    r"mi \w+ (?:ya )?(?:la|lo|las|los) (?:tiene|guarda|guardo)",
)
_GOT_BACK = recognise.any_of(
    r"(?:got|took|have|get|bought|found) (?:it|them|another|more|the \w+) (?:back|again)|(?:i|ive) (?:still "
    r")?(?:have|got) "
    r"(?:it|them|another|more|(?:a|the|my) (?:\w+ )?(?:gun|rifle|pistol|knife|rope|blade|pills))|in my hands?",
    r"(?:la|lo|las|los) (?:recupere|tengo)|(?:todavia|aun) (?:la|lo|las|los) tengo|en la mano",
)
_PERSON_EN = (
    r"(?:(?:my|our|a|the) (?:best |little |big |older |younger |\w+ )?)?"
    rf"(?:{recognise.PEOPLE}|mommy|daddy|fiance|bf|gf|pastor|sponsor|nurse|family|parents|someone|somebody)s?"
)
_CAME = recognise.any_of(
    rf"{_PERSON_EN} (?:is|are|just|has|have|s)? ?(?:just )?(?:here|home|sitting (?:here )?with me|sitting here|"
    rf"staying with me|"
    r"with me|beside me|next to me|got home|got here|came home|came over|came in|walked in|arrived|holding me|"
    r"holding my hand)",
    r"(?:mi|mis|una?|la|el) (?:mejor )?\w+ (?:ya )?(?:esta aqui|esta conmigo|acaba de llegar|(?:ya )?llego|vino|"
    r"estan aqui|"
    r"esta a mi lado|se quedo conmigo)",
    r"(?:mama|papa) (?:ya )?(?:esta aqui|esta conmigo|acaba de llegar|llego)|(?:ya )?llego mi \w+",
)
_CAME_NOT = re.compile(
    r"\b(?:not|isnt|arent|no one|nobody|if|until|before|when|wish|scared|afraid|hits?|hurts?|dead|never|no|nadie|si|"
    r"cuando|antes|wont|dont|doesnt)\b(?!,)"
)
_NEAR_BY = recognise.any_of(
    r"(?:hes|shes|theyre|he is|she is|they are) (?:\w+ ){0,2}(?:here|home|downstairs|upstairs|outside|asleep|near|"
    r"close|"
    r"next door|in (?:the|his|her|my|their) (?:\w+ )?(?:room|kitchen|house|bedroom|bathroom|garage|hall|hallway|yard|"
    r"basement|living room|shower))",
    r"(?:esta|estan|anda) (?:\w+ )?(?:aqui|cerca|en (?:la |el |su )?(?:casa|sala|cocina|cuarto|recamara|habitacion|"
    r"bano|"
    r"patio|otro cuarto)|al lado|abajo|arriba|dormid[oa])",
)
_AWAY_FROM_HERE = re.compile(r"\b(?:not|isnt|arent|no esta|no estan|left|gone|se fue)\b")
_UNDONE_STOWED = re.compile(
    r"\b(?:not|didnt|havent|wont|should i|if i|could|but (?:i|he|she|they) (?:still|have|got|gave)|back)\b"
)
_LEAVABLE = frozenset({"place", "means", "air"})

# Numbers for emergencies only: a crisis line that was called, such as 988 or 024, is no such call.
_NUMBER = r"(?:911|999|112|000|110|119|123|190|192|061|066)"
_EMERGENCY = (
    rf"(?:{_NUMBER}|the (?:police|cops|ambulance|paramedics)|(?:an? )?ambulance|police|"
    r"emergency(?: services)?|for help)"
)
_TEAM = r"(?:the |an? )?(?:ambulance|police|cops|paramedics|medics|ems|emts?|firefighters|help|officers?)"
_TEAM_ES = r"(?:la |los |las |una )?(?:ambulancia|policia|paramedicos|bomberos|ayuda)"
_CALLED = recognise.any_of(
    rf"(?:called|phoned|rang|rung|dialed|dialled|texted) {_EMERGENCY}",
    rf"(?:{_NUMBER}|help) (?:is|are|s) (?:already )?(?:coming|on (?:its|the|their) way|en route|sending \w+)",
    rf"(?:{_TEAM}|{_NUMBER}) (?:is |are )?(?:already )?(?:otw|almost here|\d+ min\w* (?:out|away))",
    rf"(?:{_NUMBER}|poison control|dispatch|(?:the )?operator|they) (?:say|says|said|told me) (?:theyre|they are|its|"
    rf"the \w+ is|"
    r"an? \w+ is|someone is|help is) (?:\w+ ){0,3}(?:out|away|coming|way|otw|min\w*)",
    rf"(?:{_NUMBER}|poison control|dispatch|(?:the )?operator|they|theyre) (?:is |are )?(?:already )?sending (?:\w+ )?"
    r"(?:ambulance|help|paramedics|police|cops|ems|someone|somebody)",
    rf"{_TEAM} (?:is|are|s)? ?(?:already )?(?:coming|on (?:its|the|their) way|en route)",
    rf"on (?:the )?(?:phone|line) with (?:{_EMERGENCY}|them|the operator|dispatch)",
    r"i(?:ve)? (?:just |already )?called(?: already| now)? (?:and )?(?:theyre|they are) coming",
    rf"(?:ya )?(?:llame|llamamos|he llamado|llamo mi \w+) (?:al? )?(?:(?:numero de )?emergencias?|{_NUMBER}|"
    r"la (?:policia|ambulancia)|una ambulancia)",
    rf"{_TEAM_ES} (?:ya )?(?:viene|vienen|esta en camino|estan en camino)(?: en camino)?",
)
_JUST_CALLED = re.compile(
    r"(?:ok |okay |yes |yeah |done ){0,2}(?:i|ive|we|weve) (?:just |already )?called(?: already| now| them)?"
)
_JUST_CALLED_ES = re.compile(
    r"(?:si |ok |listo ){0,2}(?:ya )?(?:llame|llamamos)(?: ya)?|ya vienen|vienen en camino|ya estan en camino"
)
_COMING = re.compile(r"(?:ok |okay |yes ){0,2}(?:theyre|they are) (?:coming|on (?:the|their) way)(?: now)?")
_UNDONE = re.compile(
    r"\b(?:but|didnt|havent|wont|not|nobody|no one|hung up|cant|cannot|never|should i|pero|no|nadie|colg\w+)\b"
)
_ARRIVED = recognise.any_of(
    rf"{_TEAM} (?:is|are|s|just|has|have)? ?(?:here|arrived|got here|inside|with (?:him|her|them|me|us))",
    rf"(?:llego|llegaron|ya (?:llego|llegaron|esta|estan)(?: aqui)?) {_TEAM_ES}",
    rf"{_TEAM_ES} (?:ya )?(?:llego|llegaron|esta aqui|estan aqui)",
)
_THEY_CAME = re.compile(
    r"(?:ok |okay |yes ){0,2}(?:theyre|they are|they) (?:just )?(?:(?:right )?here|arrived|got here|inside|"
    r"(?:(?:right )?here )?with (?:me|us))(?: now)?|ya (?:llegaron|estan aqui)(?: conmigo)?"
)
_IN_CARE = recognise.any_of(
    r"(?:im|i am|were|we are) (?:now |already |finally |here |sitting |still |just got ){0,2}(?:at|in|to) (?:the |"
    r"an? )?"
    r"(?:er|emergency room|emergency department|a&e|hospital)(?= ?(?:[.,;!?]|$)| (?:now|with|and|but|waiting|"
    r"already)\b)",
    r"(?:ya )?(?:estoy|estamos) (?:ya |ahora )?(?:en|aqui en) (?:urgencias|emergencias|el hospital|la sala de "
    r"(?:urgencias|"
    r"emergencias))",
)
_TO_CARE = recognise.any_of(
    r"(?:driving|taking|bringing|rushing) (?:me|us) to (?:the |an? )?(?:\w+ )?(?:hospital|er|emergency room|"
    r"emergency|a&e)",
    r"on (?:my|our|the) way to (?:the |an? )?(?:hospital|er|emergency room|a&e)",
    r"me (?:lleva|llevan|esta llevando|estan llevando) (?:a|al) (?:el )?(?:hospital|urgencias|emergencias)",
    r"(?:voy|vamos) (?:ya )?(?:de )?(?:camino )?(?:a|al) (?:hospital|urgencias|emergencias)",
)
_NOT_IN_CARE = re.compile(
    r"\b(?:if|should|would|nobody|no one|never|refuse\w*|stop|dont|wont|threaten\w*|last (?:week|month|year|time)|work|"
    r"nadie|si me|no me|no voy|sent me home|discharged|left the|back home)\b|\bno quiero ir"
)
_LEFT_CARE = re.compile(
    r"\b(?:sent me home|discharged|let me (?:go|out)|(?:left|leaving) (?:the )?(?:er|hospital)|back home|im home|"
    r"turned (?:around|back)|me dieron de alta|ya estoy en casa|me fui)\b"
)
_FOUND = recognise.any_of(
    r"(?:found|got|reached|heard from) (?:him|her|them)",
    r"(?:hes|shes|theyre|he is|she is|they are) (?:safe|ok|okay|alive|fine|home|alright|with (?:me|us|her \w+|"
    r"his \w+))(?: now)?",
    r"(?:he|she|they) (?:finally |just )?(?:answered|called me back|texted (?:me )?back|picked up)",
    r"(?:la|lo) (?:encontraron|encontramos|encontre)|(?:ella|el|ya) (?:esta|aparecio) (?:bien|a salvo|viv[oa])|"
    r"ya (?:contesto|aparecio)",
)
_BREATHING = recognise.any_of(
    r"(?:he|she|they)(?: is|s| are|re)? (?:still )?breathing|(?:has|have|got) a pulse|breathing (?:now|again|ok)",
    r"(?:hes|shes|theyre|he is|she is|they are) (?:\w+ )?(?:awake|conscious|talking|responding|moving)",
    r"(?:esta|sigue) (?:respirando|despiert[oa]|consciente|hablando|reaccionando)|(?:ya |si )?respira|ya desperto|"
    r"tiene pulso",
)
_LOST = re.compile(r"\b(?:not|isnt|arent|barely|hardly|stopped|wont|dead|no|nobody|apenas|dejo de|muert[oa])\b")

_PLACE_NAME = (
    r"(?!(?:the|her|his|my|their|a|an|bed|danger|trouble|pain|crisis|hospital|here|front|love|class|school|"
    r"surgery|jail|"
    r"public|tears|icu|shock|town|there|bad|serious|so|his|this|that|la|el|su|mi|casa|peligro|un|una|cama|crisis)\b)\w+"
)
_FAR = recognise.any_of(
    rf"(?:shes|hes|theyre|she is|he is|she lives|he lives|they live|they are) in (?:another|a different|{_PLACE_NAME})",
    r"(?:another|different|other) (?:state|country|city|continent|time ?zone)|other side of the (?:world|country)",
    r"\d+ (?:hours|hrs|miles|km|states) (?:away|from)|long distance|far away|know (?:her|his|their) address",
    r"play (?:\w+ )?online|met online|online friend|on discord|never met (?:him|her|them)|only the city",
    r"otr[oa] (?:pais|ciudad|estado|continente)|muy lejos|a \d+ (?:horas|kilometros|km)|por internet|en discord|"
    r"no se su direccion",
    rf"(?:ella|el) (?:vive|esta) en {_PLACE_NAME}",
)

_OTHER = recognise.any_of(
    rf"(?:(?:my|our|this|a|the) (?:\w+ )?)?(?:{recognise.PEOPLE}|guy|girl|wife|someone)(?: i (?:play|know|met|talk|"
    rf"game)(?: \w+){{1,2}})?"
    r"(?: who)? (?:is|has|hes|shes|wont|keeps|said|says|just|took|texted|posted|told|locked|wrote|sent|tried|"
    r"wants|cant|stopped)",
)
_ANOTHER = re.compile(r"\b(?:he|she|they|hes|shes|theyre|his|her|him|them)\b")
_I = re.compile(r"\b(?:i|im|ive|id|ill)\b(?: (\w+))?(?: (\w+))?")
# What a helper says of themselves, by the word after "I" or the one after that.
_HELPS = frozenset({
    "found", "see", "saw", "called", "call", "think", "heard", "asked", "ask", "tried", "try", "need", "live", "play",
    "just", "worried", "scared", "afraid", "keep", "said", "went", "talked", "met", "on", "in", "with", "at", "know",
})  # fmt: skip
_HELPS_AFTER = frozenset({"can", "cant", "could", "dont", "do", "am", "was", "have", "didnt"})
_HELPS_THEN = frozenset({
    "see", "hear", "know", "think", "reach", "get", "find", "understand", "scared", "worried", "afraid", "called",
})  # fmt: skip

_WISHES = (
    (
        "distraction",
        recognise.any_of(
            r"(?:im|i am|so|really|just) (?:\w+ )?bored(?! (?:of|with))|distract me|(?:need|want) a distraction",
            r"talk about (?:something|anything) (?:else|different|other)|change the (?:subject|topic)",
            r"tell me something (?:nice|good|funny|random|interesting)",
            r"(?:que|estoy|muy) aburrid[oa]|me aburro|distraeme|hablar de otra cosa|cambiar de tema|cuentame algo",
        ),
    ),
    (
        "bad_day",
        recognise.any_of(
            r"(?:had|having|been|its been|was) (?:a |such a |the |my )?(?:\w+ )?"
            r"(?:bad|rough|hard|terrible|awful|horrible|shitty|crappy|worst|tough|shit) (?:day|night|week|morning|"
            r"time)",
            r"un (?:mal dia|dia (?:\w+ )?(?:malo|horrible|dificil|pesado|terrible|feo))|una mala (?:noche|semana)",
        ),
    ),
    (
        "talk",
        recognise.any_of(
            r"(?:can|could|may) (?:i|we) (?:just |please |maybe ){0,3}(?:talk|chat|vent|rant)",
            r"(?:need|want|wanna|like) (?:someone|somebody|anyone|a friend) to (?:talk|listen)(?: to)?",
            r"(?:need|want|wanna) to (?:talk|vent)(?: to (?:someone|somebody|you|anyone))?",
            r"(?:is )?(?:anyone|anybody|someone|somebody) (?:there|here|around|awake|listening)|"
            r"will you talk (?:to|with) me",
            r"(?:puedo|podemos|podria|podriamos) (?:hablar|platicar|charlar|desahogarme)",
            r"(?:necesito|quiero|quisiera) (?:hablar|platicar|desahogarme|a alguien con quien hablar|"
            r"que alguien me escuche)",
            r"hay alguien(?: ahi| aqui)?|hablas conmigo",
        ),
    ),
)  # fmt: skip
_SHORT = 14
_TASK = re.compile(
    r"\b(?:about (?!something|anything|it|this|that|my day)\w+|order|account|invoice|refund|manager|agent|sales|"
    r"support|homework|code|sobre|pedido|cuenta|factura|gerente)\b"
)

_LINE = (
    r"(?:988|741741|it|them|that|the (?:number|line|hotline|lifeline)|that (?:number|line)|a (?:hotline|"
    r"helpline|crisis line)|samaritans)"
)
_TRIED = recognise.any_of(
    rf"(?:called|call|texted|tried|rang|phoned|dialed) (?:\w+ )?{_LINE}",
    r"(?:llame|escribi|marque|intente) (?:ya )?(?:a |al )?(?:la linea|ese numero|el numero|esa linea|988|ahi|"
    r"alli)|ya (?:llame|marque)",
)
_UNHEARD = recognise.any_of(
    r"on hold|(?:no ?one|nobody) (?:answer\w*|picked|replied|responded|came)|no (?:answer|reply|response)|hung up|busy|"
    r"waited|queue|wait(?:ing)? (?:time|for)|never (?:answered|replied|picked)|\d+ min\w*",
    r"en espera|nadie (?:contest\w+|respond\w+)|no (?:contest\w+|respond\w+)|colgaron|ocupad[oa]|espere|\d+ minutos",
)
_NO_NUMBERS = recognise.any_of(
    r"no (?:more )?(?:phone )?(?:numbers|hotlines|helplines) (?:please|pls)",
    r"(?:sin|no (?:quiero|me des|me mandes)(?: mas)?) (?:numeros|telefonos|lineas)",
)
_BABY = recognise.any_of(r"baby|newborn|infant|bebe|recien nacid[oa]")
_PICTURES = recognise.any_of(
    r"(?:keep|keeps|kept) (?:\w+ )?(?:picturing|imagining|seeing|thinking (?:of|about))",
    r"intrusive|(?:images|pictures|flashes) of",
    r"(?:me )?imagino|imagenes|pensamientos intrusivos|me vienen (?:\w+ )?(?:imagenes|ideas|pensamientos)",
)
_YOUNG = re.compile(
    r"\b(?:im|i am|tengo|i just turned) (?:only |solo |apenas )?(?:[6-9]|1[0-7])"
    r"(?= ?(?:anos|anitos|years? old|yo|yrs?)\b| ?(?:[.,;!]|$)| (?:and|y|but|pero)\b)"
)
_NOT_SUICIDAL = recognise.any_of(
    r"(?:im|i am|am|not) (?:not )?(?:\w+ )?(?:not )?suicidal",
    r"(?:dont|do not|never) (?:\w+ )?(?:want to|wanna) (?:die|kill myself|end (?:it|my life))",
    r"(?:not|never) (?:going to|gonna|thinking (?:of|about)|planning)(?: \w+)? (?:kill|suicide|killing|it|anything)",
    r"(?:would|could) never (?:do (?:that|it|anything)|kill|hurt)",
    r"no (?:quiero|voy a|pienso en|estoy pensando en) (?:morir\w*|matarme|suicid\w+|quitarme la vida)|"
    r"no es (?:nada )?de suicidio",
)
_IS_SUICIDAL = re.compile(r"(?:^|\b(?:yes|yeah|maybe) )(?:i think )?(?:im|i am) (?:\w+ )?suicidal\b")


@dataclass(frozen=True, slots=True)
class Told:
    """What was told. act: swallowed, wound, air, place, means, away, put_away, or "".

    report: called, arrived, on_way (to a hospital), found, breathing, since_called.

    harmed: they said that something is in their body or bleeding. stowed: the means are out of their hands. someone:
    they just said that a person is beside them. near_by: whoever they speak of is in the house. outside: they are
    where there is no door to unlock.

    of_another: every message speaks of somebody else. far: that person is out of reach. wish: talk, bad_day,
    distraction. line_failed: a crisis line was tried and nobody was reached. young: they said an age under eighteen.
    intrusive: unwanted pictures of harming a baby. no_numbers: the last message wants none.
    answered: what needs no asking again. safety: `not_safe` where they just answered, in words of any language, that
    they are not safe, `half_safe` where they are not sure (SHIELD says so, who knows what was asked).
    """

    act: str = ""
    report: str = ""
    of_another: bool = False
    far: bool = False
    wish: str = ""
    line_failed: bool = False
    young: bool = False
    intrusive: bool = False
    no_numbers: bool = False
    harmed: bool = False
    stowed: bool = False
    someone: bool = False
    near_by: bool = False
    outside: bool = False
    answered: frozenset[str] = frozenset()
    safety: str = ""


NOTHING = Told()


def read(turns: Sequence[tuple[str, str]]) -> Told:
    """What the person's messages tell; `turns` are (role, text) pairs, the last one theirs."""
    texts = [recognise.plain(text) for role, text in turns if role == "user"]
    if not texts:
        return NOTHING
    return Told(
        act=_act(texts),
        report=_report(texts),
        of_another=_of_another(texts),
        far=any(map(_FAR.search, texts)),
        wish=_wish(texts[-1]),
        young=is_young(texts),
        no_numbers=_NO_NUMBERS.search(texts[-1]) is not None,
        intrusive=any(_BABY.search(text) and _PICTURES.search(text) for text in texts),
        line_failed=bool(_TRIED.search(texts[-1]) and _UNHEARD.search(texts[-1])),
        harmed=any(_act_in(text) in ("swallowed", "wound") for text in texts),
        stowed=_stowed(texts),
        someone=_CAME.search(texts[-1]) is not None and not _CAME_NOT.search(texts[-1]),
        near_by=any(_NEAR_BY.search(text) and not _AWAY_FROM_HERE.search(text) for text in texts),
        outside=any(_act_in(text) in ("place", "air") for text in texts),
        answered=_answered(turns),
    )


def is_young(texts: Sequence[str]) -> bool:
    """Whether one of the person's messages says that they are under eighteen, in years."""
    return any(_YOUNG.search(recognise.plain(text)) for text in texts)


def _act(texts: Sequence[str]) -> str:
    left = False
    for text in reversed(texts):
        found = _act_in(text)
        left = left or bool(_AWAY.search(text))
        if found == "means" and _stowed(texts):
            return "put_away"
        if found:
            return "away" if left and found in _LEAVABLE else found
    return ""


def _act_in(text: str) -> str:
    done = _BY_ANOTHER.sub(" ", _NOT_DONE.sub(" ", text))
    found = next((name for name, pattern in _ACTS if pattern.search(done)), "")
    if found in ("", "means") and _SWALLOWED_IT.search(done) and not _HELD.search(text):
        return "swallowed"
    return found


def _stowed(texts: Sequence[str]) -> bool:
    """Whether the means were last said to be out of their hands."""
    for text in reversed(texts):
        if _STOWED.search(text):
            return not _UNDONE_STOWED.search(text)
        if _GOT_BACK.search(text):
            return False
    return False


def _report(texts: Sequence[str]) -> str:
    called = any(map(_has_called, texts[:-1]))
    last = texts[-1]
    parts = _parts(last)
    if _ARRIVED.search(last) or ((called or _has_called(last)) and any(map(_THEY_CAME.fullmatch, parts))):
        return "arrived"
    care = _care(texts)
    if care and (care == "arrived" or not _has_called(last)):
        return care
    if _FOUND.search(last) and not _LOST.search(last):
        return "found"
    if _has_called(last):
        return "called"
    if _BREATHING.search(last) and not _LOST.search(last):
        return "breathing"
    return "since_called" if called else ""


def _care(texts: Sequence[str]) -> str:
    """Whether they are at a hospital, or on their way to one."""
    for text in reversed(texts):
        if _LEFT_CARE.search(text):
            return ""
        for name, pattern in (("arrived", _IN_CARE), ("on_way", _TO_CARE)):
            if pattern.search(text) and not _NOT_IN_CARE.search(text):
                return name
    return ""


def _has_called(text: str) -> bool:
    if _UNDONE.search(text):
        return False
    parts = _parts(text)
    bare = any(pattern.fullmatch(part) for part in parts for pattern in (_JUST_CALLED, _JUST_CALLED_ES, _COMING))
    return bare or _CALLED.search(text) is not None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[.,;!?…]+| and ", text) if part.strip()]


def _of_another(texts: Sequence[str]) -> bool:
    """Whether it is all about somebody else: whoever says a word about their own danger is never meant."""
    if not any(_OTHER.search(text) and _ANOTHER.search(text) for text in texts):
        return False
    return not any("myself" in text for text in texts) and all(
        _helps(first, second) for text in texts for first, second in _I.findall(text)
    )


def _helps(first: str, second: str) -> bool:
    return first in _HELPS or first.isdigit() or (first in _HELPS_AFTER and second in _HELPS_THEN)


def _wish(text: str) -> str:
    if len(text.split()) > _SHORT or _TASK.search(text):
        return ""
    if re.fullmatch(r"(?:hello|hola|hey|hi)\?+", text):
        return "talk"
    return next((name for name, pattern in _WISHES if pattern.search(text)), "")


def _answered(turns: Sequence[tuple[str, str]]) -> frozenset[str]:
    """The questions that were answered with a no: one that stood alone in our reply, or suicide by its name."""
    done: set[str] = set()
    for number, (role, text) in enumerate(turns):
        if role != "user":
            continue
        if _NOT_SUICIDAL.search(recognise.plain(text)) and not _IS_SUICIDAL.search(recognise.plain(text)):
            done.add("suicide")
        asked = (
            recognise.questions_asked(turns[number - 1][1]) if number and turns[number - 1][0] == "assistant" else ()
        )
        if len(asked) == 1 and recognise.starts_no(text):
            done.update(asked)
    return frozenset(done - {"safety"})

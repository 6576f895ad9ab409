"""Common English words, each one token (with its leading space) in the usual vocabularies.

A prompt made of them has about as many tokens as words, which is as near as one gets without the
engine's own tokenizer.
"""

from __future__ import annotations

_TEXT = """
    about above after again against all along also always among and answer any area around ask
    away back bad base be because become bed before begin behind being below best better between
    big black blue board body book both box boy bring brown building built business but buy call
    came can car care carry case cat cause change check child city class clear close cold color
    come common company complete control could country course cover create cross cut dark data day
    deep did different do dog done door down draw dry during each early earth east easy eat end
    enough even every example eye face fact fall family far farm fast father feel feet few field
    figure final find fine fire first fish five floor follow food foot for force form found four
    free friend from front full game gave get girl give go gold good got great green ground group
    grow had half hand happen hard has have head hear heart heat heavy help her here high him his
    hold home horse hot hour house how hundred idea if in inside interest is island just keep kind
    king knew know land language large last late laugh law lead learn leave left less let letter
    life light like line list little live long look lost love low machine made main make man many
    map mark may mean men might mile mind minute money month moon more morning most mother mountain
    move much music must name near need never new next night north note nothing notice number ocean
    of off often old on once one only open or order other our out over own page paper part pass
    people person picture piece place plan plant play point power present problem product pull put
    question quick rain ran reach read ready real red remember rest right river road rock room
    round rule run said same saw say school science sea second see seem sentence serve set several
    shape she ship short should show side simple since sing sit six size sleep slow small snow so
    some song soon sound south space special stand star start state stay step still stood stop
    story street strong study such sun sure surface system table take talk teach tell ten test than
    that the their them then there these they thing think this those though thought thousand three
    through time to today together told took top toward town travel tree true try turn two under
    unit until up us use usual very voice walk want war warm was watch water way we week well went
    were west what wheel when where which while white who whole why will wind with without wonder
    wood word work world would write year yes you young your
"""

WORDS: tuple[str, ...] = tuple(_TEXT.split())

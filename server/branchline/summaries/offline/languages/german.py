"""The cues of German."""
# ruff: noqa: RUF001 (the quotes, colons and commas of the script are what is looked for)

from typing import Final

from branchline.summaries.offline.languages.language import NAME, Language

GERMAN: Final = Language(
    rule=r"""
        \b(?:muss|müssen|musst|müsst|darf|dürfen|darfst|dürft)\b
        | \b(?:nie|niemals|immer|stets|grundsätzlich|ausschließlich)\b
        | \b(?:bevorzug\w*|lieber|vorzugsweise|am\sliebsten)\b
        | \bsoll(?:en|te|ten|st)?\b[^.!?]{0,60}\b(?:nicht|nie|kein\w*|nur|immer|bleiben
        |unverändert
          |erhalten)\b
        | \bbleib(?:t|en)\b(?!\s(?:stehen|hängen)) | \bunverändert\b
        | \b(?:auf\skeinen\sfall|unbedingt|zwingend|verboten|tabu|nicht\serlaubt)\b
        | \b(?:höchstens|mindestens|maximal)\b
        | (?:^|[,;:–]\s*)(?:(?:aber|und|also|dann|bitte)\s)*
          (?:kein(?:e|en)?\s(?!Problem|Ahnung|Sorge|Eile|Frage)|nur\b|ohne\b|vermeide)
        | (?:^|[,;:–]\s*)(?:(?:aber|und|also|dann|bitte)\s)*
          (?:fass|rühr|änder|lösch|verwend|benutz|nutz|nimm|mach|schreib|leg|verschieb|entfern|bau
          |stell|pack|push|committe|überschreib|lade|lad|gib|lass)(?:e|t|en)?\b
          [^.!?]{0,60}\b(?:nicht|nichts|nie|niemals|kein\w*)\b
        | \bnicht\s(?:[^.!?,;]{1,40}\s)?(?:ändern|anfassen|verändern|löschen
          |verwenden|benutzen|umbenennen|anrühren|committen|überschreiben|nutzen|mehr\sals)\b
        | \bich\s(?:will|möchte)\s(?:\w+\s)?kein\w* | \balles\sauf\s\w+sch\b | \bnicht\sdrin\b
        | \b(?:es\sist\s(?:\w+\s)?wichtig|wichtig\sist)\b | \b(?:Finger|Hände)\sweg\b
        | \bTests?\b[^.!?]{0,20}\bzuerst\b | (?:^|[,;:–]\s*)(?:bitte\s)?halte?\s(?!an\b)
        | \bnichts\s(?:ge)?(?:änder|lösch|veränder|umbenenn|umbenannt|anfass|angefass)\w*\b
        | \bsoll(?:en|te|ten)?\b[^.!?]{0,60}\bweiter(?:hin)?\b
        | \bin\sRuhe\b | \büberall\b | \bbitte\s(?:nur|auf|in|mit|ohne)\b
        | \bachte\b | \bstell\w*\b.*\bsicher\b | \b(?:Vorgabe|Regel)\sist\b
    """,
    rules=r"""
        \b(?:Regeln?|Vorgaben?|Bedingungen?|Anforderungen?|Einschränkungen?|Randbedingungen?
        |Konventionen)\b[^:]{0,40}:?\W*$
        | \b(?:beachte\w*|wichtig|achte\w*)\b[^:]{0,40}:\W*$
    """,
    polite=r"\b(?:kannst|könntest|könnt|könntet|würdest|magst|können|könnten)\s(?:du|ihr|Sie|wir)\b",
    small_talk=r"""
        \b(?:ich\s)?muss\s(?:ich\s)?(?:schon\s|jetzt\s)?(?:sagen|zugeben|gestehen
          |los|weg|gehen)\b
        | \bdas\smuss\sman\b[^,;]* | \bwie\simmer\b | \bnoch\s(?:nie|immer)\b
        | \b(?:das|es|da)\smuss\b[^,;]*\b(?:liegen|gewesen)\b[^,;]*
        | \bimmer\s(?:das\s(?:gleiche|selbe)|dasselbe)\b[^,;]*
        | \bimmer\s(?:noch|wieder|fehl|mehr|gern\w*|besser|schneller)\b | \bnie\s(?:gedacht
        |gesehen)\b
        | \bich\s(?:habe|hätte|dachte)\b[^,;]*\b(?:nie|immer)\b[^,;]* | \bmuss\swohl\b[^,;]*
        | \b(?:schlägt|schlug|bricht|stürzt)\b[^,;]*\bimmer\b[^,;]* | \bdarf\sich\b[^,;]*
    """,
    choice=r"""
        \blass(?:t)?\suns\b | \bwir\s(?:nehmen|verwenden|benutzen|nutzen|bleiben\sbei|entscheiden
        |haben\suns|setzen\sauf|machen\sdas\smit)\b
        | \bich\s(?:nehme|verwende|benutze|nutze|entscheide|setze\sauf|habe\smich)\b
        | \b(?:entschieden|Entscheidung|statt|anstatt|stattdessen|anstelle)\b
        | ^(?:nimm|verwende|benutze|nutze)\b
    """,
    rejected=rf"""
        \b(?:statt|anstatt|anstelle\svon|nicht\smehr|ohne|weg\smit|vergiss|verwirf|weg\svon
        |streich\w*)
          \s(?:(?:das|die|der|den|dem|de[sr]|ein\w*|neue\w*)\s)*({NAME})
        | \bkein(?:e|en|em|er)?\s({NAME})
        | \bersetze[n]?\s(?:den\s|die\s|das\s)?({NAME})\sdurch\b
        | \b({NAME})\s(?:scheidet\saus|ist\sraus|fliegt\sraus|wird\sverworfen)\b
    """,
    instead=r"\bstattdessen\b | \bdoch\slieber\b | \bdoch\s(?:besser|mit)\b",
    retracted=r"""
        \bvergiss\s(?:es|das)\b | \blass\s(?:es|das)\s(?:sein|bleiben|doch)?\b | \bdoch\snicht\b
        | \bnimm\sdas\szurück\b | \brückgängig\b
    """,
    lifted=r"""
        \b(?:nicht\smehr|keine?\sVorgabe\smehr)\b | \bdoch\s(?:erlaubt|in\sOrdnung|okay|ok)\b
        | \b(?:darf|dürfen|darfst)\s(?:jetzt|nun|doch)\b | \bist\s(?:jetzt|nun|doch)\s(?:erlaubt
        |ok)\b
    """,
    corrected=r"\b(?:eigentlich|Korrektur|ich\smeinte|Quatsch|besser\sgesagt)\b",
    refusal=r"^\W*(?:nein|falsch|stopp?|so\snicht|nö)\b",
    consent=r"""
        ^\W*(?:ja|mach|gerne?|einverstanden|mach\sdas|in\sOrdnung|genau|okay|ok|leg\slos|klingt\sgut)
        (?:[\s,]+(?:bitte|gerne?|mach(?:\sdas)?|danke|leg\slos|so|mal))*\W*$
    """,
    acknowledged=r"""
        ^\W*(?:(?:vielen|herzlichen|besten)\s)?(?:danke?|super|prima|gut|passt|perfekt|klasse|toll
        |weiter|mach\sweiter|sehr\s(?:gut|schön)|schön|hallo|moin|guten\s(?:Morgen|Tag)
        |gute\sArbeit)
        (?:\W+(?:dir|dank|schön|sehr|gut|für|die|das|Arbeit|Hilfe|gemacht|so|wie|immer|weiter
        |bitte|danke|vielen|herzlichen|besten|super|prima|passt|perfekt|mach))*\W*$
    """,
    works=r"""
        \b(?:funktioniert|läuft|klappt|geht)\s(?:es\s)?(?:jetzt|nun|wieder|alles)\b
        | ^\W*(?:\w+\W+){0,3}(?:jetzt\s)?(?:funktioniert|läuft|klappt|geht)(?:\ses)?\W*$
        | \bist\s(?:jetzt\s|nun\s)?(?:behoben|gelöst|repariert)\b
    """,
    done=r"""
        \b(?:fertig|erledigt|behoben|umgesetzt|abgeschlossen|hinzugefügt|läuft|laufen|funktioniert
        |grün|bestanden|bestehen|erfolgreich|geändert|entfernt|angepasst|eingebaut|implementiert
        |ergänzt|umgestellt|geschrieben|repariert|aktualisiert|eingefügt)\b
        | \b(?:ist|sind|wurden?|habe|haben)\b[^.!?]{0,60}\b
          (?!gewesen|geworden|gesehen|gefunden|gedacht|geplant|gesagt|gelesen|geändert\swerden)
          (?:\w*ge\w{3,}(?:t|en)|\w+iert)\b(?!\swerden)
    """,
    all_done=r"""
        \balle\sSchritte\s(?:sind\s)?(?:fertig|erledigt) | \balles\s(?:ist\s)?(?:fertig
        |erledigt)
    """,
    open=r"""
        \bnoch\s(?:nicht|offen|zu|ausstehend|kein\w*)\b | \b(?:offen|ausstehend|fehlt|fehlen)\b
        | \bnicht\s(?:geprüft|getestet|fertig|erledigt|behoben|geschrieben|ergänzt
          |umgesetzt|umgestellt|angepasst)\b | \bsteht\b.*\baus\b
        | \bsobald\b
        | \bbleibt\snoch\b
    """,
    failed=r"""
        \bfehlgeschlagen\b | \b(?:schlägt|schlagen|schlug|schlugen)\b[^.]*\bfehl\b | \bscheiter\w*
        | \b(?:abgestürzt|kaputt|falsch|verloren)\b | \bstürzt\b[^.]*\bab\b
        | \bzu\s(?:langsam|viel|groß|viele|aufwendig|komplex)\b
        | \b(?:geht|funktioniert|läuft|klappt)\b[^.]{0,30}\bnicht\b
        | (?<!keine\s)(?<!ohne\s)\bFehler\b
    """,
    cause=r"\b(?:weil|wegen|liegt\san|lag\san|Ursache|Grund\sist|stellt\ssich\sheraus|nämlich)\b",
    intent=r"""
        \b(?:als\sNächstes|danach|dann|anschließend|jetzt|nun)\b\s(?:werde|mache|schreibe|baue|prüfe
          |füge|stelle|teste|kommt|kommen|folgt|ich)\b
        | \bich\swerde\b | \bals\sNächstes\b
    """,
    plan=r"\b(?:Plan|Schritte?|Nächstes|offen\w*|Aufgaben|ausstehend|zu\stun)\b",
    options=r"\b(?:Möglichkeiten|Wege|Varianten|Optionen|Alternativen|entweder|welche[rsn]?)\b",
    no_plan=r"""
        \b(?:gefunden|Probleme?|Gründe|Ursachen|Befunde|Änderungen|Ergebnisse?|geändert|gemacht
        |erledigt|gemessen|Fehler|Unterschiede)\b
    """,
    step=r"\bSchritte?\s(\d{1,2})\b",
    skipped=r"\b(?:überspring\w*|weglassen|lass\b.*\bweg|entfällt|ohne)\b",
)

"""The cue words of each language, as data: what makes a sentence a rule, a choice, a plan.

Every language is tried on every sentence, so a conversation may mix them. A pattern is written for
one sentence on one line. Where words are not set apart by spaces, no pattern asks for a word's
end. A new language is one more row; without a row, requests, commands, files and errors are still
recognised.
"""

import re
from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True)
class Language:
    """The cues of one language, each a regular expression without groups unless said.

    Attributes:
        rule: a demand, a ban, a preference, a plain statement of what stays as it is.
        small_talk: phrases with such words that demand nothing; cut out before `rule` is tried.
        choice: something is chosen.
        rejected: something is turned down; its groups are what.
        instead: a choice that takes the place of the one before, whatever that was.
        retracted: the wish before is taken back.
        lifted: a rule no longer holds.
        corrected: what follows puts right what was said before.
        refusal: the sentence begins with a no.
        consent: the whole sentence is a yes.
        acknowledged: the whole sentence is thanks or praise.
        works: the person says that it works now.
        done: something is finished.
        all_done: everything is finished.
        open: something is not finished or not checked.
        failed: something does not work.
        cause: why something is as it is.
        plan: what follows is what will be done.
        no_plan: a list below this is no plan: options, findings, what was done.
        step: a numbered step, its group the number.
        skipped: a step is left out.
    """

    rule: str
    small_talk: str
    choice: str
    rejected: str
    instead: str
    retracted: str
    lifted: str
    corrected: str
    refusal: str
    consent: str
    acknowledged: str
    works: str
    done: str
    all_done: str
    open: str
    failed: str
    cause: str
    plan: str
    no_plan: str
    step: str
    skipped: str


_NAME = r"[\w`][\w`./+#@-]*"

ENGLISH: Final = Language(
    rule=r"""
        \bmust(?:n['’]t)?\b
        | (?:^|[,;:–—]\s*|\b(?:please|and|but|also|so|should|must|we|be|can|may|will|to)\s)
          (?:always|never)\b(?!\s(?:mind|fail|fails|failed|crash\w*|works?|worked|been|know|again))
        | \b(?:is|are|be)\snever\s\w+ed\b
        | \b(?:prefer(?:s|red|ably)?|preference|would\srather|I['’]d\srather)\b
        | (?:^|[,;:–—]\s*|\b(?:please|and|but|also|so|just|we)\s)(?:do\snot|don['’]t)\b
        | \bshould(?:n['’]t|\s(?:not|be|stay|remain|keep|only|use|support|accept|have|return))\b
        | \b(?:has|have|needs?)\sto\s(?:be|stay|remain|run|keep|finish|pass|support|fit|use)\b
        | \b(?:may|can)\s(?:not|never|only)\b | \bcan(?:not|['’]t)\s(?:use|change|add|have)\b
        | \bnothing\b[^.!?]{0,80}\b(?:may|can|should|shall)\b
        | \b(?:use|touch|change|edit|write|run)\sonly\b | \bonly\s(?:use|allow\w*)\b | ^only\b
        | \b(?:stays?|remains?|leave|left|keeps?|kept)\b[^.!?]{0,80}
          \b(?:as\s(?:it|they)\s(?:is|are)|as[\s-]is|unchanged|untouched|alone|the\ssame
             |compatible|stable|signature|in\splace|small|simple)\b
        | \b(?:we|it)\s(?:stay|stick|remain)s?\s(?:with|on|to|within|under|below)\b
        | \b(?:off[\s-]limits|read-only|not\sallowed|forbidden|mandatory|out\sof\sscope|frozen)\b
        | \b(?:at\smost|at\sleast|no\s(?:more|later|longer|less|fewer)\sthan)\s\S*\d
        | ^(?:please\s)?no\s(?!problem|worries|idea|need|rush|hurry|thanks|longer|way|more\squestion
             |doubt|wonder|matter)\w
        | ^(?:please\s)?(?:without|avoid|ensure|be\ssure|keep\s(?!going|on\b|it\sup)|leave)\b
        | \b(?:avoid|make\ssure|ensure|hands\soff)\b
        | \b(?:policy|convention|rule)\sis\b | \bwe\s(?:only\s)?(?:use|target|support)\b
    """,
    small_talk=r"""
        \bI\s(?:must|have\sto)\s(?:say|admit|confess|agree)\b[^,;]*
        | \bnever\smind\b | \b(?:as\s|thanks\s|always\s)always\b
        | \balways\s(?:a\spleasure|nice|good|happy|fun|great)\b[^,;]*
        | \byou\s(?:must\s(?:be\s(?:tired|kidding|joking|proud|busy|bored)|have)|(?:never|always)
          \s(?!use|add|change|touch|run|write|commit))\b[^,;]*
        | \bmust\shave\s(?:been|done|had|taken|cost|missed|forgotten)\b[^,;]*
        | \b(?:that|this)\smust\sbe\s(?:the|it|why|because|due|a\sbug|some|nice|fun|hard|annoying
          |great|so)\b[^,;]*
        | \bI(?:['’]ve|\shave|['’]d|\shad)?\s(?:never|always)\s(?!want|need|prefer|use)[^,;]*
        | \b(?:it|this|that)\s(?:never|always)\b[^,;]*
        | \bI\s(?:do\snot|don['’]t)\s(?:know|think|understand|see|care|mind|believe)\b[^,;]*
        | \b(?:do\snot|don['’]t)\s(?:worry|bother|mention)\b[^,;]*
        | \bshould\sbe\s(?:fine|ok|okay|good|done|enough|easy)\b[^,;]*
    """,
    choice=r"""
        \blet['’]?s\s(?:use|go|take|do\sit|keep|try|switch|stick|stay|make)\b
        | \bwe(?:['’]ll|\swill|['’]ve|\shave)?\s(?:decided|decide|chose|agreed|go\swith|use|settled
          |stay\swith|stick)\b
        | \bI(?:['’]ll|\swill|['’]d|['’]m\sgoing\sto)?\s(?:go(?:ing)?\swith|use|went\swith|chose
          |choose|decided|opted|picked|take)\b
        | \b(?:instead\sof|rather\sthan|in\sfavou?r\sof|going\swith|decision)\b
        | \bswitch(?:ed|ing)?\sto\b | \bopt(?:ed)?\sfor\b | ^(?:use|try|take|go\swith)\b
        | ^\w[^,;:.]{0,40}\sit\sis\b
    """,
    rejected=rf"""
        \b(?:instead\sof|rather\sthan|forget(?:\sabout)?|scrap|drop|abandon|get\srid\sof|skip
          |leave\sout|without|away\sfrom|no\smore|stop\susing|not\susing)
          \s(?:using\s|the\s|an?\s|any\s|our\s)*({_NAME})
        | (?:^|[,;:]\s*|\bbut\s)(?:no|not)\s(?:the\s|an?\s)?({_NAME})
        | \breplac(?:e|ed|ing)\s(?:the\s|our\s)?({_NAME})\s(?:with|by)\b
        | \b(?:do\snot|don['’]t|never)\suse\s(?:the\s|an?\s)?({_NAME})
        | \b({_NAME})\s(?:is|was)\s(?:out|rejected|a\sdead\send|no\slonger\san?\soption)\b
        | \bswitch(?:ed|ing)?\sfrom\s(?:the\s)?({_NAME})
    """,
    instead=r"\binstead\b(?!\sof) | \bafter\sall\b | \bon\ssecond\sthought\b",
    retracted=r"""
        \bnever\smind\b(?!\sthe) | \b(?:forget|scrap|cancel|drop|undo|revert)\s(?:it|that|this)\b
    """,
    lifted=r"""
        \bno\slonger\b | \b(?:not\s)?any\s?more\b | \b(?:can|may)\s(?:now|after\sall)\b
        | \bnow\s(?:can|may)\b | \bignore\s(?:what|the|my)\b | \bforget\s(?:what|my)\b
        | \bis\s(?:now\s)?(?:fine|ok|okay|allowed)\s(?:now|after\sall)\b
        | \bis\snow\s(?:fine|ok|okay|allowed)\b
    """,
    corrected=r"\b(?:actually|correction|I\smeant|I\swas\swrong|make\sthat|sorry)\b",
    refusal=r"""
        ^\W*(?:no|nope)\s*[,.!:;–—-] | ^\W*(?:wrong|stop)\b
        | ^\W*that(?:['’]s|\sis)\s(?:wrong|not)\b | ^\W*not\slike\b
    """,
    consent=r"""
        ^\W*(?:yes|yep|yeah|sure|ok|okay|go\sahead|do\s(?:it|that)|please\sdo|agreed|sounds\sgood)
        (?:[\s,]+(?:please|do|go\sahead|do\s(?:it|that)|thanks?|thank\syou))*\W*$
    """,
    acknowledged=r"""
        ^\W*(?:(?:so|very|really|many)\s)?(?:ok|okay|thanks?|thank\syou|thx|great|perfect|nice|good
        |cool|well\sdone|lgtm|looks\sgood|awesome|excellent|wow|continue|go\son|carry\son|hi|hello
        |keep\s(?:going|it\sup)|amazing|brilliant|lovely|good\smorning)
        (?:[\s,]+(?:you|so|very|much|work|job|again|for|that|all|your|the|help|it|really|everyone
        |please|there|one|stuff|a|lot|as|always|now|then))*\W*$
    """,
    works=r"""
        ^(?:\W*(?:ok|okay|great|perfect|nice|yes|thanks?|thank\syou|good|cool|wow|now|and)\b\W*)*
        (?:(?:it|that|this|everything|all|now\sit|the\s\w+(?:\s\w+)?)\s)?(?:now\s|all\s|is\snow\s|is\s
        |are\s)*(?:works?|working|fixed|passes|solved|resolved|green|runs)\b
        | \bthat\sdid\sit\b | \bworks\s(?:now|fine|great|for\sme)\b
    """,
    done=r"""
        \b(?:done|fixed|finished|complete|completed|implemented|added|works|working|passes|pass
        |passed|passing|succeeds|succeeded|resolved|green|updated|removed|renamed|replaced|refactored
        |created|wrote|moved|merged|migrated|written|ported|deployed|ready)\b
    """,
    all_done=r"""
        \ball\s(?:\w+\s)?(?:steps|tasks|points|items)\s(?:are\s)?(?:done|finished|complete)
        | \beverything\s(?:is\s)?(?:done|finished|implemented)
    """,
    open=r"""
        \bnot\s(?:yet|checked|tested|done|implemented|verified|handled|covered|been|finished|fixed)\b
        | \bstill\s(?:need|needs|to|open|missing|fail\w*|broken|todo|has|have)\b | \bremain(?:s|ing)\b
        | \b(?:todo|to\sdo|pending|yet\sto|missing|untested|unverified|unfinished)\b
        | \b(?:is|has|have|does|did|could|was|are)n['’]t\b | \bleft\sto\sdo\b | \bonce\b | \bwhen\b.*\bI
    """,
    failed=r"""
        (?<!no\s)(?<!\b0\s)(?<!zero\s)\b(?:fail(?:s|ed|ing|ure|ures)?|crash(?:es|ed|ing)?|broken
        |breaks|broke|errors?|wrong|timed?\sout|lost|impossible|regression|dead\send)\b
        | \btoo\s(?:slow|much|big|large|many|complex|fragile|long)\b
        | \b(?:does|did|do)(?:n['’]t|\snot)\s(?:work|help|pass|fix|compile|build|run)\b
        | \b(?:cannot|can['’]t)\b | \bstill\s(?:red|fails)\b
    """,
    cause=r"""
        \b(?:because|due\sto|caused\sby|turns?\sout|turned\sout)\b
        | \bthe\s(?:\w+\s)?(?:cause|reason|problem|culprit)\s(?:is|was)\b
    """,
    plan=r"""
        \b(?:next|then|now|afterwards?|after\sthat)\b,?\s(?:I\swill|I['’]ll|I\sam\sgoing|I['’]m\sgoing
        |we\s(?:will|should|need\sto)|let\sme)\b
        | \bI(?:['’]ll|\swill)\b.*\bnext\b | \bI(?:['’]ll|\swill)\s(?:then|now|also|finally)\b
        | ^(?:next|remaining|still\sto\sdo|to\sdo|todo|then)\b | \bnext\ssteps?\b | \bmy\splan\b
        | \bplan\b\s*[:：]? | \b(?:remaining|open|following)\s(?:steps|work|tasks|items|points)\b
        | \bsteps\b | \bleft\sto\sdo\b | \bI\swill\b(?=.*:$)
    """,
    no_plan=r"""
        \b(?:ways?|options?|alternatives?|either|choices|approaches|which|candidates)\b
        | \b(?:found|problems?|issues|bugs|reasons|causes|findings|changes|results|changed|did|done
        |differences|observations|measured|summary|finished|risks|drawbacks|advantages|verified
        |completed|here\sis\swhat)\b
    """,
    step=r"\bsteps?\s(\d{1,2})\b",
    skipped=r"\b(?:skip|leave\sout|drop|without|forget)\b",
)

GERMAN: Final = Language(
    rule=r"""
        \b(?:muss|müssen|musst|müsst|darf|dürfen|darfst|dürft)\b
        | \b(?:nie|niemals|immer|stets|grundsätzlich|ausschließlich)\b
        | \b(?:bevorzug\w*|lieber|vorzugsweise|am\sliebsten)\b
        | \bsoll(?:en|te|ten|st)?\b[^.!?]{0,60}\b(?:nicht|nie|kein\w*|nur|immer|bleiben|unverändert
          |erhalten)\b
        | \bbleib(?:t|en)\b(?!\s(?:stehen|hängen)) | \bunverändert\b
        | \b(?:auf\skeinen\sfall|unbedingt|zwingend|verboten|tabu|nicht\serlaubt)\b
        | \b(?:höchstens|mindestens|maximal)\b
        | (?:^|[,;:–]\s*)(?:bitte\s)?(?:kein(?:e|en)?\s(?!Problem|Ahnung|Sorge|Eile|Frage)|nur\b|ohne\b
          |vermeide)
        | \bnicht\s(?:ändern|anfassen|verändern|löschen|verwenden|benutzen|umbenennen|anrühren
          |committen|überschreiben|nutzen|mehr\sals)\b
        | \bachte\b | \bstell\w*\b.*\bsicher\b | \b(?:Vorgabe|Regel)\sist\b
    """,
    small_talk=r"""
        \b(?:ich\s)?muss\s(?:ich\s)?(?:schon\s)?(?:sagen|zugeben|gestehen)\b
        | \bdas\smuss\sman\b[^,;]* | \bwie\simmer\b | \bnoch\s(?:nie|immer)\b
        | \bimmer\s(?:noch|wieder|fehl|mehr|gern\w*|besser|schneller)\b | \bnie\s(?:gedacht|gesehen)\b
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
        \b(?:statt|anstatt|anstelle\svon|nicht\smehr|ohne|weg\smit|vergiss|verwirf|weg\svon|streich\w*)
          \s(?:(?:das|die|der|den|dem|de[sr]|ein\w*|neue\w*)\s)*({_NAME})
        | \bkein(?:e|en|em|er)?\s({_NAME})
        | \bersetze[n]?\s(?:den\s|die\s|das\s)?({_NAME})\sdurch\b
        | \b({_NAME})\s(?:scheidet\saus|ist\sraus|fliegt\sraus|wird\sverworfen)\b
    """,
    instead=r"\bstattdessen\b | \bdoch\slieber\b | \bdoch\s(?:besser|mit)\b",
    retracted=r"""
        \bvergiss\s(?:es|das)\b | \blass\s(?:es|das)\s(?:sein|bleiben|doch)?\b | \bdoch\snicht\b
        | \bnimm\sdas\szurück\b | \brückgängig\b
    """,
    lifted=r"""
        \b(?:nicht\smehr|keine?\sVorgabe\smehr)\b | \bdoch\s(?:erlaubt|in\sOrdnung|okay|ok)\b
        | \b(?:darf|dürfen|darfst)\s(?:jetzt|nun|doch)\b | \bist\s(?:jetzt|nun|doch)\s(?:erlaubt|ok)\b
    """,
    corrected=r"\b(?:eigentlich|Korrektur|ich\smeinte|Quatsch|besser\sgesagt)\b",
    refusal=r"^\W*(?:nein|falsch|stopp?|so\snicht|nö)\b",
    consent=r"""
        ^\W*(?:ja|gerne?|einverstanden|mach\sdas|in\sOrdnung|genau|okay|ok)
        (?:[\s,]+(?:bitte|gerne?|mach\sdas|danke))*\W*$
    """,
    acknowledged=r"""
        ^\W*(?:(?:vielen|herzlichen|besten)\s)?(?:danke?|super|prima|gut|passt|perfekt|klasse|toll
        |weiter|mach\sweiter|sehr\s(?:gut|schön)|schön|hallo|moin|guten\s(?:Morgen|Tag)|gute\sArbeit)
        (?:[\s,]+(?:dir|schön|sehr|gut|für|die|das|Arbeit|Hilfe|gemacht|so|wie|immer|weiter|bitte))*\W*$
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
    """,
    all_done=r"\balle\sSchritte\s(?:sind\s)?(?:fertig|erledigt) | \balles\s(?:ist\s)?(?:fertig|erledigt)",
    open=r"""
        \bnoch\s(?:nicht|offen|zu|ausstehend|kein\w*)\b | \b(?:offen|ausstehend|fehlt|fehlen)\b
        | \bnicht\s(?:geprüft|getestet|fertig|erledigt|behoben)\b | \bsteht\b.*\baus\b | \bsobald\b
        | \bbleibt\snoch\b
    """,
    failed=r"""
        \bfehlgeschlagen\b | \b(?:schlägt|schlagen|schlug|schlugen)\b[^.]*\bfehl\b | \bscheiter\w*
        | \b(?:abgestürzt|kaputt|falsch|verloren)\b | \bstürzt\b[^.]*\bab\b
        | \bzu\s(?:langsam|viel|groß|viele|aufwendig|komplex)\b
        | \b(?:geht|funktioniert|läuft|klappt)\b[^.]{0,30}\bnicht\b | (?<!keine\s)(?<!ohne\s)\bFehler\b
    """,
    cause=r"\b(?:weil|wegen|liegt\san|lag\san|Ursache|Grund\sist|stellt\ssich\sheraus|nämlich)\b",
    plan=r"""
        \b(?:als\sNächstes|danach|dann|anschließend|jetzt|nun)\b\s(?:werde|mache|schreibe|baue|prüfe
        |füge|stelle|teste|kommt|kommen|folgt|ich)\b
        | \bich\swerde\b | \bnächste[rn]?\sSchritte?\b | \bPlan\b | \bSchritte\b | \bals\sNächstes\b
        | \bnoch\szu\stun\b | \boffene?\s(?:Punkte|Aufgaben)\b
    """,
    no_plan=r"""
        \b(?:Möglichkeiten|Wege|Varianten|Optionen|Alternativen|entweder|welche[rsn]?)\b
        | \b(?:gefunden|Probleme?|Gründe|Ursachen|Befunde|Änderungen|Ergebnisse?|geändert|gemacht
        |erledigt|gemessen|Fehler|Unterschiede)\b
    """,
    step=r"\bSchritte?\s(\d{1,2})\b",
    skipped=r"\b(?:überspring\w*|weglassen|lass\b.*\bweg|entfällt|ohne)\b",
)

CHINESE: Final = Language(
    rule=r"""
        必须 | 务必 | 一定要 | 一定不 | 不要(?!紧|客气|担心|な|です|に|と|の|で) | 不得(?!不) | 不许 | 不准
        | 不可以 | 不能(?!运行|工作|用了|启动|打开|正常|编译|通过|登录|访问) | 禁止 | 切勿 | 绝不 | 绝对不
        | 永远不 | 始终 | 一律 | 总是(?!失败|报错|超时|崩溃|出错|这么) | 优先 | 尽量 | 最好 | 更喜欢 | 偏好
        | 只能 | 只用 | 只允许 | 仅限 | 只使用 | 仅使用 | 保持[^，。]{0,20}(?:不变|原样|一致|兼容) | 不变
        | 原样 | 不(?:改|动|修改|变动|引入|新增) | 别(?:改|动|用|碰|删|加|引入) | 至少 | 最多 | 不超过 | 避免
        | 确保 | 应(?:该|当) | 需要?(?:兼容|支持)
    """,
    small_talk=r"""
        我?(?:必须|不得不)(?:说|承认)[^，,；。！]* | 不要(?:紧|客气|担心)[^，。]* | 别(?:客气|担心)
        | 总是这么[^，。]* | 一如既往[^，。]* | 从来?没(?:见过|想到)[^，。]*
        | 应该(?:可以|没问题|行|是)了?[^，。]* | 最好的
    """,
    choice=r"""
        我们?(?:就|还是)?(?:用|采用|选|决定|改用) | 决定(?:用|采用|使用|改)? | 就用 | 采用 | 选用 | 改用
        | 改成 | 换成 | 而不是 | 还是用 | 那就 | 选择
    """,
    rejected=r"""
        (?:不用|不要用|别用|不再用|不使用|不再使用|放弃|去掉|弃用|取消|而不是|跳过|不引入|别引入)\s*
          ([A-Za-z`][\w`./+#-]*|[\u4e00-\u9fff]{2,6})
        | (?:把|将|从)\s*([A-Za-z`][\w`./+#-]*|[\u4e00-\u9fff]{2,6}?)\s*(?:改成|改为|换成|改用|换为)
    """,
    instead=r"改用 | 换成 | 还是用 | 改成 | 改为",
    retracted=r"算了 | 取消吧 | 不用了 | 撤销 | 当我没说 | 不做了",
    lifted=r"不再(?:需要|要求|限制) | 可以(?:改|动|用|修改|使用|删除)[^，。]{0,12}了 | 现在可以 | 没关系了",
    corrected=r"其实 | 更正 | 我是说 | 说错 | 纠正",
    refusal=r"^\W*(?:不对|不是|不行|不[，,。]|错了|停)",
    consent=r"^\W*(?:好的?|可以|对|行|是的|没问题|同意|就这样|嗯)[，,。！!\s了吧啊请继续]*$",
    acknowledged=r"""
        ^\W*(?:谢谢|多谢|感谢|很好|不错|继续|辛苦了?|太好了|太棒了|棒|完美|厉害|干得(?:好|漂亮)|做得好|你好)
        [你您啦了吧！!。，,\s非常]*$
    """,
    works=r"""
        ^[^，。]{0,12}(?:可以了|好了|修好了|没问题了|成功了|能用了|解决了|正常了|通过了) | 现在(?:可以|正常|好)了
    """,
    done=r"""
        完成 | 已(?:经)?(?:修复|添加|实现|更新|删除|修改|改|加|解决|通过|创建|重构) | 修复了 | 修好 | 实现了
        | 添加了 | 加上了 | 加好 | 通过 | 成功 | 解决了 | 搞定 | 好了 | 改好 | 改完 | 写好
    """,
    all_done=r"全部(?:步骤)?(?:都)?(?:完成|做完) | 所有步骤(?:都)?已?完成",
    open=r"""
        还没 | 尚未 | 未(?:测试|完成|验证|实现|检查|处理|通过|解决) | 没有?(?:测试|验证|检查|完成|通过)
        | 待(?:办|处理|完成|测试) | 剩下 | 还需 | 还要 | 缺少
    """,
    failed=r"""
        失败 | 报错 | 错误 | 崩溃 | 不行 | 不工作 | 太(?:慢|大|多|复杂|占) | 超时 | 无法 | 不能(?:运行|工作|用)
        | 挂了 | 有问题 | 没用 | 丢失 | 出错
    """,
    cause=r"因为 | 原因是 | 由于 | 问题出在 | 根本原因",
    plan=r"""
        接下来 | 下一步 | 然后我 | 我会 | 我将 | 之后(?:再|会|我) | 计划 | 步骤 | 待办 | 后续
    """,
    no_plan=r"""
        方案 | 选项 | 选择 | 办法 | 哪 | 发现 | 问题 | 原因 | 改动 | 修改了 | 结果 | 完成了 | 已完成 | 做了
    """,
    step=r"(?:步骤\s*|第\s*)(\d{1,2})\s*步?",
    skipped=r"跳过 | 不做 | 省略 | 不用做",
)

JAPANESE: Final = Language(
    rule=r"""
        必ず(?!しも) | 絶対(?:に)? | 決して | 常に | いつも | 禁止 | 必須 | 厳禁
        | (?:て|で)は(?:いけ|なら|だめ|ダメ|駄目) | なければ(?:なら|いけ) | ないと(?:いけ|だめ|ダメ)
        | ないで(?:ください|下さい|ほしい|欲しい|。|$) | ないこと | べき | 優先
        | (?:ほう|方)が(?:いい|良い|好) | 好み | 好んで | のまま | 変え(?:ない|ず) | 変更しない
        | 触ら(?:ない|ず) | 使わ(?:ない|ず)(?!なくて) | 避け(?:て|る) | のみ | だけ(?:を)?(?:使|許) | 以内
        | (?:以下|以上)に(?:し|抑) | 維持 | 崩さ(?:ない|ず) | 追加しない | 増やさ(?:ない|ず)
    """,
    small_talk=r"""
        いつも(?:ありがとう|お世話|助か|すみません|の|素晴|すばら)[^、。！]*
        | 絶対(?:に)?(?:すごい|すばらしい|素晴らしい|いい|大丈夫)[^、。！]*
        | (?:と)?(?:言わ|認め)(?:ざるを得|なければなら|ないといけ)[^、。！]* | さすがいつも[^、。！]*
        | (?:て|で)も(?:いい|よい|良い|大丈夫)[^、。！]* | その(?:まま|ほうがいいです)ね
    """,
    choice=r"""
        (?:に|で)(?:します|しよう|しましょう|決め|決定|行きましょう|いきましょう|行きます|いきます)
        | を(?:使い|使う|採用|使おう|選び|選ぶ|利用します) | 代わりに | ではなく | 採用 | 方針
        | (?:に)?切り替え
    """,
    rejected=r"""
        ([A-Za-z`][\w`./+#-]*|[\u4e00-\u9fff\u30a1-\u30faー]{2,10})
        (?:では(?:なく|無く) | を?(?:使うの)?(?:を)?やめ | は(?:使わ|やめ|不採用|却下|無し|なし|スキップ|不要)
        | の(?:代わり|かわり) | を(?:使わ|スキップ))
    """,
    instead=r"やっぱり | やはり | 代わりに | に(?:切り替え|変更し)",
    retracted=r"やっぱりなし | それはやめ | 取り消し | 忘れて(?:ください|くれ)? | 撤回 | 元に戻して",
    lifted=r"もう(?:必要|不要|しなくて) | なくて(?:も)?(?:いい|よい|良い|大丈夫|構) | ても(?:構|大丈夫|よく|良く)",
    corrected=r"訂正 | 間違え | やっぱり | やはり | 正しくは | 実は",
    refusal=r"^\W*(?:いや[、,。\s] | いいえ | 違(?:う|い) | だめ | ダメ | 待って)",
    consent=r"""
        ^\W*(?:はい|うん|ok|OK|了解(?:です|しました)?|お願いします|それで(?:お願いします|いい(?:です)?)?|いいです(?:よ|ね)?)
        [、。！!\sお願いします進めてください]*$
    """,
    acknowledged=r"""
        ^\W*(?:いつも)?(?:ありがとう(?:ございます|ございました)?|いいですね|続けて(?:ください)?|完璧(?:です)?
        |素晴らしい(?:です)?|すばらしい(?:です)?|助かり(?:ます|ました)|さすが(?:です)?|お疲れ(?:さま|様)(?:です|でした)?
        |こんにちは|よろしく(?:お願いします)?)[！!。、\sねよ]*$
    """,
    works=r"動きました | 動いた | 動くように | 直りました | 直った | 解決しました | うまくいきました | 通りました",
    done=r"""
        完了 | できました | できた | (?:修正|追加|実装|変更|更新|削除|作成|対応|置き換え)(?:し)?(?:ました|済み|た。)
        | 直しました | 直りました | 通りました | 通った | 通って | 成功 | 解決 | 終わりました | パスし
    """,
    all_done=r"すべて(?:の手順|のステップ)?(?:が)?(?:完了|終わり) | 全部(?:完了|終わり|できました)",
    open=r"""
        まだ | 未(?:確認|対応|実装|完了|テスト|検証|解決) | していません | できていません | 残って | 残り(?!ません)
        | 残る | 必要があります
    """,
    failed=r"""
        失敗 | エラー(?!なし|は出ま|はあり) | 落ち(?:る|ます|た|ました) | 動(?:かない|きません|かなかった|いていません)
        | だめ | ダメ | 遅(?:い|すぎ) | 多すぎ | 大きすぎ | 壊れ | おかしい | できません | クラッシュ | タイムアウト
    """,
    cause=r"のため[、に] | が原因 | 原因は | せいで | ことが判明",
    plan=r"次に | 次は | これから | その後 | 次のステップ | 手順 | 計画 | 予定 | 残りの作業 | 今後",
    no_plan=r"""
        案(?:が|は|を|:|：) | 選択肢 | 方法が | どちら | どれ | 見つか | 問題 | 原因 | 変更点 | 結果 | やったこと
        | 完了した | 対応した
    """,
    step=r"(?:ステップ|手順)\s*(\d{1,2})",
    skipped=r"スキップ | 飛ばして | 省略 | 不要 | やらなくて",
)

LANGUAGES: Final = (ENGLISH, GERMAN, CHINESE, JAPANESE)

STOP_WORDS: Final = frozenset(
    ["about", "after", "also", "and", "any", "are", "been", "but", "can", "could", "did", "does", "done", "for", "from", "get", "had", "has", "have", "her", "his", "how", "into", "its", "just", "like", "make", "many", "may", "more", "must", "need", "new", "not", "now", "one", "only", "our", "out", "over", "please", "should", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "use", "used", "using", "very", "want", "was", "way", "were", "what", "when", "where", "which", "while", "will", "with", "without", "would", "you", "your", "step", "again", "all", "aber", "alle", "als", "auch", "auf", "aus", "bei", "bitte", "das", "dass", "dem", "den", "der", "des", "die", "ein", "eine", "einem", "einen", "einer", "für", "hat", "haben", "ich", "ihr", "ist", "jetzt", "kann", "kein", "keine", "mehr", "mit", "muss", "nach", "neue", "neuen", "nicht", "noch", "nur", "oder", "sein", "sich", "sie", "sind", "soll", "und", "vom", "von", "war", "was", "wenn", "wie", "wir", "wird", "zum", "zur"]
)
"""Words that say nothing of what a sentence is about."""


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of all languages together, compiled; attributes as in `Language`."""

    rule: re.Pattern[str]
    small_talk: re.Pattern[str]
    choice: re.Pattern[str]
    rejected: re.Pattern[str]
    instead: re.Pattern[str]
    retracted: re.Pattern[str]
    lifted: re.Pattern[str]
    corrected: re.Pattern[str]
    refusal: re.Pattern[str]
    consent: re.Pattern[str]
    acknowledged: re.Pattern[str]
    works: re.Pattern[str]
    done: re.Pattern[str]
    all_done: re.Pattern[str]
    open: re.Pattern[str]
    failed: re.Pattern[str]
    cause: re.Pattern[str]
    plan: re.Pattern[str]
    no_plan: re.Pattern[str]
    step: re.Pattern[str]
    skipped: re.Pattern[str]


def _compiled(cue: str) -> re.Pattern[str]:
    patterns = "|".join(f"(?:{getattr(language, cue)})" for language in LANGUAGES)
    return re.compile(patterns, re.IGNORECASE | re.VERBOSE)


CUES: Final = Cues(**{one.name: _compiled(one.name) for one in fields(Language)})

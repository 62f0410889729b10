"""The cues of English."""
# ruff: noqa: RUF001 (the quotes, colons and commas of the script are what is looked for)

from typing import Final

from branchline.summaries.offline.languages.language import NAME, Language

ENGLISH: Final = Language(
    rule=r"""
        \bmust(?:n['’]?t)?\b
        | (?:^|[,;:–—]\s*|\b(?:please|and|but|also|so|should|must|we|be|can|may|will|to)\s)
          (?:always|never)\b(?!\s(?:mind|fail|fails|failed|crash\w*|works?|worked|been|know
        |again|seen|heard|thought|understood|happen\w*))
        | \b(?:is|are|be)\s(?:never|always)\s\w+ed\b | \b(?:is|are)\snot\sto\sbe\b
        | \b(?:everywhere|throughout)\b | \bI\s(?:want|need)\sno\b
        | \b(?:I|we)\s(?:do\snot|don['’]?t)\swant\b | \btests?\sfirst\b
        | \bI\s(?:want|like)\s(?:small|short|simple|plain|clean|minimal|readable|no)\w*\b
        | \b(?:it['’]?s|is)\s(?:\w+\s)?(?:important|essential|crucial|critical|vital)\s(?:that|to)\b
        | \blet['’]?s\snot\b | \bstuck\s(?:on|at|with)\s(?:\S+\s)?\S*\d
        | \bno\s\w+(?:\s\w+)?\s(?:anywhere|ever)\b
        | \b(?:any|every|each)\s\w+[^.!?]{0,40}\bneeds?\sa\b
        | \b(?:max(?:imum)?|min(?:imum)?)\b[^.!?]{0,30}\bis\s\S*\d
        | \bunder\sno\scircumstances\b | \b(?:not\s)?supposed\sto\b | \bone\s\w+\sper\b
        | \bas\s(?:few|little|small|short|simple)\s(?:\w+\s)?as\spossible\b
        | ^use\s[^,]{1,40},\snot\b | \b(?:nobody|no\sone)\b[^.!?]{0,60}\b(?:may|can|should|must)\b
        | (?:^|[,;:–—]\s*|\b(?:please|and|but)\s)(?:stick|keep|stay)\s
          (?:to|with|within|away|under|below|clear)\b
        | ^(?:all|every)\s\w+\s(?:in|with|via)\b(?![^.]*\b(?:fail\w*|is|are|broke\w*)\b)
        | \b(?:minimum|maximum|limit|target|baseline|deadline)\s(?:\w+\s)?is\b
        | \b(?:prefer(?:s|red|ably)?|preference|would\srather|I['’]d\srather)\b
        | (?:^|[,;:–—]\s*|\b(?:please|and|but|also|so|just|we)\s)(?:do\snot|don['’]?t)\b
        | \bshould(?:n['’]?t|\s(?:not|be(?!\s(?:in|at|on)\s\S*[/.]\w)|stay|remain|keep
          |only|use|support|accept|have|return))\b
        | \b(?:has|have|needs?)\sto\s(?:be|stay|remain|run|keep|finish|pass|support|fit
          |use|work)\b
        | \b(?:may|can)\s(?:not|never|only)\b | \bcan(?:not|['’]?t)\s(?:use|change|add|have)\b
        | \b(?:you|it|they)\s(?:may|can)\s(?!do\b)[^.!?]{0,60}\b(?:too|as\swell|also)\b
        | (?:^|[,:]\s*)(?:the\s)?same\s(?!error|problem|issue|thing|here|result|again|as\b|for\b)\w
        | \bnothing\b[^.!?]{0,80}\b(?:may|can|should|shall)\b
        | \b(?:use|touch|change|edit|write|run)\sonly\b | \bonly\s(?:use|allow\w*)\b | ^only\b
        | \b(?:stays?|remains?|leave|left|keeps?|kept)\b[^.!?]{0,80}
          \b(?:as\s(?:it|they)\s(?:is|are)|as[\s-]is|unchanged|untouched|alone|the\ssame
             |compatible|stable|signature|in\splace|small|simple|valid|working)\b
        | \b(?:we|it)\s(?:stay|stick|remain)s?\s(?:with|on|to|within|under|below)\b
        | \b(?:off[\s-]limits|read-only|not\sallowed|forbidden|mandatory|out\sof\sscope|frozen)\b
        | \b(?:at\smost|at\sleast|no\s(?:more|later|longer|less|fewer)\sthan)\s\S*\d
        | ^(?:please\s)?no\s(?!problem|worries|idea|need|rush|hurry|thanks|longer|way
        |more\squestion
             |doubt|wonder|matter)\w
        | ^(?:please\s)?(?:without|avoid|ensure|be\ssure|keep\s(?!going|on\b|it\sup)|leave)\b
        | \b(?:avoid|make\ssure|ensure|hands\soff)\b
        | \b(?:policy|convention|rule)\sis\b
        | \bwe\s(?:only\s)?(?:use|target|support)\b(?!\s(?:it|this|that|them)\b)
    """,
    rules=r"""
        \b(?:rules?|constraints?|requirements?|conditions?|guidelines?|conventions?|preferences)\b
          [^:]{0,40}:?\W*$
        | \b(?:keep\sin\smind|mind|respect|stick\sto|follow)\b[^:]{0,40}:\W*$
    """,
    polite=r"\b(?:can|could|would|will)\s(?:you|we)\b(?!\s(?:see|tell|know|explain|say)\b)",
    small_talk=r"""
        \b(?:I|we)\s(?:must|have\sto)\s(?:say|admit|confess|agree|run|go|leave|dash|celebrate
        |sleep)\b
          [^,;]*
        | \bnever\sa\sdull\b[^,;]* | \bprefer\snot\sto\s(?:think|know|say|ask)\b[^,;]*
        | \bnever\smind\b | \b(?:as\s|thanks\s|always\s)always\b
        | \balways\s(?:a\spleasure|nice|good|happy|fun|great)\b[^,;]*
        | \byou\s(?:must\s(?:be\s(?:tired|kidding|joking|proud|busy|bored)|have)|(?:never|always)
          \s(?!use|add|change|touch|run|write|commit))\b[^,;]*
        | \bmust\shave\s(?:been|done|had|taken|cost|missed|forgotten)\b[^,;]*
        | \b(?:that|this)\smust\sbe\s(?:the|it|why|because|due|a\sbug|some|nice|fun|hard|annoying
          |great|so)\b[^,;]*
        | \bI(?:['’]ve|\shave|['’]d|\shad)?\s(?:never|always)\s(?!want|need|prefer|use)[^,;]*
        | \b(?:it|this|that)\s(?:never|always)\b[^,;]*
        | \bI\s(?:do\snot|don['’]?t)\s(?:know|think|understand|see|care|mind|believe)\b[^,;]*
        | \b(?:do\snot|don['’]?t)\s(?:worry|bother|mention)\b[^,;]*
        | \bshould\sbe\s(?:fine|ok|okay|good|done|enough|easy)\b[^,;]*
    """,
    choice=r"""
        \blet['’]?s\s(?:use|go|take|do\sit|keep|try|switch|stick|stay|make)\b
        | \bwe(?:['’]ll|\swill|['’]ve|\shave)?\s(?:decided|decide|chose|agreed|go\swith|use
        |settled
          |stay\swith|stick)\b
        | \bI(?:['’]ll|\swill|['’]d|['’]m\sgoing\sto)?\s(?:go(?:ing)?\swith|use|went\swith|chose
          |choose|decided|opted|picked|take)\b
        | \b(?:instead\sof|rather\sthan|in\sfavou?r\sof|going\swith|decision)\b
        | \bswitch(?:ed|ing)?\sto\b | \bopt(?:ed)?\sfor\b | ^(?:use|try|take|go\swith)\b
        | ^\w[^,;:.]{0,40}(?<!\bas)\sit\sis\s*[:.!]
    """,
    rejected=rf"""
        \b(?:instead\sof|rather\sthan|forget(?:\sabout)?|scrap|drop|abandon|get\srid\sof|skip
          |leave\sout|without|away\sfrom|no\smore|stop\susing|not\susing)
          \s(?:using\s|the\s|an?\s|any\s|our\s)*({NAME})
        | (?:^|[,;:]\s*|\bbut\s)(?:no|not)\s(?:the\s|an?\s)?({NAME})
        | \breplac(?:e|ed|ing)\s(?:the\s|our\s)?({NAME})\s(?:with|by)\b
        | \b(?:do\snot|don['’]?t|never)\suse\s(?:the\s|an?\s)?({NAME})
        | \b({NAME})\s(?:is|was)\s(?:out|rejected|a\sdead\send|no\slonger\san?\soption)\b
        | \bswitch(?:ed|ing)?\sfrom\s(?:the\s)?({NAME})
    """,
    instead=r"\binstead\b(?!\sof) | \bafter\sall\b | \bon\ssecond\sthought\b",
    retracted=r"""
        \bnever\smind\b(?!\sthe) | \b(?:forget|scrap|cancel|drop|undo|revert)\s(?:it|that|this)\b
        | \b(?:throw|chuck)\s(?:it|that|this|all|everything)(?:\sof\s(?:it|that))?\s(?:away|out)\b
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
        (?:[\s,]+(?:please|do|go\sahead|do\s(?:it|that)|thanks?|thank\syou|keep\sgoing))*\W*$
    """,
    acknowledged=r"""
        ^\W*(?:(?:so|very|really|many)\s)?(?:ok|okay|thanks?|thank\syou|thx|great|perfect|nice
        |good|better|cool|well\sdone|lgtm|looks\sgood|sounds\sgood|awesome|excellent|wow|continue
        |go\son|carry\son|hi|hello|hey|yep|yeah|yes|keep\s(?:going|it\sup)|amazing|brilliant|lovely
        |good\s(?:morning|job|work))
        (?:\W+(?:you|so|very|much|work|job|again|for|that|all|your|the|help|it|really|everyone
        |ok|okay|continue|go|on|carry|great|perfect|please|there|one|stuff|a|lot|as|always|now|then
        |thanks?|thx|nice|good|well|done|keep|going|mate|works?))*\W*$
    """,
    works=r"""
        ^\W*(?:(?:ok|okay|great|perfect|nice|yes|yep|yeah|thanks?|thank\syou|good|cool|wow|now|and)
          \b\W*)*
        (?:(?:it|that|this|everything|all|now\sit|the\s\w+(?:\s\w+)?)\s)?(?:now\s|all\s
        |is\snow\s|is\s
        |are\s)*(?:works?|working|fixed|passes|solved|resolved|green|runs)\b
        | \bthat\sdid\sit\b | \bworks\s(?:now|fine|great|for\sme)\b
    """,
    done=r"""
        (?<!\ba\s)(?<!\ban\s)(?<!\bthe\s)
        \b(?:done|fixed|finished|complete|completed|implemented|added|works|working|passes|pass|passed|passing|succeeds|succeeded|resolved|green|updated|removed
        |renamed|replaced|refactored|created|wrote|moved|merged|migrated|written|ported|deployed
        |ready|measured|documented|described|published|released|installed|configured|enabled
        |extracted|converted|(?:is|are|now)\sin\splace
        |(?:is|are)\s(?:now\s)?(?:clean|gone|split|built|set|cut)|deleted|dropped)\b
    """,
    all_done=r"""
        \ball\s(?:\w+\s)?(?:steps|tasks|points|items)\s(?:are\s)?(?:done|finished|complete)
        | \beverything\s(?:is\s)?(?:done|finished|implemented)
    """,
    open=r"""
        \bnot\s(?:\w+\s){1,2}yet\b
        | \bnot\s(?:written|added|passing|working|ready|released)\b
        | \bnot\s(?:yet|checked|tested|done|implemented|verified|handled|covered|been|finished
        |fixed)\b
        | \bstill\s(?:needs?|to|open|missing|fail\w*|broken|todo|has|have)\b
        | \bremain(?:s|ing)\b
        | \b(?:todo|to\sdo|pending|yet\sto|untested|unverified|unfinished)\b
        | \b(?:is|are|still|was|were)\smissing\b | ^missing\W*$ | ^open\W*$
        | \b(?:is|has|have|does|did|could|was|are)n['’]?t\b | \bleft\sto\sdo\b
    """,
    failed=r"""
        (?<!no\s)(?<!\b0\s)(?<!zero\s)\b(?:fail(?:s|ed|ing|ure|ures)?|crash(?:es|ed|ing)?|broken
        |breaks|broke|errors?|wrong|timed?\sout|lost|impossible|regression|dead\send)\b
        | \btoo\s(?:slow|much|big|large|many|complex|fragile|long)\b
        | \b(?:does|did|do)(?:n['’]?t|\snot)\s(?:work|help|pass|fix|compile|build|run)\b
        | \b(?:cannot|can['’]?t)\b | \bstill\s(?:red|fails)\b
        | \b(?:prints?|printed|shows?|showed|outputs?|returns?|returned|did|does|happen(?:s|ed)
          |got)\snothing\b
    """,
    cause=r"""
        \b(?:because|due\sto|caused\sby|turns?\sout|turned\sout)\b
        | \bthe\s(?:\w+\s)?(?:cause|reason|problem|culprit)\s(?:is|was)\b
    """,
    intent=r"""
        \b(?:next|then|now|afterwards?|after\sthat)\b,?\s(?:I\swill|I['’]ll|I\sam\sgoing
          |I['’]m\sgoing|we\s(?:will|should|need\sto)|let\sme)\b
        | \bI(?:['’]ll|\swill)\b.*\bnext\b | \bI(?:['’]ll|\swill)\s(?:then|now|also|finally)\b
        | ^(?:next|remaining|still\sto\sdo|to\sdo|todo)\b
    """,
    plan=r"""
        \b(?:plan|steps|next|remaining|to\sdo|todo|left|following)\b | \bI(?:['’]ll|\swill)\b
        | \bI(?:['’]?d|\swould)\s(?:do|go|proceed|start|split)\b
    """,
    options=r"\b(?:ways?|options?|alternatives?|either|choices|approaches|which|candidates)\b",
    no_plan=r"""
        \b(?:found|problems?|issues|bugs|reasons|causes|findings|changes|results|changed|did
        |done
        |differences|observations|measured|summary|finished|risks|drawbacks|advantages|verified
        |completed|here\sis\swhat)\b
    """,
    step=r"\bsteps?\s(\d{1,2})\b",
    skipped=r"\b(?:skip|leave\sout|drop|without|forget)\b",
)

"""German, Pi's tools: invoices in Python; Decimal is tried and taken back, one error is open."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "Moin, beim Monatsabschluss am 31. hatten wir zwei Rechnungen mit derselben Nummer. Bitte "
    "schau dir rechnung/nummern.py an und sorg dafür, dass das nicht mehr passieren kann, auch "
    "wenn zwei Leute gleichzeitig abschließen. Die Nummern dürfen keine Lücken haben, das will "
    "der Steuerberater so. Beträge bleiben Cent als int, niemals float."
)

TALK = (
    Talk()
    .user(FIRST)
    .call("read", {"path": "rechnung/nummern.py"}, "def naechste(db):\n    ...",
          text="Ich sehe mir zuerst an, wie die Nummer vergeben wird.")
    .call("bash", {"command": "grep -rn naechste rechnung tests | head"},
          "rechnung/abschluss.py:17\ntests/test_nummern.py:8")
    .calls(
        "",
        ("read", {"path": "rechnung/abschluss.py"}, "class Abschluss: ..."),
        ("read", {"path": "tests/test_nummern.py"}, "def test_naechste(): ..."),
    )
    .reply(
        "Die Ursache ist klar: `naechste()` liest `max(nummer)` und schreibt erst danach, "
        "dazwischen kann ein zweiter Abschluss dieselbe Nummer lesen.\n\n"
        "Mein Plan:\n\n"
        "1. Eine Tabelle `nummernkreis` mit einer Zeile je Jahr anlegen\n"
        "2. `naechste()` auf `UPDATE … RETURNING` umstellen\n"
        "3. Die alten Rechnungen migrieren\n"
        "4. Einen Test mit zwei gleichzeitigen Abschlüssen schreiben\n\n"
        "Außerdem würde ich die Beträge bei der Gelegenheit auf `Decimal` umstellen."
    )
    .user(
        "Klingt gut, aber kein Decimal bitte, wie gesagt. Und die Tabelle heißt bei uns immer "
        "klein geschrieben und im Singular. Leg los."
    )
    .call("write", {"path": "migrationen/0042_nummernkreis.sql", "content": "CREATE TABLE"},
          "Successfully wrote 212 bytes", text="Verstanden, es bleibt bei Cent als int.")
    .call("edit", {"path": "rechnung/nummern.py", "oldText": "a", "newText": "b"}, "Replaced 1")
    .call("bash", {"command": "python -m pytest -q tests/test_nummern.py"},
          "E   sqlite3.OperationalError: near \"RETURNING\": syntax error\n1 failed, 4 passed",
          error=True)
    .reply(
        "Das SQLite auf diesem Rechner ist 3.31, `RETURNING` gibt es erst ab 3.35. Soll ich mit "
        "`BEGIN IMMEDIATE` sperren?"
    )
    .user("Ja, bitte. Der Server hat auch nur 3.31, und aktualisieren geht vor Oktober nicht.")
    .call("edit", {"path": "rechnung/nummern.py"}, "Replaced 1",
          text="Ich sperre mit `BEGIN IMMEDIATE`.")
    .call("bash", {"command": "python -m pytest -q tests/test_nummern.py"}, "5 passed in 0.31s")
    .reply(
        "Fertig: Schritt 1 und Schritt 2 sind erledigt, die Nummer wird jetzt unter einer Sperre "
        "vergeben, alle 5 Tests laufen."
    )
    .user("Super, danke dir! Dann jetzt die Migration, aber fass die Tabelle rechnung nicht an.")
    .call("write", {"path": "migrationen/0043_altbestand.sql", "content": "INSERT"}, "ok",
          text="Ich fülle nur `nummernkreis` aus dem Bestand.")
    .shell("sqlite3 kopie.db < migrationen/0043_altbestand.sql",
           "Error: near line 3: UNIQUE constraint failed: nummernkreis.jahr", exitCode=1)
    .user("Das kam eben bei mir, auf der Kopie vom Server.")
    .call("bash", {"command": "sqlite3 kopie.db 'select jahr, count(*) from nummernkreis'"},
          "2023|1\n2024|1\n")
    .reply(
        "Die Kopie hat schon Zeilen für 2023 und 2024, vermutlich von einem früheren Versuch. "
        "Als Nächstes mache ich die Migration wiederholbar (`INSERT OR IGNORE`). Der Test mit "
        "zwei gleichzeitigen Abschlüssen steht noch aus."
    )
)  # fmt: skip

GERMAN_INVOICES = Varied(
    name="german-invoices",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="Das kam eben bei mir",
    constraints=(
        "Die Nummern dürfen keine Lücken haben",
        "Beträge bleiben Cent als int, niemals float.",
        "fass die Tabelle rechnung nicht an",
        "immer klein geschrieben und im Singular",
    ),
    read=frozenset({"rechnung/abschluss.py", "tests/test_nummern.py"}),
    modified=frozenset(
        {
            "rechnung/nummern.py",
            "migrationen/0042_nummernkreis.sql",
            "migrationen/0043_altbestand.sql",
        }
    ),
    last_error="UNIQUE constraint failed: nummernkreis.jahr",
    next_steps=(
        "mache ich die Migration wiederholbar",
        "Einen Test mit zwei gleichzeitigen Abschlüssen schreiben",
    ),
    still_open=("Die alten Rechnungen migrieren",),
    not_open=(
        "RETURNING",
        "OperationalError",
        "Eine Tabelle `nummernkreis` mit einer Zeile je Jahr anlegen",
        "Decimal",
    ),
    taken_back=("Außerdem würde ich die Beträge",),
)

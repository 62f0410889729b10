"""French, `str_replace_editor`: a language without cue words; requests, files and errors count."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "Bonjour ! Les rendez-vous créés depuis Montréal apparaissent décalés d'une heure dans "
    "l'agenda depuis le changement d'heure. Peux-tu corriger agenda/fuseaux.rb sans toucher aux "
    "anciennes données ? Il ne faut surtout pas renvoyer d'invitations aux clients."
)
EDITOR = "str_replace_editor"

TALK = (
    Talk()
    .user(FIRST)
    .call(EDITOR, {"command": "view", "path": "agenda/fuseaux.rb"}, "module Fuseaux\n...",
          text="Je regarde d'abord comment les fuseaux sont calculés.")
    .call("bash", {"command": "grep -rn Fuseaux app lib agenda"}, "agenda/rendez_vous.rb:14")
    .call(EDITOR, {"command": "view", "path": "agenda/rendez_vous.rb", "view_range": [1, 60]},
          "class RendezVous\n...")
    .reply(
        "La cause : `Fuseaux.decalage` garde le décalage d'hiver en cache, il faut le calculer "
        "pour la date du rendez-vous. Je propose d'utiliser `TZInfo` à la place du calcul maison."
    )
    .user("D'accord pour TZInfo, il est déjà dans le Gemfile. Vas-y.")
    .call(EDITOR, {"command": "str_replace", "path": "agenda/fuseaux.rb", "old_str": "a",
                   "new_str": "b"}, "The file agenda/fuseaux.rb has been edited.")
    .call("bash", {"command": "bundle exec rspec spec/agenda"},
          "Failures:\n\n  1) Fuseaux décale Montréal\n     NoMethodError: undefined method "
          "`utc_offset' for nil:NilClass\n\n12 examples, 1 failure\n", error=True)
    .call(EDITOR, {"command": "str_replace", "path": "agenda/fuseaux.rb"}, "edited",
          text="Le nom du fuseau était vide pour les comptes anciens.")
    .call(EDITOR, {"command": "create", "path": "spec/agenda/montreal_spec.rb",
                   "file_text": "RSpec.describe"}, "New file created")
    .call("bash", {"command": "bundle exec rspec spec/agenda"},
          "...............\n\n15 examples, 0 failures\n")
    .reply(
        "Corrigé : le décalage est calculé pour la date du rendez-vous et les 15 exemples passent."
    )
    .user(
        "Parfait, merci beaucoup. Ajoute maintenant la même chose pour l'export iCal, dans "
        "agenda/export/ical.rb."
    )
    .calls(
        "",
        (EDITOR, {"command": "view", "path": "agenda/export/ical.rb"}, "class Ical\n..."),
        (EDITOR, {"command": "view", "path": "config/ical.yml"}, "prodid: ..."),
    )
    .call(EDITOR, {"command": "insert", "path": "agenda/export/ical.rb", "insert_line": 12,
                   "insert_text": "..."}, "edited")
    .call("bash", {"command": "bundle exec rspec spec/export"},
          "Failures:\n\n  1) Ical écrit VTIMEZONE\n     Icalendar::Parser::ParseError: Invalid "
          "iCalendar input line: TZID\n\n4 examples, 1 failure\n", error=True)
    .reply("L'export échoue encore : la ligne `TZID` est invalide. Je regarde le format attendu.")
)  # fmt: skip

FRENCH_CALENDAR = Varied(
    name="french-calendar",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="l'export iCal",
    read=frozenset({"agenda/rendez_vous.rb", "config/ical.yml"}),
    modified=frozenset(
        {"agenda/fuseaux.rb", "spec/agenda/montreal_spec.rb", "agenda/export/ical.rb"}
    ),
    last_error="Invalid iCalendar input line: TZID",
    not_open=("NoMethodError",),
)

"""All varied conversations, and the demo session with the same statement of what counts in it."""

from tests.unit.varied_talks.abandoned_graphql import ABANDONED_GRAPHQL
from tests.unit.varied_talks.chinese_orders import CHINESE_ORDERS
from tests.unit.varied_talks.demo import DEMO
from tests.unit.varied_talks.english_uploads import ENGLISH_UPLOADS
from tests.unit.varied_talks.french_calendar import FRENCH_CALENDAR
from tests.unit.varied_talks.german_invoices import GERMAN_INVOICES
from tests.unit.varied_talks.japanese_reports import JAPANESE_REPORTS
from tests.unit.varied_talks.mixed_gemini import MIXED_GEMINI
from tests.unit.varied_talks.noisy_build import NOISY_BUILD
from tests.unit.varied_talks.shape import Varied
from tests.unit.varied_talks.spanish_hostile import SPANISH_HOSTILE
from tests.unit.varied_talks.terse_python import TERSE_PYTHON

IN_ONE_LINE: tuple[Varied, ...] = (
    ENGLISH_UPLOADS,
    GERMAN_INVOICES,
    CHINESE_ORDERS,
    JAPANESE_REPORTS,
    FRENCH_CALENDAR,
    NOISY_BUILD,
    ABANDONED_GRAPHQL,
    TERSE_PYTHON,
    MIXED_GEMINI,
    SPANISH_HOSTILE,
)
"""Those without forks."""

VARIED = (DEMO, *IN_ONE_LINE)

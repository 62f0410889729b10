"""English, `str_replace_based_edit_tool`: GraphQL is tried, reset, and replaced by REST."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "Our customers ask for a way to fetch order, items and shipment in one call. Let's try GraphQL "
    "for that, in services/orders.\n\nSome ground rules:\n- response times must stay under 200 ms\n"
    "- only touch services/orders, the other services belong to other teams\n"
    "- every endpoint needs a contract test\n"
    "- commit messages in the imperative please"
)
TOOL = "str_replace_based_edit_tool"

TALK = (
    Talk()
    .user(FIRST)
    .call(TOOL, {"command": "view", "path": "services/orders/app.py"}, "app = FastAPI()",
          text="I'll see how the service is built.")
    .call(TOOL, {"command": "view", "path": "services/orders/models.py"}, "class Order: ...")
    .reply(
        "We'll use strawberry for the schema. Next steps:\n"
        "1. Add a GraphQL schema in `services/orders/schema.py`\n"
        "2. Mount it under `/graphql`\n"
        "3. Write the contract tests\n"
        "4. Measure the response times"
    )
    .user("Go ahead.")
    .call(TOOL, {"command": "create", "path": "services/orders/schema.py", "file_text": "x"},
          "File created")
    .call(TOOL, {"command": "str_replace", "path": "services/orders/app.py", "old_str": "a",
                 "new_str": "b"}, "edited")
    .call("bash", {"command": "cd services/orders && python -m pytest -q"},
          "ImportError: cannot import name 'GraphQLRouter' from 'strawberry.fastapi'\n"
          "1 error in 0.8s", error=True)
    .call("bash", {"command": "cd services/orders && python -m bench orders --n 500"},
          "p50 312 ms\np95 840 ms\nbudget 200 ms exceeded", error=True)
    .reply(
        "It works only half: the router has moved in strawberry 0.230, and even without it the "
        "resolver needs 312 ms in the median because it loads items one by one."
    )
    .user(
        "OK, forget GraphQL, that's a dead end for us. Throw it away and make one plain REST "
        "endpoint GET /orders/{id}/full instead."
    )
    .call("bash", {"command": "git reset --hard HEAD && git clean -fd services/orders"},
          "HEAD is now at 41c2d1e Add shipments\nRemoving services/orders/schema.py",
          text="I reset the branch and start over with REST.")
    .call(TOOL, {"command": "create", "path": "services/orders/full.py", "file_text": "x"},
          "File created")
    .call(TOOL, {"command": "str_replace", "path": "services/orders/app.py"}, "edited")
    .call(TOOL, {"command": "create", "path": "services/orders/tests/test_full.py",
                 "file_text": "x"}, "File created")
    .call("bash", {"command": "cd services/orders && python -m pytest -q"},
          "....                                    [100%]\n4 passed in 0.66s")
    .reply(
        "`GET /orders/{id}/full` is in place with a contract test, all four tests pass.\n\n"
        "Still open:\n1. Measure it against the 200 ms\n2. Describe it in `openapi.yaml`"
    )
    .user("Sounds good. You can touch services/gateway now too, I asked the team.")
    .call(TOOL, {"command": "view", "path": "services/gateway/routes.yaml"}, "routes: []")
    .call(TOOL, {"command": "str_replace", "path": "services/gateway/routes.yaml"}, "edited")
    .call("bash", {"command": "python -m bench orders --n 500"}, "p50 41 ms\np95 88 ms",
          text="Now the measurement.")
    .reply(
        "Measured: 41 ms in the median, 88 ms at p95, so well under 200 ms. The route is in the "
        "gateway. What is left is the description in `openapi.yaml`."
    )
)  # fmt: skip

ABANDONED_GRAPHQL = Varied(
    name="abandoned-graphql",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="one plain REST endpoint",
    constraints=(
        "response times must stay under 200 ms",
        "only touch services/orders, the other services belong to other teams",
        "You can touch services/gateway now too",
        "every endpoint needs a contract test",
        "commit messages in the imperative please",
    ),
    read=frozenset({"services/orders/models.py"}),
    modified=frozenset(
        {
            "services/orders/schema.py",
            "services/orders/app.py",
            "services/orders/full.py",
            "services/orders/tests/test_full.py",
            "services/gateway/routes.yaml",
        }
    ),
    next_steps=("Describe it in `openapi.yaml`",),
    not_open=(
        "ImportError",
        "budget 200 ms exceeded",
        "Add a GraphQL schema",
        "Mount it under",
        "Measure it against",
        "resolver needs 312 ms",
        "strawberry",
    ),
    taken_back=("We'll use strawberry",),
)

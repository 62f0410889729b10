"""Chinese, the tools of Codex: slow orders in Go; Redis is turned down, the load test is open."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "订单列表接口太慢了，线上 p99 要 3.8 秒，麻烦你看一下 internal/order/list.go，"
    "目标是 500 毫秒以内。"
    "接口返回的字段不能变，前端和小程序都在用。数据库是 MySQL 5.7，暂时升不了级。"
)


def shell(command: str) -> dict[str, object]:
    return {"command": ["bash", "-lc", command], "workdir": "/srv/shop"}


PATCH_LIST = """*** Begin Patch
*** Update File: internal/order/list.go
@@
-	rows := q.All(ctx)
+	rows := q.Page(ctx, cursor)
*** End Patch"""
PATCH_INDEX = """*** Begin Patch
*** Add File: migrations/20240611_order_user_created.sql
+ALTER TABLE `order` ADD INDEX idx_user_created (user_id, created_at);
*** End Patch"""
PATCH_TEST = """*** Begin Patch
*** Update File: internal/order/list_test.go
@@
+func TestPageIsStable(t *testing.T) {}
*** End Patch"""

TALK = (
    Talk()
    .user(FIRST)
    .call("shell", shell("sed -n '1,200p' internal/order/list.go"), "package order\n...",
          text="我先看一下现在的查询。")
    .call("shell", shell("rg -n 'ListOrders' --glob '*.go'"),
          "internal/order/list.go:31\ninternal/api/order.go:77")
    .call("read_file", {"path": "internal/api/order.go"}, "func (h *Handler) Orders() {}")
    .reply(
        "问题出在两处：一是 `ListOrders` 一次查出全部订单再在内存里分页，"
        "二是 `created_at` 没有索引。\n\n"
        "计划：\n1. 给 `user_id, created_at` 加联合索引\n2. 改成游标分页\n3. 用 Redis 缓存第一页\n"
        "4. 写压测脚本并对比 p99\n\n要按这个来吗？"
    )
    .user("可以。不过 Redis 就不要用了，运维那边不给开。其他按你说的来，代码注释请用英文。")
    .call("apply_patch", {"input": PATCH_INDEX}, "Success. Updated the following files:\n"
          "A migrations/20240611_order_user_created.sql", text="好，先加索引。")
    .call("apply_patch", {"input": PATCH_LIST}, "Success. Updated the following files:\n"
          "M internal/order/list.go")
    .call("shell", shell("go test ./internal/order/..."),
          "# shop/internal/order\ninternal/order/list.go:58:14: undefined: cursor\n"
          "FAIL\tshop/internal/order [build failed]", error=True)
    .call("shell", shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: "
          "internal/order/cursor.go\n@@\n+type Cursor struct{}\n*** End Patch\nEOF"),
          "Success. Updated the following files:\nM internal/order/cursor.go")
    .call("apply_patch", {"input": PATCH_TEST}, "Success.")
    .call("shell", shell("go test ./internal/order/..."), "ok  \tshop/internal/order\t0.412s")
    .reply(
        "索引已添加，分页已经改成游标方式，单元测试全部通过。"
        "本地 20 万条数据下 p99 从 3.6 秒降到 0.21 秒。"
        "压测还没做。"
    )
    .user("厉害！对了，必须说一句，你写的 commit 说明比我们组长写的好多了哈哈")
    .reply("谢谢！接下来我写压测脚本，对比上线前后的 p99。")
    .user("好的，压测别用线上库，用 staging 那套。")
    .call("write_file", {"path": "bench/orders.js", "content": "import http from 'k6/http'"},
          "ok")
    .call("shell", shell("k6 run bench/orders.js --vus 50 --duration 1m"),
          "ERRO[0003] GoError: dial tcp 10.2.0.15:8080: connect: connection refused\n"
          "     ✗ http_req_failed................: 100.00% ✓ 3121     ✗ 0", error=True)
    .reply("staging 的 8080 端口拒绝连接，压测跑不起来，需要你确认 staging 服务有没有启动。")
)  # fmt: skip

CHINESE_ORDERS = Varied(
    name="chinese-orders",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="目标是 500 毫秒以内",
    constraints=(
        "接口返回的字段不能变",
        "代码注释请用英文",
        "压测别用线上库",
    ),
    read=frozenset({"internal/api/order.go"}),
    modified=frozenset(
        {
            "migrations/20240611_order_user_created.sql",
            "internal/order/list.go",
            "internal/order/cursor.go",
            "internal/order/list_test.go",
            "bench/orders.js",
        }
    ),
    last_error="dial tcp 10.2.0.15:8080: connect: connection refused",
    next_steps=("写压测脚本",),
    still_open=("压测还没做",),
    not_open=("undefined: cursor", "改成游标分页", "加联合索引", "Redis"),
    taken_back=("用 Redis 缓存第一页",),
)

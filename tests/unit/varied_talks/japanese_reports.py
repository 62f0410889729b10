"""Japanese, tools like Cursor's: a report in TypeScript; the first library is turned down."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "お疲れさまです。月次レポートのPDF出力なんですが、日本語が文字化けするとお客様から連絡がありました。"
    "src/report/pdf.ts あたりだと思うので、調べて直してもらえますか。"
    "レイアウトは変えないでください。あとフォントはライセンスの都合で Noto Sans JP だけ使えます。"
)

TALK = (
    Talk()
    .user(FIRST)
    .call("codebase_search", {"query": "PDF font", "target_directories": ["src"]},
          "src/report/pdf.ts:12 doc.font('Helvetica')", text="まず出力処理を確認します。")
    .call("read_file", {"target_file": "src/report/pdf.ts", "should_read_entire_file": True},
          "export async function renderPdf() {}")
    .call("read_file", {"target_file": "src/report/template.ts"}, "export const template = {}")
    .reply(
        "原因は `pdf.ts` が標準フォントの Helvetica を使っていることです。"
        "日本語の字形がないため文字化けします。\n\n"
        "手順:\n1. Noto Sans JP を `assets/fonts` に追加する\n"
        "2. `pdf.ts` で埋め込みフォントを登録する\n"
        "3. サンプル帳票で目視確認する\n4. CHANGELOGに追記する\n\n"
        "ついでに `pdfkit` から `puppeteer` に移行するのはどうでしょうか。"
    )
    .user("いえ、puppeteerはやめてください。サーバーのメモリが足りないので。pdfkitのままで進めてください。")
    .call("run_terminal_cmd", {"command": "cp ~/Downloads/NotoSansJP-Regular.ttf assets/fonts/",
                               "is_background": False},
          "cp: cannot stat '/home/dev/Downloads/NotoSansJP-Regular.ttf': No such file or directory",
          error=True, text="了解しました。pdfkitのままで進めます。")
    .user("あ、フォントは shared/fonts にあります。")
    .call("run_terminal_cmd", {"command": "cp shared/fonts/NotoSansJP-Regular.ttf assets/fonts/"},
          "")
    .call("edit_file", {"target_file": "src/report/pdf.ts", "instructions": "register the font",
                        "code_edit": "doc.registerFont('jp', ...)"}, "The edit was applied.")
    .call("run_terminal_cmd", {"command": "npm run test:report"},
          "  ✗ renders the summary page\n    RangeError: Offset is outside the bounds of the "
          "DataView\n  1 failing, 6 passing", error=True)
    .call("search_replace", {"file_path": "src/report/pdf.ts", "old_string": "a",
                             "new_string": "b"}, "replaced",
          text="可変フォントを読み込んでいたので、静的なファイルに替えます。")
    .call("run_terminal_cmd", {"command": "npm run test:report"}, "  7 passing (2s)")
    .reply(
        "修正しました。フォントの登録が完了し、テストは7件すべて通りました。サンプル帳票の目視確認はまだです。"
    )
    .user(
        "ありがとうございます！いつも仕事が早くて助かります。"
        "ファイルサイズも気になるので、1通 500KB 以内にしてください。"
    )
    .call("edit_file", {"target_file": "src/report/fonts.ts", "instructions": "subset",
                        "code_edit": "export function subset() {}"}, "The edit was applied.",
          text="使う文字だけを埋め込むようにします。")
    .call("run_terminal_cmd", {"command": "npm run sample && ls -l out/"},
          "> sample\n> tsx scripts/sample.ts\nout/2024-05.pdf 2431222\n")
    .call("run_terminal_cmd", {"command": "npx tsx scripts/subset.ts NotoSansJP-Regular.ttf"},
          "Error: harfbuzz: hb-subset.wasm failed to load: CompileError: WebAssembly.instantiate()",
          error=True)
    .reply(
        "サブセット化で `hb-subset.wasm` の読み込みに失敗しています。今の出力は 2.4MB のままです。"
        "次に、Node のバージョンと wasm の対応を確認します。"
    )
)  # fmt: skip

JAPANESE_REPORTS = Varied(
    name="japanese-reports",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="1通 500KB 以内",
    constraints=(
        "レイアウトは変えないでください。",
        "Noto Sans JP だけ使えます",
        "pdfkitのまま",
        "1通 500KB 以内",
    ),
    read=frozenset({"src/report/template.ts"}),
    modified=frozenset({"src/report/pdf.ts", "src/report/fonts.ts"}),
    last_error="hb-subset.wasm failed to load",
    next_steps=(
        "Node のバージョンと wasm の対応を確認します",
        "サンプル帳票で目視確認する",
        "CHANGELOGに追記する",
    ),
    not_open=(
        "No such file or directory",
        "RangeError",
        "Noto Sans JP を `assets/fonts` に追加する",
        "埋め込みフォントを登録する",
        "puppeteer",
    ),
    taken_back=("puppeteer` に移行",),
)

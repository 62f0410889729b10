// Search, filters, keys and links of the exported page. Without it all of the page can be read.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const main = byId("entries");
  const tree = byId("tree");
  const find = byId("find");
  const hits = byId("hits");
  const told = byId("told");
  const help = byId("help");

  document.documentElement.classList.add("scripted");
  byId("bar").hidden = false;

  // --- where one is ---

  let current = null;
  let marked = null;
  // Where one scrolls to is where one is; where a key or link leads need not be in the middle.
  let steered = false;
  const rows = new Map();
  for (const row of tree.querySelectorAll("a.row")) rows.set(row.hash, row);

  const isShown = (entry) => entry.checkVisibility();
  const entryOf = (node) => node?.closest?.(".entry") ?? null;
  const entryNamed = (hash) => (hash.startsWith("#entry-") ? byId(hash.slice(1)) : null);
  const hashOf = (entry) => (entry.id ? `#${entry.id}` : "");

  function mark(entry) {
    current = entry;
    // An answer that only calls tools has no row: the row before it stands for the place.
    let at = entry;
    while (at && !rows.has(hashOf(at))) at = at.previousElementSibling;
    const row = at ? rows.get(hashOf(at)) : undefined;
    if (row === undefined) return;
    if (row !== marked) {
      marked?.removeAttribute("aria-current");
      row.setAttribute("aria-current", "true");
      marked = row;
    }
    if (steered || !tree.matches(":hover, :focus-within")) showRow(row);
  }

  function showRow(row) {
    for (let at = row.parentElement; at && at !== tree; at = at.parentElement) {
      if (at.localName === "details" && !row.matches(":scope > summary *")) at.open = true;
    }
    const box = row.getBoundingClientRect();
    const pane = tree.getBoundingClientRect();
    if (box.top < pane.top + 40 || box.bottom > pane.bottom - 40) {
      tree.scrollTop += box.top - pane.top - pane.height / 2;
    }
  }

  function goTo(entry, how = "start") {
    if (entry === null) return;
    steered = true;
    mark(entry);
    entry.focus({ preventScroll: true });
    entry.scrollIntoView({ block: how });
    // What is far away has a guessed height until it is near.
    requestAnimationFrame(() => entry.scrollIntoView({ block: how }));
  }

  function step(direction) {
    const next = direction > 0 ? "nextElementSibling" : "previousElementSibling";
    let entry = current ?? main.querySelector(".entry");
    if (current !== null) entry = entry[next];
    while (entry && !(entry.matches(".entry") && isShown(entry))) entry = entry[next];
    goTo(entry);
  }

  function ends(last) {
    const entries = [...main.querySelectorAll(".entry")].filter(isShown);
    goTo((last ? entries.at(-1) : entries[0]) ?? null);
  }

  for (const event of ["wheel", "touchmove", "pointerdown"]) {
    addEventListener(event, () => { steered = false; }, { passive: true });
  }
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting || steered) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const box = main.getBoundingClientRect();
      const entry = entryOf(document.elementFromPoint(box.left + box.width / 2, innerHeight * 0.3));
      if (entry !== null && entry !== current) mark(entry);
    });
  }, { passive: true });

  // --- links ---

  function say(text) {
    told.textContent = text;
    setTimeout(() => { told.textContent = ""; }, 2500);
  }

  main.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a.link");
    if (!link) return;
    try {
      await navigator.clipboard.writeText(link.href);
      say("Link copied");
    } catch {
      say("The link is in the address bar");
    }
  });

  tree.addEventListener("click", (event) => {
    const row = event.target.closest?.("a.row");
    if (row && event.target.closest("i.sign") && row.closest("summary")) {
      event.preventDefault();
      row.closest("details").open = !row.closest("details").open;
    } else if (row) {
      tree.classList.remove("shown");
      byId("show-tree").setAttribute("aria-expanded", "false");
    }
  });

  function followHash() {
    const entry = entryNamed(location.hash);
    if (entry === null) return;
    if (!isShown(entry)) show("all");
    for (const one of entry.querySelectorAll(":scope > details.result")) one.open = true;
    goTo(entry);
  }
  addEventListener("hashchange", followHash);

  byId("show-tree").addEventListener("click", () => {
    const shown = tree.classList.toggle("shown");
    byId("show-tree").setAttribute("aria-expanded", String(shown));
  });

  // --- filters and folds ---

  function show(what) {
    document.body.dataset.show = what;
    byId("filters").querySelector(`[value="${what}"]`).checked = true;
    for (const branch of tree.querySelectorAll("details.branch")) branch.open = what !== "all";
    for (const run of tree.querySelectorAll("details.run")) run.open = what === "labelled";
    if (find.value) search();
  }
  byId("filters").addEventListener("change", (event) => show(event.target.value));

  byId("details").addEventListener("click", (event) => {
    const open = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", String(open));
    event.currentTarget.textContent = open ? "Close all" : "Open all";
    for (const one of document.querySelectorAll("main details, nav details")) one.open = open;
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...main.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  // --- search ---

  const MOST = 10000;
  let found = [];
  let at = -1;
  let searched = "";
  const paint = (name, ranges) => {
    if (globalThis.CSS?.highlights) CSS.highlights.set(name, new Highlight(...ranges));
  };

  function textsOf(entry) {
    const walker = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
    const nodes = [];
    const starts = [];
    let text = "";
    while (walker.nextNode()) {
      starts.push(text.length);
      nodes.push(walker.currentNode);
      text += walker.currentNode.data;
    }
    return { nodes, starts, text };
  }

  function rangeOf({ nodes, starts }, from, to) {
    const placed = (offset, isEnd) => {
      let low = 0;
      let high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (isEnd ? starts[middle] < offset : starts[middle] <= offset) low = middle;
        else high = middle - 1;
      }
      return [nodes[low], offset - starts[low]];
    };
    const range = document.createRange();
    range.setStart(...placed(from, false));
    range.setEnd(...placed(to, true));
    return range;
  }

  function search() {
    found = [];
    at = -1;
    searched = find.value;
    const wanted = searched.trim();
    if (wanted) {
      const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
      for (const entry of main.querySelectorAll(".entry")) {
        if (found.length >= MOST) break;
        if (!isShown(entry)) continue;
        const texts = textsOf(entry);
        for (const match of texts.text.matchAll(pattern)) {
          found.push({ entry, range: rangeOf(texts, match.index, match.index + match[0].length) });
          if (found.length >= MOST) break;
        }
      }
    }
    paint("hits", found.map((hit) => hit.range));
    paint("hit", []);
    tell();
  }

  function tell() {
    const count = found.length >= MOST ? `${MOST}+` : String(found.length);
    hits.textContent = !find.value.trim() ? "" : at < 0 ? `${count} found` : `${at + 1} of ${count}`;
    byId("next").disabled = byId("previous").disabled = found.length === 0;
  }

  function hit(direction) {
    if (found.length === 0) return;
    if (at < 0 && current !== null) {
      // From where one is.
      const after = found.findIndex((one) => one.entry === current
        || current.compareDocumentPosition(one.entry) & Node.DOCUMENT_POSITION_FOLLOWING);
      at = direction > 0 ? (after < 0 ? 0 : after) : (after <= 0 ? found.length : after) - 1;
    } else {
      at = (at + direction + found.length) % found.length;
    }
    const { entry, range } = found[at];
    const node = range.startContainer.parentElement;
    for (let one = node; one && one !== entry; one = one.parentElement) {
      if (one.localName === "details" && !node.closest("summary")) one.open = true;
    }
    steered = true;
    mark(entry);
    paint("hit", [range]);
    tell();
    const reveal = () => {
      const box = range.getBoundingClientRect();
      scrollBy(0, box.top - innerHeight / 3);
      const pane = node.closest("pre, .big");
      if (pane && pane.scrollHeight > pane.clientHeight) {
        pane.scrollTop += range.getBoundingClientRect().top - pane.getBoundingClientRect().top - 60;
      }
    };
    entry.scrollIntoView({ block: "center" });
    requestAnimationFrame(() => { reveal(); requestAnimationFrame(reveal); });
  }

  let later = 0;
  find.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(search, 150);
  });
  find.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      clearTimeout(later);
      if (find.value !== searched) search();
      hit(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      find.value = "";
      search();
      find.blur();
    }
  });
  byId("next").addEventListener("click", () => hit(1));
  byId("previous").addEventListener("click", () => hit(-1));

  // --- keys ---

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    g: () => ends(false),
    G: () => ends(true),
    n: () => hit(1),
    N: () => hit(-1),
    "/": () => find.select(),
    "?": () => help.showModal(),
    o: () => {
      const folds = [...(current?.querySelectorAll("details") ?? [])];
      const open = folds.some((one) => !one.open);
      for (const one of folds) one.open = open;
    },
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || help.open) return;
    if (event.target.matches?.("input[type=search]")) return;
    if (!Object.hasOwn(keys, event.key)) {
      steered = false;
      return;
    }
    event.preventDefault();
    keys[event.key]();
  });
  byId("help-button").addEventListener("click", () => help.showModal());

  followHash();
})();

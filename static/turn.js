// The debugger: exact copying, ranges in the address, tree and text linked, reports copied. Everything else is HTML.
"use strict";

(() => {
  const list = () => document.querySelector("#raw > ol");
  const lines = () => [...document.querySelectorAll("#raw > ol > li[data-at]")];
  const span = (text) => /^(\d+)-(\d+)$/.exec(text ?? "")?.slice(1).map(Number);
  const size = (text) => [...text].length;
  const units = (text, points) => [...text].slice(0, points).join("").length;

  // --- offsets: what of a line is raw text. Numbers and gutter are no text; labels, notes and new text are left out.
  const sift = (node) => {
    if (node.nodeType === 3 || node.dataset.c) return NodeFilter.FILTER_ACCEPT;
    return node.matches(".notes, .b, .card, .hidden, ins") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  };
  function* parts(line) {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, sift);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      yield [node, node.nodeType === 3 ? node.data : String.fromCodePoint(node.dataset.c)];
    }
  }

  // What a DOM range holds of the raw text: `from` and `to` count code points; `whole` says that no gap lies in it.
  function picked(range) {
    const got = { text: "", from: -1, to: -1, whole: true };
    const take = (text, at) => {
      if (got.from < 0) got.from = at;
      got.text += text;
      got.to = at + size(text);
    };
    for (const line of list()?.children ?? []) {
      if (!range.intersectsNode(line)) continue;
      let at = Number(line.dataset.at);
      if (!line.dataset.at) { got.whole = false; continue; }
      for (const [node, text] of parts(line)) {
        const side = range.comparePoint(node, 0);
        const start = range.startContainer === node ? range.startOffset : side < 0 ? text.length : 0;
        const end = range.endContainer === node ? range.endOffset : side > 0 ? 0 : text.length;
        if (start < end) take(text.slice(start, end), at + size(text.slice(0, start)));
        at += size(text);
      }
      const next = line.nextElementSibling;
      if (next && range.intersectsNode(next) && !line.matches(".cut")) take("\n", at);
    }
    return got.from < 0 ? null : got;
  }

  // The DOM range of `[from, to)`, null where it is not on the page.
  function located(from, to) {
    const range = document.createRange();
    return place(from, (node, at) => range.setStart(node, at)) && place(to, (node, at) => range.setEnd(node, at), true) ? range : null;
  }
  function place(offset, set, end) {
    const line = lines().findLast((each) => Number(each.dataset.at) < offset || (!end && Number(each.dataset.at) === offset));
    if (!line) return false;
    let at = Number(line.dataset.at);
    for (const [node, text] of parts(line)) {
      const next = at + size(text);
      if (offset < next || (end && offset === next)) {
        if (node.nodeType === 3) set(node, units(text, offset - at));
        else set(node.parentNode, [...node.parentNode.childNodes].indexOf(node) + (end ? 1 : 0));
        return true;
      }
      at = next;
    }
    if (offset > at + 1 || line.matches(".cut")) return false;
    set(line, line.childNodes.length);
    return true;
  }
  function paint(name, spans) {
    const ranges = spans.filter(Boolean).map(([from, to]) => located(from, to)).filter(Boolean);
    if (globalThis.Highlight) CSS.highlights.set(name, new Highlight(...ranges));
    return ranges[0];
  }

  // --- copying: exactly the characters of the raw text, those of gaps too
  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    const pane = document.getElementById("raw");
    if (!selection.rangeCount || selection.isCollapsed || !pane?.contains(selection.getRangeAt(0).commonAncestorContainer)) return;
    const got = picked(selection.getRangeAt(0));
    if (!got) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", got.text);
    if (!got.whole) copyText(fetch(`${pane.dataset.raw}?r=${got.from}-${got.to}`).then((answer) => answer.text()));
  });
  document.addEventListener("click", (event) => {
    const row = event.target.closest("[role=treeitem]");
    if (row) { move(row); if (row.ariaExpanded) fold(row, row.ariaExpanded === "false"); }
  });

  // --- a selection is the address's range, and a range in the address is marked and brought into view
  let waiting;
  document.addEventListener("selectionchange", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const selection = getSelection();
      const pane = document.getElementById("raw");
      if (!selection.rangeCount || !pane?.contains(selection.anchorNode)) return;
      const got = selection.isCollapsed ? null : picked(selection.getRangeAt(0));
      if (got || location.hash.startsWith("#r=")) {
        history.replaceState(history.state, "", `${location.pathname}${location.search}${got ? `#r=${got.from}-${got.to}` : ""}`);
        CSS.highlights?.delete("range");
      }
    }, 120);
  });
  function show() {
    const wanted = span(/^#r=(.+)$/.exec(location.hash)?.[1]);
    if (!wanted || !list()) return;
    const range = paint("range", [wanted]);
    if (range) { reveal(range); light(wanted[0]); return; }
    const url = new URL(location.href);
    if (url.searchParams.get("r") === wanted.join("-")) return;
    url.searchParams.set("r", wanted.join("-"));
    htmx.ajax("GET", url.pathname + url.search, { target: "#debugger", swap: "outerMorph" });
  }
  addEventListener("hashchange", show);

  // --- tree and text
  const rows = () => [...document.querySelectorAll("[role=treeitem]")];
  const link = (row) => row && paint("link", [span(row.dataset.w)]);
  function move(row) {
    rows().forEach((each) => { each.tabIndex = each === row ? 0 : -1; });
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }
  function fold(row, open) {
    row.ariaExpanded = String(open);
    let below = Infinity;
    for (const each of rows()) {
      const level = Number(each.ariaLevel);
      if (level <= below) below = each.ariaExpanded === "false" ? level : Infinity;
      each.hidden = level > below;
    }
  }
  document.addEventListener("keydown", (event) => {
    const row = event.target.closest?.("[role=treeitem]");
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const seen = rows().filter((each) => !each.hidden);
    const at = seen.indexOf(row);
    const parent = () => seen.slice(0, at).findLast((each) => Number(each.ariaLevel) < Number(row.ariaLevel));
    const steps = {
      ArrowDown: () => seen[at + 1], ArrowUp: () => seen[at - 1], Home: () => seen[0], End: () => seen.at(-1),
      ArrowRight: () => row.ariaExpanded === "false" ? fold(row, true) : row.ariaExpanded && seen[at + 1],
      ArrowLeft: () => row.ariaExpanded === "true" ? fold(row, false) : parent(),
      Enter: () => { location.hash = `r=${row.dataset.w}`; },
    };
    if (!steps[event.key]) return;
    event.preventDefault();
    const to = steps[event.key]();
    if (to) move(to);
  });
  document.addEventListener("focusin", (event) => {
    if (!event.target.matches("[role=treeitem], .b")) return;
    const range = paint("link", [span(event.target.dataset.w ?? event.target.dataset.s)]);
    if (range && event.target.dataset.w) reveal(range);
  });
  document.addEventListener("mouseover", (event) => {
    const over = event.target.closest("[role=treeitem], .b");
    if (over) paint("link", [span(over.dataset.w ?? over.dataset.s)]);
    else if (!event.target.closest("#raw > ol")) { link(document.activeElement.closest?.("[role=treeitem]")) || paint("link", []); }
  });
  // Back: the innermost row that holds the character under the pointer.
  function light(offset) {
    const held = rows().filter((row) => { const [from, to] = span(row.dataset.w); return from <= offset && offset < to; });
    rows().forEach((row) => row.classList.toggle("lit", row === held.at(-1)));
    return held.at(-1);
  }
  let frame;
  document.addEventListener("mousemove", (event) => {
    if (!event.target.closest("#raw > ol") || event.buttons) return;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const at = document.caretPositionFromPoint?.(event.clientX, event.clientY);
      const range = document.createRange();
      const line = at?.offsetNode.parentElement?.closest("#raw > ol > li[data-at]");
      if (!line) return;
      range.setStart(line, 0);
      range.setEnd(at.offsetNode, at.offset);
      const row = light(picked(range)?.to ?? Number(line.dataset.at));
      link(row) ?? paint("link", []);
    });
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#raw > ol > li[data-at]")) document.querySelector(".tree .lit")?.scrollIntoView({ block: "nearest" });
  });

  // --- scrolling: the line under the eye stays where it is; then what the step shows comes into view
  function within(inner, pane) {
    const outer = pane.getBoundingClientRect();
    if (pane.scrollHeight > pane.clientHeight && (inner.top < outer.top + 40 || inner.bottom > outer.bottom)) {
      pane.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
    }
    if (inner.left < outer.left || inner.left > outer.right) pane.scrollLeft += inner.left - outer.left - outer.width / 2;
  }
  const bring = (element, pane) => element && pane && within(element.getBoundingClientRect(), pane);
  const reveal = (range) => within(range.getBoundingClientRect(), document.getElementById("raw"));
  let eye;
  document.addEventListener("htmx:before:swap", () => {
    const top = document.getElementById("raw")?.getBoundingClientRect().top + 40;
    const line = lines().find((each) => each.getBoundingClientRect().bottom > top);
    eye = line && [line.dataset.at, line.getBoundingClientRect().top];
  });
  function settle() {
    const pane = document.getElementById("raw");
    if (!pane) return;
    try { pane.classList.toggle("nowrap", localStorage.getItem("nowrap") === "1"); } catch { /* private windows keep nothing */ }
    const same = eye && list()?.querySelector(`li[data-at="${eye[0]}"]`);
    if (same) pane.scrollTop += same.getBoundingClientRect().top - eye[1];
    eye = null;
    for (const selector of [".range", ".now", ".at", "del, ins", ".hit"]) {
      const telling = list()?.querySelector(selector);
      if (telling) { bring(telling, pane); break; }
    }
    const card = pane.querySelector(".card");
    card?.classList.toggle("leftward", card.getBoundingClientRect().right > pane.getBoundingClientRect().right);
    bring(document.querySelector(".edits .now"), document.querySelector(".edits"));
    bring(document.querySelector(".attempt.open > .go"), document.querySelector(".pane.side"));
    show();
  }
  bring(document.querySelector(".turn-list [aria-current]"), document.querySelector(".turn-list"));
  settle();
  for (const name of ["htmx:after:swap", "settle"]) document.addEventListener(name, settle);

  // --- playground: a dropped file is its text, a paste anywhere goes into the box, and so does typing while it is empty
  const pad = document.getElementById("pad");
  const elsewhere = (event) => pad && !typing(event.target) && !document.querySelector("dialog[open], :popover-open");
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain");
    if (!elsewhere(event) || !text) return;
    event.preventDefault();
    const area = pad.querySelector("textarea");
    area.value = text;
    area.focus();
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  document.addEventListener("keydown", (event) => {
    const area = pad?.querySelector("textarea");
    if (!elsewhere(event) || area.value || event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("a, button, summary") && event.key === " ") return;
    event.stopImmediatePropagation();
    area.focus();
  }, true);
  for (const name of pad ? ["dragover", "dragleave", "drop"] : []) {
    document.addEventListener(name, async (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      pad.classList.toggle("over", name === "dragover");
      if (name !== "drop") return;
      const area = pad.querySelector("textarea");
      area.value = await event.dataTransfer.files[0].text();
      area.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
})();

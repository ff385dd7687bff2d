// The timeline of one session: windows of turns come and go as they are scrolled to, and keys go to failures and
// findings wherever they stand. Without this the page shows one window, with links to those before and after.
"use strict";

{
  const line = document.getElementById("timeline");
  const step = +line.dataset.step;
  const heights = new Map();
  let count = 0;
  let at = -1;

  const watcher = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      target.near = isIntersecting;
      if (target.matches(".spacer")) { if (isIntersecting) setTimeout(() => target.near && load(target), 60); }
      else if (!isIntersecting && !target.contains(document.activeElement)) put(target, spacer(+target.dataset.first));
    }
  }, { rootMargin: "1400px 0px" });

  function spacer(first) {
    const empty = document.createElement("div");
    empty.className = "spacer";
    empty.dataset.first = first;
    empty.style.height = `${heights.get(first) ?? 30 * Math.min(step, count - first)}px`;
    return empty;
  }

  function put(old, element) {
    if (old.matches(".window")) heights.set(+old.dataset.first, old.offsetHeight);
    watcher.unobserve(old);
    old.replaceWith(element);
    watcher.observe(element);
  }

  const slot = (first) => line.querySelector(`:scope > [data-first="${first}"]`);

  function load(old) {
    return old.coming ??= (async () => {
      const url = new URL(location.href);
      for (const name of ["at", "q", "after"]) url.searchParams.delete(name);
      url.searchParams.set("from", old.dataset.first);
      url.hash = "";
      try {
        const answer = await fetch(url, { headers: { "HX-Request-Type": "partial" } });
        if (!answer.ok) throw new Error(answer.statusText);
        const holder = document.createElement("template");
        holder.innerHTML = await answer.text();
        if (old.isConnected) put(old, holder.content.firstElementChild);
      } catch { old.coming = null; }
    })();
  }

  // Makes room for every window up to `total` turns; the last one is asked for anew where it was not full.
  function grow(total) {
    const last = [...line.querySelectorAll(":scope > [data-first]")].at(-1);
    const [from, before] = [+last.dataset.first, count];
    count = total;
    if (before && before % step) load(last);
    let behind = last;
    for (let first = from + step; first < total; first += step) { behind.after(behind = spacer(first)); watcher.observe(behind); }
  }

  async function go(position, focus = true) {
    const first = position - position % step;
    if (!document.getElementById(`t${position}`)) { slot(first).scrollIntoView(); await load(slot(first)); }
    const row = document.getElementById(`t${position}`);
    if (!row) return;
    at = position;
    for (let fold = row.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    row.scrollIntoView({ block: "center" });
    if (focus) row.querySelector("[data-row]").focus({ preventScroll: true });
  }

  function here() {
    const row = document.activeElement.closest(".turn");
    return row ? +row.id.slice(1) : at;
  }

  // The head is drawn anew while a session grows, so it is asked each time.
  const failures = () => document.querySelector(".map").dataset.failed.split(" ").filter(Boolean).map(Number);
  let told = -1;
  function nextFinding() {
    const steps = [...document.querySelectorAll(".findings [data-at]")];
    steps[told]?.classList.remove("at");
    told = (told + 1) % steps.length;
    steps[told].classList.add("at");
    go(+steps[told].dataset.at);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-go]");
    const link = event.target.closest("a[data-at], .map svg a");
    if (button?.dataset.go === "finding") nextFinding();
    else if (button) {
      const from = here();
      const to = button.dataset.go > 0 ? failures().find((one) => one > from) : failures().findLast((one) => one < from);
      if (to !== undefined) go(to);
    } else if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      go(+(link.dataset.at ?? /at=(\d+)/.exec(link.getAttribute("href"))[1]));
    }
  });

  // Which folds are open, and which window is in view, stand in the address.
  function note(name, value) {
    const url = new URL(location.href);
    if (value) url.searchParams.set(name, value); else url.searchParams.delete(name);
    url.searchParams.delete("at");
    if (url.href !== location.href) history.replaceState(history.state, "", url);
  }
  line.addEventListener("toggle", (event) => {
    const now = new Set((new URLSearchParams(location.search).get("open") || "").split("-").filter(Boolean));
    if (new URLSearchParams(location.search).get("show") === "all") return;
    now[event.target.open ? "add" : "delete"](event.target.dataset.fold);
    note("open", [...now].join("-"));
  }, true);

  let drawn = 0;
  let noted = 0;
  function look() {
    drawn = 0;
    const shown = [...line.querySelectorAll(".turn")].filter((row) => {
      const box = row.getBoundingClientRect();
      return box.height && box.bottom > 0 && box.top < innerHeight;
    });
    if (!shown.length) return;
    const [first, last] = [+shown[0].id.slice(1), +shown.at(-1).id.slice(1)];
    const near = document.querySelector(".map .near");
    const each = +near.ownerSVGElement.dataset.each;
    near.setAttribute("x", Math.floor(first / each) * 8);
    near.setAttribute("width", (Math.floor(last / each) - Math.floor(first / each) + 1) * 8);
    clearTimeout(noted);
    noted = setTimeout(() => note("from", scrollY && first >= step ? first - first % step : 0), 250);
  }
  for (const name of ["scroll", "resize"]) addEventListener(name, () => { drawn ||= requestAnimationFrame(look); }, { passive: true });

  const start = line.querySelector(".window");
  for (let first = 0; first < +start.dataset.first; first += step) {
    count = first + step;
    const empty = spacer(first);
    start.before(empty);
    watcher.observe(empty);
  }
  count = 0;
  watcher.observe(start);
  grow(+line.dataset.count);
  line.addEventListener("grown", (event) => grow(event.detail));
  // Back and u lead to the turn that one left, just where it stood in the window.
  const place = `turn ${location.pathname}`;
  addEventListener("pagehide", () => {
    const row = document.getElementById(`t${here()}`);
    try { sessionStorage.setItem(place, row ? `${row.id} ${row.getBoundingClientRect().top}` : ""); } catch { /* no storage */ }
  });
  async function arrive() {
    const [row, top] = sessionStorage.getItem(place)?.split(" ") ?? [];
    const back = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
    const hash = back && row ? `#${row}` : location.hash;
    if (!/^#t\d+$/.test(hash)) { if (+start.dataset.first) start.scrollIntoView(); return; }
    if (back) history.scrollRestoration = "manual";
    await go(+hash.slice(2));
    if (document.readyState !== "complete") await new Promise((loaded) => addEventListener("load", loaded, { once: true }));
    // the browser's own jump takes the focus away
    requestAnimationFrame(() => document.querySelector(`${hash} [data-row]`)?.focus({ preventScroll: true }));
    if (`#${row}` === hash) scrollBy(0, document.getElementById(row).getBoundingClientRect().top - top);
  }
  arrive();
  look();
}

// The label queue: saving without leaving the page, drafts that outlive a reload and a dead server, the live check.
"use strict";

(() => {
  const root = () => document.getElementById("debugger");
  const form = () => document.getElementById("judge");
  const expected = () => document.getElementById("expected");
  const KEPT = ["judgement", "cause", "note", "expects", "expected", "source"];
  const partial = { "HX-Request-Type": "partial" };
  let looked = 0;
  let since = performance.now();
  let busy = false;
  let retry;

  // --- time: what counts is how long the response could be seen
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) looked += performance.now() - since;
    since = performance.now();
  });
  const seconds = () => (looked + (document.hidden ? 0 : performance.now() - since)) / 1000;

  // --- drafts: one for each response and name
  const key = () => `label ${root().dataset.author} ${root().dataset.at}`;
  const values = () => {
    const data = new FormData(form());
    return Object.fromEntries(KEPT.map((name) => [name, String(data.get(name) ?? "").replaceAll("\r\n", "\n")]));
  };
  const store = (act) => { try { return act(localStorage); } catch { return null; } };
  const tell = (words, bad = false) => {
    const said = document.getElementById("said");
    if (said) { said.textContent = words; said.className = bad ? "bad" : "faint"; }
  };
  let drawn = "";
  function keep(unsent = false) {
    const now = values();
    if (JSON.stringify(now) === drawn) { store((kept) => kept.removeItem(key())); return; }
    store((kept) => kept.setItem(key(), JSON.stringify({ ...now, unsent })));
    if (!unsent) tell("Draft saved in this browser.");
  }
  function restore() {
    looked = 0;
    since = performance.now();
    if (!form()) return;
    drawn = JSON.stringify(values());
    const draft = JSON.parse(store((kept) => kept.getItem(key())) ?? "null");
    if (!draft) return;
    for (const name of KEPT) {
      const named = form().elements[name];
      for (const field of !named ? [] : named.length === undefined ? [named] : named) {
        if (field.type === "radio") field.checked = field.value === draft[name];
        else field.value = draft[name] ?? "";
      }
    }
    const why = draft.unsent ? "the server did not take it. Enter saves it now." : "not saved as a label yet.";
    tell(`Draft: ${why}`, draft.unsent);
    if (draft.expected || draft.expects) check();
  }

  // --- going on: the answer's page replaces this one; a server that does not answer is asked again
  async function go(url, options = {}, push = true) {
    if (busy) return;
    busy = true;
    clearTimeout(retry);
    const sent = options.method && form() ? key() : null;
    try {
      const answer = await fetch(url, { ...options, headers: partial });
      if (answer.status >= 500) throw new TypeError(String(answer.status));
      const text = await answer.text();
      const page = new DOMParser().parseFromString(text, "text/html").getElementById("debugger");
      if (!page) { location.assign(answer.url); return; }
      if (sent && answer.ok && options.saves) store((kept) => kept.removeItem(sent));
      const typed = form() && options.saves && !answer.ok ? store((kept) => kept.getItem(sent)) : null;
      if (typed) store((kept) => kept.removeItem(sent));
      root().replaceWith(page);
      if (push && answer.ok) history.pushState({}, "", answer.url);
      htmx.process(page);
      document.dispatchEvent(new CustomEvent("htmx:after:swap", { detail: {} }));
      document.title = page.querySelector("h1")?.textContent.trim() ?? document.title;
      if (!page.contains(document.activeElement)) page.focus({ preventScroll: true });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      if (options.saves) keep(true);
      const next = options.saves ? "Your label stays in this browser and is sent again" : "The page asks again";
      tell(`The server does not answer. ${next} until it does.`, true);
      retry = setTimeout(() => go(url, options, push), 2000);
    } finally {
      busy = false;
    }
  }
  document.addEventListener("submit", (event) => {
    if (!event.target.closest(".queue") || event.target.closest(".kinds") || event.target.method !== "post") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const saves = event.target === form();
    if (saves) form().elements.seconds.value = seconds().toFixed(1);
    const data = new FormData(event.target, event.submitter);
    go(event.target.action, { method: "POST", body: new URLSearchParams(data), saves });
  }, true);
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".queue a[data-go], .queue a[data-fill], .queue [data-mark]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.dataset.drop !== undefined) store((kept) => kept.removeItem(key()));
    if (link.matches("[data-go]")) go(link.href);
    else if (link.matches("[data-fill]")) fill(link.href, link.dataset.source);
    else mark(link.dataset.mark);
  });
  addEventListener("popstate", () => { if (root()?.matches(".queue")) go(location.href, {}, false); });

  // --- keys that app.js does not know: Enter where nothing else takes it, Ctrl+Enter inside a text box
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !form() || document.querySelector("dialog[open]")) return;
    const box = event.target.closest("textarea, input");
    const plain = !event.target.closest("a, button, input:not([type=radio]), textarea, select, summary");
    if (!(box && (event.ctrlKey || event.metaKey)) && !plain) return;
    event.preventDefault();
    Promise.resolve(filling).then(() => form()?.requestSubmit());
  });

  // --- the expected value: filled from elsewhere, and checked as it is typed
  // The focus stays on the page, so that Enter saves; a save waits for what is being fetched.
  let filling = null;
  function fill(url, source = "") {
    filling = (async () => {
      const answer = await fetch(url).catch(() => null);
      if (!answer?.ok) { tell("The server does not answer.", true); return; }
      expected().value = await answer.text();
      form().elements.source.value = source;
      pick();
      root().focus({ preventScroll: true });
    })();
    return filling;
  }
  function mark(url) {
    const range = /^#r=(\d+-\d+)$/.exec(location.hash)?.[1];
    if (range) fill(`${url}&r=${range}`);
    else tell("Mark a range of the raw text first, with the mouse or Shift and the arrows.", true);
  }
  function pick() {
    const value = form().querySelector("[name=expects][value=value]");
    value.checked = expected().value.trim() !== "";
    keep();
    check();
  }
  let asked = 0;
  async function check() {
    const turn = ++asked;
    const answer = await fetch(form().dataset.check, { method: "POST", body: new URLSearchParams(new FormData(form())) }).catch(() => null);
    if (!answer?.ok || turn !== asked || !form()) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of ["check", "made"]) document.getElementById(id)?.replaceWith(page.getElementById(id));
    htmx.process(document.getElementById("made"));
  }
  let waiting;
  document.addEventListener("input", (event) => {
    if (!form()?.contains(event.target)) return;
    clearTimeout(waiting);
    if (event.target === expected()) { form().elements.source.value = ""; waiting = setTimeout(pick, 150); }
    else { if (event.target.name === "expects") waiting = setTimeout(check, 50); keep(); }
  });
  addEventListener("keyup", () => {
    if (form() && document.activeElement?.type === "radio" && JSON.stringify(values()) !== drawn) keep();
  });

  document.addEventListener("htmx:after:swap", (event) => { if (!event.target.closest?.("#progress")) restore(); });
  restore();
})();

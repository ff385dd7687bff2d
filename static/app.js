// Keys, and the list of keys. Everything else is HTML.
"use strict";

const root = document.documentElement;
root.classList.add("js");

const typing = (target) => target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");
const visible = (element) => element.checkVisibility();  // false in a closed fold, where a focus would not go

// --- keys: an element says with data-key which key presses it, and with data-help what that does
function press(element) {
  if (element.matches("input[type=radio]")) { element.checked = true; element.focus(); return; }
  if (element.matches("input, textarea")) { element.focus(); element.select?.(); return; }
  element.click();
}

function step(by, selector) {
  const rows = [...document.querySelectorAll(selector)].filter(visible);
  if (!rows.length) return;
  const at = rows.findIndex((row) => row === document.activeElement);
  const row = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}

const moves = { j: [1, "[data-row]"], k: [-1, "[data-row]"], n: [1, "[data-row][data-failed]"], p: [-1, "[data-row][data-failed]"] };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open], :popover-open")) return;
  if (typing(event.target)) { if (event.key === "Escape") event.target.blur(); return; }
  const keyed = [...document.querySelectorAll("[data-key]")].find((element) => element.dataset.key === event.key);
  if (keyed) { event.preventDefault(); press(keyed); return; }
  const move = moves[event.key];
  if (move && document.querySelector(move[1])) { event.preventDefault(); step(...move); }
});

// --- what data-open and data-toggle buttons do
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-open]");
  if (opener) showKeys(document.getElementById(opener.dataset.open));
  const toggle = event.target.closest("[data-toggle]");
  if (toggle) {
    const on = document.getElementById(toggle.dataset.on).classList.toggle(toggle.dataset.toggle);
    try { localStorage.setItem(toggle.dataset.toggle, on ? "1" : ""); } catch { /* private windows keep nothing */ }
    document.dispatchEvent(new Event("settle"));
  }
});

function showKeys(dialog) {
  const list = dialog.querySelector("dl");
  list.replaceChildren();
  const entries = [...document.querySelectorAll("[data-key]")].map((element) => [element.dataset.key, element.dataset.help]);
  if (document.querySelector("[data-row]")) entries.push(["j k", "next and previous row"], ["Enter", "open it"]);
  if (document.querySelector("[data-row][data-failed]")) entries.push(["n p", "next and previous failure"]);
  for (const [key, help] of entries) {
    const term = document.createElement("dt");
    for (const name of key.split(" ")) { const k = document.createElement("kbd"); k.textContent = name; term.append(k, " "); }
    const words = document.createElement("dd");
    words.textContent = help;
    list.append(term, words);
  }
  dialog.showModal();
}

// --- no answer at all: say so where messages stand, and leave the page as it was
document.addEventListener("htmx:error", (event) => {
  if (!event.detail?.ctx?.request || event.detail.ctx.response) return;
  const line = document.createElement("p");
  line.className = "message bad";
  line.textContent = "The server did not answer. Nothing was changed; try again.";
  document.getElementById("messages").replaceChildren(line);
});

// --- what a swap removed while it held the focus: the focus goes to the place that took its part
document.addEventListener("htmx:after:swap", () => {
  if (document.activeElement === document.body) document.querySelector("[data-refocus]")?.focus({ preventScroll: true });
});

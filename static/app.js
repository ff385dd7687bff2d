// Keys, and the list of keys. Everything else is HTML.
"use strict";

const root = document.documentElement;
root.classList.add("js");

const typing = (target) => target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");
const presses = (target) => target.closest("a[href], button, summary, input[type=submit], [role=button]");  // takes Enter itself
const visible = (element) => element.checkVisibility();  // false in a closed fold, where a focus would not go

// --- keys: an element says with data-key which key presses it; webapp/web/palette.py what each means
function press(element) {
  if (element.matches("input[type=radio]")) { element.checked = true; element.focus(); return; }
  if (element.matches("input, textarea")) { element.focus(); element.select?.(); return; }
  element.click();
  if (element.matches("summary")) element.parentElement.querySelector("summary + form [required]")?.focus();
}

function step(by, selector) {
  const rows = [...document.querySelectorAll(selector)].filter(visible);
  if (!rows.length) return;
  const at = rows.findIndex((row) => row === document.activeElement);
  const row = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}

// --- keys that somebody changed or switched off (WCAG 2.1.4); kept in this browser
const stored = (act) => { try { return act(localStorage); } catch { return null; } };
const keymap = () => JSON.parse(stored((kept) => kept.getItem("keymap")) || "{}");
const keysOn = () => stored((kept) => kept.getItem("keys")) !== "off";
const shownKey = (key) => keymap()[key] ?? key;
// What the page calls the key that was pressed: undefined where that one was given away.
function meant(pressed) {
  const map = keymap();
  const origin = Object.keys(map).find((key) => map[key] === pressed);
  return origin ?? (pressed in map ? undefined : pressed);
}

const moves = { j: [1, "[data-row]"], k: [-1, "[data-row]"], n: [1, "[data-row][data-failed]"], p: [-1, "[data-row][data-failed]"] };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open], :popover-open")) return;
  if (typing(event.target)) { if (event.key === "Escape") event.target.blur(); return; }
  const key = event.key.length > 1 ? event.key : event.key === "?" ? "?" : keysOn() ? meant(event.key) : undefined;
  const keyed = [...document.querySelectorAll("[data-key]")].find((element) => element.dataset.key === key);
  if (keyed && key === "Enter" && presses(event.target)) return;
  if (keyed) { event.preventDefault(); press(keyed); return; }
  const move = moves[key];
  if (move && document.querySelector(move[1])) { event.preventDefault(); step(...move); }
});

// --- what data-open and data-toggle buttons do
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-open]");
  if (opener) commands().then((all) => all.showKeys());
  const toggle = event.target.closest("[data-toggle]");
  if (toggle) {
    const on = document.getElementById(toggle.dataset.on).classList.toggle(toggle.dataset.toggle);
    try { localStorage.setItem(toggle.dataset.toggle, on ? "1" : ""); } catch { /* private windows keep nothing */ }
    document.dispatchEvent(new Event("settle"));
  }
});

// --- ? and Ctrl-K: commands.js comes when it is asked for
const commands = () => import(document.getElementById("palette").dataset.script);
function goTo() {  // opened here, so that what is typed while commands.js comes is not lost
  document.querySelector("dialog[open]")?.close();
  document.getElementById("palette").showModal();
  document.querySelector("#palette input").select();
  commands().then((all) => all.look());
}
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); goTo(); }
});
document.addEventListener("click", (event) => { if (event.target.closest("[data-palette]")) goTo(); });

// The keys that the page names are those that work: changed ones as they are now, none where they are off.
function drawKeys() {
  root.classList.toggle("no-keys", !keysOn());
  for (const element of document.querySelectorAll("body kbd:not(dialog kbd)")) {
    element.dataset.origin ??= element.textContent;
    if (element.dataset.origin.length === 1) element.textContent = shownKey(element.dataset.origin);
  }
}
drawKeys();
document.addEventListener("htmx:after:swap", drawKeys);

// --- a line where messages stand
function tellMessage(words, look = "") {
  const line = document.createElement("p");
  line.className = `message ${look}`;
  line.textContent = words;
  document.getElementById("messages").replaceChildren(line);
}

// --- no answer at all: say so where messages stand, and leave the page as it was
document.addEventListener("htmx:error", (event) => {
  if (!event.detail?.ctx?.request || event.detail.ctx.response) return;
  tellMessage("The server did not answer. Nothing was changed; try again.", "bad");
});

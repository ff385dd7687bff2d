// The list of keys, and Ctrl-K; app.js loads this when either is asked for.
const dialog = document.getElementById("keys");
let drawn;
const keyList = () => drawn ??= (async () => {
  const list = document.querySelector("#keys dl");
  const answer = await fetch(list.dataset.from).catch(() => null);
  if (answer?.ok) list.innerHTML = await answer.text();
  else { drawn = undefined; tellKeys("The server did not answer. Try again."); }
})();
export async function showKeys() {
  if (!dialog.open) dialog.showModal();
  await keyList();
  const here = new Set([...document.querySelectorAll("[data-key]")].map((element) => element.dataset.key));
  if (document.querySelector("[data-row]")) ["j", "k", "Enter"].forEach((key) => here.add(key));
  if (document.querySelector("[data-row][data-failed]")) ["n", "p"].forEach((key) => here.add(key));
  for (const term of dialog.querySelectorAll("dt[data-of]")) {
    term.hidden = term.nextElementSibling.hidden = !here.has(term.dataset.of);
    term.firstElementChild.textContent = shownKey(term.dataset.of);
  }
  document.getElementById("keys-on").checked = keysOn();
}

let changing; // the term whose key the next press is
dialog.addEventListener("click", (event) => {
  if (!event.target.matches("dd button")) return;
  changing = event.target.parentElement.previousElementSibling;
  tellKeys(`Press the new key for “${meaning(changing)}”, Esc to leave it.`);
});
const meaning = (term) => term.nextElementSibling.firstChild.data.trim();
const tellKeys = (words) => { document.getElementById("keys-said").textContent = words; };
dialog.addEventListener("keydown", (event) => {
  if (!changing) return;
  event.preventDefault();
  event.stopPropagation();
  const [term, key] = [changing, changing.dataset.of];
  changing = undefined;
  if (event.key.length !== 1) { tellKeys("Nothing changed."); return; }
  const holder = [...document.querySelectorAll("#keys dt[data-of]")].find((each) => shownKey(each.dataset.of) === event.key);
  if (holder && holder !== term) { tellKeys(`${event.key} is taken: ${meaning(holder)}. Choose another key.`); return; }
  const map = keymap();
  if (event.key === key) delete map[key]; else map[key] = event.key;
  stored((kept) => kept.setItem("keymap", JSON.stringify(map)));
  tellKeys(`${meaning(term)}: ${event.key}`);
  showKeys();
  drawKeys();
});
document.getElementById("keys-on").addEventListener("change", (event) => {
  stored((kept) => kept.setItem("keys", event.target.checked ? "on" : "off"));
  drawKeys();
});
document.getElementById("keys-reset").addEventListener("click", () => {
  stored((kept) => kept.removeItem("keymap"));
  showKeys();
  drawKeys();
});

// Ctrl-K: pages, sessions, turns, filters by a part of their name, and what keys do here; arrows move, Enter goes
const palette = document.getElementById("palette");
const links = () => [...palette.querySelectorAll("li > :is(a, button)")];
let asked = 0, finding;
async function find() {
  const turn = ++asked, box = palette.querySelector("input"), wanted = box.value.trim().toLowerCase();
  const answer = await fetch(`${box.dataset.found}?q=${encodeURIComponent(box.value)}`).catch(() => null);
  await keyList();
  if (turn !== asked) return;
  palette.querySelector("ul").innerHTML = answer?.ok ? await answer.text() : "";
  const seen = new Set();
  for (const element of document.querySelectorAll("body > :not(dialog) [data-key]")) {
    const words = document.querySelector(`#keys dt[data-of="${CSS.escape(element.dataset.key)}"] + dd`)?.firstChild.data.trim();
    if (!words?.toLowerCase().includes(wanted) || seen.has(words) || words.startsWith("choose number")) continue;
    seen.add(words);
    const item = document.createElement("li"), act = document.createElement("button");
    act.type = "button";
    act.className = "plain";
    act.textContent = words;
    act.addEventListener("click", () => { palette.close(); press(element); });
    item.append(act);
    palette.querySelector("ul").append(item);
  }
  palette.querySelector("[role=status]").textContent = answer ? `${links().length} found` : "The server did not answer.";
}
export const look = () => { finding = find(); };
palette.addEventListener("input", look);
palette.addEventListener("keydown", (event) => {
  const all = links(), at = all.indexOf(document.activeElement), by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Enter" && at < 0) { event.preventDefault(); finding.then(() => links()[0]?.click()); }
  if (!by) return;
  event.preventDefault();
  (all[at + by] ?? (at + by < 0 ? palette.querySelector("input") : all.at(-1))).focus();
});

// Copying: a link with data-copy copies what it leads to, one with data-copy-link its own address.
"use strict";

async function copied(text, host = document.body) {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* not on https or localhost */ }
  const area = document.createElement("textarea");
  area.value = text;
  host.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

async function copyText(promise) {
  const text = await promise;
  const size = `copied ${[...text].length.toLocaleString("en")} characters`;
  const words = (await copied(text)) ? size : "The browser refused to copy";
  document.querySelectorAll(".told").forEach((told) => { told.textContent = words; });
}

document.addEventListener("click", (event) => {
  const source = event.target.closest("[data-copy], [data-copy-link]");
  if (!source || !source.href || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  copyText(source.matches("[data-copy]") ? fetch(source.href).then((answer) => answer.text()) : source.href + location.hash);
});

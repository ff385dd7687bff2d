// A session that is still growing: asks for what is new every two seconds, until the server says that it is at rest.
// The timeline itself makes room for new turns (session.js, "grown"); focus and scroll stay where they are.
"use strict";

{
  const line = document.getElementById("growing");
  const timeline = document.getElementById("timeline");

  function show(html) {
    const head = document.getElementById("session-head");
    if (!head || head.contains(document.activeElement)) return;
    const holder = document.createElement("template");
    holder.innerHTML = html;
    head.replaceChildren(...holder.content.firstElementChild.childNodes);
  }

  async function look() {
    if (document.hidden) return true;
    const answer = await fetch(`${line.dataset.url}?changed=${line.dataset.changed}`);
    if (!answer.ok) return answer.status >= 500;
    const said = (name) => answer.headers.get(`Fencepost-${name}`);
    if (answer.status === 200) {
      show(await answer.text());
      line.dataset.changed = said("Changed");
      timeline.dispatchEvent(new CustomEvent("grown", { detail: +said("Turns") }));
    }
    return said("Growing") === "yes";
  }

  async function again() {
    if (await look().catch(() => true)) setTimeout(again, 2000);
    else line.textContent = "No new turns for five minutes. Reload to check again.";
  }

  // A window that is drawn anew takes the focus with it: back to the same turn.
  let row = null;
  timeline.addEventListener("focusin", (event) => { row = event.target.closest(".turn")?.id; });
  timeline.addEventListener("focusout", (event) => { if (event.relatedTarget) row = null; });
  new MutationObserver(() => {
    if (!row || document.activeElement !== document.body) return;
    document.getElementById(row)?.querySelector("[data-row]")?.focus({ preventScroll: true });
  }).observe(timeline, { childList: true });

  setTimeout(again, 2000);
}

// Place is kept: a list's rows, scroll and focus come back with u and Back, and N and P go through its failures, from
// session to session. What is kept lies in the tab's own storage: nothing of it is in an address.
"use strict";

{
  const kept = {
    get(name) { try { return JSON.parse(sessionStorage.getItem(name)); } catch { return null; } },
    set(name, value) { try { sessionStorage.setItem(name, JSON.stringify(value)); return true; } catch { return false; } },
  };
  const here = location.pathname + location.search;
  const list = document.querySelector("[data-trail]");
  const how = performance.getEntriesByType("navigation")[0]?.type;
  const back = how === "back_forward" || kept.get("returning") === here;
  kept.set("returning", null);

  // --- a list: what is on it when it is left
  const rows = () => document.querySelector("[data-keep-rows]");
  const top = () => (rows() ? Math.round(scrollY + rows().getBoundingClientRect().top) : 0); // what stands above may grow
  function leave() {
    const url = location.pathname + location.search;
    const row = document.activeElement?.closest("[data-trail] [id]");
    const place = { y: scrollY - top(), row: row?.id, marks: document.activeElement?.matches(".outcome-marks") };
    place.picked = [...document.querySelectorAll("[data-keep-rows] :checked")].map((box) => box.value);
    if (!kept.set(`place ${url}`, { ...place, rows: rows()?.innerHTML })) kept.set(`place ${url}`, place);
    const query = new URLSearchParams(location.search);
    for (const name of ["after", "limit", "more"]) query.delete(name);
    const group = document.querySelector("[data-trail]").dataset.trail;
    if (group) query.set("group", group);
    kept.set("trail", { url, query: query.toString() });
  }
  function restore() {
    const place = kept.get(`place ${here}`);
    if (!place) return;
    history.scrollRestoration = "manual";
    if (place.rows && rows()) {
      rows().innerHTML = place.rows;
      htmx.process(rows());
      for (const box of rows().querySelectorAll("[name=ids]")) box.checked = place.picked.includes(box.value);
    }
    const row = place.row && document.getElementById(place.row);
    row?.querySelector(place.marks ? ".outcome-marks" : "[data-row]")?.focus({ preventScroll: true });
    scrollTo(0, place.y + top());
  }
  if (list) {
    addEventListener("pagehide", leave);
    if (back) restore();
  }

  // --- a session or a turn: u to where one came from, N and P through what it lists
  const at = document.querySelector("[data-session]");
  const trail = at && kept.get("trail");
  const up = document.querySelector("[data-key=u][data-to-list]");
  if (up && trail) up.href = trail.url;
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-key=u]");
    if (link) kept.set("returning", link.pathname + link.search);
    const button = event.target.closest("[data-across]");
    if (button) step(button.dataset);
  });
  async function step({ across: way, url }) {
    const row = document.activeElement?.closest(".turn");
    const query = new URLSearchParams(trail?.query);
    query.set("session", at.dataset.session);
    query.set("position", row ? row.id.slice(1) : at.dataset.position);
    query.set("way", way);
    try {
      const answer = await (await fetch(`${url}?${query}`)).json();
      if (answer.url) location.href = answer.url;
      else tellMessage(answer.reason ?? answer.error.message);
    } catch { tellMessage("The server did not answer. Try again."); }
  }
}

// The list: selecting rows, a row's menu, narrowing a facet's values, and the search that keeps the filters in view.
"use strict";

{
  const menu = document.getElementById("rowmenu");
  const boxes = () => [...document.querySelectorAll("#selection [name=ids]")];
  const rowOf = (element) => element?.closest?.("#selection tbody tr");
  let row = null;
  let last = null;
  let narrowed = null;

  // --- selecting: with the pointer, with x on the row that holds the focus, a range with Shift
  function count() {
    const picked = boxes().filter((box) => box.checked).length;
    const says = document.querySelector(".picked");
    if (says) says.textContent = `${picked.toLocaleString("en")} selected`;
  }
  function reach(to) {
    const all = boxes();
    const [from, until] = [all.indexOf(last), all.indexOf(to)].sort((a, b) => a - b);
    for (const box of all.slice(Math.max(0, from), until + 1)) box.checked = to.checked;
  }
  document.addEventListener("focusin", (event) => { row = rowOf(event.target) || row; });
  document.addEventListener("click", (event) => {
    const box = event.target.closest("#selection [name=ids]");
    if (box) {
      if (event.shiftKey && last) reach(box);
      last = box;
      count();
    }
    const act = event.target.closest("[data-act]")?.dataset.act;
    if (act) acts[act](event.target);
    const dots = event.target.closest(".dots");
    if (dots) openMenu(dots);
    const copy = event.target.closest("[data-copy]");
    if (copy) copyOf(copy.dataset.copy);
    narrowed = /[?&]more=(\w+)/.exec(event.target.closest(".facets a")?.getAttribute("href"))?.[1] || null;
  });
  const acts = {
    all: (box) => { for (const other of boxes()) other.checked = box.checked; count(); },
    none: () => { for (const box of boxes()) box.checked = false; count(); },
    pick: () => { const box = rowNow()?.querySelector("[name=ids]"); if (box) { box.checked = !box.checked; last = box; count(); } },
    reach: () => { const box = rowNow()?.querySelector("[name=ids]"); if (box) { box.checked = true; reach(box); last = box; count(); } },
    menu: () => { const dots = rowNow()?.querySelector(".dots"); if (dots) openMenu(dots); },
  };
  const rowNow = () => (row?.isConnected ? row : null);

  // A key that acts on a selection acts on the row with the focus where nothing is selected.
  document.addEventListener("submit", (event) => {
    if (event.target.id === "selection" && !boxes().some((box) => box.checked)) {
      const box = rowNow()?.querySelector("[name=ids]");
      if (box) { box.checked = true; count(); } else event.preventDefault();
    }
    if (event.target.matches(".find")) keepFilters(event.target);
  }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("#selection [type=checkbox]")) { event.preventDefault(); event.target.click(); }
  });

  // --- a row's menu
  function openMenu(dots) {
    row = rowOf(dots);
    const box = dots.getBoundingClientRect();
    menu.querySelector("p").textContent = "";
    menu.showPopover();
    menu.style.left = `${Math.max(8, Math.min(box.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`;
    menu.style.top = `${Math.min(box.bottom + 2, innerHeight - menu.offsetHeight - 8)}px`;
    menu.querySelector("button").focus();
  }
  menu?.addEventListener("toggle", (event) => {
    const lost = event.newState === "closed" && document.activeElement === document.body;
    if (lost) rowNow()?.querySelector("[data-row]").focus();
  });
  async function copyOf(what) {
    const link = rowNow().querySelector("[data-row]");
    const own = rowNow().querySelector(".dots").dataset.id;
    const dump = link.href.replace(/\/sessions\/([^/]*)$/, "/api/session/$1/dump");
    const id = own ? JSON.parse(own) : decodeURIComponent(link.href.split("/").pop());
    const text = { link: link.href, id, curl: `curl -o session.json '${dump}'` }[what];
    menu.querySelector("p").textContent = (await copied(text, menu)) ? "Copied" : "The browser refused to copy";
  }

  // --- facets: narrow a long one's values as one types
  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-narrow]")) return;
    const wanted = event.target.value.toLowerCase();
    for (const item of event.target.closest("details").querySelectorAll("li")) {
      item.hidden = !item.textContent.toLowerCase().includes(wanted);
    }
  });

  // --- the search box stands outside of what is swapped, so it reads the filters from the address
  function keepFilters(form) {
    for (const field of form.querySelectorAll("[type=hidden]")) field.remove();
    for (const [name, value] of new URLSearchParams(location.search)) {
      if (["q", "after", "more", "limit"].includes(name)) continue;
      const field = Object.assign(document.createElement("input"), { type: "hidden", name, value });
      form.append(field);
    }
  }
  document.addEventListener("htmx:after:history:push", () => {
    const field = document.querySelector(".find [name=q]");
    if (document.activeElement !== field) field.value = new URLSearchParams(location.search).get("q") || "";
  });
  document.addEventListener("htmx:after:swap", () => {
    if (narrowed) document.getElementById(`narrow-${narrowed}`)?.focus();
    narrowed = null;
    count();
  });
  count();
}

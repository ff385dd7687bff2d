// Lists: what a swap removed while it held the focus gives it to what took its part, "More" to the first row of more.
"use strict";

let held;
document.addEventListener("htmx:before:swap", () => {
  held = document.activeElement.closest("tr.next")?.previousElementSibling ?? document.activeElement;
});
document.addEventListener("htmx:after:swap", () => {
  if (held === document.body || document.activeElement !== document.body) return;
  const row = held.isConnected && held.nextElementSibling?.querySelector("[data-row]");
  (row || document.querySelector("[data-refocus]"))?.focus({ preventScroll: true });
});

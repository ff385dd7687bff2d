// A drag over the chart of failure rates sets the time window; a click alone is the link of its step.
"use strict";

{
  let from;
  const step = (event) => event.target.closest?.("#rates a[data-since]");
  const end = (one, two) => (one.getBoundingClientRect().x <= two.getBoundingClientRect().x ? [one, two] : [two, one]);
  document.addEventListener("pointerdown", (event) => { from = step(event); if (from) event.preventDefault(); });
  document.addEventListener("pointermove", (event) => {
    const to = from && step(event);
    if (!to) return;
    const [first, last] = end(from, to);
    let on = false;
    for (const each of document.querySelectorAll("#rates a")) {
      on ||= each === first;
      each.classList.toggle("on", on);
      if (each === last) on = false;
    }
  });
  document.addEventListener("pointerup", (event) => {
    const to = from && step(event), began = from;
    from = undefined;
    if (!to || to === began) return;
    const [first, last] = end(began, to), url = new URL(location.href);
    url.searchParams.set("since", first.dataset.since);
    url.searchParams.set("until", last.dataset.until);
    url.searchParams.delete("after");
    location.href = url.href;
  });
}

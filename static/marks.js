// Outcome marks and the map of a session. Marks: pointing at a mark, or going through the marks with the arrow keys, names the
// response and makes them a link to its turn, so that a click, Enter and the browser's own menu all lead there.
"use strict";

{
  const names = { f: "failed", s: "failed, fencepost reads it", r: "repaired", e: "extracted", c: "clean", n: "none" };
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  let now = null;
  const percent = (share) => `${(100 * share).toLocaleString("en", { maximumSignificantDigits: 2 })} %`;

  function point(marks, mark) {
    if (now === mark) return;
    now?.classList.remove("at");
    now = mark;
    marks.dataset.home ??= marks.getAttribute("href");
    marks.href = marks.dataset.home;
    tip.hidden = !mark;
    if (!mark) return;
    const [each, of] = [+marks.dataset.each, +marks.dataset.of];
    const first = [...marks.children].indexOf(mark) * each;
    const last = Math.min(of, first + each) - 1;
    const [path] = marks.dataset.home.split("?");
    marks.href = `${path}/responses/${first}${each > 1 ? `?of=${each}` : ""}`;
    mark.classList.add("at");
    const which = last > first ? `responses ${first + 1}–${last + 1}` : `response ${first + 1}`;
    const failed = marks.dataset.failures?.split(" ")[first / each] ?? 0;
    const share = `${failed} of ${last - first + 1} failed, ${percent(failed / (last - first + 1))}`;
    tip.textContent = `${which} of ${of}: ${+failed ? share : `${last > first ? "at worst " : ""}${names[mark.className[0]]}`}`;
    beside(mark);
  }
  function beside(mark) {
    const box = mark.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(box.left - 8, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${box.top > 40 ? box.top - tip.offsetHeight - 7 : box.bottom + 7}px`;
  }

  const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  function stepped(event, marks, from) {
    event.preventDefault();
    return marks[Math.max(0, Math.min(marks.length - 1, marks.indexOf(from) + STEPS[event.key]))];
  }

  // The map of a session: one stop for Tab, arrows go from mark to mark, and each says what it stands for.
  function tell(cell) {
    tip.hidden = !cell;
    if (!cell) return;
    tip.textContent = cell.getAttribute("aria-label");
    beside(cell);
  }
  for (const [name, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    document.addEventListener(name, (event) => {
      const cell = event.target.closest?.(".map svg a");
      if (cell) tell(on ? cell : null);
    });
  }
  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest?.(".map svg a");
    if (!cell || !STEPS[event.key]) return;
    const cells = [...cell.ownerSVGElement.querySelectorAll("a")];
    const to = stepped(event, cells, cell);
    cell.setAttribute("tabindex", -1);
    to.setAttribute("tabindex", 0);
    to.focus();
  });

  document.addEventListener("pointermove", (event) => {
    const marks = event.target.closest?.("a.outcome-marks");
    if (marks) { if (event.target !== marks) point(marks, event.target); }
    else if (now && !now.parentElement.matches(":focus-visible")) point(now.parentElement, null);
  });
  document.addEventListener("pointerdown", (event) => {
    const marks = event.target.closest?.("a.outcome-marks");
    if (marks && event.target !== marks) point(marks, event.target);
  });
  document.addEventListener("focusin", (event) => {
    const marks = event.target;
    if (marks.matches("a.outcome-marks:focus-visible")) point(marks, marks.querySelector(".f, .s, [class^=q]") || marks.firstElementChild);
  });
  document.addEventListener("focusout", (event) => { if (now?.parentElement === event.target) point(event.target, null); });
  document.addEventListener("keydown", (event) => {
    const marks = event.target.closest?.("a.outcome-marks");
    if (marks && STEPS[event.key]) point(marks, stepped(event, [...marks.children], now));
  });
}

// Colours that the user chose, kept in this browser, and a word if the server is gone. Everything
// else is a link, a form or htmx.
"use strict";
(() => {
  const root = document.documentElement;
  const buttons = document.querySelectorAll("[data-theme-choice]");
  const choose = (theme) => {
    root.dataset.theme = theme;
    for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.themeChoice === theme));
  };
  for (const one of document.querySelectorAll("[data-needs-script]")) one.hidden = false;
  for (const one of buttons) {
    one.addEventListener("click", () => {
      choose(one.dataset.themeChoice);
      try { localStorage.setItem("theme", one.dataset.themeChoice); } catch { /* kept for this page */ }
    });
  }
  try { choose(localStorage.getItem("theme") ?? "auto"); } catch { choose("auto"); }

  // A page that is being left asks for nothing more: an answer that leads elsewhere would win.
  document.addEventListener("submit", (event) => {
    const rounds = document.getElementById("rounds");
    if (rounds === null || event.target.hasAttribute("hx-post")) return;
    htmx.trigger(rounds, "htmx:abort");
    const still = rounds.cloneNode(true);
    still.removeAttribute("hx-get");
    rounds.replaceWith(still);
  });

  const silent = document.getElementById("silent");
  const gone = [403, 404];  // another studio has the port now
  document.addEventListener("htmx:sendError", () => { silent.hidden = false; });
  document.addEventListener("htmx:afterOnLoad", (event) => {
    silent.hidden = !gone.includes(event.detail.xhr.status);
  });
})();

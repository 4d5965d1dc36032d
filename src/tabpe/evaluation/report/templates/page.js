// Search, sort and theme. All content is on the page without this; nothing here makes markup.
(() => {
  "use strict";
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  all("[data-needs-script]").forEach((element) => { element.hidden = false; });

  const themes = all("[data-theme-choice]");
  const remember = (theme) => { try { localStorage.setItem("tabpe-theme", theme); } catch { /* not kept */ } };
  const remembered = () => { try { return localStorage.getItem("tabpe-theme"); } catch { return null; } };
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    themes.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme)));
  };
  themes.forEach((button) => button.addEventListener("click", () => {
    show(button.dataset.themeChoice);
    remember(button.dataset.themeChoice);
  }));
  if (["light", "dark"].includes(remembered())) show(remembered());

  const search = document.getElementById("search");
  if (search) {
    const rows = all("#column-table tbody tr");
    const cards = new Map(all("#column-cards > li").map((card) => [card.dataset.column, card]));
    const texts = rows.map((row) => `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase());
    const filter = () => {
      const wanted = search.value.trim().toLowerCase();
      if (wanted) document.getElementById("column-pictures").open = true;
      let found = 0;
      rows.forEach((row, place) => {
        const hidden = !texts[place].includes(wanted);
        row.hidden = hidden;
        const card = cards.get(row.dataset.column);
        if (card) card.hidden = hidden;
        found += hidden ? 0 : 1;
      });
      document.getElementById("found").textContent = wanted ? `${found} of ${rows.length} columns` : "";
    };
    search.addEventListener("input", filter);
  }

  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const value = (row, place) => {
    const cell = row.cells[place];
    return "value" in cell.dataset ? (cell.dataset.value === "" ? null : Number(cell.dataset.value)) : cell.textContent;
  };
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : collator.compare(a, b));
  };
  const sort = (table, head) => {
    const place = head.cellIndex;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const numeric = rows.some((row) => typeof value(row, place) === "number");
    const before = head.getAttribute("aria-sort");
    const after = before === null ? (numeric ? "descending" : "ascending") : (before === "ascending" ? "descending" : "ascending");
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", after);
    rows.sort((one, two) => compare(value(one, place), value(two, place), after === "ascending" ? 1 : -1));
    rows.forEach((row) => body.append(row));
    if (table.id === "column-table") arrange(rows);
  };
  const arrange = (rows) => {
    const list = document.getElementById("column-cards");
    rows.forEach((row) => {
      const card = list.querySelector(`li[data-column="${Number(row.dataset.column)}"]`);
      if (card) list.append(card);
    });
  };
  all("table.sortable").forEach((table) => {
    all("button.sort", table).forEach((button) => {
      button.addEventListener("click", () => sort(table, button.closest("th")));
    });
  });

  const links = new Map(all("nav.contents a").map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      links.forEach((link, id) => {
        if (id === entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      });
    });
  }, { rootMargin: "-20% 0px -70% 0px" });
  all("main > header, main > section").forEach((section) => watcher.observe(section));

  addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
})();

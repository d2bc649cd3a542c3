// A search of the headings of all pages. Without scripts there is the list of pages, and no search.
(() => {
  "use strict";
  // Each is the page's title, the heading, and where it is below the site's first page.
  const headings = [
{{- range $page := site.RegularPages }}
{{- $title := partial "title.html" $page }}
{{- range $page.Fragments.Headings }}{{ range .Headings }}
    {{ slice $title (.Title | plainify | htmlUnescape) (print $page.File.ContentBaseName ".html#" .ID) | jsonify }},
{{- range .Headings }}
    {{ slice $title (.Title | plainify | htmlUnescape) (print $page.File.ContentBaseName ".html#" .ID) | jsonify }},
{{- end }}{{ end }}
    {{ slice $title $title (print $page.File.ContentBaseName ".html") | jsonify }},
{{- end }}{{ end }}
  ];
  const most = 12;
  const form = document.getElementById("search");
  const input = form.querySelector("input");
  const results = document.getElementById("results");
  const root = document.currentScript.src.replace(/[^/]*$/, "");

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    results.replaceChildren();
    if (words.length === 0) return;
    const found = headings.filter(([title, heading]) => words.every((word) => (heading + " " + title).toLowerCase().includes(word)));
    const begins = ([, heading]) => (heading.toLowerCase().startsWith(words[0]) ? 0 : 1);
    found.sort((a, b) => begins(a) - begins(b));
    for (const [title, heading, where] of found.slice(0, most)) {
      const link = document.createElement("a");
      link.href = root + where;
      link.textContent = heading;
      const page = document.createElement("small");
      page.textContent = heading === title ? "" : " " + title;
      const item = document.createElement("li");
      item.append(link, page);
      results.append(item);
    }
    if (found.length === 0) {
      const item = document.createElement("li");
      item.textContent = "No heading has these words.";
      results.append(item);
    }
  };

  input.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    results.querySelector("a")?.click();
  });
  form.addEventListener("keydown", (event) => {
    const links = [input, ...results.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      links[Math.min(links.length - 1, Math.max(0, links.indexOf(document.activeElement) + step))].focus();
    } else if (event.key === "Escape") {
      input.value = "";
      show();
      input.focus();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
  });
  form.hidden = false;
})();

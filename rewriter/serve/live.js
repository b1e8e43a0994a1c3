"use strict";
// Fetches what a page shows every few seconds, and draws it if it has changed. Every text is set as text.
(() => {
  const PAUSE = 3000;
  const root = `/${location.pathname.split("/")[1]}/`, token = location.pathname.split("/")[1];
  const find = (id) => document.getElementById(id);
  const made = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const status = (text) => { find("status").textContent = text; };

  const table = (element, columns, rows) => {
    const head = made("tr");
    for (const column of columns) head.append(made("th", column.replace(/^#/, ""), column.startsWith("#") ? "number" : ""));
    const body = rows.map((cells) => {
      const row = made("tr");
      cells.forEach((cell, index) => {
        const td = made("td", undefined, columns[index].startsWith("#") ? "number" : "");
        if (cell instanceof Node) td.append(cell); else td.textContent = cell ?? "";
        row.append(td);
      });
      return row;
    });
    element.replaceChildren(head, ...body);
  };
  const number = (value) => value.toLocaleString("en");
  const bad = (value) => (value ? made("span", number(value), "bad") : "");

  const showFacts = (data) => {
    const rows = [];
    for (const fact of data.facts) {
      const link = made("a", fact.shown);
      link.href = `fact?name=${encodeURIComponent(fact.name)}`;
      if (fact.error) rows.push([link, fact.cube, made("span", fact.error, "bad")]);
      (fact.periods || []).forEach((part, index) => rows.push([
        index ? "" : link, index ? "" : fact.cube, `${part.table} ${part.period}`, part.latest, number(part.partitions),
        bad(part.outdated), bad(part.incomplete), bad(part.unproven), part.open ? number(part.open) : "",
        index || !fact.missing ? "" : made("span", fact.missing, "bad"),
      ]));
    }
    table(find("facts"), ["fact", "cube", "table", "latest", "#partitions", "#outdated", "#incomplete", "#unproven", "#open", "missing"], rows);
    if (!rows.length) find("facts").append(made("tr", "There is no fact yet."));
    table(find("commits"), ["#commit", "ended", "wrote"], data.commits.map((one) => [number(one.commit), one.ended, one.objects]));
  };

  const showFact = (data) => {
    const place = find("chart");
    find("title").textContent = data.chart.title;
    if (place.chart) place.chart.take(data.chart); else place.chart = window.rewriterChart(place, data.chart);
  };

  const poll = async (path, show) => {
    let version = "";
    for (;;) {
      if (!document.hidden) {
        try {
          const separator = path.includes("?") ? "&" : "?";
          const answer = await fetch(`${root}${path}${separator}since=${encodeURIComponent(version)}`, { cache: "no-store", credentials: "omit" });
          if (answer.status === 200) {
            const data = await answer.json();
            version = data.version;
            show(data);
            document.body.dataset.version = version;
            status(`As of ${new Date().toLocaleTimeString()}.`);
          } else if (answer.status !== 204) {
            const data = await answer.json().catch(() => ({}));
            status(data.error || `The server refused the request (${answer.status}).`);
          }
        } catch {
          status("The server cannot be reached. This is the last state that it sent.");
        }
      }
      await new Promise((wake) => setTimeout(wake, PAUSE));
    }
  };

  const showPlan = (data) => {
    const place = find("plan");
    place.replaceChildren();
    if (data.error) place.append(made("pre", data.error, "bad"));
    if (!data.covers) return;
    for (const warning of data.warnings) place.append(made("p", `Warning: ${warning}`, "bad"));
    for (const cover of data.covers) {
      const chart = made("div", undefined, "chart");
      place.append(made("h2", cover.title), chart);
      window.rewriterChart(chart, cover);
    }
    if (data.omitted) place.append(made("p", `${data.omitted} more covers are not drawn.`));
    place.append(made("h2", "Tables"));
    const tables = made("table");
    table(tables, ["table", "#partitions read", "#of"], data.tables.map((one) => [
      one.table, one.read === undefined ? "whole" : number(one.read), one.total === undefined ? "" : number(one.total)]));
    place.append(tables, made("h2", "Rewritten"), made("pre", data.sql));
  };
  const ask = async (event) => {
    event?.preventDefault();
    status("Planning …");
    find("plan").replaceChildren();
    try {
      const answer = await fetch(`${root}data/query`, {
        method: "POST", cache: "no-store", credentials: "omit", body: JSON.stringify({ sql: find("sql").value }),
        headers: { "Content-Type": "application/json", "X-Rewriter-Token": token },
      });
      const data = await answer.json().catch(() => ({}));
      showPlan(answer.ok ? data : { error: data.error || `The server refused the request (${answer.status}).` });
      status("");
    } catch {
      status("The server cannot be reached.");
    }
  };

  if (find("facts")) poll("data/facts", showFacts);
  if (find("title")) poll(`data/fact?name=${encodeURIComponent(new URLSearchParams(location.search).get("name") ?? "")}`, showFact);
  if (find("query")) {
    find("query").addEventListener("submit", ask);
    find("sql").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(event); });
  }
})();

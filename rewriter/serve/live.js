"use strict";
// Fetches what a page shows every few seconds, and draws it if it has changed. Every text is set as text.
(() => {
  const PAUSE = 3000;
  const [, token] = location.pathname.split("/"), root = `/${token}/`;
  const asked = new URLSearchParams(location.search);
  const find = (id) => document.getElementById(id);
  // An element with its class, and its content: texts and elements.
  const made = (name, className, ...content) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...content.filter((part) => part !== undefined && part !== ""));
    return element;
  };
  const status = (text) => { find("status").textContent = text; };
  const number = (value) => value.toLocaleString("en");
  const periods = (count, base) => `${number(count)} ${base} ${count === 1 ? "period" : "periods"}`;
  const pageOf = (fact) => `fact?name=${encodeURIComponent(fact.name)}`;
  const linkTo = (address, text) => Object.assign(made("a", "", text), { href: address });

  const table = (element, columns, rows) => {
    const isNumber = columns.map((column) => (column.startsWith("#") ? "number" : ""));
    const head = made("tr", "", ...columns.map((column, index) => made("th", isNumber[index], column.replace(/^#/, ""))));
    const body = rows.map((cells) => made("tr", "", ...cells.map((cell, index) => made("td", isNumber[index], cell ?? ""))));
    element.replaceChildren(made("thead", "", head), made("tbody", "", ...body));
    return element;
  };

  // How much of a time can be queried: the three words, each with a shape of its own.
  const WORDS = {
    whole: "whole: every query can read it, by each column and down to the base period",
    partly: "partly: some queries can: of a part of it, by longer periods only, or without some columns",
    not: "not: no query can. It fails and names the time, or skips it with rewriter.partial_data",
  };
  const mark = (state) => made("i", `mark ${state}`);
  const badge = (state) => made("span", "badge", mark(state), state);
  const drawLegend = (states = [], names = {}) => find("legend").replaceChildren(
    made("ul", "legend", ...Object.entries(WORDS).map(([state, text]) => made("li", "", mark(state), text))),
    made("ul", "legend", ...states.map((state) => made("li", "", made("span", "bar", made("span", `slice ${state}`)), names[state]))));
  const counted = (fact) => {
    const counts = Object.entries(fact.counts).filter(([, count]) => count), all = counts.reduce((sum, [, count]) => sum + count, 0);
    const shares = counts.length === 1 ? `all ${counts[0][0]}` : counts.map(([state, count]) => `${number(count)} ${state}`).join(", ");
    return all ? `${periods(all, fact.base)}: ${shares}` : "There is no partition yet.";
  };

  const HEADS = {
    HOURLY: [24, (column) => (column % 6 ? "" : String(column))],
    DAILY: [31, (column) => (column && (column + 1) % 5 ? "" : String(column + 1))],
    MONTHLY: [12, (column) => String(column + 1)],
    YEARLY: [10, (column) => String(column)],
  };
  const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };

  // A calendar: a button for each cell. One of them is reached with Tab, the others with the arrow keys; the line below
  // says what the one under the pointer or the focus is. ``open`` is called with a cell that is pressed.
  const calendar = (data, title, open) => {
    const place = made("div", "calendar"), [width, head] = HEADS[data.unit];
    const said = made("p", "said soft", "Point at a time, or move with the arrow keys, to see why. Press it to look closer.");
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", title);
    place.dataset.unit = data.unit;
    said.setAttribute("role", "status");
    const line = (name, cells) => {
      const row = made("div", "cells", ...cells);
      row.style.gridTemplateColumns = `repeat(${width}, minmax(0, var(--cell)))`;
      place.append(made("span", "name", name), row);
      return row;
    };
    line("", Array.from({ length: width }, (_, column) => made("span", "head", head(column))));
    const rows = data.rows.map((row) => {
      const cells = row.cells.map(([name, state, start, end, ...reasons]) => {
        const cell = made("button", `mark ${state}`);
        const text = `${name}: ${state || "nothing is asked for"}`;
        cell.type = "button";
        cell.tabIndex = -1;
        cell.setAttribute("aria-label", [text, ...reasons].join(". "));
        const say = () => said.replaceChildren(made("b", "", text), ...reasons.map((reason) => made("span", "", reason)));
        cell.addEventListener("pointerenter", say);
        cell.addEventListener("focus", say);
        cell.addEventListener("click", () => open(name, start, end));
        return cell;
      });
      if (cells.length) cells[0].style.gridColumnStart = row.column + 1;
      line(row.name, cells);
      return cells;
    });
    const first = rows.flat()[0];
    if (first) first.tabIndex = 0;
    place.addEventListener("keydown", (event) => {
      const index = rows.findIndex((row) => row.includes(event.target)), by = STEPS[event.key];
      if (index < 0 || !by || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const all = rows.flat(), at = rows[index].indexOf(event.target) + data.rows[index].column;
      const other = event.key === "ArrowUp" || event.key === "ArrowDown" ? rows[index + by] : undefined;
      const next = event.key.endsWith("Left") || event.key.endsWith("Right") ? all[all.indexOf(event.target) + by]
        : other && other[Math.min(Math.max(at - data.rows[index + by].column, 0), other.length - 1)];
      if (!next) return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    return made("div", "", place, said);
  };

  // A bar of slices: runs of (state, whether all of the slice, slices).
  const bar = (label, runs, text, isReadable) => {
    const slices = runs.map(([state, isWhole, count]) => {
      const slice = made("span", isReadable ? `mark ${state}` : `slice ${state}${isWhole ? "" : " part"}`);
      slice.style.flexGrow = count;
      slice.title = state ? `${label}: ${state}` : "";
      return slice;
    });
    const drawn = made("div", isReadable ? "bar readable" : "bar", ...slices);
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", `${label}: ${text}`);
    return made("div", "line", made("span", "label", label), drawn, made("span", "soft amount", text));
  };
  const NEEDED = ["outdated", "incomplete", "unproven", "differs", "open"];
  const bars = (fact) => {
    const lines = [bar("can be queried", fact.line.map(([state, count]) => [state, true, count]), fact.state, true)];
    for (const part of fact.periods) {
      const needed = NEEDED.filter((state) => part[state]).map((state) => `${number(part[state])} ${state}`);
      lines.push(bar(`${part.table} ${part.period}`, part.bar, [number(part.partitions), ...needed].join(", "), false));
    }
    const ends = made("div", "ends soft", ...fact.ends.map((end) => made("span", "", end)));
    return made("div", "bars", ...lines, made("div", "line", made("span", "label"), ends, made("span", "amount")));
  };

  const card = (fact) => {
    const link = linkTo(pageOf(fact), fact.shown), head = made("h3", "", link);
    if (fact.error) return made("article", "card", head, made("pre", "bad", fact.error));
    const place = made("article", "card", made("div", "head", head, badge(fact.state)),
      made("p", "soft", `cube ${fact.cube} · ${counted(fact)}`, fact.missing ? " · " : "",
        fact.missing ? made("span", "bad", `${fact.missing} missing`) : ""));
    if (fact.calendar) {
      const opened = calendar(fact.calendar, `Calendar of ${fact.shown}`, (_, start, end) => {
        location.href = `${pageOf(fact)}&from=${start}&to=${end}`;
      });
      place.append(made("div", "both", opened, bars(fact)));
    }
    return place;
  };
  const showFacts = (data) => {
    const states = Object.keys(WORDS).map((state) => [state, data.facts.filter((fact) => fact.state === state).length]);
    find("summary").replaceChildren(...states.filter(([, count]) => count).map(
      ([state, count]) => made("span", "badge", mark(state), `${number(count)} ${state}`)));
    find("facts").replaceChildren(...data.facts.map(card));
    if (!data.facts.length) find("facts").append(made("p", "", "There is no fact yet."));
    const used = new Set(data.facts.flatMap((fact) => (fact.periods ?? []).flatMap((part) => part.bar.map(([state]) => state))));
    drawLegend(Object.keys(data.states).filter((state) => used.has(state)), data.states);
    table(find("commits"), ["#commit", "ended", "wrote"], data.commits.map((one) => [number(one.commit), one.ended, one.objects]));
  };

  const showDue = (data, name) => {
    const items = data.due.filter((item) => name === undefined || item.name === name).map((item) => {
      const fact = name === undefined ? linkTo(pageOf(item), item.shown) : "";
      if (item.error) return made("li", "", fact, made("pre", "bad", item.error));
      const what = made("span", "what", fact, made("b", `state ${item.state}`, item.state), `${item.periods} of ${item.table}`);
      return made("li", "", what, made("span", "soft", item.time),
        made("span", "soft", item.first ?? ""), item.statement ? made("code", "", item.statement) : "");
    });
    find("due").replaceChildren(items.length ? made("ul", "due", ...items) : made("p", "soft", "Nothing is due."));
  };

  // The calendar of a fact: a press on a cell shows its shorter periods, and moves the chart there.
  let path = [];
  const drawCalendar = (fact, data) => {
    const steps = path.map((step, index) => {
      const button = made("button", "", step.name);
      button.type = "button";
      button.addEventListener("click", () => { path = path.slice(0, index + 1); drawCalendar(fact, path.at(-1).data); show(path.at(-1)); });
      return button;
    });
    find("calendar").replaceChildren(made("p", "row", ...(steps.length > 1 ? steps : [])),
      data ? calendar(data, `Calendar of ${fact.shown}`, (name, start, end) => openCell(fact, { name, start, end })) : "");
  };
  // Moves the chart to a step of the path. A chart that was cut, because it has too many ranges, is replaced.
  const show = ({ start, end, chart: data }) => {
    const { chart } = find("chart");
    if (!path[0].isCut) {
      if (chart.window) chart.show(start ?? chart.window[0], end ?? chart.window[1]);
    } else if (data) {
      chart.view = undefined;
      chart.take(data);
    }
  };
  const openCell = async (fact, step) => {
    show(step);
    if (!path.at(-1).data || (path.at(-1).data.unit === "HOURLY" && !path[0].isCut)) return;
    const address = `${root}data/calendar?name=${encodeURIComponent(fact.name)}&from=${step.start}&to=${step.end}`;
    const answer = await fetch(address, { cache: "no-store", credentials: "omit" }).catch(() => undefined);
    if (!answer?.ok) return;
    const { calendar: data, chart } = await answer.json();
    show({ ...step, chart });
    if (!data || data.unit === path.at(-1).data.unit) return;
    path.push({ ...step, data, chart });
    drawCalendar(fact, data);
    find("calendar").querySelector("button.mark")?.focus();
  };
  const showFact = (data) => {
    const place = find("chart"), { fact } = data, isFirst = !place.chart;
    find("title").replaceChildren(fact.shown, badge(fact.state));
    const query = linkTo(`query?fact=${encodeURIComponent(fact.name)}`, "Query it");
    find("glance").replaceChildren(made("p", "", `cube ${fact.cube} · ${counted(fact)}`),
      made("p", "soft", [fact.time, fact.zone === "UTC" ? "" : fact.zone].filter(Boolean).join(" · ")), made("p", "", query));
    if (isFirst) place.chart = window.rewriterChart(place, data.chart); else place.chart.take(data.chart);
    path = [{ name: "all", data: data.calendar, chart: data.chart, isCut: Boolean(data.cut) }];
    find("cut").textContent = data.cut ? `The bars begin at ${data.cut}: there are too many ranges before. Press a time of the calendar to see its bars.` : "";
    drawCalendar(fact, data.calendar);
    drawLegend();
    const gaps = data.gaps.map((gap) => made("li", "", badge(gap.state), made("span", "", gap.time), made("span", "soft", gap.reason)));
    find("gaps").replaceChildren(...(gaps.length ? [made("h2", "", "What not every query can read"), made("ul", "due", ...gaps)] : []),
      data.omitted ? made("p", "soft", `${number(data.omitted)} earlier ranges: the calendar has all.`) : "");
    if (isFirst && asked.has("from")) openCell(fact, { name: "", start: Number(asked.get("from")), end: Number(asked.get("to")) });
  };

  const poll = async (address, take, isMain) => {
    let version = "";
    for (;;) {
      if (!document.hidden) {
        try {
          const separator = address.includes("?") ? "&" : "?";
          const answer = await fetch(`${root}${address}${separator}since=${encodeURIComponent(version)}`, { cache: "no-store", credentials: "omit" });
          if (answer.status === 200) {
            const data = await answer.json();
            version = data.version;
            take(data);
            if (isMain) document.body.dataset.version = version;
            if (isMain) status(`as of ${new Date().toLocaleTimeString()}`);
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

  // An error: the line with its caret keeps its place, the other lines are broken where the window ends.
  const errorLines = (text) => {
    const lines = text.split("\n"), caret = lines.findIndex((line) => /^\s*\^+$/.test(line));
    const shown = lines.map((line, index) => (index === caret - 1 || index === caret ? "" : made("p", index ? "soft" : "bad", line)));
    if (caret > 0) shown[caret] = made("pre", "error", lines.slice(caret - 1, caret + 1).join("\n"));
    return [made("div", "refusal", ...shown)];
  };
  const showAnswer = (data) => {
    const place = find("answer"), add = (...parts) => place.append(...parts);
    const details = (title, ...content) => made("details", "", made("summary", "", title), ...content);
    place.replaceChildren();
    if (data.error) add(...errorLines(data.error));
    if (data.place) {
      const button = made("button", "", "Show the place");
      button.type = "button";
      button.addEventListener("click", () => { find("sql").focus(); find("sql").setSelectionRange(...data.place); });
      add(button);
    }
    if (data.missing?.length) add(made("h2", "", "Missing"), made("ul", "ranges", ...data.missing.map((range) => made("li", "", range))));
    for (const warning of (data.error ? [] : data.warnings) || []) add(made("p", "bad", `Warning: ${warning}`));
    const took = data.covers === undefined ? "" : `planned in ${data.planned.toFixed(2)} s`;
    if (data.result) {
      const { columns, right, rows, more, omitted } = data.result;
      const result = table(made("table", "result"), columns.map((column, index) => (right[index] ? "#" : "") + column.name), rows);
      const count = `${more ? "the first " : ""}${number(rows.length)} ${rows.length === 1 ? "row" : "rows"}`;
      const columnsLeft = omitted ? `${number(omitted)} more columns` : "";
      add(made("div", "scroll", result), made("p", "soft", [count, columnsLeft, `ran in ${data.elapsed.toFixed(2)} s`, took].filter(Boolean).join(" · ")));
    } else if (took) add(made("p", "soft", took));
    if (!data.covers) return;
    for (const cover of data.covers) {
      const chart = made("div", "chart");
      add(made("h2", "", cover.title), chart);
      window.rewriterChart(chart, cover);
    }
    if (data.omitted) add(made("p", "", `${data.omitted} more covers are not drawn.`));
    const read = table(made("table"), ["table", "#partitions read", "#of"], data.tables.map((one) => [
      one.table, one.read === undefined ? "whole" : number(one.read), one.total === undefined ? "" : number(one.total)]));
    add(made("h2", "", "Tables"), made("div", "scroll", read), details("The query as it runs", made("pre", "", data.sql)));
  };
  const ask = async (event) => {
    event.preventDefault();
    const chosen = event.submitter ?? find("query").querySelector("button[type=submit]"), runs = chosen.value === "run";
    status(runs ? "running …" : "planning …");
    find("answer").replaceChildren();
    chosen.disabled = true;
    try {
      const answer = await fetch(`${root}data/query`, {
        method: "POST", cache: "no-store", credentials: "omit",
        body: JSON.stringify({ sql: find("sql").value, run: runs, partial: find("partial").checked }),
        headers: { "Content-Type": "application/json", "X-Rewriter-Token": token },
      });
      const data = await answer.json().catch(() => ({}));
      showAnswer(answer.ok ? data : { error: data.error || `The server refused the request (${answer.status}).` });
      status("");
    } catch {
      status("The server cannot be reached.");
    }
    chosen.disabled = false;
  };
  const offerExamples = async () => {
    const answer = await fetch(`${root}data/examples`, { cache: "no-store", credentials: "omit" }).catch(() => undefined);
    const { examples = [] } = answer?.ok ? await answer.json() : {};
    const select = find("example"), text = find("sql");
    select.replaceChildren(...examples.map((example) => made("option", "", example.shown)));
    select.parentElement.hidden = !examples.length;
    const take = () => { text.value = examples[select.selectedIndex]?.sql ?? ""; };
    select.addEventListener("change", take);
    if (text.value || !examples.length) return;
    select.selectedIndex = Math.max(0, examples.findIndex((example) => example.name === asked.get("fact")));
    take();
  };

  if (find("facts")) {
    poll("data/facts", showFacts, true);
    poll("data/due", (data) => showDue(data));
  }
  if (find("title")) {
    const name = asked.get("name") ?? "";
    poll(`data/fact?name=${encodeURIComponent(name)}`, showFact, true);
    poll("data/due", (data) => showDue(data, name));
  }
  if (find("query")) {
    offerExamples();
    find("query").addEventListener("submit", ask);
    find("sql").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      find("query").requestSubmit();
    });
  }
})();

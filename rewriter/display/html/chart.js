"use strict";
// Draws a chart of coverage (chart_data.py) with zoom and tooltips. Every text is set as text, and never as markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const BAR = 14, AXIS = 22, MOST_TICKS = 400, SHORTEST = 60;
  const pad = (number, digits = 2) => String(number).padStart(digits, "0");

  const element = (name, attributes = {}, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const html = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // The calendar of the cube: offsets from UTC, each from an instant on.
  class Clock {
    constructor(changes) { this.changes = changes; }
    offset(instant) {
      let low = 0, high = this.changes.length;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (this.changes[middle][0] <= instant) low = middle; else high = middle;
      }
      return this.changes[low][1];
    }
    wall(instant) { return instant + this.offset(instant); }
    // The earlier one where a wall time occurs twice; one in a gap moves on by its length.
    instant(wall) {
      const candidates = this.changes.map(([, offset]) => wall - offset).filter((at) => this.wall(at) === wall);
      if (candidates.length) return Math.min(...candidates);
      const after = this.changes.findIndex(([from, offset]) => from + offset > wall);
      return wall - this.changes[Math.max(0, (after < 0 ? this.changes.length : after) - 1)][1];
    }
    // As the program writes it: the shortest text, in UTC with a Z where the wall time has occurred before.
    text(instant) {
      const wall = this.wall(instant);
      if (this.changes.length === 1 || this.instant(wall) === instant) return plain(wall);
      const text = plain(instant);
      return text.includes("T") ? `${text}Z` : `${text}T00Z`;
    }
  }

  const plain = (seconds) => {
    const whole = Math.floor(seconds), date = new Date(whole * 1000);
    const day = `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
    const [h, m, s] = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()];
    if (seconds !== whole) return `${day}T${pad(h)}:${pad(m)}:${pad(s)}${(seconds - whole).toFixed(6).slice(1)}`;
    if (s) return `${day}T${pad(h)}:${pad(m)}:${pad(s)}`;
    if (m) return `${day}T${pad(h)}:${pad(m)}`;
    return h ? `${day}T${pad(h)}` : day;
  };

  // A text without its middle, if it is too long. The last characters are kept.
  const shortened = (text, room, kept) => {
    if (text.length <= room) return text;
    const left = Math.max(2, room - 1 - kept), tail = Math.floor(left / 2) + kept;
    return `${text.slice(0, Math.ceil(left / 2))}…${text.slice(text.length - tail)}`;
  };

  const ranges = (triples, start) => {
    const count = triples.length / 3;
    const starts = new Float64Array(count), ends = new Float64Array(count), periods = new Float64Array(count);
    let at = start;
    for (let i = 0; i < count; i++) {
      starts[i] = at + triples[3 * i];
      ends[i] = at = starts[i] + triples[3 * i + 1];
      periods[i] = triples[3 * i + 2];
    }
    return { starts, ends, periods };
  };
  // The index of the first range that ends after an instant.
  const after = (ends, instant) => {
    let low = 0, high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] > instant) high = middle; else low = middle + 1;
    }
    return low;
  };

  const UNITS = [
    ...[1, 5, 15, 30].map((n) => ["minute", n, 60 * n]), ...[1, 3, 6, 12].map((n) => ["hour", n, 3600 * n]),
    ...[1, 2, 7].map((n) => ["day", n, 86400 * n]), ...[1, 3, 6].map((n) => ["month", n, 2629746 * n]),
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((n) => ["year", n, 31556952 * n]),
  ];
  // The ticks of an axis, as [instant, text].
  const ticks = (clock, start, end, room) => {
    const [unit, step, length] = UNITS.find(([, , seconds]) => (end - start) / seconds <= room) || UNITS.at(-1);
    const first = clock.wall(start), last = clock.wall(end), found = [];
    if (unit === "month" || unit === "year") {
      const months = unit === "year" ? 12 * step : step, date = new Date(first * 1000);
      let month = Math.floor((date.getUTCFullYear() * 12 + date.getUTCMonth()) / months) * months;
      for (; found.length < MOST_TICKS; month += months) {
        const at = new Date(0);
        at.setUTCFullYear(Math.floor(month / 12), month % 12, 1);
        const wall = at.getTime() / 1000;
        if (wall > last) break;
        const year = pad(Math.floor(month / 12), 4);
        if (wall >= first) found.push([clock.instant(wall), unit === "year" ? year : `${year}-${pad((month % 12) + 1)}`]);
      }
      return found;
    }
    for (let wall = Math.ceil(first / length) * length; wall <= last && found.length < MOST_TICKS; wall += length) {
      const text = plain(wall);
      found.push([clock.instant(wall), text.length > 10 ? text.slice(5) : text]);
    }
    return found;
  };

  class Chart {
    constructor(root) {
      this.root = root;
      root.replaceChildren();
      const tools = html("div", "tools");
      const button = (text, label, act) => {
        const made = html("button", "", text);
        made.type = "button";
        made.setAttribute("aria-label", label);
        made.title = label;
        made.addEventListener("click", act);
        tools.append(made);
      };
      button("+", "Zoom in", () => this.zoom(0.5));
      button("−", "Zoom out", () => this.zoom(2));
      button("◀", "Earlier", () => this.move(-0.25));
      button("▶", "Later", () => this.move(0.25));
      button("All", "Show all of it", () => this.window && this.show(...this.window));
      this.shown = html("span", "shown");
      tools.append(this.shown);
      this.main = element("svg", { class: "main", tabindex: "0", role: "img" });
      this.overview = element("svg", { class: "overview", role: "img" });
      this.legend = html("ul", "legend");
      this.tooltip = html("div", "tooltip");
      this.tooltip.hidden = true;
      this.tooltip.setAttribute("role", "status");
      root.append(tools, this.main, this.overview, this.legend, this.tooltip);
      this.listen();
    }

    // Takes new data. The view stays where it was, unless it showed all.
    take(data) {
      const showedAll = !this.view || (this.view[0] === this.window[0] && this.view[1] === this.window[1]);
      this.data = data;
      this.window = data.window;
      this.root.classList.toggle("empty", !data.window);
      if (!data.window) {
        this.main.replaceChildren();
        this.overview.replaceChildren();
        this.legend.replaceChildren();
        this.view = undefined;
        this.shown.textContent = data.emptiness;
        return;
      }
      this.clock = new Clock(data.clock);
      this.rows = data.rows.map((row) => ({
        ...row,
        states: Object.entries(data.shapes).filter(([state]) => row.states[state])
          .map(([state, shape]) => ({ state, shape, ...ranges(row.states[state], data.window[0]) })),
      }));
      this.main.setAttribute("aria-label", `${data.title}. Zoom with plus and minus, move with the arrow keys.`);
      this.overview.setAttribute("aria-label", `All of ${data.title}`);
      this.drawLegend();
      if (showedAll) this.view = [...data.window];
      this.draw();
    }

    drawLegend() {
      const used = new Map();
      for (const row of this.rows) for (const part of row.states) used.set(part.state, part.shape);
      this.legend.replaceChildren(...[...used].map(([state, shape]) => {
        const item = html("li"), picture = element("svg", { viewBox: "0 0 18 14", "aria-hidden": "true" });
        picture.append(element("rect", { class: state, width: 18, y: shape.top * 14, height: Math.max(2, shape.height * 14) }));
        item.append(picture, html("span", "", shape.name));
        item.title = shape.meaning;
        return item;
      }));
    }

    // Where things are, in pixels.
    measure() {
      this.width = Math.max(200, this.root.clientWidth);
      this.labels = this.width < 640 ? 0 : Math.min(260, Math.round(this.width * 0.3));
      this.rowHeight = this.labels ? 24 : 40;
      this.plot = this.width - this.labels - 8;
    }
    x(instant) { return this.labels + ((instant - this.view[0]) / (this.view[1] - this.view[0])) * this.plot; }
    instantAt(x) { return this.view[0] + ((x - this.labels) / this.plot) * (this.view[1] - this.view[0]); }
    top(index) { return AXIS + index * this.rowHeight + (this.labels ? 5 : 21); }

    draw() {
      this.measure();
      const [start, end] = this.view, height = AXIS + this.rows.length * this.rowHeight + 6;
      this.main.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
      this.main.setAttribute("height", height);
      const parts = [];
      let last = -Infinity;
      for (const [instant, text] of ticks(this.clock, start, end, Math.max(2, this.plot / 90))) {
        const x = this.x(instant);
        parts.push(element("line", { class: "grid", x1: x, x2: x, y1: AXIS - 4, y2: height }));
        if (x < last + 8 || x + text.length * 7 > this.width) continue;
        parts.push(element("text", { class: "soft", x: x + 2, y: 12 }, text));
        last = x + text.length * 7;
      }
      this.rows.forEach((row, index) => {
        const top = this.top(index);
        const label = element("text", { x: 0, y: this.labels ? top + 11 : top - 6 });
        const room = Math.floor((this.labels || this.plot) / 6.8) - 1;
        label.textContent = shortened(row.label, room, row.fact ? row.period.length + 1 : 0);
        label.append(element("title", {}, `${row.label}: ${row.amount}`));
        parts.push(label, element("rect", { class: "lane", x: this.labels, y: top, width: this.plot, height: BAR }));
        for (const part of row.states) {
          for (const [name, d] of this.paths(part, top, start, end)) parts.push(element("path", { class: name, d }));
        }
      });
      this.cursor = element("line", { class: "at", y1: AXIS, y2: height, visibility: "hidden" });
      this.main.replaceChildren(...parts, this.cursor);
      this.shown.textContent = `${this.clock.text(Math.round(start))} … ${this.clock.text(Math.round(end))}`
        + (this.data.zone === "UTC" ? "" : ` ${this.data.zone}`);
      this.drawOverview();
    }

    // The paths of the ranges in view. Ranges nearer than half a pixel are joined, so that a path is never longer than
    // the plot. Where that hides a hole in what exists, the pixel is drawn in part.
    paths(part, top, start, end, scale = (instant) => this.x(instant), bar = BAR) {
      const y = top + part.shape.top * bar, height = Math.max(2, part.shape.height * bar);
      const isGood = part.state === "taken" || part.state === "exists", pieces = [];
      let right;
      for (let i = after(part.ends, start); i < part.starts.length && part.starts[i] < end; i++) {
        const from = scale(Math.max(start, part.starts[i])), to = scale(Math.min(end, part.ends[i]));
        const last = pieces.at(-1);
        if (!last || from - last.to >= 0.5) {
          pieces.push({ from, to: Math.max(to, from + 1), isPart: false });
        } else if (!isGood) {
          last.to = Math.max(last.to, to);
        } else {
          const first = Math.floor(right), next = Math.floor(from) + 1;
          if (last.isPart) {
            last.to = Math.max(last.to, next);
          } else if (last.from >= first) {
            last.isPart = true;
            last.to = Math.max(last.to, next);
          } else {
            last.to = first;
            pieces.push({ from: first, to: next, isPart: true });
          }
          if (to > next) pieces.push({ from: next, to, isPart: false });
        }
        right = to;
      }
      const shape = ({ from, to }) => `M${from.toFixed(2)} ${y}h${(to - from).toFixed(2)}v${height}h-${(to - from).toFixed(2)}z`;
      const drawn = (isPart) => pieces.filter((piece) => piece.isPart === isPart).map(shape).join("");
      return [[part.state, drawn(false)], [`${part.state} part`, drawn(true)]].filter(([, d]) => d);
    }

    drawOverview() {
      const [first, last] = this.window, bar = 5, lane = bar + 1, height = this.rows.length * lane + 18;
      const scale = (instant) => this.labels + ((instant - first) / (last - first)) * this.plot;
      this.overview.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
      this.overview.setAttribute("height", height);
      const parts = [element("text", { class: "soft", x: 0, y: this.rows.length * lane + 13 }, this.labels ? "overview" : "")];
      this.rows.forEach((row, index) => {
        for (const part of row.states) {
          for (const [name, d] of this.paths(part, index * lane, first, last, scale, bar)) parts.push(element("path", { class: name, d }));
        }
      });
      const from = scale(this.view[0]), to = scale(this.view[1]);
      parts.push(element("rect", { class: "view", x: from, y: 0, width: Math.max(2, to - from), height: this.rows.length * lane + 1 }));
      const texts = [this.clock.text(first), this.clock.text(last)];
      parts.push(element("text", { class: "soft", x: this.labels, y: this.rows.length * lane + 13 }, texts[0]));
      parts.push(element("text", { class: "soft", x: this.labels + this.plot, y: this.rows.length * lane + 13, "text-anchor": "end" }, texts[1]));
      this.overview.replaceChildren(...parts);
      this.fromOverview = (x) => first + ((x - this.labels) / this.plot) * (last - first);
    }

    show(start, end) {
      if (!this.window) return;
      const [first, last] = this.window, all = last - first;
      const length = Math.min(all, Math.max(Math.min(SHORTEST, all), end - start));
      const from = Math.min(last - length, Math.max(first, start));
      this.view = length === all ? [first, last] : [from, from + length];
      this.hide();
      this.draw();
    }
    zoom(factor, around) {
      if (!this.window) return;
      const [start, end] = this.view, centre = around ?? (start + end) / 2;
      const by = Math.max(factor, Math.min(1, SHORTEST / (end - start)));
      this.show(centre - (centre - start) * by, centre + (end - centre) * by);
    }
    move(share) {
      if (!this.window) return;
      const by = (this.view[1] - this.view[0]) * share;
      this.show(this.view[0] + by, this.view[1] + by);
    }
    hide() { this.tooltip.hidden = true; }

    // What lies at a point: the texts of a tooltip, or none.
    at(x, y) {
      const index = this.rows.findIndex((_, i) => y >= this.top(i) - 3 && y < this.top(i) + BAR + 5);
      if (index < 0 || x < this.labels || x > this.labels + this.plot) return [];
      const row = this.rows[index], near = (this.view[1] - this.view[0]) / this.plot;
      const instant = this.instantAt(x), found = [];
      for (const part of row.states) {
        let i = after(part.ends, instant);
        if (!(i < part.starts.length && part.starts[i] <= instant)) {
          // A mark is a pixel wide, however short its time is.
          const nearest = [i - 1, i].filter((j) => j >= 0 && j < part.starts.length)
            .map((j) => [Math.min(Math.abs(part.starts[j] - instant), Math.abs(part.ends[j] - instant)), j])
            .sort((one, other) => one[0] - other[0])[0];
          if (!nearest || nearest[0] > 1.5 * near) continue;
          i = nearest[1];
        }
        const count = part.periods[i], unit = part.state === "missing" ? "period" : "partition";
        const amount = count ? `, ${count.toLocaleString("en")} ${row.period} ${count === 1 ? unit : `${unit}s`}` : "";
        found.push(`${part.shape.name}: [${this.clock.text(part.starts[i])}, ${this.clock.text(part.ends[i])})${amount}`);
      }
      if (!found.length) found.push(`nothing at ${this.clock.text(Math.floor(instant))}`);
      const place = row.fact ? `${row.label}, storage ${row.storage} of ${row.fact}` : row.label;
      return [place, ...found.reverse()];
    }

    point(event, svg) {
      const box = svg.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * this.width, event.clientY - box.top];
    }

    listen() {
      let dragged, moved;
      this.main.addEventListener("wheel", (event) => {
        if (!this.window) return;
        event.preventDefault();
        if (event.deltaX && Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move(event.deltaX / this.plot);
        else this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.instantAt(this.point(event, this.main)[0]));
      }, { passive: false });
      this.main.addEventListener("pointerdown", (event) => {
        if (!this.window || event.button) return;
        dragged = [this.point(event, this.main)[0], ...this.view];
        moved = false;
        this.main.setPointerCapture(event.pointerId);
      });
      this.main.addEventListener("pointermove", (event) => {
        if (!this.window) return;
        const [x, y] = this.point(event, this.main);
        if (dragged) {
          const by = ((dragged[0] - x) / this.plot) * (dragged[2] - dragged[1]);
          if (moved || Math.abs(dragged[0] - x) > 3) {
            moved = true;
            this.show(dragged[1] + by, dragged[2] + by);
          }
          return;
        }
        const lines = this.at(x, y);
        this.tooltip.hidden = !lines.length;
        this.cursor.setAttribute("visibility", lines.length ? "visible" : "hidden");
        if (!lines.length) return;
        this.cursor.setAttribute("x1", x);
        this.cursor.setAttribute("x2", x);
        this.tooltip.replaceChildren(...lines.map((line) => html("div", "", line)));
        const left = Math.min(x + 12, this.root.clientWidth - this.tooltip.offsetWidth);
        this.tooltip.style.left = `${Math.max(0, left)}px`;
        this.tooltip.style.top = `${this.main.getBoundingClientRect().top - this.root.getBoundingClientRect().top + y + 16}px`;
      });
      const end = () => { dragged = undefined; };
      this.main.addEventListener("pointerup", end);
      this.main.addEventListener("pointercancel", end);
      this.main.addEventListener("pointerleave", () => { this.hide(); this.cursor?.setAttribute("visibility", "hidden"); });
      this.main.addEventListener("dblclick", () => this.window && this.show(...this.window));
      this.main.addEventListener("keydown", (event) => {
        const acts = {
          "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), ArrowLeft: () => this.move(-0.1),
          ArrowRight: () => this.move(0.1), Home: () => this.window && this.show(...this.window), Escape: () => this.hide(),
        };
        if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        acts[event.key]();
      });
      const centre = (event) => {
        if (!this.window || !(event.buttons & 1)) return;
        const half = (this.view[1] - this.view[0]) / 2, at = this.fromOverview(this.point(event, this.overview)[0]);
        this.show(at - half, at + half);
      };
      this.overview.addEventListener("pointerdown", centre);
      this.overview.addEventListener("pointermove", centre);
      new ResizeObserver(() => this.window && this.root.clientWidth !== this.width && this.draw()).observe(this.root);
    }
  }

  window.rewriterChart = (root, data) => {
    const chart = new Chart(root);
    chart.take(data);
    return chart;
  };
  for (const source of document.querySelectorAll("script[type='application/json'][data-chart]")) {
    const root = document.getElementById(source.dataset.chart);
    root.chart = window.rewriterChart(root, JSON.parse(source.textContent));
  }
})();

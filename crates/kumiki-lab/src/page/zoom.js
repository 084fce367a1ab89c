"use strict";
// A part of a figure as the whole of it: drag across it, press + and -, or the buttons. Heights follow what is in sight, where no limit has to stay where it is.
// What places have become is worked out from those that were drawn; nothing of the figure is known here but its classes.
const Zoom = (function () {
  // A part is no narrower than this share of the whole.
  const LEAST = 1e-6;
  const ROOM = 0.05;
  // How far below the middle of a tick the foot of its words is.
  const WORDS = 5.8;

  function number(node, name) { return Number(node.getAttribute(name)); }

  // "log2 3 18": a scale, and both ends in its steps.
  function axis(text) {
    const parts = text.split(" ");
    return { scale: parts[0], low: Number(parts[1]), high: Number(parts[2]) };
  }

  function niceStep(span, count) {
    const rough = span / count;
    const size = Math.pow(10, Math.floor(Math.log10(rough)));
    const rest = rough / size;
    return size * (1.5 > rest ? 1 : 3.5 > rest ? 2 : 7.5 > rest ? 5 : 10);
  }

  function said(value, step) {
    const decimals = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    const parts = value.toFixed(decimals).split(".");
    if (parts[0].replace("-", "").length > 4) { parts[0] = parts[0].replace(/\B(?=(\d{3})+$)/g, ","); }
    return parts.join(".");
  }

  // Multiples of a nice step between two values.
  function even(low, high, count) {
    const step = niceStep(high - low, count);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); high / step + 1e-9 >= at; at = at + 1) {
      found.push({ at: at * step, label: said(at * step + 0, step) });
      if (found.length > 100) { break; }
    }
    return found;
  }

  function octets(value, step) {
    const UNITS = [[1073741824, "GiB"], [1048576, "MiB"], [1024, "KiB"], [1, "B"]];
    const unit = UNITS.find(function (it) { return value >= it[0]; }) || UNITS[3];
    return said(value / unit[0], step / unit[0]) + " " + unit[1];
  }

  // The ticks of an axis from one step of its scale to another, with their places in these steps.
  function ticks(scale, low, high, count) {
    if (scale === "linear") { return even(low, high, count); }
    const base = scale === "log10" ? 10 : 2;
    const value = function (place) { return Math.pow(base, place); };
    const name = function (it, step) { return scale === "octets" ? octets(it, step) : said(it, step); };
    if (high - low > 2) {
      const step = Math.max(1, Math.ceil((high - low) / count));
      const found = [];
      for (let at = Math.ceil(low / step) * step; high >= at; at = at + step) {
        found.push({ at: at, label: name(value(at), value(at)) });
      }
      return found;
    }
    const step = niceStep(value(high) - value(low), count);
    return even(value(low), value(high), count).map(function (tick) {
      return { at: Math.log(tick.at) / Math.log(base), label: name(tick.at, step) };
    });
  }

  // What moves: each with the place where it was drawn.
  function movable(svg, plot) {
    const all = { lines: [], curves: [], marks: [] };
    for (const line of svg.querySelectorAll(".series line")) {
      all.lines.push({ node: line, x1: number(line, "x1"), x2: number(line, "x2"), y1: number(line, "y1"), y2: number(line, "y2"), inner: plot.contains(line) });
    }
    for (const curve of svg.querySelectorAll(".series polyline")) {
      const places = curve.getAttribute("points").split(" ").filter(Boolean).map(function (pair) { return pair.split(",").map(Number); });
      all.curves.push({ node: curve, places: places });
    }
    for (const mark of svg.querySelectorAll(".series circle, .series path")) {
      const box = mark.getBBox();
      all.marks.push({ node: mark, x: box.x + box.width / 2, y: box.y + box.height / 2 });
    }
    return all;
  }

  function Zoom(svg, plot) {
    this.svg = svg;
    this.plot = plot;
    this.left = number(plot, "x");
    this.top = number(plot, "y");
    this.width = number(plot, "width");
    this.height = number(plot, "height");
    this.x = axis(plot.dataset.x);
    this.y = axis(plot.dataset.y);
    this.follows = svg.querySelector("line.limit") === null;
    this.all = null;
    this.whole = { x: [0, 1], y: [0, 1] };
    this.view = this.whole;
  }

  Zoom.prototype.isWhole = function () { return this.view === this.whole; };

  // The share of the whole width at a place of the window.
  Zoom.prototype.shareAt = function (clientX) {
    const matrix = this.svg.getScreenCTM().inverse();
    const place = new DOMPoint(clientX, 0).matrixTransform(matrix).x;
    const shown = Math.min(1, Math.max(0, (place - this.left) / this.width));
    return this.view.x[0] + shown * (this.view.x[1] - this.view.x[0]);
  };

  Zoom.prototype.show = function (from, to) {
    const width = Math.max(LEAST, Math.min(1, to - from));
    const start = Math.min(1 - width, Math.max(0, from));
    if (width >= 1) { return this.reset(); }
    if (this.all === null) { this.all = movable(this.svg, this.plot); }
    const x = [start, start + width];
    this.view = { x: x, y: this.follows ? this.inSight(x) : [0, 1] };
    this.draw();
  };

  Zoom.prototype.reset = function () {
    this.view = this.whole;
    if (this.all === null) { return; }
    this.draw();
  };

  // By so much around a share of what is shown; less than 1 is nearer.
  Zoom.prototype.by = function (factor, around) {
    const from = this.view.x[0], width = this.view.x[1] - from;
    const middle = from + width * around;
    this.show(middle - width * factor * around, middle + width * factor * (1 - around));
  };

  Zoom.prototype.move = function (share) {
    const width = this.view.x[1] - this.view.x[0];
    const from = Math.min(1 - width, Math.max(0, this.view.x[0] + share * width));
    if (!this.isWhole()) { this.show(from, from + width); }
  };

  // The share of the height that what lies between two shares of the width takes, with a little room.
  Zoom.prototype.inSight = function (x) {
    const first = this.left + x[0] * this.width, last = this.left + x[1] * this.width;
    let low = Infinity, high = -Infinity;
    const take = function (at, y) {
      if (first > at || at > last) { return; }
      low = Math.min(low, y);
      high = Math.max(high, y);
    };
    const isOff = function (it) { return it.node.closest(".off") !== null; };
    // A time is marked over the whole height, whatever is in sight.
    const isTime = function (it) { return it.node.classList.contains("when"); };
    for (const it of this.all.lines) { if (!isOff(it)) { if (!isTime(it)) { take(it.x1, it.y1); take(it.x2, it.y2); } } }
    for (const it of this.all.marks) { if (!isOff(it)) { take(it.x, it.y); } }
    for (const it of this.all.curves) {
      if (isOff(it)) { continue; }
      it.places.forEach(function (place, n) {
        take(place[0], place[1]);
        const before = it.places[n - 1];
        if (!before) { return; }
        // Where a line enters and leaves.
        for (const edge of [first, last]) {
          if (Math.min(before[0], place[0]) > edge || edge > Math.max(before[0], place[0])) { continue; }
          const wide = place[0] - before[0];
          take(edge, wide === 0 ? place[1] : before[1] + (place[1] - before[1]) * (edge - before[0]) / wide);
        }
      });
    }
    if (low > high) { return [0, 1]; }
    // Upwards the shares go the other way. What is one height has a tenth of the whole.
    const bottom = this.top + this.height;
    const most = Math.max(high - low, this.height * LEAST);
    const room = high === low ? this.height / 20 : most * ROOM;
    return [(bottom - high - room) / this.height, (bottom - low + room) / this.height];
  };

  Zoom.prototype.across = function (x) {
    const share = (x - this.left) / this.width;
    return this.left + this.width * (share - this.view.x[0]) / (this.view.x[1] - this.view.x[0]);
  };

  Zoom.prototype.down = function (y) {
    const share = (this.top + this.height - y) / this.height;
    return this.top + this.height - this.height * (share - this.view.y[0]) / (this.view.y[1] - this.view.y[0]);
  };

  Zoom.prototype.draw = function () {
    const right = this.left + this.width, bottom = this.top + this.height;
    const out = function (x, y) { return !(x >= this.left - 0.5) || x > right + 0.5 || !(y >= this.top - 0.5) || y > bottom + 0.5; }.bind(this);
    // Numbers beyond these a browser need not draw.
    const bounded = function (value) { return Math.min(1e6, Math.max(-1e6, value)).toFixed(2); };
    for (const it of this.all.lines) {
      const middle = (it.x1 + it.x2) / 2;
      const shift = this.across(middle) - middle;
      const isTime = it.node.classList.contains("when");
      const y1 = isTime ? it.y1 : this.down(it.y1), y2 = isTime ? it.y2 : this.down(it.y2);
      it.node.setAttribute("x1", bounded(it.x1 + shift));
      it.node.setAttribute("x2", bounded(it.x2 + shift));
      it.node.setAttribute("y1", bounded(y1));
      it.node.setAttribute("y2", bounded(y2));
      const x = middle + shift;
      const gone = it.inner ? this.left > x || x > right || this.top > Math.max(y1, y2) || Math.min(y1, y2) > bottom : out(x, y1) || out(x, y2);
      it.node.classList.toggle("out", gone);
    }
    for (const it of this.all.curves) {
      const places = it.places.map(function (place) { return bounded(this.across(place[0])) + "," + bounded(this.down(place[1])); }, this);
      it.node.setAttribute("points", places.join(" "));
    }
    for (const it of this.all.marks) {
      const x = this.across(it.x), y = this.down(it.y);
      it.node.setAttribute("transform", "translate(" + bounded(x - it.x) + " " + bounded(y - it.y) + ")");
      it.node.classList.toggle("out", out(x, y));
    }
    this.drawTicks("x");
    this.drawTicks("y");
  };

  // Ticks that were drawn are put away; those of the part are made as these are.
  Zoom.prototype.drawTicks = function (name) {
    for (const old of this.svg.querySelectorAll(".t" + name + ".part")) { old.remove(); }
    const drawn = Array.from(this.svg.querySelectorAll(".t" + name));
    for (const old of drawn) { old.classList.toggle("out", !this.isWhole()); }
    if (this.isWhole() || drawn.length === 0) { return; }
    const own = this[name], view = this.view[name];
    const steps = own.high - own.low;
    const low = own.low + view[0] * steps, high = own.low + view[1] * steps;
    const models = ["grid", "frame", "text"].map(function (kind) {
      return drawn.find(function (it) { return kind === "text" ? it.tagName === "text" : it.closest("." + kind) !== null; });
    });
    for (const tick of ticks(own.scale, low, high, name === "x" ? 8 : 6)) {
      const share = (tick.at - low) / (high - low);
      if (!(share >= 0) || share > 1) { continue; }
      const place = name === "x" ? this.left + share * this.width : this.top + this.height * (1 - share);
      for (const model of models) {
        if (!model) { continue; }
        const copy = model.cloneNode(false);
        copy.classList.remove("out");
        copy.classList.add("part");
        const keys = model.tagName === "text" ? [name] : [name + "1", name + "2"];
        // Words stand a little below the middle of what they are for.
        const lower = name === "y" ? (model.tagName === "text" ? WORDS : 0) : 0;
        for (const key of keys) { copy.setAttribute(key, (place + lower).toFixed(1)); }
        if (model.tagName === "text") { copy.textContent = tick.label; }
        model.before(copy);
      }
    }
  };

  // What a drag has marked so far.
  Zoom.prototype.mark = function (from, to) {
    this.unmark();
    const place = function (share) { return this.left + this.width * (share - this.view.x[0]) / (this.view.x[1] - this.view.x[0]); }.bind(this);
    const a = place(Math.min(from, to)), b = place(Math.max(from, to));
    this.marked = document.createElementNS(this.svg.namespaceURI, "rect");
    const places = { class: "marked", x: a, y: this.top, width: Math.max(0, b - a), height: this.height };
    for (const key of Object.keys(places)) { this.marked.setAttribute(key, places[key]); }
    this.svg.append(this.marked);
  };
  Zoom.prototype.unmark = function () {
    if (this.marked) { this.marked.remove(); }
    this.marked = null;
  };

  // Of a figure in its frame, where it can be zoomed; `changed` is told whenever it was, and says in `at` around what a key zooms, as a place of the window.
  Zoom.of = function (figure, frame, changed) {
    const svg = frame.querySelector("svg");
    const plot = svg.querySelector("svg.plot");
    if (!plot) { return null; }
    const zoom = new Zoom(svg, plot);
    const group = document.createElement("div");
    group.className = "zoom";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Part of the figure shown");
    const buttons = [];
    const turned = function () {
      for (const it of buttons) { it.node.disabled = it.needsPart ? zoom.isWhole() : false; }
      changed();
    };
    const add = function (text, keys, needsPart, act) {
      const node = document.createElement("button");
      node.type = "button";
      node.textContent = text;
      node.setAttribute("aria-keyshortcuts", keys);
      node.title = "Key: " + keys + ", in the figure";
      node.addEventListener("click", function () { act(); turned(); });
      buttons.push({ node: node, needsPart: needsPart });
      group.append(node);
    };
    const act = {
      "+": function (around) { zoom.by(0.5, around === undefined ? 0.5 : around); },
      "-": function (around) { zoom.by(2, around === undefined ? 0.5 : around); },
      ",": function () { zoom.move(-0.25); },
      ".": function () { zoom.move(0.25); },
      "0": function () { zoom.reset(); },
    };
    add("Zoom in", "+", false, act["+"]);
    add("Zoom out", "-", true, act["-"]);
    add("Earlier part", ",", true, act[","]);
    add("Later part", ".", true, act["."]);
    add("Whole figure", "0", true, act["0"]);
    turned();
    figure.append(group);

    frame.addEventListener("keydown", function (event) {
      const done = event.ctrlKey || event.altKey || event.metaKey ? null : act[event.key === "=" ? "+" : event.key];
      if (!done) { return; }
      event.preventDefault();
      // Around the point whose value is shown, if one is.
      const here = figure.querySelector(".here");
      const box = here ? here.getBoundingClientRect() : null;
      const share = box ? zoom.shareAt(box.left + box.width / 2) : null;
      done(share === null ? 0.5 : (share - zoom.view.x[0]) / (zoom.view.x[1] - zoom.view.x[0]));
      turned();
    });
    // A finger scrolls; a mouse or a pen draws.
    let from = null;
    frame.addEventListener("pointerdown", function (event) {
      if (event.pointerType === "touch" || event.button !== 0) { return; }
      from = { share: zoom.shareAt(event.clientX), x: event.clientX };
    });
    addEventListener("pointermove", function (event) {
      if (from === null) { return; }
      if (Math.abs(event.clientX - from.x) > 4) {
        event.preventDefault();
        zoom.mark(from.share, zoom.shareAt(event.clientX));
      }
    });
    addEventListener("pointerup", function (event) {
      if (from === null) { return; }
      const start = from;
      from = null;
      zoom.unmark();
      if (Math.abs(event.clientX - start.x) > 4) {
        const ends = [start.share, zoom.shareAt(event.clientX)];
        zoom.show(Math.min(ends[0], ends[1]), Math.max(ends[0], ends[1]));
        turned();
      }
    });
    frame.addEventListener("dblclick", function () { zoom.reset(); turned(); });
    return zoom;
  };
  return Zoom;
})();

// What makes the page easier for who has a mouse or a keyboard. Without it everything is there as well.
(function () {
  function make(name, attributes, text) {
    const node = document.createElement(name);
    for (const key of Object.keys(attributes)) { node.setAttribute(key, attributes[key]); }
    if (text !== undefined) { node.textContent = text; }
    return node;
  }

  // Light and dark: as the system says until somebody says otherwise.
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = make("button", { type: "button", class: "theme" });
  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : system.matches; }
  function nameTheme() { theme.textContent = isDark() ? "Light theme" : "Dark theme"; }
  theme.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  system.addEventListener("change", nameTheme);
  nameTheme();
  document.querySelector("header").prepend(theme);

  const tip = make("div", { class: "tip", role: "status", hidden: "" });
  document.body.append(tip);

  // Values, under the mouse or by arrow keys.
  function points(figure) {
    const shown = Array.from(figure.querySelectorAll(".pt"));
    return shown.filter(function (point) { return !point.closest(".off, .out"); });
  }
  function hide() {
    tip.hidden = true;
    for (const point of document.querySelectorAll(".here")) { point.classList.remove("here"); }
  }
  function show(point) {
    hide();
    const box = point.getBoundingClientRect();
    point.classList.add("here");
    tip.textContent = point.dataset.said;
    tip.hidden = false;
    const left = Math.min(box.left + box.width / 2 + 12, root.clientWidth - tip.offsetWidth - 8);
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (above >= 0 ? above : box.bottom + 8) + "px";
  }
  function nearest(figure, x, y) {
    const REACH = 24;
    let best = null;
    let least = REACH;
    for (const point of points(figure)) {
      const box = point.getBoundingClientRect();
      const across = Math.max(box.left - x, x - box.right, 0);
      const down = Math.max(box.top - y, y - box.bottom, 0);
      // Within a marker or a bar the nearer middle counts.
      const distance = Math.hypot(across, down) + Math.abs(box.left + box.width / 2 - x) / 1000;
      if (least > distance) { least = distance; best = point; }
    }
    return best;
  }

  for (const figure of document.querySelectorAll("figure")) {
    const frame = figure.querySelector(".scroll");
    for (const point of figure.querySelectorAll(".pt")) {
      const title = point.querySelector("title");
      point.dataset.said = title.textContent;
      // A second one of the browser's own would lie over ours.
      title.remove();
    }
    frame.addEventListener("pointermove", function (event) {
      const point = nearest(figure, event.clientX, event.clientY);
      if (point) { show(point); } else { hide(); }
    });
    frame.addEventListener("pointerleave", hide);
    frame.addEventListener("scroll", hide);
    frame.addEventListener("blur", hide);
    let at = -1;
    frame.addEventListener("keydown", function (event) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const all = points(figure);
      if (event.key === "Escape") { hide(); at = -1; }
      if (!step || all.length === 0) { return; }
      event.preventDefault();
      at = at + step;
      if (at >= all.length) { at = 0; }
      if (0 > at) { at = all.length - 1; }
      all[at].scrollIntoView({ block: "nearest", inline: "nearest" });
      show(all[at]);
    });

    Zoom.of(figure, frame, function () { hide(); at = -1; });

    // A button for each series.
    const keys = Array.from(figure.querySelectorAll(".key"));
    if (2 > keys.length) { continue; }
    const group = make("div", { class: "keys", role: "group", "aria-label": "Series shown" });
    for (const key of keys) {
      const series = Array.from(key.classList).find(function (name) { return /^s[0-9]+$/.test(name); });
      const button = make("button", { type: "button", "aria-pressed": "true" }, key.querySelector("text").textContent.trim());
      const turn = function () {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        for (const part of figure.querySelectorAll("." + series)) { part.classList.toggle("off", !on); }
        hide();
      };
      button.addEventListener("click", turn);
      key.addEventListener("click", turn);
      group.append(button);
    }
    figure.append(group);
  }
  addEventListener("scroll", hide, { passive: true });
})();

// Figures of a report: point at a line to read it, click a name in the legend to hide it, drag or spread two fingers to see a part of a panel.
"use strict";
for (const section of document.querySelectorAll("section.figure")) {
  const svg = section.querySelector("svg");
  const figure = JSON.parse(section.querySelector("script").textContent);
  const hidden = new Set();
  /** The axes as they are shown: the whole ones, or a part. */
  const shown = { x: { ...figure.x }, y: { ...figure.y } };
  const element = (name, properties) => Object.assign(document.createElement(name), properties);
  const reader = section.appendChild(element("output", { hidden: true }));
  const tools = section.appendChild(element("p", { className: "tools" }));
  const all = tools.appendChild(element("button", { type: "button", hidden: true, textContent: "Whole figure" }));
  const [point, click, drag, twice] = matchMedia("(hover: none)").matches ? ["Tap", "Tap", "Spread two fingers", "tap twice"] : ["Point at", "Click", "Drag", "double-click"];
  const part = figure.y.rows ? "" : ` ${drag} to see a part of it; ${twice} to see the whole again.`;
  tools.append(`${point} a line to read its values.${figure.legend.length ? ` ${click} a name below it to hide a line.` : ""}${part}`);
  // Its names are buttons, which a picture would not have.
  svg.setAttribute("role", "group");

  const shape = (name, attributes, parent = svg) => {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return parent.appendChild(made);
  };
  const dot = shape("circle", { r: 6, fill: "none", "stroke-width": 2, visibility: "hidden", "pointer-events": "none" });
  const frame = shape("rect", { class: "zoom", visibility: "hidden", "pointer-events": "none" });

  /** The place of a pointer in the drawing. */
  const place = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  /** The coordinate at which a place of an axis is drawn: `from` and `to` are the ends of the axis in the drawing. */
  const across = (axis, placed, from, to) => from + (placed - axis.from) / (axis.to - axis.from) * (to - from);
  /** The place of an axis that is drawn at a coordinate. */
  const back = (axis, at, from, to) => axis.from + (at - from) / (to - from) * (axis.to - axis.from);
  const placed = (axis, value) => axis.log ? Math.log10(value) : value;
  const number = (value) => Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2) : String(Number(value.toPrecision(5)));
  const panelAt = ({ x, y }) => figure.panels.find(({ box: [left, top, right, bottom] }) => x >= left - 8 && x <= right + 8 && y >= top - 8 && y <= bottom + 8);

  /** The nearest point of a line that is shown, in the panel of the pointer. */
  const nearest = (at) => {
    let best = { distance: 40 };
    const panel = panelAt(at);
    if (!panel) return;
    const [left, top, right, bottom] = panel.box;
    for (const line of panel.series.filter((line) => !hidden.has(line.series))) {
      for (const point of line.points) {
        const x = across(shown.x, placed(figure.x, point[0]), left, right);
        const y = across(shown.y, placed(figure.y, point[1]), bottom, top);
        const distance = Math.hypot(x - at.x, y - at.y);
        const inside = x >= left - 1 && x <= right + 1 && y >= top - 1 && y <= bottom + 1;
        if (inside && distance < best.distance) best = { distance, x, y, line, point };
      }
    }
    return best.line && best;
  };

  const read = (event) => {
    const found = nearest(place(event));
    reader.hidden = !found;
    dot.setAttribute("visibility", found ? "visible" : "hidden");
    if (!found) return;
    dot.setAttribute("cx", found.x);
    dot.setAttribute("cy", found.y);
    dot.setAttribute("stroke", found.line.colour);
    reader.textContent = `\u2068${found.line.name}\u2069: ${figure.x.label} ${number(found.point[0])}, ${figure.y.label} ${number(found.point[1])}`;
  };
  svg.addEventListener("pointermove", read);
  // A tap does not move.
  svg.addEventListener("click", read);
  svg.addEventListener("pointerleave", () => {
    reader.hidden = true;
    dot.setAttribute("visibility", "hidden");
  });

  // A name may have several lines, so its whole place is the button.
  figure.legend.forEach(({ name, box: [x, y, width, height] }, series) => {
    const button = shape("g", { role: "button", tabindex: 0, "aria-pressed": "true", "aria-label": name });
    shape("rect", { x, y, width, height, fill: "none", "pointer-events": "all" }, button);
    shape("title", {}, button).textContent = name;
    const toggle = () => {
      hidden.has(series) ? hidden.delete(series) : hidden.add(series);
      const off = hidden.has(series);
      button.setAttribute("aria-pressed", String(!off));
      svg.querySelector(`[data-legend="${series}"]`).style.opacity = off ? 0.35 : 1;
      for (const drawn of svg.querySelectorAll(`[data-series="${series}"]`)) drawn.style.display = off ? "none" : "";
    };
    button.addEventListener("click", toggle);
    button.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), toggle()));
  });

  /** Round numbers between the ends of an axis that shows a part: their places, and their words. */
  const ticks = (axis) => {
    const [low, high] = axis.log ? [10 ** axis.from, 10 ** axis.to] : [axis.from, axis.to];
    const word = (value) => number(Number(value.toPrecision(10)));
    if (axis.log && high > 20 * low) {
      const values = [];
      for (let decade = Math.floor(axis.from); decade <= axis.to; decade++) {
        for (const digit of high > 300 * low ? [1] : [1, 2, 5]) values.push(digit * 10 ** decade);
      }
      return values.filter((value) => value >= low && value <= high).map((value) => [Math.log10(value), word(value)]);
    }
    const size = 10 ** Math.floor(Math.log10(high - low));
    const step = size * ([0.2, 0.5, 1, 2].find((times) => (high - low) / (times * size) <= 6) ?? 2);
    const values = [];
    for (let count = Math.ceil(low / step); count * step <= high; count++) values.push(count * step);
    return values.map((value) => [placed(axis, value), word(value)]);
  };

  /** The axes of a panel with labels for the part that is shown; the library's own have those of the whole. */
  const drawAxes = (panel, [left, top, right, bottom], isWhole) => {
    const axes = panel.querySelector("[data-axes]");
    panel.querySelector("[data-ticks]")?.remove();
    const isName = (text) => [figure.x.label, figure.y.label].includes(text.textContent.trim());
    const texts = [...axes.querySelectorAll("text")];
    for (const child of axes.children) child.style.display = isWhole || (child.tagName === "text" && isName(child)) ? "" : "none";
    if (isWhole) return;
    // A finger on what is drawn anew would be lost.
    const own = shape("g", { "data-ticks": "", "pointer-events": "none" }, panel);
    axes.after(own);
    const write = (anchor, key, at, words) => {
      const like = texts.find((text) => text.getAttribute("text-anchor") === anchor && !isName(text));
      if (!like) return;
      const text = own.appendChild(like.cloneNode());
      text.style.display = "";
      text.setAttribute(key, at);
      text.textContent = words;
    };
    for (const [at, words] of ticks(shown.x)) {
      const x = across(shown.x, at, left, right);
      shape("line", { x1: x, x2: x, y1: top, y2: bottom, stroke: "#e1e1e1" }, own);
      write("middle", "x", x, words);
    }
    for (const [at, words] of ticks(shown.y)) {
      const y = across(shown.y, at, bottom, top);
      shape("line", { x1: left, x2: right, y1: y, y2: y, stroke: "#e1e1e1" }, own);
      write("end", "y", y, words);
    }
    shape("path", { d: `M${left} ${top}V${bottom}H${right}`, fill: "none", stroke: "#000" }, own);
  };

  const first = new Map();
  const id = `part-${[...document.querySelectorAll("section.figure")].indexOf(section)}`;
  /** Moves everything in a panel to where the axes that are shown have it. Lines keep their width, and marks their size. */
  const drawLines = (panel, number, box, isWhole) => {
    const [left, top, right, bottom] = box;
    const x = (at) => across(shown.x, back(figure.x, at, left, right), left, right);
    const y = (at) => across(shown.y, back(figure.y, at, bottom, top), bottom, top);
    if (!svg.querySelector(`#${id}-${number}`)) {
      shape("rect", { x: left, y: top, width: right - left, height: bottom - top }, shape("clipPath", { id: `${id}-${number}` }));
    }
    for (const child of panel.querySelectorAll(":scope > :not([data-axes], [data-ticks], text)")) {
      isWhole ? child.removeAttribute("clip-path") : child.setAttribute("clip-path", `url(#${id}-${number})`);
    }
    for (const drawn of panel.querySelectorAll("polyline, polygon, circle")) {
      if (drawn.closest("[data-axes]")) continue;
      if (!first.has(drawn)) first.set(drawn, drawn.getAttribute("points"));
      const points = first.get(drawn)?.trim().split(/\s+/).map((point) => point.split(",").map(Number));
      const isMark = drawn.tagName === "circle" || (drawn.tagName === "polygon" && drawn.getAttribute("opacity") === "1");
      if (isMark) {
        const middle = (index) => {
          if (!points) return Number(drawn.getAttribute(index ? "cy" : "cx"));
          const all = points.map((point) => point[index]);
          return (Math.min(...all) + Math.max(...all)) / 2;
        };
        drawn.setAttribute("transform", `translate(${x(middle(0)) - middle(0)} ${y(middle(1)) - middle(1)})`);
      } else {
        drawn.setAttribute("points", points.map((point) => `${x(point[0])},${y(point[1])}`).join(" "));
      }
    }
  };
  const show = (x, y) => {
    Object.assign(shown.x, { from: x[0], to: x[1] });
    Object.assign(shown.y, { from: y[0], to: y[1] });
    const isWhole = x[0] === figure.x.from && y[0] === figure.y.from && x[1] === figure.x.to && y[1] === figure.y.to;
    all.hidden = isWhole;
    dot.setAttribute("visibility", "hidden");
    figure.panels.forEach(({ box }, number) => {
      const panel = svg.querySelector(`[data-panel="${number}"]`);
      drawAxes(panel, box, isWhole);
      drawLines(panel, number, box, isWhole);
    });
  };
  const whole = () => show([figure.x.from, figure.x.to], [figure.y.from, figure.y.to]);

  let from;
  /** The part of the panel between where a drag began and where it is. */
  const ends = (to) => {
    const [left, top, right, bottom] = from.panel.box;
    const [x, y] = [[from.x, to.x], [from.y, to.y]].map((pair) => pair.sort((one, other) => one - other));
    return [Math.max(x[0], left), Math.max(y[0], top), Math.min(x[1], right), Math.min(y[1], bottom)];
  };
  svg.addEventListener("pointerdown", (event) => {
    // A finger scrolls the page.
    if (event.pointerType !== "mouse" || event.button !== 0 || figure.y.rows) return;
    const at = place(event);
    const panel = panelAt(at);
    if (panel) from = { x: at.x, y: at.y, panel };
  });
  // No text is marked, which the browser would drag the next time.
  svg.addEventListener("mousedown", (event) => from && event.preventDefault());
  svg.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [left, top, right, bottom] = ends(place(event));
    for (const [key, value] of Object.entries({ x: left, y: top, width: Math.max(0, right - left), height: Math.max(0, bottom - top) })) frame.setAttribute(key, value);
    frame.setAttribute("visibility", "visible");
  });
  addEventListener("pointerup", (event) => {
    if (!from) return;
    const [left, top, right, bottom] = ends(place(event));
    const { box } = from.panel;
    from = undefined;
    frame.setAttribute("visibility", "hidden");
    if (right - left < 12 || bottom - top < 12) return;
    show([left, right].map((at) => back(shown.x, at, box[0], box[2])), [bottom, top].map((at) => back(shown.y, at, box[3], box[1])));
  });
  svg.addEventListener("dblclick", whole);
  all.addEventListener("click", whole);
  if (figure.y.rows) continue;

  // Two fingers scale the axes, and what is between them stays there; one finger scrolls the page. The browser itself does not enlarge a figure.
  svg.style.touchAction = "pan-x pan-y";
  let pinch;
  /** The middle between two fingers, and how far they are apart. */
  const fingers = ({ touches }) => {
    const [one, other] = [...touches].map(place);
    return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2, apart: Math.max(1, Math.hypot(one.x - other.x, one.y - other.y)) };
  };
  /** The part of an axis in which the place `held` is drawn at `at`, `times` as long as `axis`; within the whole axis, and at least a thousandth of it. */
  const scaled = (axis, all, times, held, at, from, to) => {
    const length = all.to - all.from;
    const size = Math.max((axis.to - axis.from) * times, length / 1000);
    if (size >= length) return [all.from, all.to];
    const start = Math.min(Math.max(held - (at - from) / (to - from) * size, all.from), all.to - size);
    return [start, start + size];
  };
  const begin = (event) => {
    pinch = undefined;
    if (event.touches.length !== 2) return;
    const at = fingers(event);
    const panel = panelAt(at);
    if (!panel) return;
    if (event.cancelable) event.preventDefault();
    const [left, top, right, bottom] = panel.box;
    pinch = { box: panel.box, apart: at.apart, x: { ...shown.x }, y: { ...shown.y }, held: [back(shown.x, at.x, left, right), back(shown.y, at.y, bottom, top)] };
  };
  for (const kind of ["touchstart", "touchend", "touchcancel"]) svg.addEventListener(kind, begin, { passive: false });
  svg.addEventListener("touchmove", (event) => {
    if (!pinch || event.touches.length !== 2) return;
    if (event.cancelable) event.preventDefault();
    const { box: [left, top, right, bottom], apart, held, x, y } = pinch;
    const at = fingers(event);
    show(scaled(x, figure.x, apart / at.apart, held[0], at.x, left, right), scaled(y, figure.y, apart / at.apart, held[1], at.y, bottom, top));
  }, { passive: false });
  // Not every browser makes a double click of two taps.
  let tap;
  svg.addEventListener("click", (event) => {
    if (event.pointerType === "mouse" || event.target.closest("[role=button]")) return;
    if (tap && event.timeStamp - tap.timeStamp < 500 && Math.hypot(event.clientX - tap.clientX, event.clientY - tap.clientY) < 30) whole();
    tap = event;
  });
}

// What is folded on screen is printed.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) Object.assign(details, { open: true }).dataset.printed = "";
});
addEventListener("afterprint", () => {
  for (const details of document.querySelectorAll("details[data-printed]")) delete Object.assign(details, { open: false }).dataset.printed;
});

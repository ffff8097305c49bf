// Figures of a report: point at a line to read it, click a name in the legend to hide it, drag to zoom, double-click to see everything again.
"use strict";
for (const section of document.querySelectorAll("section.figure")) {
  const svg = section.querySelector("svg");
  const figure = JSON.parse(section.querySelector("script").textContent);
  const whole = svg.getAttribute("viewBox");
  const hidden = new Set();
  const reader = section.appendChild(Object.assign(document.createElement("output"), { hidden: true }));

  const shape = (name, attributes) => {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return svg.appendChild(made);
  };
  const dot = shape("circle", { r: 6, fill: "none", "stroke-width": 2, visibility: "hidden", "pointer-events": "none" });
  const frame = shape("rect", { class: "zoom", visibility: "hidden", "pointer-events": "none" });

  /** Where a pointer is in the drawing. */
  const place = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  /** Where a value is drawn: `from` and `to` are the ends of the axis in the drawing. */
  const at = (axis, value, from, to) => from + ((axis.log ? Math.log10(value) : value) - axis.from) / (axis.to - axis.from) * (to - from);
  const number = (value) => Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2) : String(Number(value.toPrecision(5)));

  /** The nearest point of a line that is shown, in the panel of the pointer. */
  const nearest = ({ x, y }) => {
    let best = { distance: 40 };
    for (const { box: [left, top, right, bottom], series } of figure.panels) {
      if (x < left - 8 || x > right + 8 || y < top - 8 || y > bottom + 8) continue;
      for (const line of series.filter((line) => !hidden.has(line.colour))) {
        for (const point of line.points) {
          const [across, up] = [at(figure.x, point[0], left, right), at(figure.y, point[1], bottom, top)];
          const distance = Math.hypot(across - x, up - y);
          if (distance < best.distance) best = { distance, across, up, line, point };
        }
      }
    }
    return best.line && best;
  };

  svg.addEventListener("pointermove", (event) => {
    const found = nearest(place(event));
    reader.hidden = !found;
    dot.setAttribute("visibility", found ? "visible" : "hidden");
    if (!found) return;
    dot.setAttribute("cx", found.across);
    dot.setAttribute("cy", found.up);
    dot.setAttribute("stroke", found.line.colour);
    reader.textContent = `${found.line.name}: ${figure.x.label} ${number(found.point[0])}, ${figure.y.label} ${number(found.point[1])}`;
  });
  svg.addEventListener("pointerleave", () => {
    reader.hidden = true;
    dot.setAttribute("visibility", "hidden");
  });

  // A name of the legend stands for everything in its colour. It may have several lines, so its whole place is the button.
  for (const { name, colour, box: [x, y, width, height] } of figure.legend) {
    const button = shape("g", { role: "button", tabindex: 0, "aria-pressed": "true", "aria-label": name });
    button.appendChild(shape("rect", { x, y, width, height, fill: "none", "pointer-events": "all" }));
    button.appendChild(shape("title", {})).textContent = name;
    const within = (text, key, from, size) => text.getAttribute(key) >= from && text.getAttribute(key) <= from + size;
    const lines = [...svg.querySelectorAll("text")].filter((text) => within(text, "x", x, width) && within(text, "y", y, height));
    const toggle = () => {
      hidden.has(colour) ? hidden.delete(colour) : hidden.add(colour);
      const off = hidden.has(colour);
      button.setAttribute("aria-pressed", String(!off));
      for (const line of lines) line.style.opacity = off ? 0.4 : 1;
      for (const drawn of svg.querySelectorAll("polyline, polygon, circle, rect, line, path")) {
        const own = [drawn.getAttribute("stroke"), drawn.getAttribute("fill")];
        if (drawn !== dot && own.some((paint) => paint?.toLowerCase() === colour)) drawn.style.display = off ? "none" : "";
      }
    };
    button.addEventListener("click", toggle);
    button.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), toggle()));
  }

  let from;
  const ends = (to) => [Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(to.x - from.x), Math.abs(to.y - from.y)];
  svg.addEventListener("pointerdown", (event) => {
    // A finger scrolls the page.
    if (event.pointerType === "mouse" && event.button === 0 && !event.target.closest("[role=button]")) from = place(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!from) return;
    ["x", "y", "width", "height"].forEach((key, index) => frame.setAttribute(key, ends(place(event))[index]));
    frame.setAttribute("visibility", "visible");
  });
  addEventListener("pointerup", (event) => {
    if (!from) return;
    const [x, y, width, height] = ends(place(event));
    from = undefined;
    frame.setAttribute("visibility", "hidden");
    if (width > 12 && height > 12) svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  });
  svg.addEventListener("dblclick", () => svg.setAttribute("viewBox", whole));
}

// The panels of all queues. One is made when it is first scrolled into view, and redrawn only while it is visible.

const HEIGHT = {used: 118, waiting: 88, waits: 206};

function makePanels(model, view) {
  const grid = document.getElementById("panels");
  const waitMaxMs = longestWaitMs(model);
  const panels = model.queues.map((_, queue) => panelOf(grid, queue, model, view, waitMaxMs));
  const watcher = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting} of entries) {
      const panel = panels.find((one) => one.card === target);
      panel.visible = isIntersecting;
      if (isIntersecting) panel.show();
    }
  }, {rootMargin: "200px"});
  for (const panel of panels) watcher.observe(panel.card);
  new ResizeObserver(() => panels.forEach((panel) => panel.resize())).observe(grid);
  theme.listeners.push(() => panels.forEach((panel) => panel.recolor()));
  addEventListener("beforeprint", () => panels.forEach((panel) => panel.show()));
}

function panelOf(grid, queue, model, view, waitMaxMs) {
  const parts = cardOf(grid, queue, model);
  let plots = null;
  let waits = null;
  const panel = {
    card: parts.card,
    visible: false,
    stale: false,
    show() {
      if (!plots) {
        plots = timePlots(parts, queue, model, view);
        waits = waitPanel(parts.waits.host, queue, model, waitMaxMs, HEIGHT.waits);
        this.stale = true;
      }
      if (this.stale) for (const one of plots) one.draw();
      this.stale = false;
    },
    resize() {
      if (!plots) return;
      plots[0].plot.setSize({width: parts.used.host.clientWidth, height: HEIGHT.used});
      plots[1].plot.setSize({width: parts.waiting.host.clientWidth, height: HEIGHT.waiting});
      waits.setSize({width: parts.waits.host.clientWidth, height: HEIGHT.waits});
      view.redraw(draw);
    },
    recolor() {
      plots?.forEach((one) => one.plot.redraw());
      waits?.redraw();
    },
  };
  const draw = () => {
    panel.stale = true;
    if (panel.visible) panel.show();
  };
  view.addDrawing(draw);
  return panel;
}

function timePlots(parts, queue, model, view) {
  const {used, waiting} = usageLines(queue, model);
  return [
    timePlot(parts.used, used, view, HEIGHT.used, bareTimeAxis(view)),
    timePlot(parts.waiting, waiting, view, HEIGHT.waiting, timeAxis(view)),
  ];
}

function cardOf(grid, queue, model) {
  const card = document.createElement("article");
  card.className = "card";
  const charts = document.createElement("div");
  charts.className = "charts";
  const name = model.queues[queue];
  card.append(textElement("h3", "", name), textElement("p", "quota", quotaText(queue, model)), charts);
  grid.append(card);
  return {
    card,
    used: chartPart(charts, "used", "In use", `Accelerators in use over time in ${name}`),
    waiting: chartPart(charts, "waiting", "Pending", `Accelerators of pending jobs over time in ${name}`),
    waits: chartPart(charts, "waits", "Jobs that start within", `Share of jobs in ${name} that start within a wait`),
  };
}

function chartPart(charts, name, caption, label) {
  const [figure, host] = [document.createElement("figure"), document.createElement("div")];
  figure.className = name;
  host.setAttribute("role", "img");
  host.setAttribute("aria-label", label);
  const [heading, readout] = [textElement("figcaption", "", caption), textElement("span", "readout", "")];
  heading.append(readout);
  figure.append(heading, host);
  charts.append(figure);
  return {host, readout};
}

function textElement(tag, className, text) {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

function quotaText(queue, model) {
  const [shown, base] = model.sides.map((side) => {
    const flavors = Object.entries(side.flavors[queue]).filter(([, quota]) => quota > 0);
    return flavors.map(([flavor, quota]) => `${flavor} ${count(quota)}`).join(", ") || "no accelerators";
  }).reverse();
  const cohort = model.sides.at(-1).cohorts[queue];
  const quota = base && base !== shown ? `${shown} (base ${base})` : shown;
  return cohort ? `${quota} · cohort ${cohort}` : quota;
}

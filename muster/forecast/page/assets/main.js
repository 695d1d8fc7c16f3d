// Puts the page together.

async function start() {
  const began = performance.now();
  const model = modelOf(readData(await inflated(document.getElementById("data").textContent)));
  theme.read();
  const view = new View(model);
  makePanels(model, view);
  makeLegends(model);
  const timeline = new Timeline(model, view);
  const choose = (row) => showJob(timeline, row);
  const search = new Search(model, timeline, choose);
  connectTimeline(timeline, new Tooltip(), (attempt) => choose(attempt < 0 ? -1 : timeline.shownSide.job[attempt]));
  connectSides(model, timeline, search);
  connectToolbar(timeline, search);
  connectMostDelayed(model, timeline, choose);
  view.onChange(() => showRange(view));
  showRange(view);
  theme.listeners.push(() => view.redrawAll());
  requestAnimationFrame(() => setTimeout(() => {
    document.documentElement.dataset.readyMs = (performance.now() - began).toFixed(0);
  }));
}

function makeLegends(model) {
  const two = model.sides.length === 2;
  const names = model.sides.map((side) => side.name);
  fillLegend("usage-legend", [
    ["line in-use", "In use"],
    ["line pending", "Pending"],
    ["line quota", "Nominal quota"],
    ...(model.sides.some((side) => side.futures > 1) ? [["block range", "10th to 90th percentile"]] : []),
    ...(two ? [["line dashed", names[0]], ["line solid", names[1]]] : []),
  ]);
  fillLegend("timeline-legend", [
    ["block provisioning", "Starting"],
    ...END_COLORS.map((color, end) => [`block ${color}`, end === END.HORIZON ? "Running at the end" : capital(END_WORDS[end])]),
  ]);
}

function fillLegend(id, entries) {
  const items = entries.map(([kind, text]) => {
    const [item, mark] = [document.createElement("li"), document.createElement("i")];
    mark.className = kind;
    item.append(mark, text);
    return item;
  });
  document.getElementById(id).replaceChildren(...items);
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

// Shows a job (a row of the table, or -1 for none) in the timeline and in the line above it.
function showJob(timeline, row) {
  const {model, shownSide: side} = timeline;
  timeline.select(row);
  const line = document.getElementById("selected");
  line.replaceChildren();
  if (row < 0) return;
  const name = document.createElement("strong");
  name.textContent = model.names[row];
  const visible = side.queue[row] && timeline.reveal(row);
  const facts = side.queue[row] ? jobRows(side, row).map(([label, text]) => `${label[0].toLowerCase()}${label.slice(1)} ${text}`) : [];
  if (!side.queue[row]) facts.push(`not part of ${side.name}`);
  else if (!visible) facts.push("never gets quota");
  line.append(name, ` · ${facts.join(" · ")}`);
}

function showRange(view) {
  const [from, to] = [view.from * view.tickMs, view.to * view.tickMs];
  const text = view.whole ? `All ${duration(to)}` : `${moment(from)} – ${moment(to)} (${duration(to - from)})`;
  const output = document.getElementById("range");
  output.textContent = text;
  output.dataset.fromMs = from;
  output.dataset.toMs = to;
}

function connectSides(model, timeline, search) {
  if (model.sides.length < 2) return;
  const field = document.getElementById("sides");
  field.hidden = false;
  model.sides.forEach((side, number) => {
    const [label, input] = [document.createElement("label"), document.createElement("input")];
    Object.assign(input, {type: "radio", name: "side", value: String(number), checked: side === timeline.shownSide});
    input.addEventListener("change", () => {
      const {selected} = timeline;
      timeline.showSide(side);
      if (search.input.value) search.find();
      else showJob(timeline, selected);
    });
    label.append(input, side.name);
    field.append(label);
  });
}

function connectToolbar(timeline, search) {
  const {view} = timeline;
  const button = (id, act) => document.getElementById(id).addEventListener("click", act);
  button("zoom-in", () => view.zoom(1 / KEY_ZOOM));
  button("zoom-out", () => view.zoom(KEY_ZOOM));
  button("zoom-all", () => view.all());
  const rows = document.getElementById("row-height");
  rows.value = timeline.rowHeight;
  rows.addEventListener("input", () => timeline.setRowHeight(Number(rows.value)));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !(event.target instanceof HTMLInputElement && event.target.type === "search")) {
      event.preventDefault();
      search.input.focus();
      search.input.select();
    } else if (event.key === "Escape") {
      search.clear();
    }
  });
}

function connectMostDelayed(model, timeline, choose) {
  for (const button of document.querySelectorAll("button[data-number]")) {
    const row = model.numbers.indexOf(Number(button.dataset.number));
    button.addEventListener("click", () => {
      const side = timeline.shownSide;
      const last = side.first[row + 1] - 1;
      const end = last >= side.first[row] ? side.ended[last] : model.end;
      const margin = Math.max(1, (end - model.submit[row]) * 0.15);
      timeline.view.show(Math.max(0, model.submit[row] - margin), Math.min(model.end, end + margin));
      choose(row);
      document.getElementById("timeline").scrollIntoView({block: "start"});
      timeline.window.focus({preventScroll: true});
    });
  }
}

start().catch((error) => {
  const notice = document.getElementById("notice");
  notice.textContent = `The charts cannot be drawn: ${error.message}. The page needs a browser of 2023 or newer.`;
  notice.hidden = false;
  throw error;
});

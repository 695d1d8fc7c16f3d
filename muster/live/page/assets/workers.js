// The workers of an autoscaled gang over time, as steps: granted as an area, asked and running as lines.

const STEPS = {width: 300, height: 60};
const WORKER_LINES = ["granted", "asked", "running"];

function vector(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// `sizes` are in order of time; the last one lasts until now. Nothing is drawn without any.
function workersChart(sizes) {
  if (!sizes.length) return [];
  const times = sizes.map((size) => Date.parse(size.at));
  const from = times[0];
  const to = Math.max(Date.now(), times.at(-1) + 1000);
  const most = Math.max(1, ...sizes.flatMap((size) => WORKER_LINES.map((name) => size[name] ?? 0)));
  const x = (ms) => ((ms - from) / (to - from)) * STEPS.width;
  const y = (workers) => STEPS.height * (1 - workers / most);
  const picture = vector("svg", {
    viewBox: `0 0 ${STEPS.width} ${STEPS.height}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${workersOf(sizes.at(-1))} now; at most ${count(most)} since ${momentOf(sizes[0].at)}`,
  });
  for (const name of WORKER_LINES) {
    const points = sizes.flatMap((size, at) => (size[name] === null ? []
      : [`${x(times[at])},${y(size[name])}`, `${x(times[at + 1] ?? to)},${y(size[name])}`]));
    if (!points.length) continue;
    if (name === "granted") points.unshift(`0,${STEPS.height}`);
    if (name === "granted") points.push(`${STEPS.width},${STEPS.height}`);
    picture.append(vector(name === "granted" ? "polygon" : "polyline", {class: name, points: points.join(" ")}));
  }
  const legend = WORKER_LINES.map((name) => element("li", {}, element("i", {className: `block ${name}`}), name[0].toUpperCase() + name.slice(1)));
  return [element("h4", {}, "Workers over time"),
    element("div", {className: "workers"}, picture,
      element("p", {}, element("span", {}, momentOf(sizes[0].at)), element("span", {}, `at most ${count(most)}`), element("span", {}, "now")),
      element("ul", {className: "legend"}, ...legend))];
}

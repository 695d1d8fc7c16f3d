// One queue's accelerators over time: in use against nominal quota, and below, on their own scale because there are
// often many times as many, requested by pending jobs. The base of two sides is dashed.

const DASH = [5, 4];

// Lines over time that follow the view; `readout` shows their values at the cursor.
function timePlot({host, readout}, lines, view, height, axis) {
  const plot = new uPlot(
    {
      width: host.clientWidth,
      height,
      legend: {show: false},
      padding: [6, 18, 0, 0],
      cursor: {
        sync: {key: "time"},
        drag: {x: true, y: false, setScale: false},
        points: {show: false},
        bind: {dblclick: () => () => view.all()},
      },
      scales: {
        x: {time: false, range: () => [view.from, view.to]},
        y: {range: (_plot, _low, high) => [0, Math.max(1, high * 1.06)]},
      },
      axes: [axis, plotAxis({size: 50, space: 24, values: (_plot, splits) => splits.map(count)})],
      series: [{}, ...lines.map((line) => line.series)],
      bands: bandsOf(lines),
      hooks: {
        setCursor: [(chart) => { readout.textContent = readoutOf(chart, lines, view); }],
        setSelect: [(chart) => zoomToSelection(chart, view)],
      },
    },
    usageData(lines, view, 300),
    host,
  );
  return {
    plot,
    draw() {
      plot.setData(usageData(lines, view, Math.max(50, Math.round(plot.bbox.width / devicePixelRatio))));
    },
  };
}

// The lines of a queue's two plots: {name, values(edges), series, high} where `high` marks a band's
// upper line; a line without a name is not read out.
function usageLines(queue, model) {
  const [used, waiting] = [[], []];
  for (const side of model.sides) {
    const base = model.sides.length === 2 && side.number === 0;
    const usage = usageOf(side, queue);
    if (side.ranges[queue] && !base) used.push(...rangeLines(side.ranges[queue], model.end));
    const nominal = side.nominal[queue];
    if (nominal !== null && !(base && nominal === model.sides[1].nominal[queue])) {
      const values = (edges) => new Array(edges.length - 1).fill(nominal);
      used.push({name: base ? "base quota" : "quota", values, series: lineStyle("quota", 1, base)});
    }
    used.push({name: base ? "base" : "", values: (edges) => usage.inUse.means(edges), series: lineStyle("in-use", 1.75, base)});
    waiting.push({name: base ? "base" : "", values: (edges) => usage.pending.means(edges), series: lineStyle("pending", 1.5, base)});
  }
  if (model.sides.length === 1 && !model.sides[0].ranges[queue]) used.at(-1).series.fill = () => theme.color("range");
  if (model.sides.length === 1) waiting[0].series.fill = () => theme.color("pending-fill");
  return {used, waiting};
}

function lineStyle(color, width, base) {
  return {
    stroke: () => theme.color(color),
    width: base ? Math.min(width, 1.25) : width,
    dash: base ? DASH : undefined,
    alpha: base ? 0.8 : 1,
    points: {show: false},
  };
}

function rangeLines({low, high}, end) {
  const series = {stroke: "transparent", width: 0, points: {show: false}};
  return [
    {values: (edges) => sampled(high, edges, end), series, high: true},
    {values: (edges) => sampled(low, edges, end), series: {...series}},
  ];
}

function bandsOf(lines) {
  return lines.flatMap((line, at) => (line.high ? [{series: [at + 1, at + 2], fill: () => theme.color("range")}] : []));
}

function usageData(lines, view, parts) {
  const edges = edgesOf(view.from, view.to, parts);
  const middles = Array.from({length: parts}, (_, i) => (edges[i] + edges[i + 1]) / 2);
  return [middles, ...lines.map((line) => line.values(edges))];
}

// Values of equal parts of the whole forecast, at the middle of each span between edges.
function sampled(values, edges, end) {
  return Array.from({length: edges.length - 1}, (_, i) => {
    const part = Math.floor((((edges[i] + edges[i + 1]) / 2) * values.length) / end);
    return values[Math.min(values.length - 1, part)];
  });
}

// The time at the cursor and the lines' values there, as they are drawn; empty without a cursor.
function readoutOf(plot, lines, view) {
  const index = plot.cursor.idx;
  if (index === null || index === undefined) return "";
  const shown = lines.map(({name}, at) => (name === undefined ? "" : `${name} ${count(plot.data[at + 1][index])}`.trim()));
  return [moment(plot.data[0][index] * view.tickMs), ...shown.filter(Boolean).reverse()].join(" · ");
}

function zoomToSelection(plot, view) {
  const {left, width} = plot.select;
  if (width < 3) return;
  const from = plot.posToVal(left, "x");
  const to = plot.posToVal(left + width, "x");
  plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
  view.show(from, to);
}

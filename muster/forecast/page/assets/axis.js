// Axes that all charts of this page share.

const FONT = "11px system-ui, sans-serif";

function timeSplits(view, from, to, labels) {
  const step = timeStep((to - from) * view.tickMs, labels) / view.tickMs;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return {step, found};
}

function plotAxis(overrides) {
  return {
    stroke: () => theme.color("muted"),
    font: FONT,
    grid: {stroke: () => theme.color("line"), width: 1},
    ticks: {stroke: () => theme.color("line"), width: 1, size: 4},
    gap: 3,
    ...overrides,
  };
}

function timeAxis(view) {
  return plotAxis({
    size: 24,
    splits: (plot, _axis, from, to) => timeSplits(view, from, to, Math.max(2, plot.bbox.width / devicePixelRatio / 80)).found,
    values: (plot, splits) => {
      const step = splits.length > 1 ? (splits[1] - splits[0]) * view.tickMs : 1000;
      return splits.map((at) => timeLabel(at * view.tickMs, Math.round(step)));
    },
  });
}

// The same grid for a chart whose labels are those of the chart below it.
function bareTimeAxis(view) {
  return {...timeAxis(view), size: 6, ticks: {show: false}, values: (_plot, splits) => splits.map(() => "")};
}

// The share of a queue's jobs that run within a wait, on a logarithmic axis of time.

const WAIT_POINTS = 120;

function waitPanel(host, queue, model, waitMaxMs, height) {
  const sides = model.sides.map((side) => sortedWaits(side, queue));
  const last = Math.max(120, waitMaxMs / 1000);
  const seconds = Array.from({length: WAIT_POINTS}, (_, i) => last ** (i / (WAIT_POINTS - 1)));
  const shares = sides.map(({waits, jobs}) =>
    seconds.map((second) => jobs ? firstWhere(0, waits.length, (i) => waits[i] * model.tickMs > second * 1000) / jobs : null),
  );
  return new uPlot(
    {
      width: host.clientWidth,
      height,
      legend: {show: false},
      padding: [6, 18, 0, 0],
      cursor: {show: false},
      scales: {x: {time: false, distr: 3, range: () => [1, last]}, y: {range: [0, 1.02]}},
      axes: [
        plotAxis({
          size: 24,
          splits: () => [1, 60, 3600, 86400, 864000].filter((second) => second <= last * 0.7),
          values: (_plot, splits) => splits.map((second) => duration(second * 1000)),
          filter: (_plot, splits) => splits,
        }),
        plotAxis({size: 40, splits: () => [0, 0.5, 1], values: (_plot, splits) => splits.map((share) => `${share * 100} %`)}),
      ],
      series: [{}, ...sides.map((_, number) => lineStyle("in-use", 1.75, model.sides.length === 2 && number === 0))],
    },
    [seconds, ...shares],
    host,
  );
}

// The waits of jobs that ran, ascending, and the number of all jobs.
function sortedWaits(side, queue) {
  const waits = [];
  let jobs = 0;
  for (let row = 0; row < side.queue.length; row++) {
    if (side.queue[row] !== queue + 1) continue;
    jobs++;
    if (side.runs[row]) waits.push(side.wait[row]);
  }
  return {waits: Int32Array.from(waits).sort(), jobs};
}

function longestWaitMs(model) {
  let longest = 0;
  for (const side of model.sides) for (const wait of side.wait) if (wait > longest) longest = wait;
  return longest * model.tickMs;
}

// The data as the charts use it: jobs by row, and the attempts of each side by row, then by time. All times are ticks.

const END = {FINISHED: 0, PREEMPTED: 1, FAILED: 2, NOT_PROVISIONED: 3, HORIZON: 4, DEACTIVATED: 5, CANCELLED: 6};
const END_WORDS = ["finished", "preempted", "failed", "not provisioned", "still holds quota at the end",
  "not provisioned, deactivated", "cancelled"];

function modelOf(data) {
  const submit = summed(data.columns.get("submit"));
  const model = {
    tickMs: data.tick_ms,
    end: Math.max(1, data.end),
    queues: data.queues,
    classes: data.classes,
    names: namesOf(data),
    numbers: summed(data.columns.get("number")), // of jobs in the trace
    submit,
    cancelled: data.columns.get("cancelled").map((after, row) => after ? submit[row] + after - 1 : data.end), // or the end
    sides: [],
  };
  let before = null;
  data.sides.forEach((header, number) => {
    before = sideOf(header, number, data, model, before);
    model.sides.push(before);
  });
  return model;
}

function sideOf(header, number, data, model, before) {
  const column = (name) => data.columns.get(`${number}.${name}`);
  const rows = model.submit.length;
  const side = {...header, number, model};
  for (const name of ["queue", "class", "pods", "accelerators", "attempts"]) {
    const values = Int32Array.from(column(name));
    if (before) for (let row = 0; row < rows; row++) values[row] += before[name][row];
    side[name] = values;
  }
  Object.assign(side, attemptsOf(column, side, model, before));
  side.ranges = model.queues.map((_, queue) => {
    const low = column(`low.${queue}`);
    return low ? {low: scaled(low, data.usage_scale), high: scaled(column(`high.${queue}`), data.usage_scale)} : null;
  });
  return side;
}

function attemptsOf(column, side, model, before) {
  const [waited, starting, ran, end] = ["waited", "starting", "ran", "end"].map(column);
  const rows = model.submit.length;
  const first = new Int32Array(rows + 1);
  const job = new Int32Array(waited.length);
  const [reserved, started, ended] = [0, 1, 2].map(() => new Int32Array(waited.length));
  const wait = new Int32Array(rows); // until the gang first runs
  const runs = new Uint8Array(rows); // whether it ever does
  let at = 0;
  for (let row = 0; row < rows; row++) {
    first[row] = at;
    let time = model.submit[row];
    const usualRun = before && before.attempts[row] ? lastRun(before, row) : 0;
    for (let left = side.attempts[row]; left > 0; left--, at++) {
      job[at] = row;
      reserved[at] = time + waited[at];
      started[at] = starting[at] < 0 ? -1 : reserved[at] + starting[at];
      ended[at] = time = (started[at] < 0 ? reserved[at] : started[at]) + ran[at] + usualRun;
      if (started[at] >= 0 && !runs[row]) {
        runs[row] = 1;
        wait[row] = started[at] - model.submit[row];
      }
    }
    if (!runs[row]) wait[row] = Math.min(model.end, model.cancelled[row]) - model.submit[row];
  }
  first[rows] = at;
  return {first, job, reserved, started, ended, end, wait, runs};
}

function lastRun(side, row) {
  const last = side.first[row + 1] - 1;
  return side.ended[last] - (side.started[last] < 0 ? side.reserved[last] : side.started[last]);
}

function scaled(differences, scale) {
  return Float32Array.from(summed(differences), (value) => value / scale);
}

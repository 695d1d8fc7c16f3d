// Accelerators in use and pending over time, as steps with their integral: the mean over any span costs two
// binary searches, so a chart of the whole forecast costs no more than one of an hour.

class Steps {
  // `times` and `changes` have the same length, in any order.
  constructor(times, changes) {
    const order = orderByTime(Int32Array.from(times.keys()), (index) => times[index]);
    this.times = new Int32Array(order.length);
    this.values = new Float64Array(order.length + 1); // values[i] holds before times[i]
    this.areas = new Float64Array(order.length); // integral until times[i]
    for (let i = 0, area = 0, last = 0; i < order.length; i++) {
      const time = times[order[i]];
      area += this.values[i] * (time - last);
      last = this.times[i] = time;
      this.areas[i] = area;
      this.values[i + 1] = this.values[i] + changes[order[i]];
    }
  }

  #integral(time) {
    const next = firstWhere(0, this.times.length, (i) => this.times[i] > time);
    return next === 0 ? 0 : this.areas[next - 1] + this.values[next] * (time - this.times[next - 1]);
  }

  // The means over the equal parts between consecutive edges.
  means(edges) {
    const found = new Array(edges.length - 1);
    let before = this.#integral(edges[0]);
    for (let i = 0; i < found.length; i++) {
      const after = this.#integral(edges[i + 1]);
      found[i] = (after - before) / (edges[i + 1] - edges[i]);
      before = after;
    }
    return found;
  }
}

// {inUse, pending} of one queue (its index). CPU jobs have no accelerators and change nothing.
function usageOf(side, queue) {
  const [used, usedBy, pending, pendingBy] = [[], [], [], []];
  const {model} = side;
  for (let row = 0; row < model.submit.length; row++) {
    const accelerators = side.accelerators[row];
    if (side.queue[row] !== queue + 1 || accelerators === 0) continue;
    let waitsSince = model.submit[row];
    let done = false;
    for (let at = side.first[row]; at < side.first[row + 1]; at++) {
      used.push(side.reserved[at], side.ended[at]);
      usedBy.push(accelerators, -accelerators);
      pending.push(waitsSince, side.reserved[at]);
      pendingBy.push(accelerators, -accelerators);
      waitsSince = side.ended[at];
      done = [END.FINISHED, END.HORIZON, END.DEACTIVATED, END.CANCELLED].includes(side.end[at]);
    }
    if (!done) {
      pending.push(waitsSince, Math.max(waitsSince, model.cancelled[row]));
      pendingBy.push(accelerators, -accelerators);
    }
  }
  return {inUse: new Steps(used, usedBy), pending: new Steps(pending, pendingBy)};
}

function edgesOf(from, to, parts) {
  return Float64Array.from({length: parts + 1}, (_, i) => from + ((to - from) * i) / parts);
}

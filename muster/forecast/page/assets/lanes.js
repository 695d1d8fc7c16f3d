// Lanes of the timeline: within each queue an attempt gets the first lane that is free when it gets quota.

// For each queue with attempts {queue, lanes: [attempts by time, ...]}, and the lane of each attempt.
function lanesOf(side) {
  const laneOf = new Int32Array(side.job.length);
  const byQueue = side.model.queues.map(() => []);
  for (let attempt = 0; attempt < side.job.length; attempt++) byQueue[side.queue[side.job[attempt]] - 1].push(attempt);
  const groups = byQueue
    .map((attempts, queue) => ({queue, lanes: packedLanes(side, attempts, laneOf)}))
    .filter((group) => group.lanes.length);
  return {groups, laneOf};
}

function packedLanes(side, attempts, laneOf) {
  const lanes = [];
  const free = new Heap(); // lanes
  const busy = new Heap(); // lanes, by the time at which they are free
  for (const attempt of orderByTime(attempts, (one) => side.reserved[one])) {
    while (busy.size && busy.least <= side.reserved[attempt]) {
      const lane = busy.pop();
      free.push(lane, lane);
    }
    const lane = free.size ? free.pop() : lanes.push([]) - 1;
    lanes[lane].push(attempt);
    laneOf[attempt] = lane;
    // An attempt without length would share its lane with the next one at the same place.
    busy.push(Math.max(side.ended[attempt], side.reserved[attempt] + 1), lane);
  }
  return lanes;
}

// A binary heap of values by their keys, the least first.
class Heap {
  keys = [];
  values = [];

  get size() {
    return this.keys.length;
  }

  get least() {
    return this.keys[0];
  }

  push(key, value) {
    let at = this.keys.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.keys[parent] <= key) break;
      this.#set(at, this.keys[parent], this.values[parent]);
      at = parent;
    }
    this.#set(at, key, value);
  }

  pop() {
    const top = this.values[0];
    const key = this.keys.pop();
    const value = this.values.pop();
    const size = this.keys.length;
    if (size === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && this.keys[child + 1] < this.keys[child]) child++;
      if (this.keys[child] >= key) break;
      this.#set(at, this.keys[child], this.values[child]);
      at = child;
    }
    this.#set(at, key, value);
    return top;
  }

  #set(at, key, value) {
    this.keys[at] = key;
    this.values[at] = value;
  }
}

// The timeline's model, in the form that the forecast's charts draw: one row a Workload, with its attempts.

const END = {FINISHED: 0, PREEMPTED: 1, FAILED: 2, NOT_PROVISIONED: 3, RUNNING: 4, STOPPED: 5};
const END_WORDS = ["finished", "preempted", "failed", "not provisioned", "running", "stopped"];
const TICK_MS = 1000;
const WINDOW_MS = 6 * 3600000;
const HOUR_MS = 3600000;
const REBUILD_MS = 1000;
const ADVANCE_MS = 5000;

// Times are ticks since a full hour, before which nothing is drawn.
function liveModel(rows, nowMs) {
  const originMs = Math.floor((nowMs - WINDOW_MS) / HOUR_MS) * HOUR_MS;
  const ticks = (ms) => Math.round((ms - originMs) / TICK_MS);
  const byWorkload = new Map();
  for (const row of rows) {
    const key = `${row.workload}/${row.createdMs}`;
    if (!byWorkload.has(key)) byWorkload.set(key, []);
    byWorkload.get(key).push(row);
  }
  const gangs = [...byWorkload.values()];
  for (const gang of gangs) gang.sort((one, other) => one.reservedMs - other.reservedMs);
  const latest = gangs.map((gang) => gang.at(-1));
  const queues = [...new Set(latest.map((row) => row.queue))].sort();
  const classes = [...new Set(latest.map((row) => row.class))];
  const queueNumbers = new Map(queues.map((name, at) => [name, at + 1]));
  const end = Math.max(1, ticks(nowMs));
  const model = {
    tickMs: TICK_MS, originMs, end, queues, classes, sides: [],
    names: latest.map((row) => row.name),
    keys: latest.map((row) => row.workload),
    submit: Int32Array.from(latest, (row) => ticks(row.createdMs)),
  };
  const attempts = gangs.flat();
  const first = new Int32Array(gangs.length + 1);
  gangs.forEach((gang, row) => { first[row + 1] = first[row] + gang.length; });
  const started = (row) => (row.startedMs === null ? -1 : Math.max(0, ticks(row.startedMs)));
  model.sides.push({
    model, number: 0, name: "", first,
    queue: Int32Array.from(latest, (row) => queueNumbers.get(row.queue)),
    class: Int32Array.from(latest, (row) => classes.indexOf(row.class)),
    pods: Int32Array.from(latest, (row) => row.pods),
    accelerators: Int32Array.from(latest, (row) => row.accelerators),
    job: Int32Array.from(gangs.flatMap((gang, row) => gang.map(() => row))),
    reserved: Int32Array.from(attempts, (row) => ticks(row.reservedMs)),
    started: Int32Array.from(attempts, started),
    ended: Int32Array.from(attempts, (row) => (row.endedMs === null ? end : ticks(row.endedMs))),
    end: Int32Array.from(attempts, (row) => END_WORDS.indexOf(row.end)),
    wait: Int32Array.from(gangs, (gang) => ((gang[0].startedMs ?? nowMs) - gang[0].createdMs) / TICK_MS),
    runs: Uint8Array.from(gangs, (gang) => (gang[0].startedMs === null ? 0 : 1)),
  });
  return model;
}

class Gangs {
  #timeline = null;
  #due = false;
  #drawn = 0; // gangs

  // `shownQueues()` returns the names of the queues to draw, null for all.
  constructor(tables, shownQueues, onChoose) {
    Object.assign(this, {tables, shownQueues, onChoose});
    tables.onChange("gangs", () => this.#later());
    setInterval(() => { if (!document.hidden) this.rebuild(); }, ADVANCE_MS);
    fillLegend("timeline-legend", [
      ["block provisioning", "Starting"],
      ...END_WORDS.map((word, end) => [`block ${END_COLORS[end]}`, word[0].toUpperCase() + word.slice(1)]),
    ]);
  }

  #later() {
    if (this.#due) return;
    this.#due = true;
    setTimeout(() => this.rebuild(), this.#drawn ? REBUILD_MS : 0);
  }

  // Draws the current table and keeps the zoomed part visible.
  rebuild() {
    this.#due = false;
    const queues = this.shownQueues();
    const rows = [...this.tables.rows("gangs").values()].filter((row) => !queues || queues.has(row.queue));
    const model = liveModel(rows, Date.now());
    this.#drawn = model.keys.length;
    const before = wallTime.originMs;
    wallTime.originMs = model.originMs;
    if (!this.#timeline) return this.#begin(model);
    const timeline = this.#timeline;
    const selected = timeline.selected < 0 ? "" : timeline.model.keys[timeline.selected];
    timeline.view.moveTo(model.end, (before - model.originMs) / TICK_MS);
    timeline.showModel(model);
    timeline.select(selected ? model.keys.indexOf(selected) : -1);
    this.#showRange();
  }

  #begin(model) {
    const view = new View(model);
    this.#timeline = new Timeline(model, view);
    connectTimeline(this.#timeline, new Tooltip(), (attempt) => {
      const row = attempt < 0 ? -1 : this.#timeline.shownSide.job[attempt];
      this.#timeline.select(row);
      if (row >= 0) this.onChoose(this.#timeline.model.keys[row]);
    });
    const button = (id, act) => byId(id).addEventListener("click", act);
    button("zoom-in", () => view.zoom(1 / KEY_ZOOM));
    button("zoom-out", () => view.zoom(KEY_ZOOM));
    button("zoom-all", () => view.all());
    view.onChange(() => this.#showRange());
    this.#showRange();
  }

  #showRange() {
    const {view} = this.#timeline;
    const span = `${moment(view.from * TICK_MS)} – ${moment(view.to * TICK_MS)}`;
    setText(byId("range"), `${span} · ${plural(this.#drawn, "gang", "gangs")}`);
  }
}

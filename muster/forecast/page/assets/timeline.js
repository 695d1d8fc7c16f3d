// The timeline: each queue's lanes below each other in a window that scrolls; the canvas covers the window only.

const GUTTER = 132; // queue names
const AXIS_HEIGHT = 24;
const GROUP_GAP = 10;
const ROW_HEIGHT = {least: 3, most: 24};

class Timeline {
  shownSide = null;
  selected = -1; // a row of the job table
  hovered = -1; // an attempt
  matches = null; // by row: whether the search finds it; null without a search
  #layouts = new Map();

  constructor(model, view) {
    this.model = model;
    this.view = view;
    this.window = document.getElementById("timeline-scroll");
    this.spacer = document.getElementById("timeline-spacer");
    this.canvas = document.getElementById("timeline-canvas");
    this.context = this.canvas.getContext("2d");
    this.draw = this.draw.bind(this);
    view.addDrawing(this.draw);
    theme.listeners.push(() => view.redraw(this.draw));
    this.window.addEventListener("scroll", () => view.redraw(this.draw));
    this.showSide(model.sides.at(-1));
    this.rowHeight = this.rowHeightThatFits();
    this.resize();
    new ResizeObserver(() => this.resize()).observe(this.window);
  }

  showSide(side) {
    this.shownSide = side;
    if (!this.#layouts.has(side)) this.#layouts.set(side, lanesOf(side));
    Object.assign(this, this.#layouts.get(side));
    this.hovered = -1;
    if (this.rowHeight) this.setRowHeight(this.rowHeight);
  }

  // Shows another model of the same kind, such as a newer one.
  showModel(model) {
    this.model = model;
    this.#layouts.clear();
    this.showSide(model.sides.at(-1));
  }

  rowHeightThatFits() {
    const lanes = this.groups.reduce((sum, group) => sum + group.lanes.length, 0);
    const room = this.window.clientHeight - AXIS_HEIGHT - this.groups.length * GROUP_GAP;
    return Math.max(ROW_HEIGHT.least, Math.min(18, Math.floor(room / Math.max(1, lanes))));
  }

  setRowHeight(height) {
    const share = this.window.scrollTop / Math.max(1, this.spacer.offsetHeight);
    this.rowHeight = height;
    let top = AXIS_HEIGHT + GROUP_GAP / 2;
    for (const group of this.groups) {
      group.top = top;
      group.height = Math.max(group.lanes.length * height, 14); // room for the name
      top += group.height + GROUP_GAP;
    }
    this.spacer.style.height = `${Math.max(top, this.window.clientHeight)}px`;
    this.window.scrollTop = share * top;
    this.view.redraw(this.draw);
  }

  resize() {
    const ratio = devicePixelRatio;
    const [width, height] = [this.window.clientWidth, this.window.clientHeight];
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    Object.assign(this, {width, height, plotWidth: width - GUTTER - 8});
    this.setRowHeight(this.rowHeight);
  }

  x(time) {
    return GUTTER + ((time - this.view.from) / this.view.span) * this.plotWidth;
  }

  // A pixel within the plot, one before or one after it.
  clampedX(time) {
    return Math.round(Math.min(GUTTER + this.plotWidth + 1, Math.max(GUTTER - 1, this.x(time))));
  }

  time(x) {
    return this.view.from + ((x - GUTTER) / this.plotWidth) * this.view.span;
  }

  draw() {
    const {context, width, height} = this;
    context.fillStyle = theme.color("panel");
    context.fillRect(0, 0, width, height);
    const axis = timeSplits(this.view, this.view.from, this.view.to, Math.max(2, this.plotWidth / 90));
    this.#drawGrid(axis, height);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS_HEIGHT, this.plotWidth, height - AXIS_HEIGHT);
    context.clip();
    this.#drawBars(height);
    context.restore();
    this.#drawGutter(width, height);
    this.#drawAxis(axis, width);
  }

  #drawBars(height) {
    const bars = new Bars();
    const side = this.shownSide;
    const barHeight = this.rowHeight - (this.rowHeight > 4 ? 1 : 0);
    const {matches, selected} = this;
    const isFaded = matches ? (attempt) => !matches[side.job[attempt]] && side.job[attempt] !== selected : null;
    const wide = [];
    const {from, to, span} = this.view;
    const scale = {from, to, left: GUTTER - 1, right: GUTTER + this.plotWidth + 1, perTick: this.plotWidth / span};
    for (const {lane, y} of this.#visibleLanes(height)) addLane(bars, lane, side, scale, y, barHeight, isFaded, wide);
    bars.fill(this.context);
    if (barHeight >= NAME_LANE_HEIGHT) drawNames(this.context, wide, side, barHeight);
    this.#outline(side, barHeight);
  }

  *#visibleLanes(height) {
    const scroll = this.window.scrollTop;
    for (const group of this.groups) {
      const top = group.top - scroll;
      const first = Math.max(0, Math.floor((AXIS_HEIGHT - top) / this.rowHeight));
      const last = Math.min(group.lanes.length - 1, Math.floor((height - top) / this.rowHeight));
      for (let lane = first; lane <= last; lane++) {
        yield {lane: group.lanes[lane], y: Math.round(top + lane * this.rowHeight)};
      }
    }
  }

  // Outlines the chosen job's attempts and the one below the pointer, with a line for the time it waited.
  #outline(side, height) {
    const {context} = this;
    const row = this.hovered >= 0 ? side.job[this.hovered] : -1;
    for (const job of new Set([this.selected, row])) {
      if (job < 0) continue;
      let since = this.model.submit[job];
      for (let attempt = side.first[job]; attempt < side.first[job + 1]; attempt++) {
        const y = this.laneY(attempt) - this.window.scrollTop;
        const [left, right] = [this.clampedX(side.reserved[attempt]), this.clampedX(side.ended[attempt])];
        context.strokeStyle = theme.color("text");
        context.lineWidth = 1;
        context.setLineDash([3, 3]);
        context.beginPath();
        context.moveTo(this.clampedX(since), y + height / 2);
        context.lineTo(left, y + height / 2);
        context.stroke();
        context.setLineDash([]);
        context.lineWidth = 2;
        context.strokeRect(left - 1, y - 1, Math.max(3, right - left + 1), height + 2);
        since = side.ended[attempt];
      }
    }
  }

  #drawGrid({found}, height) {
    this.context.fillStyle = theme.color("line");
    for (const at of found) this.context.fillRect(Math.round(this.x(at)), AXIS_HEIGHT, 1, height);
  }

  #drawGutter(width, height) {
    const {context} = this;
    context.fillStyle = theme.color("panel");
    context.fillRect(0, 0, GUTTER, height);
    context.textBaseline = "top";
    for (const group of this.groups) {
      const top = group.top - this.window.scrollTop;
      if (top > height || top + group.height < AXIS_HEIGHT) continue;
      context.fillStyle = theme.color("line");
      context.fillRect(0, Math.round(top - GROUP_GAP / 2), width, 1);
      // The name stays visible while any lane of its queue is.
      const at = Math.min(Math.max(top, AXIS_HEIGHT + 4), top + group.height - 14);
      context.fillStyle = theme.color("text");
      context.font = `600 ${FONT}`;
      context.fillText(shortened(context, this.model.queues[group.queue], GUTTER - 16), 8, at + 1);
      if (group.height < 30 || at + 28 > top + group.height) continue;
      context.fillStyle = theme.color("muted");
      context.font = FONT;
      context.fillText(plural(group.lanes.length, "slot", "slots"), 8, at + 15);
    }
  }

  #drawAxis({step, found}, width) {
    const {context} = this;
    context.fillStyle = theme.color("panel");
    context.fillRect(0, 0, width, AXIS_HEIGHT);
    context.fillStyle = theme.color("line");
    context.fillRect(0, AXIS_HEIGHT - 1, width, 1);
    context.fillStyle = theme.color("muted");
    context.font = FONT;
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (const at of found) {
      const x = this.x(at);
      if (x < GUTTER - 1 || x > width - 14) continue;
      context.fillText(timeLabel(at * this.view.tickMs, Math.round(step * this.view.tickMs)), x, AXIS_HEIGHT / 2);
    }
    context.textAlign = "left";
  }

  // The attempt's lane, in pixels from the top of what scrolls.
  laneY(attempt) {
    const queue = this.shownSide.queue[this.shownSide.job[attempt]] - 1;
    const group = this.groups.find((one) => one.queue === queue);
    return group.top + this.laneOf[attempt] * this.rowHeight;
  }

  // The attempt at a place of the window, or -1; bars narrower than a few pixels are found with some tolerance.
  attemptAt(x, y) {
    if (x < GUTTER || y < AXIS_HEIGHT) return -1;
    const at = y + this.window.scrollTop;
    const group = this.groups.find((one) => at >= one.top && at < one.top + one.lanes.length * this.rowHeight);
    if (!group) return -1;
    const lane = group.lanes[Math.floor((at - group.top) / this.rowHeight)];
    const [from, to] = [this.time(x - 2), this.time(x + 2)];
    const side = this.shownSide;
    const next = firstWhere(0, lane.length, (i) => side.ended[lane[i]] >= from);
    return next < lane.length && side.reserved[lane[next]] <= to ? lane[next] : -1;
  }

  // Scrolls and moves the view so that the job's first attempt is visible; returns whether it has one.
  reveal(row) {
    const side = this.shownSide;
    const attempt = side.first[row];
    if (attempt === side.first[row + 1]) return false;
    const y = this.laneY(attempt);
    const [top, bottom] = [this.window.scrollTop + AXIS_HEIGHT, this.window.scrollTop + this.window.clientHeight];
    if (y < top + 8 || y + this.rowHeight > bottom - 8) this.window.scrollTop = y - this.window.clientHeight / 2;
    const [from, to] = [side.reserved[attempt], side.ended[attempt]];
    const {view} = this;
    if (to < view.from || from > view.to) view.show((from + to - view.span) / 2, (from + to + view.span) / 2);
    return true;
  }

  select(row) {
    this.selected = row;
    this.view.redraw(this.draw);
  }
}

function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const length = firstWhere(0, text.length, (n) => context.measureText(`${text.slice(0, n)}…`).width > width);
  return `${text.slice(0, Math.max(0, length - 1))}…`;
}

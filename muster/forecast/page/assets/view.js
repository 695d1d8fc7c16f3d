// The span of time that all charts show, and one redraw a frame for whatever changed.

class View {
  #drawings = new Set();
  #waiting = new Set();
  #listeners = [];

  constructor(model) {
    this.end = model.end;
    this.tickMs = model.tickMs;
    this.from = 0;
    this.to = this.end;
    this.spanMin = Math.max(1, Math.min(this.end, 2000 / this.tickMs));
  }

  get span() {
    return this.to - this.from;
  }

  get whole() {
    return this.from === 0 && this.to === this.end;
  }

  // `listener` hears of every change of the span; `drawing` is drawn in the next frame after one.
  onChange(listener) {
    this.#listeners.push(listener);
  }

  addDrawing(drawing) {
    this.#drawings.add(drawing);
  }

  // Shows a span, moved or shortened to lie within the forecast.
  show(from, to) {
    const span = Math.min(this.end, Math.max(this.spanMin, to - from));
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(0, span === to - from ? from : middle - span / 2), this.end - span);
    this.to = this.from + span;
    for (const listener of this.#listeners) listener();
    for (const drawing of this.#drawings) this.redraw(drawing);
  }

  // Moves the end, and all times by `shift` ticks; what was shown stays in sight, and the whole stays whole.
  moveTo(end, shift) {
    const {whole} = this;
    this.end = end;
    if (whole) this.all();
    else this.show(this.from + shift, this.to + shift);
  }

  all() {
    this.show(0, this.end);
  }

  // Multiplies the span, with the given time at its place.
  zoom(factor, around = (this.from + this.to) / 2) {
    const span = Math.min(this.end, Math.max(this.spanMin, this.span * factor));
    const share = (around - this.from) / this.span;
    this.show(around - span * share, around - span * share + span);
  }

  // Moves by a share of the span.
  pan(share) {
    const by = Math.max(-this.from, Math.min(this.end - this.to, share * this.span));
    this.show(this.from + by, this.to + by);
  }

  redraw(drawing) {
    if (this.#waiting.size === 0) requestAnimationFrame(() => this.#draw());
    this.#waiting.add(drawing);
  }

  redrawAll() {
    for (const drawing of this.#drawings) this.redraw(drawing);
  }

  #draw() {
    const began = performance.now();
    const drawings = [...this.#waiting];
    this.#waiting.clear();
    for (const drawing of drawings) drawing();
    document.documentElement.dataset.drawMs = (performance.now() - began).toFixed(1);
    document.documentElement.dataset.draws = Number(document.documentElement.dataset.draws ?? 0) + 1;
  }
}

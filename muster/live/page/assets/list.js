// A list of rows of one height, of which only those in sight exist as elements.

const BEYOND = 6; // rows kept above and below those in sight

class List {
  count = 0;
  active = -1; // the row that keys act on
  #shown = new Map(); // elements by row
  #waiting = false;

  // `fill(element, row)` fills an element; `options.choose(row)` acts on a click or Enter.
  constructor(box, rowHeight, fill, options) {
    Object.assign(this, {box, rowHeight, fill, options});
    this.spacer = element("div", {className: "spacer", role: "presentation"});
    box.append(this.spacer);
    box.addEventListener("scroll", () => this.draw());
    box.addEventListener("keydown", (event) => this.#onKey(event));
    box.addEventListener("focus", () => {
      if (this.active < 0 && this.count) this.activate(0);
    });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // Shows this many rows; all of them are filled again.
  show(count) {
    this.count = count;
    this.active = Math.min(this.active, count - 1);
    this.spacer.style.height = `${count * this.rowHeight}px`;
    for (const [row, shown] of this.#shown) {
      if (row < count) this.#fill(shown, row);
    }
    this.draw();
  }

  get range() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.rowHeight) - BEYOND);
    const last = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.rowHeight) + BEYOND);
    return [first, last];
  }

  draw() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.#drawNow();
    });
  }

  #drawNow() {
    const [first, last] = this.range;
    const spare = [];
    for (const [row, shown] of this.#shown) {
      if (row >= first && row < last) continue;
      this.#shown.delete(row);
      spare.push(shown);
    }
    for (let row = first; row < last; row++) {
      if (this.#shown.has(row)) continue;
      const shown = spare.pop() ?? this.#made();
      this.#shown.set(row, shown);
      shown.style.transform = `translateY(${row * this.rowHeight}px)`;
      shown.id = `${this.box.id}-${row}`;
      shown.setAttribute("aria-posinset", row + 1);
      this.#fill(shown, row);
    }
    for (const shown of spare) shown.remove();
    this.options.onRange?.(first, last);
  }

  #made() {
    const made = element("div", {className: "row", role: this.options.role});
    made.style.height = `${this.rowHeight}px`;
    made.addEventListener("click", (event) => {
      const row = [...this.#shown].find(([, shown]) => shown === made)[0];
      this.activate(row);
      this.options.choose(row, event);
    });
    this.spacer.append(made);
    return made;
  }

  #fill(shown, row) {
    shown.setAttribute("aria-setsize", this.count);
    shown.classList.toggle("active", row === this.active);
    this.fill(shown, row);
  }

  // Makes a row the active one, and scrolls to it.
  activate(row) {
    const before = this.#shown.get(this.active);
    this.active = Math.max(0, Math.min(this.count - 1, row));
    before?.classList.remove("active");
    const top = this.active * this.rowHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + this.rowHeight > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + this.rowHeight - this.box.clientHeight;
    this.#drawNow();
    this.#shown.get(this.active)?.classList.add("active");
    this.box.setAttribute("aria-activedescendant", `${this.box.id}-${this.active}`);
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.count) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight) - 1);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count};
    if (event.key in steps) this.activate(this.active + steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.options.choose(this.active, event);
    else if (!this.options.onKey?.(event.key, this.active)) return;
    event.preventDefault();
  }
}

// Finds jobs by a part of their name: highlights all, shows them one after the other.

class Search {
  #names = null;
  #rows = [];
  #at = -1;

  constructor(model, timeline, onShow) {
    this.model = model;
    this.timeline = timeline;
    this.onShow = onShow;
    this.input = document.getElementById("search");
    this.count = document.getElementById("search-count");
    this.previous = document.getElementById("previous");
    this.next = document.getElementById("next");
    this.input.addEventListener("input", () => this.find());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    });
    this.previous.addEventListener("click", () => this.step(-1));
    this.next.addEventListener("click", () => this.step(1));
  }

  clear() {
    this.input.value = "";
    this.find();
  }

  // Searches again, for the input's text among the jobs of the shown side.
  find() {
    const text = this.input.value.trim().toLowerCase();
    const {timeline} = this;
    this.#rows = [];
    this.#at = -1;
    timeline.matches = null;
    if (text) {
      this.#names ??= this.model.names.map((name) => name.toLowerCase());
      timeline.matches = new Uint8Array(this.#names.length);
      this.#names.forEach((name, row) => {
        if (!name.includes(text) || !timeline.shownSide.queue[row]) return;
        timeline.matches[row] = 1;
        this.#rows.push(row);
      });
    }
    this.previous.disabled = this.next.disabled = this.#rows.length === 0;
    if (this.#rows.length) this.step(1);
    else {
      this.count.textContent = text ? "No job matches" : "";
      this.onShow(-1);
    }
  }

  step(by) {
    const length = this.#rows.length;
    if (!length) return;
    this.#at = (this.#at + by + length) % length;
    this.count.textContent = `${count(this.#at + 1)} of ${plural(length, "job", "jobs")}`;
    this.onShow(this.#rows[this.#at]);
  }
}

// The tree of cohorts and queues, each with a bar of one resource.

const TREE_ROW = 34;
const BY_NAME = new Intl.Collator("en", {numeric: true});

class Tree {
  selected = ""; // an id
  resource = "";
  #rows = []; // {id, row, depth, children}, as shown
  #closed = new Set();
  #children = new Map(); // ids by parent's id

  constructor(tables, onSelect) {
    Object.assign(this, {tables, onSelect});
    this.list = new List(byId("tree"), TREE_ROW, (shown, at) => this.#fill(shown, this.#rows[at]), {
      role: "treeitem",
      choose: (at, event) => this.#choose(at, event),
      onKey: (key, at) => this.#onKey(key, at),
    });
    this.search = byId("search");
    this.search.addEventListener("input", () => this.#arrange());
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.#rows.length) {
        this.list.box.focus();
        this.list.activate(0);
      }
    });
    this.choice = byId("resource");
    this.choice.addEventListener("change", () => {
      this.resource = this.choice.value;
      this.list.show(this.#rows.length);
    });
    tables.onChange("queues", () => this.update());
  }

  // Reads the table again.
  update() {
    const rows = this.tables.rows("queues");
    this.#children = new Map();
    for (const [id, row] of rows) {
      const parent = rows.has(row.parent) ? row.parent : "";
      if (!this.#children.has(parent)) this.#children.set(parent, []);
      this.#children.get(parent).push(id);
    }
    const isQueue = (id) => (id.startsWith("queue/") ? 1 : 0);
    const order = (one, other) => isQueue(one) - isQueue(other) || BY_NAME.compare(rows.get(one).name, rows.get(other).name);
    for (const ids of this.#children.values()) ids.sort(order);
    this.#updateResources(rows);
    this.#arrange();
  }

  // The ids of the queues at or below a node; all for none.
  queuesBelow(id) {
    const found = new Set();
    const visited = new Set(); // cohorts of a broken configuration may form a cycle
    const visit = (at) => {
      if (visited.has(at)) return;
      visited.add(at);
      if (at.startsWith("queue/")) found.add(at);
      for (const child of this.#children.get(at) ?? []) visit(child);
    };
    visit(id);
    return found;
  }

  select(id) {
    this.selected = id;
    this.list.show(this.#rows.length);
  }

  #updateResources(rows) {
    const totals = new Map();
    for (const {resources} of rows.values()) {
      for (const name of Object.keys(resources)) totals.set(name, (totals.get(name) ?? 0) + 1);
    }
    const names = [...totals.keys()].sort();
    const options = [...this.choice.options].map((option) => option.value);
    if (names.join() !== options.join()) {
      this.choice.replaceChildren(...names.map((name) => element("option", {value: name, textContent: name})));
    }
    // Accelerators, such as nvidia.com/gpu, are what gangs wait for.
    if (!totals.has(this.resource)) this.resource = names.find((name) => name.includes("/")) ?? names[0] ?? "";
    this.choice.value = this.resource;
  }

  // Lists what is shown: all but what is below closed nodes; with a search, what it finds, with what is above
  // and below.
  #arrange() {
    const rows = this.tables.rows("queues");
    const text = this.search.value.trim().toLowerCase();
    const found = [];
    const visited = new Set();
    const visit = (id, depth, below) => {
      if (visited.has(id)) return false;
      visited.add(id);
      const row = rows.get(id);
      const children = this.#children.get(id) ?? [];
      const at = found.push({id, row, depth, children: children.length}) - 1;
      const matches = below || !text || row.name.toLowerCase().includes(text);
      let kept = matches;
      if (text || !this.#closed.has(id)) for (const child of children) kept = visit(child, depth + 1, matches) || kept;
      if (!kept) found.length = at;
      return kept;
    };
    for (const id of this.#children.get("") ?? []) visit(id, 0, false);
    // A cycle has no root.
    if (!text) for (const id of rows.keys()) if (!visited.has(id) && !this.#belowClosed(id, rows)) visit(id, 0, false);
    this.#rows = found;
    this.list.show(found.length);
  }

  #belowClosed(id, rows) {
    const visited = new Set();
    for (let at = rows.get(id)?.parent; at && !visited.has(at); at = rows.get(at)?.parent) {
      if (this.#closed.has(at)) return true;
      visited.add(at);
    }
    return false;
  }

  #choose(at, event) {
    const {id} = this.#rows[at];
    if (event.target.classList?.contains("twisty")) return this.#toggle(id, !this.#closed.has(id));
    this.onSelect(id);
  }

  #toggle(id, close) {
    if (close) this.#closed.add(id);
    else this.#closed.delete(id);
    this.#arrange();
  }

  // Left closes a node or goes to its parent, right opens it or goes to its first child.
  #onKey(key, at) {
    const {id, row, children} = this.#rows[at];
    const closed = this.#closed.has(id);
    if (key === "ArrowRight" && children) {
      if (closed) this.#toggle(id, false);
      else this.list.activate(at + 1);
    } else if (key === "ArrowLeft" && children && !closed) {
      this.#toggle(id, true);
    } else if (key === "ArrowLeft") {
      const parent = this.#rows.findIndex((one) => one.id === row.parent);
      if (parent >= 0) this.list.activate(parent);
    } else {
      return false;
    }
    return true;
  }

  #fill(shown, {id, row, depth, children}) {
    shown.setAttribute("aria-level", depth + 1);
    shown.setAttribute("aria-selected", id === this.selected);
    if (children) shown.setAttribute("aria-expanded", !this.#closed.has(id));
    else shown.removeAttribute("aria-expanded");
    const quantity = row.resources[this.resource] ?? {total: 0, used: 0, borrowed: 0, lent: 0, pending: 0};
    const name = element("div", {className: `name ${id.startsWith("cohort/") ? "cohort" : ""}`, title: row.name},
      element("i", {className: children ? "twisty" : "hidden"}), element("span", {}, row.name),
      row.problem ? element("b", {className: "badge", title: row.problem}, "admits nothing") : null);
    name.style.paddingLeft = `${depth * 14}px`;
    shown.replaceChildren(name, usageBar(this.resource, quantity), workloadNumbers(this.resource, quantity, row));
  }
}

// Usage, its borrowed part and pending demand, next to the nominal quota. Pending demand beyond the
// quota is cut off, as it has no limit.
function usageBar(resource, {total, used, borrowed, lent, pending}) {
  const size = Math.max(total, used);
  const waiting = Math.min(pending, Math.max(size, 0));
  const whole = Math.max(size, used + waiting) || 1;
  const words = [`${amount(resource, used)} of ${amount(resource, total)} used`];
  if (borrowed) words.push(`${amount(resource, borrowed)} borrowed`);
  if (lent) words.push(`${amount(resource, lent)} lent`);
  if (pending) words.push(`${amount(resource, pending)} pending`);
  const bar = element("div", {className: "bar", role: "img", "aria-label": words.join(", "), title: words.join(", ")});
  const part = (kind, from, to) => {
    if (to <= from) return;
    const made = element("i", {className: kind});
    made.style.left = `${(100 * from) / whole}%`;
    made.style.width = `${(100 * (to - from)) / whole}%`;
    bar.append(made);
  };
  part("held", 0, used - borrowed);
  part("borrowed", used - borrowed, used);
  part("demand", used, used + waiting);
  const mark = element("i", {className: "nominal"});
  mark.style.left = `calc(${(100 * total) / whole}% - 1px)`;
  if (total) bar.append(mark);
  return bar;
}

function workloadNumbers(resource, {total, used}, {pending, admitted}) {
  const numbers = element("div", {className: "numbers"}, element("strong", {}, amount(resource, used)), ` / ${amount(resource, total)}`);
  numbers.title = `${plural(admitted, "workload", "workloads")} admitted, ${count(pending)} pending`;
  if (pending) numbers.append(" · ", element("span", {className: "pending"}, `${count(pending)} pending`));
  return numbers;
}

// The tables that the server keeps up to date: rows by id, as Maps.

class Tables {
  #tables = new Map();
  #listeners = new Map();
  #source = null;

  constructor(onConnection) {
    this.onConnection = onConnection;
  }

  rows(name) {
    if (!this.#tables.has(name)) this.#tables.set(name, new Map());
    return this.#tables.get(name);
  }

  // `listener` hears of the ids that changed or are gone in a table.
  onChange(name, listener) {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
  }

  connect() {
    this.#source = new EventSource("api/events");
    this.#source.addEventListener("tables", (event) => {
      // After a lost connection: rows removed since then count as changed, too.
      const gone = new Map([...this.#tables].map(([name, rows]) => [name, new Set(rows.keys())]));
      for (const rows of this.#tables.values()) rows.clear();
      this.#take(JSON.parse(event.data), gone);
      this.onConnection({connected: true, ageS: 0});
    });
    this.#source.addEventListener("patch", (event) => {
      this.#take(JSON.parse(event.data));
      this.onConnection({connected: true, ageS: 0});
    });
    this.#source.addEventListener("alive", (event) => this.onConnection({connected: true, ...JSON.parse(event.data)}));
    this.#source.addEventListener("error", () => {
      this.onConnection({connected: false});
      // A browser gives up after an answer that is no stream, such as that of a gateway.
      if (this.#source.readyState === EventSource.CLOSED) setTimeout(() => this.connect(), 3000);
    });
  }

  #take({rows, removed}, changed = new Map()) {
    const note = (name, id) => changed.set(name, (changed.get(name) ?? new Set()).add(id));
    for (const [name, table] of Object.entries(rows)) {
      for (const [id, row] of Object.entries(table)) {
        this.rows(name).set(id, row);
        note(name, id);
      }
    }
    for (const [name, ids] of Object.entries(removed)) {
      for (const id of ids) {
        this.rows(name).delete(id);
        note(name, id);
      }
    }
    for (const [name, ids] of changed) {
      for (const listener of this.#listeners.get(name) ?? []) listener(ids);
    }
  }
}

async function answer(path, parameters) {
  const response = await fetch(`${path}?${new URLSearchParams(parameters)}`);
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

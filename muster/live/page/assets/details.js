// What was chosen: a queue with its workloads, or one workload with what it waits for.

const WORKLOAD_ROW = 30;
const PAGE_ROWS = 100;
const PODS_MS = 5000; // between updates of the pods' problems, as the server does not watch pods
const NOT_KNOWN_YET = {remedies: [], preempts: [], ahead: [], checks: [], history: [], podProblems: [], podsUnread: "", size: [], sizes: [], requeues: 0, requeue: null};

class Details {
  #queue = ""; // an id of the table
  #workload = ""; // a key
  #described = ""; // the key of the workload that the server has described
  #hasPods = false;
  #total = 0;
  #rows = new Map(); // by place in the queue's list
  #asked = new Set(); // pages that are under way
  #generation = 0;

  constructor(tables, open) {
    Object.assign(this, {tables, open});
    this.list = new List(byId("workloads"), WORKLOAD_ROW, (shown, at) => this.#fill(shown, at), {
      role: "option",
      choose: (at) => { if (this.#rows.has(at)) open.workload(this.#rows.get(at).key); },
      onRange: (first, last) => this.#load(first, last),
    });
    tables.onChange("queues", (ids) => {
      if (ids.has(this.#queue)) this.#refresh();
    });
    setInterval(() => {
      if (this.#described && this.#hasPods && !document.hidden) this.#loadWorkload();
    }, PODS_MS);
  }

  get queue() {
    return this.#queue;
  }

  // Shows the workloads of a queue, or what a cohort is.
  showQueue(id) {
    if (id !== this.#queue) {
      this.#rows = new Map();
      this.#total = 0;
      this.list.active = -1;
      this.list.box.scrollTop = 0;
    }
    this.#queue = id;
    this.#refresh();
  }

  showWorkload(key) {
    this.#workload = key;
    this.#loadWorkload();
  }

  hideWorkload() {
    this.#workload = this.#described = "";
    byId("workload").hidden = true;
  }

  #refresh() {
    const row = this.tables.rows("queues").get(this.#queue);
    const about = byId("details-about");
    byId("workloads").hidden = !row || !this.#queue.startsWith("queue/");
    if (!row) {
      setText(about, this.#queue ? "It no longer exists." : "Select a queue to see its workloads.");
      return facts(byId("details-facts"), []);
    }
    setText(byId("details-heading"), row.name);
    const parent = this.tables.rows("queues").get(row.parent);
    setText(about, [this.#queue.startsWith("queue/") ? "ClusterQueue" : "Cohort", parent ? `in ${parent.name}` : "",
      row.problem ? `– ${row.problem}` : ""].filter(Boolean).join(" "));
    facts(byId("details-facts"), [
      [count(row.admitted), "admitted"],
      [count(row.reserving), "with quota"],
      [count(row.pending), "pending"],
      ...Object.entries(row.resources).map(([name, {total, used}]) => [`${amount(name, used)} / ${amount(name, total)}`, name]),
      ...row.budgets.map(({of, used, committed, limit, end, runsOut, by}) =>
        [`${used} / ${limit}${committed ? `, ${committed} committed` : ""}`,
          `${of}, until ${momentOf(end)}${runsOut ? `; runs out ${momentOf(runsOut)} by ${by}` : ""}`]),
    ]);
    if (!byId("workloads").hidden) this.#reload();
    if (this.#workload) this.#loadWorkload();
  }

  // Asks again for what is in sight; rows that are shown stay until the answer.
  #reload() {
    this.#generation++;
    this.#asked.clear();
    const [first, last] = this.list.range;
    this.#load(first, Math.max(last, first + 1), true);
  }

  async #load(first, last, again = false) {
    if (!this.#queue.startsWith("queue/")) return;
    const generation = this.#generation;
    for (let page = Math.floor(first / PAGE_ROWS); page * PAGE_ROWS < Math.max(1, last); page++) {
      const from = page * PAGE_ROWS;
      if (this.#asked.has(page) || (!again && this.#rows.has(from))) continue;
      this.#asked.add(page);
      const found = await this.#ask("api/queue", {name: this.#queue.slice("queue/".length), from, count: PAGE_ROWS});
      if (generation !== this.#generation || !found) return;
      this.#total = found.total;
      for (const at of [...this.#rows.keys()]) if (at >= this.#total || again) this.#rows.delete(at);
      again = false;
      found.workloads.forEach((row, at) => this.#rows.set(from + at, row));
      this.list.show(this.#total);
    }
  }

  // Shows the list's data immediately, then the server's details.
  async #loadWorkload() {
    const key = this.#workload;
    const box = byId("workload");
    if (this.#described !== key) {
      const known = [...this.#rows.values()].find((row) => row.key === key);
      box.hidden = false;
      if (known) fillWorkload(box, {...NOT_KNOWN_YET, workload: known, sentence: known.message}, this.open);
      else box.replaceChildren(element("h3", {}, key), element("p", {}, "…"));
    }
    const found = await this.#ask("api/workload", {key});
    if (key !== this.#workload) return;
    this.#described = key;
    this.#hasPods = found !== null && ["Admitted", "Evicted"].includes(found.workload.phase);
    if (!found) box.replaceChildren(element("h3", {}, key), element("p", {}, "It does not exist."));
    else fillWorkload(box, found, this.open);
  }

  async #ask(path, parameters) {
    try {
      return await answer(path, parameters);
    } catch (error) {
      showNotice(`${path}: ${error.message}`);
      return null;
    }
  }

  #fill(shown, at) {
    const row = this.#rows.get(at);
    if (!row) return shown.replaceChildren(element("span"), element("span", {className: "muted"}, "…"));
    shown.setAttribute("aria-selected", row.key === this.#workload);
    shown.title = [row.key, row.message || row.reason].filter(Boolean).join("\n");
    shown.replaceChildren(
      element("span", {className: "position"}, row.position ? String(row.position) : ""),
      element("span", {}, `${row.namespace}/${row.job.slice(row.job.indexOf("/") + 1)}`),
      element("span", {}, row.phase),
      element("span", {className: "muted"}, row.priorityClass || String(row.priority)),
      element("span", {className: "muted"}, [row.elastic ? workersOf(row.elastic) : "", row.reason || sizeOf(row)].filter(Boolean).join(" · ")),
    );
  }
}

// One workload: what binds it, what would have to change, what is before it, and what happened to it.
function fillWorkload(box, found, open) {
  const row = found.workload;
  const list = element("dl");
  const fact = (name, text) => {
    if (text) list.append(element("dt", {}, name), element("dd", {}, text));
  };
  fact("Workload", `${row.namespace}/${row.name}`);
  fact("Queue", row.localQueue === row.clusterQueue ? row.clusterQueue : `${row.localQueue} (${row.clusterQueue})`);
  fact("Phase", `${row.phase} since ${momentOf(row.since)}`);
  fact("Position", row.position === null ? "" : String(row.position));
  fact("Priority", [row.priority, row.priorityClass].filter((part) => part !== "").join(", "));
  fact("Size", sizeOf(row));
  for (const group of row.elastic?.groups ?? []) fact(`Workers of ${group.name}`, groupOf(group));
  fact("Flavors", row.flavors.join(", "));
  fact("Created", momentOf(row.created));
  if (row.eta) fact("Starts", row.eta.p50 ? `about ${momentOf(row.eta.p50)}` : "beyond the forecast horizon");
  for (const {group, workers, time} of row.growth) {
    fact(`Growth of ${group}`, workers && time.p50 ? `${count(workers)} more about ${momentOf(time.p50)}` : "beyond the forecast horizon");
  }
  fact("Evictions", found.requeues ? count(found.requeues) : "");
  fact("Next attempt", found.requeue ? momentOf(found.requeue) : "");
  const link = (other, says) => element("span", {}, workloadLink(`${other.namespace}/${other.name}`, open.workload), ` ${says}`);
  box.replaceChildren(element("h3", {}, row.job), element("p", {className: "why"}, found.sentence), list,
    ...listed("Size of its worker groups", found.size),
    ...workersChart(found.sizes),
    ...listed("Problems of its pods", podProblems(found)),
    ...listed("It can be admitted once", found.remedies),
    ...listed("It would preempt", found.preempts.map(({workload, reason, replicas}) => link(workload, replicas ? `${reason}, ${count(replicas)} replicas` : reason))),
    ...listed("Ahead in the queue", found.ahead.map((other) => link(other, sizeOf(other)))),
    ...listed("Admission checks", found.checks.map((check) => sentence([check.name, check.state, check.message]))),
    ...listed("History", found.history.map((event) => sentence([momentOf(event.at), `${event.condition} ${event.status}`, event.reason, event.message]))));
}

// The workers of an autoscaled gang: granted, asked and, if it is known, running.
function workersOf({granted, asked, running}) {
  const parts = [`${count(granted)} granted`, `${count(asked)} asked`, running === null ? "" : `${count(running)} running`];
  return parts.filter(Boolean).join(", ");
}

function groupOf(group) {
  const most = group.maximum === null ? "" : ` to ${count(group.maximum)}`;
  return `${workersOf(group)} (${count(group.minimum)}${most})`;
}

function podProblems(found) {
  const unknown = found.podsUnread ? [`Their state is unknown: ${found.podsUnread}.`] : [];
  return [...found.podProblems.map((problem) => problem.sentence), ...unknown];
}

function sentence(parts) {
  return parts.filter(Boolean).join(" – ");
}

function listed(title, contents) {
  return contents.length ? [element("h4", {}, title), element("ul", {}, ...contents.map((content) => element("li", {}, content)))] : [];
}

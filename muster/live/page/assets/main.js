// Puts the page together.

function showNotice(text) {
  const notice = byId("notice");
  setText(notice, text);
  notice.hidden = !text;
}

function showConnection({connected, ageS}) {
  const line = byId("connection");
  const silent = connected && ageS > SILENT_S_MAX;
  line.classList.toggle("lost", !connected || silent);
  if (!connected) setText(line, "Disconnected; reconnecting");
  else if (silent) setText(line, `No event from the API server for ${duration(ageS * 1000)}: the page may be stale`);
  else setText(line, "Live");
  if (connected) showNotice("");
}

const SILENT_S_MAX = 60; // a healthy watch receives something every 30 s

function showTotals(tables) {
  const rows = [...tables.rows("queues")].filter(([id]) => id.startsWith("queue/")).map(([, row]) => row);
  const sum = (name) => rows.reduce((total, row) => total + row[name], 0);
  facts(byId("facts"), [
    [count(rows.length), rows.length === 1 ? "ClusterQueue" : "ClusterQueues"],
    [count(sum("admitted")), "admitted"],
    [count(sum("pending")), "pending"],
  ]);
}

function start() {
  theme.read();
  const tables = new Tables(showConnection);
  const go = (parameters) => { location.hash = new URLSearchParams(parameters).toString(); };
  const open = {workload: (key) => go({...chosen(), workload: key})};
  const details = new Details(tables, open);
  const tree = new Tree(tables, (id) => go({queue: id}));
  const shownQueues = () => {
    const {queue} = chosen();
    if (!queue || !tables.rows("queues").has(queue)) return null;
    return new Set([...tree.queuesBelow(queue)].map((id) => id.slice("queue/".length)));
  };
  const gangs = new Gangs(tables, shownQueues, open.workload);
  connectIncidents(tables, open.workload);
  connectEstimates(tables);
  tables.onChange("queues", () => showTotals(tables));
  const follow = () => {
    const {queue, workload} = chosen();
    tree.select(queue ?? "");
    details.showQueue(queue ?? "");
    if (workload) details.showWorkload(workload);
    else details.hideWorkload();
    gangs.rebuild();
  };
  addEventListener("hashchange", follow);
  follow();
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== tree.search) {
      event.preventDefault();
      tree.search.focus();
      tree.search.select();
    }
  });
  tables.connect();
}

// What the address names: {queue, workload}.
function chosen() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

start();

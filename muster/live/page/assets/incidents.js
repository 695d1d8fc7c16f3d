// Tables of provisioning requests and preemptions, the newest first.

const SHOWN_MAX = 100;

function workloadLink(key, open) {
  if (!key) return element("span", {}, "–");
  return element("button", {type: "button", className: "link", onclick: () => open(key)}, key);
}

function fillTable(id, heads, rows, none) {
  if (!rows.length) return byId(id).replaceChildren(element("p", {}, none));
  const head = element("tr", {}, ...heads.map((text) => element("th", {scope: "col"}, text)));
  byId(id).replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function cells(...contents) {
  return element("tr", {}, ...contents.map(([content, kind]) => element("td", {className: kind ?? ""}, content)));
}

function connectIncidents(tables, open) {
  const showProvisioning = () => {
    const found = [...tables.rows("provisioning").values()].sort((one, other) => one.sinceMs - other.sinceMs);
    fillTable("provisioning", ["Workload", "Queue", "Class", "Pods", "State", "Since", "Message"],
      found.slice(0, SHOWN_MAX).map((row) => cells([workloadLink(row.workload, open)], [row.queue], [row.class],
        [count(row.pods), "short"], [row.state], [momentOf(row.sinceMs), "short"], [row.message])),
      "No request waits for capacity.");
  };
  const showPreemptions = () => {
    const found = [...tables.rows("preemptions").values()].sort((one, other) => (one.at < other.at ? 1 : -1));
    fillTable("preemptions", ["Time", "Workload", "Queue", "Reason", "Message"],
      found.slice(0, SHOWN_MAX).map((row) => cells([momentOf(row.at), "short"], [workloadLink(row.workload, open)],
        [row.queue], [row.reason], [row.message])),
      "No preemptions since this server started, and no workload waits after one.");
  };
  tables.onChange("provisioning", showProvisioning);
  tables.onChange("preemptions", showPreemptions);
  showProvisioning();
  showPreemptions();
}

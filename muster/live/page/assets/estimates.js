// The share of starts that were within their estimated ranges: of all queues first, then of those with most starts.

const SHARES_SHOWN_MAX = 100;

function shareOf(part, total) {
  return `${Math.round((100 * part) / total)}%`;
}

function connectEstimates(tables) {
  const show = () => {
    const sorted = [...tables.rows("estimates").values()].sort((one, other) =>
      (one.queue ? 1 : 0) - (other.queue ? 1 : 0) || other.starts - one.starts || one.queue.localeCompare(other.queue));
    fillTable("estimates", ["ClusterQueue", "Within the range", "Starts", "Earlier", "Later", "Median age of the estimate"],
      sorted.slice(0, SHARES_SHOWN_MAX).map((row) => cells([row.queue || "All"], [shareOf(row.within, row.starts), "short"],
        [count(row.starts), "short"], [count(row.before), "short"], [count(row.after), "short"],
        [duration(row.ageMs), "short"])),
      "No starts with an estimate yet.");
  };
  tables.onChange("estimates", show);
  show();
}

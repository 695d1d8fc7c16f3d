// Describes a job and its attempts as rows of label and text.

function jobRows(side, row) {
  const {model} = side;
  const time = (ticks) => duration(ticks * model.tickMs);
  const rows = [
    ["Queue", model.queues[side.queue[row] - 1]],
    ["Class", model.classes[side.class[row]] || "–"],
    ["Size", `${plural(side.pods[row], "pod", "pods")}, ${plural(side.accelerators[row], "accelerator", "accelerators")}`],
    ["Submitted", moment(model.submit[row] * model.tickMs)],
  ];
  for (const one of model.sides) {
    if (!one.queue[row]) continue;
    const name = model.sides.length === 2 ? `Wait, ${one.name}` : "Wait";
    rows.push([name, `${one.runs[row] ? "" : "≥ "}${time(one.wait[row])}`]);
  }
  return rows;
}

function attemptRows(side, attempt) {
  const time = (ticks) => duration(ticks * side.model.tickMs);
  const row = side.job[attempt];
  const started = side.started[attempt];
  const attempts = side.first[row + 1] - side.first[row];
  const rows = [];
  if (attempts > 1) rows.push(["Attempt", `${attempt - side.first[row] + 1} of ${attempts}`]);
  const starting = (started < 0 ? side.ended[attempt] : started) - side.reserved[attempt];
  if (starting > 0) rows.push(["Starting", time(starting)]);
  if (started >= 0) rows.push(["Run", time(side.ended[attempt] - started)]);
  rows.push(["End", END_WORDS[side.end[attempt]]]);
  return rows;
}

class Tooltip {
  #box = document.getElementById("tooltip");
  #shown = -1;

  show(side, attempt, x, y) {
    if (this.#shown !== attempt) this.#fill(side, attempt);
    this.#shown = attempt;
    this.#box.hidden = false;
    const {width, height} = this.#box.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
    const top = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
    this.#box.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  hide() {
    this.#box.hidden = true;
    this.#shown = -1;
  }

  #fill(side, attempt) {
    const name = document.createElement("strong");
    const list = document.createElement("dl");
    name.textContent = side.model.names[side.job[attempt]];
    for (const [label, text] of [...jobRows(side, side.job[attempt]), ...attemptRows(side, attempt)]) {
      const [term, value] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = label;
      value.textContent = text;
      list.append(term, value);
    }
    this.#box.replaceChildren(name, list);
  }
}

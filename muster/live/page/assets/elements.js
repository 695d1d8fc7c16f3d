// Elements of the page. All text is set as text, never as markup.

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-") || name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

// Sets the text only where it differs: the page is updated often, and a reader may have selected it.
function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

function facts(target, entries) {
  target.replaceChildren(...entries.map(([value, name]) => element("li", {}, element("strong", {}, value), ` ${name}`)));
}

function fillLegend(id, entries) {
  byId(id).replaceChildren(...entries.map(([kind, text]) => element("li", {}, element("i", {className: kind}), text)));
}

// An amount of a resource in the API's unit: cores, bytes, pieces.
function amount(resource, value) {
  if (resource !== "memory" && !resource.endsWith("storage")) return count(value);
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  while (value >= 1024 && at + 1 < units.length) {
    value /= 1024;
    at++;
  }
  return `${count(value)} ${units[at]}`;
}

// "6 pods, 4 nvidia.com/gpu" of a workload's row.
function sizeOf(row) {
  const accelerators = Object.entries(row.requests).filter(([name]) => name.includes("/"));
  return [plural(row.pods, "pod", "pods"), ...accelerators.map(([name, text]) => `${text} ${name}`)].join(", ");
}

// Words for times and counts.

const UNITS_MS = [["d", 86400000], ["h", 3600000], ["min", 60000], ["s", 1000]];

// "3 d 4 h", "12 min 5 s", "45 s": the two largest units, rounded.
function duration(ms) {
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < 10000) return `${Math.round(ms / 100) / 10} s`;
  for (let at = 0; at + 1 < UNITS_MS.length; at++) {
    const [unit, size] = UNITS_MS[at];
    const [smaller, part] = UNITS_MS[at + 1];
    const parts = Math.round(ms / part);
    if (parts >= size / part) {
      const whole = Math.floor(parts / (size / part));
      const rest = parts % (size / part);
      return rest ? `${whole} ${unit} ${rest} ${smaller}` : `${whole} ${unit}`;
    }
  }
  return `${Math.round(ms / 1000)} s`;
}

function count(value) {
  return value.toLocaleString("en-US", {maximumFractionDigits: value < 10 ? 1 : 0});
}

function plural(value, one, many) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

// Steps of a time axis, in milliseconds.
const TIME_STEPS_MS = [
  100, 200, 500,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * 1000),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * 60000),
  ...[1, 2, 3, 6, 12].map((n) => n * 3600000),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((n) => n * 86400000),
];

function timeStep(spanMs, labels) {
  return TIME_STEPS_MS.find((step) => spanMs / step <= labels) ?? TIME_STEPS_MS.at(-1);
}

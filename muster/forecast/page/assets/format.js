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

// A position on the time axis. A full day, hour or minute names itself; others name what lies after it.
function timeLabel(ms, step) {
  const at = Math.round(ms);
  const day = Math.floor(at / 86400000);
  const within = at - day * 86400000;
  if (step >= 86400000 || (within === 0 && at > 0)) return `${day} d`;
  const two = (value) => String(value).padStart(2, "0");
  const clock = `${two(Math.floor(within / 3600000))}:${two(Math.floor(within / 60000) % 60)}`;
  if (step >= 60000) return clock;
  const seconds = (within % 60000) / 1000;
  return `${clock}:${step >= 1000 ? two(Math.round(seconds)) : seconds.toFixed(1).padStart(4, "0")}`;
}

// A moment to the second, such as "day 3, 04:12:30".
function moment(ms) {
  const seconds = Math.round(ms / 1000);
  const day = Math.floor(seconds / 86400);
  const clock = timeLabel((seconds - day * 86400) * 1000, 1000);
  return day ? `day ${day}, ${clock}` : clock;
}

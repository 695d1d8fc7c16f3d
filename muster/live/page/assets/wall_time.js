// Moments of the clock on the wall. The timeline's times count from `wallTime.originMs`.

const wallTime = {originMs: 0};

const CLOCK = {hour: "2-digit", minute: "2-digit", hourCycle: "h23"};
const DAY = {month: "short", day: "numeric"};

// A position on the time axis: a full day names itself.
function timeLabel(ms, step) {
  const at = new Date(wallTime.originMs + Math.round(ms));
  if (step >= 86400000 || (at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0)) return at.toLocaleDateString("en-US", DAY);
  return at.toLocaleTimeString("en-US", step < 60000 ? {...CLOCK, second: "2-digit"} : CLOCK);
}

// A moment to the second; with its day unless that is today.
function moment(ms) {
  const at = new Date(wallTime.originMs + Math.round(ms));
  const clock = at.toLocaleTimeString("en-US", {...CLOCK, second: "2-digit"});
  return at.toDateString() === new Date().toDateString() ? clock : `${at.toLocaleDateString("en-US", DAY)}, ${clock}`;
}

// The same for a time of the API: "2026-01-02T03:04:05Z", or milliseconds since 1970.
function momentOf(time) {
  const ms = typeof time === "number" ? time : Date.parse(time);
  return Number.isFinite(ms) ? moment(ms - wallTime.originMs) : "";
}

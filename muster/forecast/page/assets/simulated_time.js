// Moments of a simulation, which begins at 0.

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
